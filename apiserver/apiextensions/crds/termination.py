"""The termination of a definition: it is removed once all objects of its kind are gone, and reports its progress.

A deletion marks the definition first (customresourcedefinition/etcd.go's Delete). Then a controller empties it
(apiextensions-apiserver/pkg/controller/finalizer): it sets the condition, deletes the objects in each namespace, checks
every five seconds for a minute whether all are gone, and removes the finalizer; it reports a failure, and tries again.
"""

from apiserver.api.meta import Obj, metadata
from apiserver.apiextensions.crds.conditions import condition, is_condition_true, with_condition
from apiserver.apiextensions.crds.names import ESTABLISHED

FINALIZER = "customresourcecleanup.apiextensions.k8s.io"
"""The finalizer that keeps a definition while objects of its kind may exist."""

TERMINATING = "Terminating"
NO_CREATION = "create not allowed while custom resource definition is terminating"
"""Why objects of its kind can no longer be created (customresource_handler.go)."""
FORBIDDEN_SINCE = 34
"""The first minor release whose answer to a creation is a 403 of admission; before, it is a 405 to any POST."""
CHECK_INTERVAL, CHECK_TIMEOUT = 5.0, 60.0
"""Seconds between two checks whether all objects are gone, and until the controller starts over."""

_STORED_BUILT_IN = {("apiregistration.k8s.io", "apiservices"), ("apiextensions.k8s.io", "customresourcedefinitions")}
"""Built-in kinds that are stored where custom resources of their names would be."""

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


def mark_for_deletion(definition: Obj, now: str) -> Obj | None:
    """Return the definition after its first delete: with a time, the finalizer and a condition; None if it has them.

    Args:
        definition: it is not changed.
        now: the current time, in the format of objects.
    """
    meta = metadata(definition)
    if meta.get("deletionTimestamp"):
        return None
    finalizers = meta.get("finalizers") or []
    kept = finalizers if FINALIZER in finalizers else [*finalizers, FINALIZER]
    return with_condition(
        definition | {"metadata": meta | {"deletionTimestamp": now, "finalizers": kept}}, _PENDING, now
    )


def awaits_finalizer(definition: Obj) -> bool:
    """Return True if the definition is marked for deletion and still has the finalizer."""
    meta = metadata(definition)
    return bool(meta.get("deletionTimestamp")) and FINALIZER in (meta.get("finalizers") or ())


def is_terminating(definition: Obj) -> bool:
    """Return True if no more objects of its kind can be created."""
    return bool(metadata(definition).get("deletionTimestamp")) or is_condition_true(definition, TERMINATING)


def with_deletion_in_progress(definition: Obj, now: str) -> Obj:
    """Return the definition while objects of its kind are being deleted."""
    return with_condition(definition, _IN_PROGRESS, now)


def must_delete_instances(definition: Obj) -> bool:
    """Return True if objects of its kind have to be deleted before it is removed."""
    return not _overlaps(definition) and is_condition_true(definition, ESTABLISHED)


def with_deletion_failed(definition: Obj, errors: list[str], now: str) -> Obj:
    """Return the definition when objects cannot be deleted."""
    messages = list(dict.fromkeys(errors))
    text = f"[{', '.join(messages)}]" if len(messages) > 1 else "".join(messages)
    return _with_failure(definition, "InstanceDeletionFailed", f"could not issue all deletes: {text}", now)


def with_deletion_unconfirmed(definition: Obj, now: str, error: str = "context deadline exceeded") -> Obj:
    """Return the definition when objects of its kind still exist after a minute."""
    message = f"could not confirm zero CustomResources remaining: {error}"
    return _with_failure(definition, "InstanceDeletionCheck", message, now)


def without_finalizer(definition: Obj, now: str) -> Obj:
    """Return the definition without the finalizer, when no objects are left or none had to be deleted."""
    emptied = _COMPLETED if must_delete_instances(definition) else _BUILT_IN if _overlaps(definition) else _NEVER
    meta = metadata(definition)
    finalizers = [name for name in meta.get("finalizers") or () if name != FINALIZER]
    return with_condition(definition | {"metadata": meta | {"finalizers": finalizers}}, emptied, now)


def _with_failure(definition: Obj, reason: str, message: str, now: str) -> Obj:
    return with_condition(definition, condition(TERMINATING, "True", reason, message), now)


def _overlaps(definition: Obj) -> bool:
    spec = definition["spec"]
    return (spec.get("group"), (spec.get("names") or {}).get("plural")) in _STORED_BUILT_IN
