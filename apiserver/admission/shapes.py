"""Checks the shape of objects, for plug-ins that run before schema validation."""

from collections.abc import Mapping
from typing import Any

from apiserver.api.meta import Obj


def ensure_spec(obj: Obj, old: Obj | None) -> None:
    """Give an object without a spec an empty one, so that missing fields are reported: upstream always has one.

    Args:
        obj: the object to write; changed in place.
        old: the stored object. If it has no spec either, this write is not to blame, and nothing is done.
    """
    if obj.get("spec") is None and (old is None or old.get("spec") is not None):
        obj["spec"] = {}


def has_shape(value: Any, shape: Any) -> bool:
    """Return whether a value has a shape; an absent or null value fits any.

    Args:
        value: a JSON value.
        shape: a type, a tuple of types, a list of one shape, or a mapping from fields to shapes, "*" for all others.
    """
    if value is None:
        return True
    match shape:
        case Mapping():
            usual = shape.get("*")
            return isinstance(value, dict) and all(
                has_shape(each, field_shape)
                for name, each in value.items()
                if (field_shape := shape.get(name, usual)) is not None
            )
        case [item]:
            return isinstance(value, list) and all(each is not None and has_shape(each, item) for each in value)
        case _:
            return isinstance(value, shape) and (shape is bool or not isinstance(value, bool))


TEXTS = {"*": str}
"""The shape of labels and annotations."""
REQUIREMENTS = [{"key": str, "operator": str, "values": [str]}]
SELECTOR: Mapping[str, Any] = {"matchLabels": TEXTS, "matchExpressions": REQUIREMENTS}
SHARE = (int, str)
"""The shape of a number or a percentage."""
