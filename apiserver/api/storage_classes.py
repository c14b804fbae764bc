"""Annotations and finalizers of storage that the server and the controllers share, and the default StorageClass."""

from collections.abc import Iterable

from apiserver.api.meta import Obj, name_of

DEFAULT_MARKS = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")
"""The annotations with the value "true" on a default class."""
CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"
"""The annotation for the class from before there was a field (BetaStorageClassAnnotation)."""
CLAIM_FINALIZER, VOLUME_FINALIZER = "kubernetes.io/pvc-protection", "kubernetes.io/pv-protection"
"""The finalizers of claims and volumes that are in use (PVCProtectionFinalizer, PVProtectionFinalizer)."""


def is_default(storage_class: Obj) -> bool:
    """Return whether a class is marked as the default (pkg/apis/storage/util IsDefaultAnnotation)."""
    annotations = storage_class["metadata"].get("annotations") or {}
    return any(annotations.get(mark) == "true" for mark in DEFAULT_MARKS)


def default_of(classes: Iterable[Obj]) -> Obj | None:
    """Return the default class or None: the newest of several, the first by name if equally old (GetDefaultClass)."""
    defaults = sorted(filter(is_default, classes), key=name_of)
    return max(defaults, key=lambda candidate: candidate["metadata"].get("creationTimestamp") or "", default=None)
