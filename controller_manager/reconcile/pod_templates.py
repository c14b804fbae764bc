"""Pod templates: which are the same, and the hash by which one is marked (FNV of 32 bits, written without vowels)."""

from collections.abc import Mapping
from typing import Any

import orjson

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


_OFFSET, _PRIME, _MASK = 0x811C9DC5, 0x01000193, 0xFFFFFFFF
_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_COLLISION_BYTES = 8


def fnv32(data: bytes) -> int:
    """FNV-1 of 32 bits (Go's hash/fnv New32), as names of ControllerRevisions have it."""
    found = _OFFSET
    for byte in data:
        found = (found * _PRIME & _MASK) ^ byte
    return found


def fnv32a(data: bytes) -> int:
    """FNV-1a of 32 bits (Go's hash/fnv New32a), as pod-template-hash has it."""
    found = _OFFSET
    for byte in data:
        found = (found ^ byte) * _PRIME & _MASK
    return found


def safe_encoded(text: str) -> str:
    """The text in letters and digits that spell no bad words: 27 of them, one for each byte (rand.SafeEncodeString)."""
    return "".join(_ALPHABET[byte % len(_ALPHABET)] for byte in text.encode())


def template_hash(template: Obj, collisions: int | None = None) -> str:
    """The value of pod-template-hash (controller_utils.go ComputeHash).

    Upstream hashes a print of its Go structs, so its values change with its types and cannot be had elsewhere; here it
    is the JSON of the template, its keys in order.

    Args:
        template: the pod template with its defaults, without the label.
        collisions: status.collisionCount, None where there is none: that is another hash than that of 0.
    """
    data = orjson.dumps(template, option=orjson.OPT_SORT_KEYS)
    if collisions is not None:
        data += collisions.to_bytes(4, "little").ljust(_COLLISION_BYTES, b"\0")
    return safe_encoded(str(fnv32a(data)))
