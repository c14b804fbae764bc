"""CloneSet: pods that are all alike, with more ways to update and scale them than a Deployment has."""

from apiserver.registry.bootstrap.kruise.words import (
    NAMES,
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
    column("UPDATED", ".status.updatedReplicas", "Pods of the newest revision."),
    column("UPDATED_READY", ".status.updatedReadyReplicas", "Pods of the newest revision that are ready."),
    column("UPDATED_AVAILABLE", ".status.updatedAvailableReplicas", "Pods of the newest revision that are available."),
    column("READY", ".status.readyReplicas", "Pods that are ready."),
    column("TOTAL", ".status.replicas", "Pods that there are."),
)
WIDE = (
    column("CONTAINERS", ".spec.template.spec.containers[*].name", "The names of containers.", type_="string"),
    column("IMAGES", ".spec.template.spec.containers[*].image", "The images of containers.", type_="string"),
    column("SELECTOR", ".status.labelSelector", "The selector of pods.", type_="string"),
)


def schema() -> Schema:
    """The schema of a CloneSet."""
    return struct("A set of pods that are all alike.", spec=spec(defaults=True), status=_status())


def spec(*, defaults: bool = False) -> Schema:
    """The schema of its spec; without defaults where it is a part of another kind, which fills in what is wanted."""
    default = (lambda value: value) if defaults else (lambda _value: None)
    rolling = struct(
        "How pods are updated.",
        inPlaceUpdateStrategy=in_place(),
        maxSurge=share("How many pods there may be above the wanted number.", default=default(0)),
        maxUnavailable=share("How many pods may be unavailable while others are updated.", default=default("20%")),
        partition=share("How many pods stay at old revisions.", default=default(0)),
        paused=switch("Whether no pod is updated."),
        podUpdatePolicy=word("ReCreate, InPlaceIfPossible or InPlaceOnly."),
        priorityStrategy=priorities(),
        scatterStrategy=listed(
            "Pods with these labels are spread over the whole update.",
            struct("A label.", "key", "value", key=word("Its key."), value=word("Its value.")),
        ),
    )
    strategy = struct(
        "How pods come to a new revision.",
        rollingUpdate=filled(rolling) if defaults else rolling,
        type=word("RollingUpdate or OnDelete."),
    )
    return struct(
        "What is wanted.",
        "selector",
        "template",
        lifecycle=lifecycle(),
        minReadySeconds=number("Seconds for which a pod must be ready to be available."),
        progressDeadlineSeconds=number("Seconds after which a rollout without progress has failed."),
        replicas=number("How many pods are wanted.", default=default(1)),
        revisionHistoryLimit=number("How many old revisions are kept.", default=default(10)),
        scaleStrategy=struct(
            "How pods are made and deleted.",
            enablePVCReuse=switch("Whether a new pod takes over the claims of one that is gone.", default=False),
            excludePreparingDelete=switch("Whether pods that are about to be deleted do not count."),
            maxUnavailable=share("How many pods may be unavailable while pods are made."),
            podsToDelete=NAMES | {"description": "Names of the pods that go first."},
        ),
        selector=selector("Which pods are its own; the template's labels must match."),
        template=anything("What its pods are made from: a PodTemplateSpec."),
        updateStrategy=filled(strategy) if defaults else strategy,
        volumeClaimTemplates=anything("The claims that each pod gets: PersistentVolumeClaims."),
    )


def _status() -> Schema:
    return struct(
        "What is there.",
        "availableReplicas",
        "readyReplicas",
        "replicas",
        "updatedReadyReplicas",
        "updatedReplicas",
        availableReplicas=number("Pods that are available."),
        collisionCount=number("How often a revision's name was taken."),
        conditions=conditions(updated=True),
        currentRevision=word("The revision that all pods have had."),
        expectedUpdatedReplicas=number("Pods that are to be of the update revision."),
        labelSelector=word("The selector as text, for autoscalers."),
        observedGeneration=number("The generation that this tells of.", bits=64),
        readyReplicas=number("Pods that are ready."),
        replicas=number("Pods that there are."),
        updateRevision=word("The revision of the template."),
        updatedAvailableReplicas=number("Pods of the update revision that are available."),
        updatedReadyReplicas=number("Pods of the update revision that are ready."),
        updatedReplicas=number("Pods of the update revision."),
    )
