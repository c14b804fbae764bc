"""Pod templates: which are the same, and how one is marked with its hash."""

from collections.abc import Mapping
from typing import Any

from apiserver.api import quantity
from apiserver.api.meta import Obj
from apiserver.api.quantity import QuantityError

HASH_LABEL = "pod-template-hash"
"""apps.DefaultDeploymentUniqueLabelKey."""

_MAPS = frozenset(("annotations", "labels", "limits", "matchLabels", "nodeSelector", "overhead", "requests"))
"""Fields that are maps: empty is as good as absent, whereas an empty struct such as emptyDir says something."""
_QUANTITIES = frozenset(("limits", "overhead", "requests"))
_QUANTITY = frozenset(("divisor", "sizeLimit"))


def without_hash(template: Obj) -> Obj:
    """The template less its label pod-template-hash."""
    meta = template.get("metadata") or {}
    labels = meta.get("labels") or {}
    if HASH_LABEL not in labels:
        return template
    rest = {key: value for key, value in labels.items() if key != HASH_LABEL}
    return template | {"metadata": meta | {"labels": rest}}


def with_hash(template: Obj, value: str) -> Obj:
    """The template with a label pod-template-hash."""
    meta = template.get("metadata") or {}
    return template | {"metadata": meta | {"labels": (meta.get("labels") or {}) | {HASH_LABEL: value}}}


def selector_with_hash(selector: Obj, value: str) -> Obj:
    """The label selector narrowed to a pod-template-hash (labels.CloneSelectorAndAddLabel)."""
    return selector | {"matchLabels": (selector.get("matchLabels") or {}) | {HASH_LABEL: value}}


def is_same_template(one: Obj, other: Obj) -> bool:
    """Whether pods of both are the same but for pod-template-hash (deployment_util.go EqualIgnoreHash).

    The hash is never asked: it may have been computed of other bytes by another release.
    """
    one, other = without_hash(one), without_hash(other)
    return one == other or is_same({"metadata": {}} | one, {"metadata": {}} | other)


def is_same(one: Any, other: Any) -> bool:
    """Whether two parts of an object mean the same: no collection is an empty one, 1000m is 1 (equality.Semantic)."""
    if isinstance(one, dict) and isinstance(other, dict):
        return _is_same_struct(one, other)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(is_same, one, other))
    return bool(one == other)


def _is_same_struct(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    for name in one.keys() | other.keys():
        left, right = one.get(name), other.get(name)
        if left == right or (_is_nothing(name, left) and _is_nothing(name, right)):
            continue
        if name in _QUANTITIES and isinstance(left, dict) and isinstance(right, dict):
            same = left.keys() == right.keys() and all(_is_same_quantity(left[key], right[key]) for key in left)
        elif name in _QUANTITY:
            same = _is_same_quantity(left, right)
        else:
            same = is_same(left, right)
        if not same:
            return False
    return True


def _is_nothing(name: str, value: Any) -> bool:
    return value is None or value == [] or (name in _MAPS and value == {})


def _is_same_quantity(one: Any, other: Any) -> bool:
    if one is None or other is None:
        return one is other
    try:
        return quantity.of(one).nanos == quantity.of(other).nanos
    except QuantityError:
        return bool(one == other)
