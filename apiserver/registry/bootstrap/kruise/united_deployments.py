"""UnitedDeployment: one workload for each of several parts of a cluster, by one template."""

from collections.abc import Mapping

from apiserver.registry.bootstrap.kruise import clone_sets, stateful_sets
from apiserver.registry.bootstrap.kruise.schema_builders import (
    Schema,
    anything,
    conditions,
    listed,
    mapped,
    node_term,
    number,
    selector,
    share,
    struct,
    switch,
    word,
)


def _spec() -> Schema:
    return struct(
        "What is wanted.",
        "selector",
        replicas=number("How many pods are wanted in all subsets; 1 if nothing is said."),
        revisionHistoryLimit=number("How many old revisions are kept; 10 if nothing is said."),
        selector=selector("Which pods are its own; the template's labels must match."),
        template=struct(
            "What the workload of each subset is made from: one of these.",
            advancedStatefulSetTemplate=_template("an Advanced StatefulSet", stateful_sets.spec()),
            cloneSetTemplate=_template("a CloneSet", clone_sets.spec()),
            deploymentTemplate=_template("a Deployment", anything("A DeploymentSpec.")),
            statefulSetTemplate=_template("a StatefulSet", anything("A StatefulSetSpec.")),
        ),
        topology=_topology(),
        updateStrategy=struct(
            "How subsets come to a new revision.",
            manualUpdate=struct(
                "How far each subset goes.",
                partitions=mapped("How many pods of a subset stay at the old revision.", number("Pods.")),
            ),
            type=word("Manual.", "Manual", ""),
        ),
    )


def _template(of: str, spec: Schema) -> Schema:
    return struct(f"The template of {of}.", "spec", metadata=anything("Labels and annotations."), spec=spec)


def _topology() -> Schema:
    toleration = struct(
        "A taint that does not keep pods away.",
        effect=word("NoSchedule, PreferNoSchedule or NoExecute; empty for all."),
        key=word("The taint's key; empty for all."),
        operator=word("Exists or Equal."),
        tolerationSeconds=number("Seconds for which a NoExecute taint is tolerated.", bits=64),
        value=word("The taint's value."),
    )
    subset = struct(
        "A part of the cluster.",
        "name",
        maxReplicas=share("How many pods it has at most."),
        minReplicas=share("How many pods it has at least."),
        name=word("Its name, which is part of the workload's."),
        nodeSelectorTerm=node_term("Which nodes it has."),
        patch=anything("A strategic merge patch of the pods' template."),
        replicas=share("How many pods it has."),
        tolerations=listed("Taints that its pods tolerate.", toleration),
    )
    adaptive = struct(
        "How pods that find no node are treated.",
        rescheduleCriticalSeconds=number("Seconds after which a pod without a node is given up."),
        reserveUnschedulablePods=switch("Whether such pods stay while others take their place."),
        unschedulableDuration=number("Seconds for which a subset then gets no more pods."),
    )
    return struct(
        "The subsets, and how pods are spread over them.",
        scheduleStrategy=struct(
            "What happens where a subset has no room.",
            adaptive=adaptive,
            type=word("Adaptive or Fixed.", "Adaptive", "Fixed", ""),
        ),
        subsets=listed("The subsets, the preferred ones first.", subset),
    )


def _status(**more: Schema) -> Schema:
    subset = struct(
        "The state of a subset.",
        conditions=conditions(),
        name=word("Its name."),
        partition=number("How many pods stay at the old revision."),
        readyReplicas=number("Pods that are ready."),
        replicas=number("Pods that it is to have."),
        reservedPods=number("Pods without a node that stay."),
    )
    return struct(
        "What is there.",
        "currentRevision",
        "replicas",
        "updatedReplicas",
        collisionCount=number("How often a revision's name was taken."),
        conditions=conditions(needed=()),
        currentRevision=word("The revision that all pods have had."),
        labelSelector=word("The selector as text, for autoscalers."),
        observedGeneration=number("The generation that this tells of.", bits=64),
        readyReplicas=number("Pods that are ready."),
        replicas=number("Pods that there are."),
        reservedPods=number("Pods without a node that stay."),
        subsetStatuses=listed("The state of each subset.", subset),
        updatedReadyReplicas=number("Pods of the updated revision that are ready."),
        updatedReplicas=number("Pods of the updated revision."),
        **more,
    )


_REVISION = word("The revision of the template.")
_OLD_STATUS = _status(
    subsetReplicas=mapped("How many pods each subset is to have.", number("Pods.")),
    updateStatus=struct(
        "How far an update is.",
        currentPartitions=mapped("How many pods of each subset stay.", number("Pods.")),
        updatedRevision=_REVISION,
    ),
)
_WHAT = "Workloads in several parts of a cluster."
SCHEMAS: Mapping[str, Schema] = {
    "v1alpha1": struct(_WHAT, spec=_spec(), status=_OLD_STATUS),
    "v1beta1": struct(_WHAT, spec=_spec(), status=_status(updatedRevision=_REVISION)),
}
"""Version → the schema of a UnitedDeployment."""
