"""The words of which the schemas are made: each gives the JSON of a structural schema."""

from apiserver.api.meta import Obj

Schema = Obj

INT_OR_PERCENT = {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]}
NAMES = {"type": "array", "items": {"type": "string"}}
ATOMIC = {"x-kubernetes-list-type": "atomic"}


def struct(text: str, /, *required: str, **fields: Schema) -> Schema:
    """An object with these fields; `default={}` has it made where it is absent, so that its fields get theirs."""
    made: Schema = {"type": "object", "description": text, "properties": fields}
    return made | {"required": list(required)} if required else made


def filled(schema: Schema) -> Schema:
    """An object that is there even where nobody wrote it, so that its fields get their defaults."""
    return schema | {"default": {}}


def number(text: str, *, default: int | None = None, bits: int = 32) -> Schema:
    """An integer."""
    made: Schema = {"type": "integer", "format": f"int{bits}", "description": text}
    return made if default is None else made | {"default": default}


def word(text: str, *choices: str, default: str = "") -> Schema:
    """A string, perhaps one of several."""
    made: Schema = {"type": "string", "description": text}
    if choices:
        made["enum"] = list(choices)
    return made | {"default": default} if default else made


def switch(text: str, *, default: bool | None = None) -> Schema:
    """A boolean."""
    made: Schema = {"type": "boolean", "description": text}
    return made if default is None else made | {"default": default}


def share(text: str, *, default: int | str | None = None) -> Schema:
    """A number, or a percentage."""
    made: Schema = {"description": text, **INT_OR_PERCENT}
    return made if default is None else made | {"default": default}


def listed(text: str, items: Schema, *, atomic: bool = False) -> Schema:
    """A list."""
    made: Schema = {"type": "array", "description": text, "items": items}
    return made | ATOMIC if atomic else made


def mapped(text: str, values: Schema) -> Schema:
    """A map by names."""
    return {"type": "object", "description": text, "additionalProperties": values}


def anything(text: str) -> Schema:
    """What another kind's schema describes, such as a pod's template: it is taken as it is."""
    return {"description": text, "x-kubernetes-preserve-unknown-fields": True}


def timestamp(text: str) -> Schema:
    """A time."""
    return {"type": "string", "format": "date-time", "description": text}


def _requirements(text: str) -> Schema:
    requirement = struct(
        "A key, and how it relates to a set of values.",
        "key",
        "operator",
        key=word("The label's key."),
        operator=word("In, NotIn, Exists or DoesNotExist; of nodes also Gt and Lt."),
        values=NAMES | ATOMIC | {"description": "The values; none for Exists and DoesNotExist."},
    )
    return listed(text, requirement, atomic=True)


def selector(text: str) -> Schema:
    """A label selector."""
    fields = {
        "matchExpressions": _requirements("Requirements, all of which must hold."),
        "matchLabels": mapped("Labels, all of which must be there.", {"type": "string"}),
    }
    return struct(text, **fields) | {"x-kubernetes-map-type": "atomic"}


def node_term(text: str) -> Schema:
    """A term by which nodes are chosen."""
    fields = {
        "matchExpressions": _requirements("Requirements on a node's labels."),
        "matchFields": _requirements("Requirements on a node's fields."),
    }
    return struct(text, **fields) | {"x-kubernetes-map-type": "atomic"}


def conditions(*, updated: bool = False) -> Schema:
    """The conditions of a status."""
    fields = {
        "type": word("What the condition is about."),
        "status": word("True, False or Unknown."),
        "reason": word("Why, in one word."),
        "message": word("Why, for people."),
        "lastTransitionTime": timestamp("When the status changed last."),
    }
    if updated:
        fields["lastUpdateTime"] = timestamp("When the condition was written last.")
    return listed("What is known of the workload's state.", struct("A condition.", "status", "type", **fields))


def column(name: str, path: str, text: str, *, type_: str = "integer") -> Obj:
    """A column of Tables."""
    return {"name": name, "type": type_, "jsonPath": path, "description": text}


def lifecycle() -> Schema:
    """Hooks before a pod goes or changes, and before it counts as normal."""
    hook = struct(
        "What holds a pod at this point.",
        finalizersHandler=NAMES | {"description": "Finalizers that hold it."},
        labelsHandler=mapped("Labels that hold it.", {"type": "string"}),
        markPodNotReady=switch("Whether it is not ready meanwhile."),
    )
    return struct("Hooks into the life of pods.", inPlaceUpdate=hook, preDelete=hook, preNormal=hook)


def in_place() -> Schema:
    """How pods are updated in place."""
    return struct(
        "How pods are updated in place.",
        gracePeriodSeconds=number("Seconds between a pod being not ready and its images being changed."),
        imagePreDownloadMinUpdatedReadyPods=number("Pods that must be updated and ready before images are fetched."),
        imagePreDownloadParallelism=share("On how many nodes images are fetched at a time."),
        imagePreDownloadTimeoutSeconds=number("Seconds after which fetching an image is given up."),
    )


def priorities() -> Schema:
    """In which order pods are updated."""
    order = struct("A label whose value ranks pods.", "orderedKey", orderedKey=word("The label's key."))
    weight = struct(
        "A weight for some pods.",
        "matchSelector",
        "weight",
        matchSelector=selector("Which pods."),
        weight=number("From 1 to 100."),
    )
    return struct(
        "In which order pods are updated.",
        orderPriority=listed("Ranks by the values of labels.", order),
        weightPriority=listed("Ranks by the sum of weights.", weight),
    )
