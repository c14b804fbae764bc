"""Specs that repeat: what decoding, defaults and field sets made of one serves the next that is alike.

Pods are made from templates, so thousands of them differ in their metadata alone. A key is the JSON of a spec as
clients send it. For three POSTs of pods with the same spec {"containers": [{"name": "a", "image": "b"}]}:

    1st: unknown, its hash is noted; decoded, defaulted and checked as any body
    2nd: the hash is known, so find() gives the key; worked out once more, and keep() stores the outcome under the key
    3rd: found; the object gets a shallow copy of the stored spec and its field set, only its metadata is decoded
"""

from collections.abc import Mapping
from typing import NamedTuple

import orjson

from apiserver.api.managedfields.field_sets import FieldSet
from apiserver.api.meta import Obj

KEPT = 256
"""How many specs of a kind are kept; one takes less than 16 kB."""
LARGEST = 8192
"""Bytes of the largest spec that is kept."""


class CachedSpec(NamedTuple):
    """The outcome of a spec.

    Attributes:
        spec: it, decoded and with its defaults; shared, so never changed.
        colons: how many the spec had as it was sent, by which repeated fields are found.
        fields: the set of its fields, as managedFields has it below f:spec; shared, so never changed.
        written: the same as JSON, for objects that only write it.
    """

    spec: Obj
    colons: int
    fields: FieldSet
    written: orjson.Fragment

    @classmethod
    def of(cls, spec: bytes, key: bytes, fields: FieldSet) -> "CachedSpec":
        """Return the mould of a spec as JSON that came as `key`."""
        return cls(orjson.loads(spec), key.count(b":"), fields, orjson.Fragment(orjson.dumps(fields)))

    def copy(self) -> Obj:
        """The spec for one more object, whose fields may be set; what is below them is shared: copy what you change.

        A copy in depth would be as much work as all admission is.
        """
        return self.spec.copy()


class SpecCache:
    """The moulds of one kind. A spec gets one when it comes for the second time: one that never does costs little."""

    def __init__(self) -> None:
        self._specs: dict[bytes, CachedSpec] = {}
        self._once: dict[int, None] = {}

    def find(self, spec: Obj) -> tuple[bytes, CachedSpec | None]:
        """Return the key of a spec and its mould; the key is b"" where none is to be made (yet).

        Args:
            spec: as it was sent.
        """
        try:
            key = orjson.dumps(spec)
        except orjson.JSONEncodeError:  # nested too deeply: decoding will say so
            return b"", None
        cached_spec = self._specs.get(key)
        if cached_spec is not None or len(key) > LARGEST:
            return b"", cached_spec
        mark = hash(key)
        if mark in self._once:
            return key, None
        if len(self._once) >= KEPT:
            del self._once[next(iter(self._once))]
        self._once[mark] = None
        return b"", None

    def keep(self, key: bytes, cached_spec: CachedSpec) -> None:
        """Remember what became of a spec; the oldest is forgotten where there are too many."""
        if len(self._specs) >= KEPT:
            del self._specs[next(iter(self._specs))]
        self._specs[key] = cached_spec


def spec_caches_by_kind() -> Mapping[tuple[str, str, str], SpecCache]:
    """(group, version, kind) → its moulds, for kinds made by the thousand; BESIDE_SPEC has their other defaults."""
    return {("", "v1", "Pod"): SpecCache()}
