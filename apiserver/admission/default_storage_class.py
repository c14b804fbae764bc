"""DefaultStorageClass: sets the default class, if there is one, on claims that name none."""

from collections.abc import Iterable

import orjson

from apiserver.admission.latest import ComputedValue, RangeWatcher
from apiserver.api.meta import Obj, name_of
from apiserver.api.storage_classes import CLASS_ANNOTATION, DEFAULT_MARKS, default_of
from apiserver.registry.admission import CREATE, Attributes, Handles
from etcd.store import KeyValue

CLASSES = "/registry/storageclasses/"

_MARKS = tuple(mark.encode() for mark in DEFAULT_MARKS)


class DefaultStorageClass:
    """The plug-in of that name (plugin/pkg/admission/storage/storageclass/setdefault)."""

    name = "DefaultStorageClass"
    handles = (Handles(CREATE, frozenset((("", "PersistentVolumeClaim"),))),)

    def __init__(self, store: RangeWatcher) -> None:
        self._default = ComputedValue(store, CLASSES, _default)

    async def admit(self, attributes: Attributes) -> None:
        """Set the default class on a new claim; a claim that names "" keeps that."""
        obj = attributes.obj
        assert obj is not None
        annotations = obj["metadata"].get("annotations") or {}
        spec = obj.setdefault("spec", {})
        if (
            spec.get("storageClassName") is None
            and CLASS_ANNOTATION not in annotations
            and (name := self._default.get())
        ):
            spec["storageClassName"] = name


def _default(classes: Iterable[KeyValue]) -> str:
    # most classes are not the default, and are not parsed
    marked: list[Obj] = [orjson.loads(kv.value) for kv in classes if any(mark in kv.value for mark in _MARKS)]
    chosen = default_of(marked)
    return name_of(chosen) if chosen is not None else ""
