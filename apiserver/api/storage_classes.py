"""Words of storage that the server and the controllers share: which class is the default, and what holds claims."""

from collections.abc import Iterable

from apiserver.api.meta import Obj, name_of

DEFAULT_MARKS = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")
"""The annotations that say "true" on a default class."""
CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"
"""The annotation that named the class before there was a field (BetaStorageClassAnnotation)."""
CLAIM_FINALIZER, VOLUME_FINALIZER = "kubernetes.io/pvc-protection", "kubernetes.io/pv-protection"
"""What holds claims and volumes while they are in use (PVCProtectionFinalizer, PVProtectionFinalizer)."""


def is_default(storage_class: Obj) -> bool:
    """Whether somebody made the class the default (pkg/apis/storage/util IsDefaultAnnotation)."""
    annotations = storage_class["metadata"].get("annotations") or {}
    return any(annotations.get(mark) == "true" for mark in DEFAULT_MARKS)


def default_of(classes: Iterable[Obj]) -> Obj | None:
    """The default among classes: of several the newest, of equally old ones the first by name (GetDefaultClass)."""
    found = sorted(filter(is_default, classes), key=name_of)
    return max(found, key=lambda each: each["metadata"].get("creationTimestamp") or "", default=None)
