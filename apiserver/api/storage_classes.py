"""Which StorageClass is the default: for the server, which fills it in, and for whoever binds claims without one."""

from collections.abc import Iterable

from apiserver.api.meta import Obj, name_of

DEFAULT_MARKS = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")
"""The annotations that say "true" on a default class."""


def is_default(storage_class: Obj) -> bool:
    """Whether somebody made the class the default (pkg/apis/storage/util IsDefaultAnnotation)."""
    annotations = storage_class["metadata"].get("annotations") or {}
    return any(annotations.get(mark) == "true" for mark in DEFAULT_MARKS)


def default_of(classes: Iterable[Obj]) -> Obj | None:
    """The default among classes: of several the newest, of equally old ones the first by name (GetDefaultClass)."""
    found = sorted(filter(is_default, classes), key=name_of)
    return max(found, key=lambda each: each["metadata"].get("creationTimestamp") or "", default=None)
