"""UnitedDeployment: one workload for each of several parts of a cluster, by one template."""

from collections.abc import Mapping

from apiserver.registry.bootstrap.kruise import clone_sets, stateful_sets
from apiserver.registry.bootstrap.kruise.schema_builders import (
    Schema,
    anything,
    array,
    boolean,
    conditions,
    int_or_percent,
    map_of,
    node_term,
    number,
    object_schema,
    selector,
    string,
)


def _spec() -> Schema:
    return object_schema(
        "What is wanted.",
        "selector",
        replicas=number("How many pods are wanted in all subsets; 1 if nothing is said."),
        revisionHistoryLimit=number("How many old revisions are kept; 10 if nothing is said."),
        selector=selector("Which pods are its own; the template's labels must match."),
        template=object_schema(
            "What the workload of each subset is made from: one of these.",
            advancedStatefulSetTemplate=_template("an Advanced StatefulSet", stateful_sets.spec()),
            cloneSetTemplate=_template("a CloneSet", clone_sets.spec()),
            deploymentTemplate=_template("a Deployment", anything("A DeploymentSpec.")),
            statefulSetTemplate=_template("a StatefulSet", anything("A StatefulSetSpec.")),
        ),
        topology=_topology(),
        updateStrategy=object_schema(
            "How subsets come to a new revision.",
            manualUpdate=object_schema(
                "How far each subset goes.",
                partitions=map_of("How many pods of a subset stay at the old revision.", number("Pods.")),
            ),
            type=string("Manual.", "Manual", ""),
        ),
    )


def _template(of: str, spec: Schema) -> Schema:
    return object_schema(f"The template of {of}.", "spec", metadata=anything("Labels and annotations."), spec=spec)


def _topology() -> Schema:
    toleration = object_schema(
        "A taint that does not keep pods away.",
        effect=string("NoSchedule, PreferNoSchedule or NoExecute; empty for all."),
        key=string("The taint's key; empty for all."),
        operator=string("Exists or Equal."),
        tolerationSeconds=number("Seconds for which a NoExecute taint is tolerated.", bits=64),
        value=string("The taint's value."),
    )
    subset = object_schema(
        "A part of the cluster.",
        "name",
        maxReplicas=int_or_percent("How many pods it has at most."),
        minReplicas=int_or_percent("How many pods it has at least."),
        name=string("Its name, which is part of the workload's."),
        nodeSelectorTerm=node_term("Which nodes it has."),
        patch=anything("A strategic merge patch of the pods' template."),
        replicas=int_or_percent("How many pods it has."),
        tolerations=array("Taints that its pods tolerate.", toleration),
    )
    adaptive = object_schema(
        "How pods that find no node are treated.",
        rescheduleCriticalSeconds=number("Seconds after which a pod without a node is given up."),
        reserveUnschedulablePods=boolean("Whether such pods stay while others take their place."),
        unschedulableDuration=number("Seconds for which a subset then gets no more pods."),
    )
    return object_schema(
        "The subsets, and how pods are spread over them.",
        scheduleStrategy=object_schema(
            "What happens where a subset has no room.",
            adaptive=adaptive,
            type=string("Adaptive or Fixed.", "Adaptive", "Fixed", ""),
        ),
        subsets=array("The subsets, the preferred ones first.", subset),
    )


def _status(**more: Schema) -> Schema:
    subset = object_schema(
        "The state of a subset.",
        conditions=conditions(),
        name=string("Its name."),
        partition=number("How many pods stay at the old revision."),
        readyReplicas=number("Pods that are ready."),
        replicas=number("Pods that it is to have."),
        reservedPods=number("Pods without a node that stay."),
    )
    return object_schema(
        "What is there.",
        "currentRevision",
        "replicas",
        "updatedReplicas",
        collisionCount=number("How often a revision's name was taken."),
        conditions=conditions(needed=()),
        currentRevision=string("The revision that all pods have had."),
        labelSelector=string("The selector as text, for autoscalers."),
        observedGeneration=number("The generation that this tells of.", bits=64),
        readyReplicas=number("Pods that are ready."),
        replicas=number("Pods that there are."),
        reservedPods=number("Pods without a node that stay."),
        subsetStatuses=array("The state of each subset.", subset),
        updatedReadyReplicas=number("Pods of the updated revision that are ready."),
        updatedReplicas=number("Pods of the updated revision."),
        **more,
    )


_REVISION = string("The revision of the template.")
_OLD_STATUS = _status(
    subsetReplicas=map_of("How many pods each subset is to have.", number("Pods.")),
    updateStatus=object_schema(
        "How far an update is.",
        currentPartitions=map_of("How many pods of each subset stay.", number("Pods.")),
        updatedRevision=_REVISION,
    ),
)
_WHAT = "Workloads in several parts of a cluster."
SCHEMAS: Mapping[str, Schema] = {
    "v1alpha1": object_schema(_WHAT, spec=_spec(), status=_OLD_STATUS),
    "v1beta1": object_schema(_WHAT, spec=_spec(), status=_status(updatedRevision=_REVISION)),
}
"""Version → the schema of a UnitedDeployment."""
