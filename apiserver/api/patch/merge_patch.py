"""JSON merge patch (RFC 7386) as kube-apiserver applies it (github.com/evanphx/json-patch v4, merge.go)."""

from typing import Any

from apiserver.api.errors import bad_request
from apiserver.api.meta import Obj

TOO_DEEP = "error decoding patch: exceeded max depth"


def apply(doc: Obj, patch: Any) -> Obj:
    """Return the document merged with the patch: null removes, objects merge, everything else replaces.

    Args:
        doc: the object in the version of the request; it stays as it is.
        patch: the decoded body.

    Raises:
        ApiError: 400 if the body is no object, or is nested too deep.
    """
    if patch is None:
        raise bad_request("Invalid JSON Patch")
    if not isinstance(patch, dict):
        kind = {str: "string", bool: "bool", list: "array"}.get(type(patch), "number")
        raise bad_request(
            f"error decoding patch: json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}"
        )
    try:
        return _merged(doc, patch)
    except RecursionError:
        raise bad_request(TOO_DEEP) from None


def _merged(doc: Obj, patch: Obj) -> Obj:
    merged = doc.copy()
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        elif not isinstance(value, dict):
            merged[key] = _pruned(value)
        else:
            current = merged.get(key)
            merged[key] = _merged(current, value) if isinstance(current, dict) else _pruned(value)
    return merged


def _pruned(value: Any) -> Any:
    """Return the value without the nulls in its objects; nulls in its lists stay."""
    if isinstance(value, dict):
        return {key: _pruned(inner) for key, inner in value.items() if inner is not None}
    if isinstance(value, list):
        return [_pruned(inner) for inner in value]
    return value
