"""Columns and parts of schemas that CloneSets and Advanced StatefulSets share."""

from collections.abc import Sequence

from apiserver.api.meta import Obj
from apiserver.registry.bootstrap.kruise.schema_builders import (
    NAMES,
    Schema,
    anything,
    array,
    boolean,
    column,
    int_or_percent,
    map_of,
    number,
    object_schema,
    selector,
    string,
)

DESIRED = column("DESIRED", ".spec.replicas", "Pods that are wanted.")
CURRENT = column("CURRENT", ".status.replicas", "Pods that there are.")
UPDATED = column("UPDATED", ".status.updatedReplicas", "Pods of the newest revision.")
READY = column("READY", ".status.readyReplicas", "Pods that are ready.")
COLUMNS: Sequence[Obj] = (DESIRED, CURRENT, UPDATED, READY)
"""The columns of Advanced StatefulSets and of UnitedDeployments."""
WIDE: Sequence[Obj] = (
    column("CONTAINERS", ".spec.template.spec.containers[*].name", "The names of containers.", type_="string"),
    column("IMAGES", ".spec.template.spec.containers[*].image", "The images of containers.", type_="string"),
)


def spec_fields() -> dict[str, Schema]:
    """Return the fields of the spec in every version of both."""
    return {
        "replicas": number("How many pods are wanted; 1 if nothing is said."),
        "revisionHistoryLimit": number("How many old revisions are kept; 10 if nothing is said."),
        "selector": selector("Which pods are its own; the template's labels must match."),
        "template": anything("What its pods are made from: a PodTemplateSpec."),
        "volumeClaimTemplates": anything("The claims that each pod gets: PersistentVolumeClaims."),
    }


def update_fields() -> dict[str, Schema]:
    """Return the fields of a rolling update in every version of both."""
    return {"inPlaceUpdateStrategy": _in_place(), "paused": boolean("Whether no pod is updated.")}


def status_fields() -> dict[str, Schema]:
    """Return the fields of the status in every version of both."""
    return {
        "availableReplicas": number("Pods that are available."),
        "collisionCount": number("How often a revision's name was taken."),
        "currentRevision": string("The revision that all pods have had."),
        "labelSelector": string("The selector as text, for autoscalers."),
        "observedGeneration": number("The generation that this tells of.", bits=64),
        "readyReplicas": number("Pods that are ready."),
        "replicas": number("Pods that there are."),
        "updateRevision": string("The revision of the template."),
        "updatedReplicas": number("Pods of the update revision."),
    }


def updated_fields() -> dict[str, Schema]:
    """Return the fields of the status that v1alpha1 of Advanced StatefulSets lacks."""
    return {
        "updatedAvailableReplicas": number("Pods of the update revision that are available."),
        "updatedReadyReplicas": number("Pods of the update revision that are ready."),
    }


def lifecycle() -> Schema:
    """Return the hooks before a pod is deleted or updated, and before it counts as normal."""
    hook = object_schema(
        "What holds a pod at this point.",
        finalizersHandler=NAMES | {"description": "Finalizers that hold it."},
        labelsHandler=map_of("Labels that hold it.", {"type": "string"}),
        markPodNotReady=boolean("Whether it is not ready meanwhile."),
    )
    return object_schema("Hooks into the life of pods.", inPlaceUpdate=hook, preDelete=hook, preNormal=hook)


def _in_place() -> Schema:
    return object_schema(
        "How pods are updated in place.",
        gracePeriodSeconds=number("Seconds between a pod being not ready and its images being changed."),
        imagePreDownloadMinUpdatedReadyPods=number("Pods that must be updated and ready before images are fetched."),
        imagePreDownloadParallelism=int_or_percent("On how many nodes images are fetched at a time."),
        imagePreDownloadTimeoutSeconds=number("Seconds after which fetching an image is given up."),
    )


def priorities() -> Schema:
    """Return the priorities that order the update of pods."""
    order = object_schema("A label whose value ranks pods.", "orderedKey", orderedKey=string("The label's key."))
    weight = object_schema(
        "A weight for some pods.",
        "matchSelector",
        "weight",
        matchSelector=selector("Which pods."),
        weight=number("From 1 to 100."),
    )
    return object_schema(
        "In which order pods are updated.",
        orderPriority=array("Ranks by the values of labels.", order),
        weightPriority=array("Ranks by the sum of weights.", weight),
    )
