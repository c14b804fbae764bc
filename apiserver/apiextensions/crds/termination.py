"""The end of a definition: it goes when all objects of its kind are gone, and tells how far that is.

A deletion marks the definition first (customresourcedefinition/etcd.go's Delete). Then a controller empties it
(apiextensions-apiserver/pkg/controller/finalizer): it says so, deletes what there is in each namespace, looks every
five seconds for a minute whether all is gone, and lets go of the definition; what fails it tells, and tries again.
"""

from apiserver.api.meta import Obj, metadata
from apiserver.apiextensions.crds.conditions import condition, holds, with_condition
from apiserver.apiextensions.crds.names import ESTABLISHED

FINALIZER = "customresourcecleanup.apiextensions.k8s.io"
"""What keeps a definition while objects of its kind may be there."""

TERMINATING = "Terminating"
NO_CREATION = "create not allowed while custom resource definition is terminating"
"""Why objects of its kind are not made any more, as a 403 tells it (customresource_handler.go)."""
LOOK_AGAIN, LONGEST_WAIT = 5.0, 60.0
"""Seconds between two looks whether all objects are gone, and until the controller begins anew."""

_STORED_BUILT_IN = {("apiregistration.k8s.io", "apiservices"), ("apiextensions.k8s.io", "customresourcedefinitions")}
"""Built-in kinds that lie where custom resources of their names would."""

_PENDING = condition(
    TERMINATING,
    "True",
    "InstanceDeletionPending",
    "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
)
_IN_PROGRESS = condition(TERMINATING, "True", "InstanceDeletionInProgress", "CustomResource deletion is in progress")
_COMPLETED = condition(TERMINATING, "False", "InstanceDeletionCompleted", "removed all instances")
_BUILT_IN = condition(
    TERMINATING, "False", "OverlappingBuiltInResource", "instances overlap with built-in resources in storage"
)
_NEVER = condition(TERMINATING, "False", "NeverEstablished", "resource was never established")


def marked(definition: Obj, now: str) -> Obj | None:
    """The definition as its first deletion leaves it: with a time, the finalizer and a condition; None: it has them.

    Args:
        definition: stays as it is.
        now: the time, as objects have it.
    """
    meta = metadata(definition)
    if meta.get("deletionTimestamp"):
        return None
    finalizers = meta.get("finalizers") or []
    kept = finalizers if FINALIZER in finalizers else [*finalizers, FINALIZER]
    return with_condition(
        definition | {"metadata": meta | {"deletionTimestamp": now, "finalizers": kept}}, _PENDING, now
    )


def waits(definition: Obj) -> bool:
    """Is it marked, and not let go of yet?"""
    meta = metadata(definition)
    return bool(meta.get("deletionTimestamp")) and FINALIZER in (meta.get("finalizers") or ())


def terminates(definition: Obj) -> bool:
    """Are no more objects of its kind made?"""
    return bool(metadata(definition).get("deletionTimestamp")) or holds(definition, TERMINATING)


def begun(definition: Obj, now: str) -> Obj:
    """The definition while objects of its kind are being deleted."""
    return with_condition(definition, _IN_PROGRESS, now)


def is_emptied(definition: Obj) -> bool:
    """Are objects of its kind to be deleted before it goes?"""
    return not _overlaps(definition) and holds(definition, ESTABLISHED)


def undeleted(definition: Obj, errors: list[str], now: str) -> Obj:
    """The definition when objects cannot be deleted."""
    told = list(dict.fromkeys(errors))
    words = f"[{', '.join(told)}]" if len(told) > 1 else "".join(told)
    return _failed(definition, "InstanceDeletionFailed", f"could not issue all deletes: {words}", now)


def unconfirmed(definition: Obj, now: str, error: str = "context deadline exceeded") -> Obj:
    """The definition when objects of its kind are still there after a minute."""
    words = f"could not confirm zero CustomResources remaining: {error}"
    return _failed(definition, "InstanceDeletionCheck", words, now)


def released(definition: Obj, now: str) -> Obj:
    """The definition when nothing of its kind is left, or nothing was to be deleted: without the finalizer."""
    emptied = _COMPLETED if is_emptied(definition) else _BUILT_IN if _overlaps(definition) else _NEVER
    meta = metadata(definition)
    finalizers = [name for name in meta.get("finalizers") or () if name != FINALIZER]
    return with_condition(definition | {"metadata": meta | {"finalizers": finalizers}}, emptied, now)


def _failed(definition: Obj, reason: str, message: str, now: str) -> Obj:
    return with_condition(definition, condition(TERMINATING, "True", reason, message), now)


def _overlaps(definition: Obj) -> bool:
    spec = definition["spec"]
    return (spec.get("group"), (spec.get("names") or {}).get("plural")) in _STORED_BUILT_IN
