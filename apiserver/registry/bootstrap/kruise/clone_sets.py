"""CloneSet: interchangeable pods, with more ways to update and scale them than a Deployment has."""

from collections.abc import Mapping

from apiserver.registry.bootstrap.kruise import sets
from apiserver.registry.bootstrap.kruise.schema_builders import (
    NAMES,
    Schema,
    array,
    boolean,
    column,
    conditions,
    int_or_percent,
    number,
    object_schema,
    string,
)

COLUMNS = (
    sets.DESIRED,
    sets.UPDATED,
    column("UPDATED_READY", ".status.updatedReadyReplicas", "Pods of the newest revision that are ready."),
    column("UPDATED_AVAILABLE", ".status.updatedAvailableReplicas", "Pods of the newest revision that are available."),
    sets.READY,
    column("TOTAL", ".status.replicas", "Pods that there are."),
)
WIDE = (*sets.WIDE, column("SELECTOR", ".status.labelSelector", "The selector of pods.", type_="string"))


def spec() -> Schema:
    """Return the schema of its spec in v1beta1, which is also that of a UnitedDeployment's template."""
    rolling = object_schema(
        "How pods are updated.", podUpdatePolicy=string("ReCreate, InPlaceIfPossible or InPlaceOnly."), **_updates()
    )
    strategy = object_schema(
        "How pods come to a new revision.", rollingUpdate=rolling, type=string("RollingUpdate or OnDelete.")
    )
    return _spec(
        strategy,
        enablePVCReuse=boolean("Whether a new pod takes over the claims of one that is gone.", default=False),
        excludePreparingDelete=boolean("Whether pods that are about to be deleted do not count."),
    )


def _old_spec() -> Schema:
    """Return the schema of its spec in v1alpha1."""
    strategy = object_schema(
        "How pods come to a new revision.", type=string("ReCreate, InPlaceIfPossible or InPlaceOnly."), **_updates()
    )
    return _spec(strategy, disablePVCReuse=boolean("Whether no new pod takes over the claims of one that is gone."))


def _updates() -> dict[str, Schema]:
    label = object_schema("A label.", "key", "value", key=string("Its key."), value=string("Its value."))
    return {
        "maxSurge": int_or_percent("How many pods there may be above the wanted number; 0 if nothing is said."),
        "maxUnavailable": int_or_percent(
            "How many pods may be unavailable while others are updated; 20% if nothing is said."
        ),
        "partition": int_or_percent("How many pods stay at old revisions; 0 if nothing is said."),
        "priorityStrategy": sets.priorities(),
        "scatterStrategy": array("Pods with these labels are spread over the whole update.", label),
        **sets.update_fields(),
    }


def _spec(strategy: Schema, **scaling: Schema) -> Schema:
    return object_schema(
        "What is wanted.",
        "selector",
        "template",
        lifecycle=sets.lifecycle(),
        minReadySeconds=number("Seconds for which a pod must be ready to be available."),
        progressDeadlineSeconds=number("Seconds after which a rollout without progress has failed."),
        scaleStrategy=object_schema(
            "How pods are made and deleted.",
            maxUnavailable=int_or_percent("How many pods may be unavailable while pods are made."),
            podsToDelete=NAMES | {"description": "Names of the pods that go first."},
            **scaling,
        ),
        updateStrategy=strategy,
        **sets.spec_fields(),
    )


def _status() -> Schema:
    return object_schema(
        "What is there.",
        "availableReplicas",
        "readyReplicas",
        "replicas",
        "updatedReadyReplicas",
        "updatedReplicas",
        conditions=conditions(updated=True),
        expectedUpdatedReplicas=number("Pods that are to be of the update revision."),
        **sets.status_fields(),
        **sets.updated_fields(),
    )


_WHAT = "A set of pods that are all alike."
SCHEMAS: Mapping[str, Schema] = {
    "v1alpha1": object_schema(_WHAT, spec=_old_spec(), status=_status()),
    "v1beta1": object_schema(_WHAT, spec=spec(), status=_status()),
}
"""Version → the schema of a CloneSet."""
