"""From client-side to server-side apply: the annotation of `kubectl apply` (managedfields/internal/lastapplied*.go).

What the annotation says that kubectl applied on the client is no conflict for kubectl on the server; and as long as an
object has the annotation, it says what kubectl applied last, so that the client can take over again.
"""

from collections.abc import Mapping

import orjson

from apiserver.api.golang.values import go_json
from apiserver.api.managedfields.field_sets import MEMBER, FieldSet, difference, union
from apiserver.api.managedfields.managed_fields import ManagerIdentifier
from apiserver.api.managedfields.typed_validation import TypedValueError, check_types
from apiserver.api.managedfields.typed_values import to_field_set
from apiserver.api.managedfields.value_types import Struct
from apiserver.api.meta import Obj, metadata

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
KUBECTL = "kubectl"
"""The only manager to which these rules apply."""
MAX_ANNOTATIONS_BYTES = 256 * 1024
"""The most bytes of an object's annotations (TotalAnnotationSizeLimitB)."""


def last_applied(obj: Obj) -> str:
    """Return the annotation, "" if there is none."""
    value = (metadata(obj).get("annotations") or {}).get(LAST_APPLIED)
    return value if isinstance(value, str) else ""


def conflicts_left(
    live: Obj, kind: Struct, conflicts: Mapping[ManagerIdentifier, FieldSet]
) -> dict[ManagerIdentifier, FieldSet]:
    """Return the conflicts without those in fields that the client applied and nobody has changed since."""
    allowed = _allowed(live, kind)
    left = {owner: difference(fields, allowed) for owner, fields in conflicts.items()}
    return {owner: fields for owner, fields in left.items() if fields}


def _allowed(live: Obj, kind: Struct) -> FieldSet:
    """Return the set of the annotation's fields that are still as it says (allowedConflictsFromLastApplied)."""
    try:
        applied = orjson.loads(last_applied(live))
        if not isinstance(applied, dict) or applied.get("apiVersion") != live["apiVersion"]:
            return MEMBER
        check_types(kind, applied)
    except (orjson.JSONDecodeError, TypedValueError):
        return MEMBER
    changes = kind.changes(applied, live)
    return difference(to_field_set(kind, applied), union(changes.changed, changes.removed))


def with_last_applied(obj: Obj, config: Obj) -> Obj:
    """Return an object that has the annotation with the configuration as its new value (lastAppliedUpdater)."""
    meta = metadata(obj)
    annotations = meta["annotations"] | {LAST_APPLIED: _annotation(config)}
    if sum(len(key.encode()) + len(value.encode()) for key, value in annotations.items()) > MAX_ANNOTATIONS_BYTES:
        del annotations[LAST_APPLIED]
    return obj | {"metadata": meta | {"annotations": annotations}}


def _annotation(config: Obj) -> str:
    meta = metadata(config)
    if meta.get("annotations"):
        annotations = {key: value for key, value in meta["annotations"].items() if key != LAST_APPLIED}
        config = config | {"metadata": meta | {"annotations": annotations}}
    return f"{go_json(config)}\n"
