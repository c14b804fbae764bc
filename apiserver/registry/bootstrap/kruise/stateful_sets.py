"""Advanced StatefulSet: pods with names and claims of their own, that may be updated many at a time or in place."""

from apiserver.registry.bootstrap.kruise.words import (
    INT_OR_PERCENT,
    Schema,
    anything,
    column,
    conditions,
    filled,
    in_place,
    lifecycle,
    listed,
    number,
    priorities,
    selector,
    share,
    struct,
    switch,
    word,
)

COLUMNS = (
    column("DESIRED", ".spec.replicas", "Pods that are wanted."),
    column("CURRENT", ".status.replicas", "Pods that there are."),
    column("UPDATED", ".status.updatedReplicas", "Pods of the newest revision."),
    column("READY", ".status.readyReplicas", "Pods that are ready."),
)
WIDE = (
    column("CONTAINERS", ".spec.template.spec.containers[*].name", "The names of containers.", type_="string"),
    column("IMAGES", ".spec.template.spec.containers[*].image", "The images of containers.", type_="string"),
)


def schema() -> Schema:
    """The schema of an Advanced StatefulSet."""
    return struct("Pods with names and claims of their own.", spec=spec(defaults=True), status=_status())


def spec(*, defaults: bool = False) -> Schema:
    """The schema of its spec; without defaults where it is a part of another kind, which fills in what is wanted."""
    default = (lambda value: value) if defaults else (lambda _value: None)
    rolling = struct(
        "How pods are updated.",
        inPlaceUpdateStrategy=in_place(),
        maxUnavailable=share("How many pods may be unavailable while others are updated.", default=default(1)),
        minReadySeconds=number("Seconds for which a pod must be ready to be available."),
        partition=number("How many pods stay at the old revision, those of the first ordinals.", default=default(0)),
        paused=switch("Whether no pod is updated."),
        podUpdatePolicy=word("ReCreate, InPlaceIfPossible or InPlaceOnly."),
        unorderedUpdate=struct(
            "Updates that do not go from the last ordinal to the first.", priorityStrategy=priorities()
        ),
    )
    strategy = struct(
        "How pods come to a new revision.",
        rollingUpdate=filled(rolling) if defaults else rolling,
        type=word("RollingUpdate or OnDelete.", default="RollingUpdate" if defaults else ""),
    )
    return struct(
        "What is wanted.",
        "selector",
        "template",
        lifecycle=lifecycle(),
        ordinals=struct("How pods are numbered.", start=number("The first ordinal.")),
        persistentVolumeClaimRetentionPolicy=struct(
            "What becomes of claims.",
            whenDeleted=word("Retain or Delete, when the set is deleted."),
            whenScaled=word("Retain or Delete, when it gets smaller."),
        ),
        podManagementPolicy=word(
            "OrderedReady, one pod after the other, or Parallel.", default="OrderedReady" if defaults else ""
        ),
        replicas=number("How many pods are wanted.", default=default(1)),
        reserveOrdinals=listed("Ordinals, or ranges such as 2-4, that no pod has.", dict(INT_OR_PERCENT)),
        revisionHistoryLimit=number("How many old revisions are kept.", default=default(10)),
        scaleStrategy=struct(
            "How pods are made and deleted.",
            maxUnavailable=share("How many pods may be unavailable while pods are made, where they are Parallel."),
        ),
        selector=selector("Which pods are its own; the template's labels must match."),
        serviceName=word("The Service that gives pods their names in DNS."),
        template=anything("What its pods are made from: a PodTemplateSpec."),
        updateStrategy=filled(strategy) if defaults else strategy,
        volumeClaimTemplates=anything("The claims that each pod gets: PersistentVolumeClaims."),
        volumeClaimUpdateStrategy=struct(
            "When claims follow a new template.", type=word("OnDelete or OnPodRollingUpdate.")
        ),
    )


def _status() -> Schema:
    claims = struct(
        "How far claims have followed.",
        "compatibleReadyReplicas",
        "compatibleReplicas",
        "volumeClaimName",
        compatibleReadyReplicas=number("Claims that fit and are ready."),
        compatibleReplicas=number("Claims that fit."),
        volumeClaimName=word("The template's name."),
    )
    return struct(
        "What is there.",
        "availableReplicas",
        "currentReplicas",
        "readyReplicas",
        "replicas",
        "updatedReplicas",
        availableReplicas=number("Pods that are available."),
        collisionCount=number("How often a revision's name was taken."),
        conditions=conditions(),
        currentReplicas=number("Pods of the current revision."),
        currentRevision=word("The revision that all pods have had."),
        labelSelector=word("The selector as text, for autoscalers."),
        observedGeneration=number("The generation that this tells of.", bits=64),
        readyReplicas=number("Pods that are ready."),
        replicas=number("Pods that there are."),
        updateRevision=word("The revision of the template."),
        updatedAvailableReplicas=number("Pods of the update revision that are available."),
        updatedReadyReplicas=number("Pods of the update revision that are ready."),
        updatedReplicas=number("Pods of the update revision."),
        volumeClaims=listed("How far claims have followed their templates.", claims),
    )
