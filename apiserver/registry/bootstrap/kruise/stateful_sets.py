"""Advanced StatefulSet: pods with names and claims of their own, that may be updated many at a time or in place."""

from collections.abc import Mapping

from apiserver.registry.bootstrap.kruise import sets
from apiserver.registry.bootstrap.kruise.schema_builders import (
    INT_OR_PERCENT,
    Schema,
    array,
    conditions,
    int_or_percent,
    number,
    object_schema,
    string,
)


def spec() -> Schema:
    """Return the schema of its spec in v1beta1, which is also that of a UnitedDeployment's template."""
    return _spec(
        lifecycle=sets.lifecycle(),
        ordinals=object_schema("How pods are numbered.", start=number("The first ordinal.")),
        persistentVolumeClaimRetentionPolicy=object_schema(
            "What becomes of claims.",
            whenDeleted=string("Retain or Delete, when the set is deleted."),
            whenScaled=string("Retain or Delete, when it gets smaller."),
        ),
        reserveOrdinals=array("Ordinals, or ranges such as 2-4, that no pod has.", dict(INT_OR_PERCENT)),
        scaleStrategy=object_schema(
            "How pods are made and deleted.",
            maxUnavailable=int_or_percent(
                "How many pods may be unavailable while pods are made, where they are Parallel."
            ),
        ),
        volumeClaimUpdateStrategy=object_schema(
            "When claims follow a new template.", type=string("OnDelete or OnPodRollingUpdate.")
        ),
    )


def _spec(**more: Schema) -> Schema:
    """Return the schema of its spec in v1alpha1, and the fields that v1beta1 adds."""
    rolling = object_schema(
        "How pods are updated.",
        maxUnavailable=int_or_percent(
            "How many pods may be unavailable while others are updated; 1 if nothing is said."
        ),
        minReadySeconds=number("Seconds for which a pod must be ready to be available."),
        partition=number("How many pods stay at the old revision, those of the first ordinals."),
        podUpdatePolicy=string("ReCreate, InPlaceIfPossible or InPlaceOnly."),
        unorderedUpdate=object_schema(
            "Updates that do not go from the last ordinal to the first.", priorityStrategy=sets.priorities()
        ),
        **sets.update_fields(),
    )
    return object_schema(
        "What is wanted.",
        "selector",
        "template",
        podManagementPolicy=string("OrderedReady, one pod after the other, or Parallel."),
        serviceName=string("The Service that gives pods their names in DNS."),
        updateStrategy=object_schema(
            "How pods come to a new revision.", rollingUpdate=rolling, type=string("RollingUpdate or OnDelete.")
        ),
        **sets.spec_fields(),
        **more,
    )


def _status(**more: Schema) -> Schema:
    """Return the schema of its status in v1alpha1, and the fields that v1beta1 adds."""
    return object_schema(
        "What is there.",
        "availableReplicas",
        "currentReplicas",
        "readyReplicas",
        "replicas",
        "updatedReplicas",
        conditions=conditions(),
        currentReplicas=number("Pods of the current revision."),
        **sets.status_fields(),
        **more,
    )


def _claims() -> Schema:
    claims = object_schema(
        "How far claims have followed.",
        "compatibleReadyReplicas",
        "compatibleReplicas",
        "volumeClaimName",
        compatibleReadyReplicas=number("Claims that fit and are ready."),
        compatibleReplicas=number("Claims that fit."),
        volumeClaimName=string("The template's name."),
    )
    return array("How far claims have followed their templates.", claims)


_WHAT = "Pods with names and claims of their own."
SCHEMAS: Mapping[str, Schema] = {
    "v1alpha1": object_schema(_WHAT, spec=_spec(), status=_status()),
    "v1beta1": object_schema(_WHAT, spec=spec(), status=_status(volumeClaims=_claims(), **sets.updated_fields())),
}
"""Version → the schema of an Advanced StatefulSet."""
