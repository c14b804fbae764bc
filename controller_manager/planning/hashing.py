"""Hashes that end up in names and labels: FNV of 32 bits, and its digits written without vowels."""

import orjson

from apiserver.api.meta import Obj

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
