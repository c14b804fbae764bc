"""Whether an object is what a schema says, for plug-ins that look into it before the schema does."""

from collections.abc import Mapping
from typing import Any

from apiserver.api.meta import Obj


def ensure_spec(obj: Obj, old: Obj | None) -> None:
    """Give an object without a spec an empty one, so that what it lacks is told of: upstream's types have one always.

    Args:
        obj: what is written; changed in place.
        old: what is stored. If that has none either, it is not this write's fault, and nothing is done.
    """
    if obj.get("spec") is None and (old is None or old.get("spec") is not None):
        obj["spec"] = {}


def fits(value: Any, shape: Any) -> bool:
    """Return whether a value has a shape; what is absent or null fits any.

    Args:
        value: some JSON.
        shape: a type, several, a list of one shape, or an object's fields with theirs, "*" being all others.
    """
    if value is None:
        return True
    match shape:
        case Mapping():
            usual = shape.get("*")
            return isinstance(value, dict) and all(
                fits(each, wanted) for name, each in value.items() if (wanted := shape.get(name, usual)) is not None
            )
        case [item]:
            return isinstance(value, list) and all(each is not None and fits(each, item) for each in value)
        case _:
            return isinstance(value, shape) and (shape is bool or not isinstance(value, bool))


TEXTS = {"*": str}
"""Labels, annotations."""
REQUIREMENTS = [{"key": str, "operator": str, "values": [str]}]
SELECTOR: Mapping[str, Any] = {"matchLabels": TEXTS, "matchExpressions": REQUIREMENTS}
SHARE = (int, str)
"""A number or a percentage."""
