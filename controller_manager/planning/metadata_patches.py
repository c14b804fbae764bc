"""What differs between the metadata of two pod templates, as a patch that brings a pod from one to the other.

(strategicpatch.CreateTwoWayMergePatch, of the fields that pods take from their template)
"""

from collections.abc import Mapping
from typing import Any

from apiserver.api.meta import Obj

_MAPS = ("labels", "annotations")
_FINALIZERS, _NO_FINALIZERS = "finalizers", "$deleteFromPrimitiveList/finalizers"


def metadata_patch(before: Obj, after: Obj) -> Obj:
    """The patch of a pod, empty where nothing differs; what a template no longer has is taken away."""
    changes: Obj = {name: found for name in _MAPS if (found := _changes(before.get(name), after.get(name)))}
    old, new = before.get(_FINALIZERS) or (), after.get(_FINALIZERS) or ()
    if added := [each for each in new if each not in old]:
        changes[_FINALIZERS] = added
    if gone := [each for each in old if each not in new]:
        changes[_NO_FINALIZERS] = gone
    return {"metadata": changes} if changes else {}


def _changes(before: Mapping[str, str] | None, after: Mapping[str, str] | None) -> dict[str, str | None]:
    old, new = before or {}, after or {}
    gone: dict[str, str | None] = dict.fromkeys(old.keys() - new.keys())
    return gone | {key: value for key, value in new.items() if old.get(key) != value}


def patched(pod: Obj, patch: Obj) -> Obj:
    """The pod with such a patch applied."""
    changes, meta = patch.get("metadata") or {}, dict[str, Any](pod["metadata"])
    for name in _MAPS:
        if told := changes.get(name):
            merged = (meta.get(name) or {}) | told
            meta[name] = {key: value for key, value in merged.items() if value is not None}
    added, gone = changes.get(_FINALIZERS) or (), changes.get(_NO_FINALIZERS) or ()
    if added or gone:
        kept = [each for each in meta.get(_FINALIZERS) or () if each not in gone]
        meta[_FINALIZERS] = kept + [each for each in added if each not in kept]
    return pod | {"metadata": meta}
