"""Pod templates: equality, and the hash that identifies one (32-bit FNV, written without vowels)."""

from collections.abc import Mapping
from typing import Any

import orjson

from apiserver.api import quantity
from apiserver.api.meta import Obj
from apiserver.api.quantity import QuantityError

HASH_LABEL = "pod-template-hash"
"""apps.DefaultDeploymentUniqueLabelKey."""

_MAPS = frozenset(("annotations", "labels", "limits", "matchLabels", "nodeSelector", "overhead", "requests"))
"""Fields that are maps: empty and absent are equal, whereas an empty struct such as emptyDir has a meaning."""
_QUANTITIES = frozenset(("limits", "overhead", "requests"))
_QUANTITY = frozenset(("divisor", "sizeLimit"))


def without_hash(template: Obj) -> Obj:
    """Return the template without its label pod-template-hash."""
    meta = template.get("metadata") or {}
    labels = meta.get("labels") or {}
    if HASH_LABEL not in labels:
        return template
    rest = {key: value for key, value in labels.items() if key != HASH_LABEL}
    return template | {"metadata": meta | {"labels": rest}}


def with_hash(template: Obj, value: str) -> Obj:
    """Return the template with the label pod-template-hash."""
    meta = template.get("metadata") or {}
    return template | {"metadata": meta | {"labels": (meta.get("labels") or {}) | {HASH_LABEL: value}}}


def selector_with_hash(selector: Obj, value: str) -> Obj:
    """Return the label selector narrowed to a pod-template-hash (labels.CloneSelectorAndAddLabel)."""
    return selector | {"matchLabels": (selector.get("matchLabels") or {}) | {HASH_LABEL: value}}


def is_same_template(one: Obj, other: Obj) -> bool:
    """Return whether two templates are equal except for pod-template-hash (deployment_util.go EqualIgnoreHash).

    The hash itself is not compared: another release may have computed it from other bytes.
    """
    one, other = without_hash(one), without_hash(other)
    return one == other or is_same({"metadata": {}} | one, {"metadata": {}} | other)


def is_same(one: Any, other: Any) -> bool:
    """Return whether two values are semantically equal: absent equals empty, 1000m equals 1 (equality.Semantic)."""
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
    """Return the 32-bit FNV-1 hash (Go's hash/fnv New32), used in names of ControllerRevisions."""
    hash_ = _OFFSET
    for byte in data:
        hash_ = (hash_ * _PRIME & _MASK) ^ byte
    return hash_


def fnv32a(data: bytes) -> int:
    """Return the 32-bit FNV-1a hash (Go's hash/fnv New32a), used in pod-template-hash."""
    hash_ = _OFFSET
    for byte in data:
        hash_ = (hash_ ^ byte) * _PRIME & _MASK
    return hash_


def safe_encoded(text: str) -> str:
    """Return the text in an alphabet of 27 characters without vowels, one for each byte (rand.SafeEncodeString)."""
    return "".join(_ALPHABET[byte % len(_ALPHABET)] for byte in text.encode())


def template_hash(template: Obj, collisions: int | None = None) -> str:
    """Return the value of pod-template-hash (controller_utils.go ComputeHash).

    Upstream hashes a dump of its Go structs, so its values change with its types and cannot be reproduced; here the
    JSON of the template with sorted keys is hashed.

    Args:
        template: the pod template with its defaults, without the label.
        collisions: status.collisionCount, or None if it is not set, which gives another hash than 0.
    """
    data = orjson.dumps(template, option=orjson.OPT_SORT_KEYS)
    if collisions is not None:
        data += collisions.to_bytes(4, "little").ljust(_COLLISION_BYTES, b"\0")
    return safe_encoded(str(fnv32a(data)))
