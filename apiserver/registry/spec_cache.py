"""A cache of decoded specs: one that is decoded and defaulted serves all later objects with the same spec.

Pods are made from templates, so thousands of them differ in their metadata alone. A key is the JSON of a spec as
clients send it. For three POSTs of pods with the same spec {"containers": [{"name": "a", "image": "b"}]}:

    1st: unknown, its hash is noted; decoded, defaulted and checked as any body
    2nd: the hash is known, so find() gives the key; decoded once more, and keep() stores the outcome under the key
    3rd: found; the object gets a shallow copy of the stored spec and its field set, only its metadata is decoded
"""

from collections.abc import Mapping
from typing import NamedTuple

import orjson

from apiserver.api.managedfields.field_sets import EncodedFieldSet, FieldSet
from apiserver.api.meta import Obj

MAX_SPECS = 256
"""The number of specs that are kept of a kind.

One of 240 bytes takes about 10 kB, one of MAX_SPEC_BYTES 20 kB to 500 kB: the more and the smaller its parts, the more.
"""
MAX_SPEC_BYTES = 8192
"""The bytes of the largest spec that is kept."""


class CachedSpec(NamedTuple):
    """A decoded spec and its field set.

    Attributes:
        spec: the spec, decoded and with its defaults; shared, so never changed.
        colons: the number of colons in the spec as it was sent, by which repeated fields are found.
        fields: the set of its fields, as managedFields has it below f:spec.
    """

    spec: Obj
    colons: int
    fields: EncodedFieldSet

    @classmethod
    def of(cls, spec: bytes, key: bytes, fields: FieldSet) -> "CachedSpec":
        """Return the cached form of a spec given as JSON, which was sent as `key`."""
        return cls(orjson.loads(spec), key.count(b":"), EncodedFieldSet.of(fields))

    def copy(self) -> Obj:
        """Return a shallow copy of the spec: its fields may be set, but what is below them is shared, so copy first.

        A deep copy would take as long as all of admission.
        """
        return self.spec.copy()


class SpecCache:
    """The cached specs of one kind. A spec is cached when it comes for the second time: a unique one costs little."""

    def __init__(self) -> None:
        self._specs: dict[bytes, CachedSpec] = {}
        self._seen_hashes: dict[int, None] = {}

    def find(self, spec: Obj) -> tuple[bytes, CachedSpec | None]:
        """Return the key under which to cache a spec, b"" if it is not to be cached (yet), and its cached form, if any.

        Args:
            spec: the spec as it was sent.
        """
        try:
            key = orjson.dumps(spec)
        except orjson.JSONEncodeError:  # nested too deeply: decoding will say so
            return b"", None
        cached_spec = self._specs.get(key)
        if cached_spec is not None or len(key) > MAX_SPEC_BYTES:
            return b"", cached_spec
        mark = hash(key)
        if mark in self._seen_hashes:
            return key, None
        if len(self._seen_hashes) >= MAX_SPECS:
            del self._seen_hashes[next(iter(self._seen_hashes))]
        self._seen_hashes[mark] = None
        return b"", None

    def keep(self, key: bytes, cached_spec: CachedSpec) -> None:
        """Cache a spec under its key; of too many, the one cached first is dropped, even if it was found since."""
        if len(self._specs) >= MAX_SPECS:
            del self._specs[next(iter(self._specs))]
        self._specs[key] = cached_spec


def spec_caches_by_kind() -> Mapping[tuple[str, str, str], SpecCache]:
    """Return empty caches by (group, version, kind) for kinds created by the thousand, which BESIDE_SPEC knows too."""
    return {("", "v1", "Pod"): SpecCache()}
