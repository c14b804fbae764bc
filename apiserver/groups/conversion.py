"""Conversion between versions of a kind whose fields differ; all other versions differ in apiVersion alone."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from apiserver.api.meta import Obj


@dataclass(frozen=True, slots=True)
class Conversion:
    """The conversions of a served version to and from the storage version.

    Attributes:
        alike: versions with the same fields: if one of them is the storage version, nothing is converted.
    """

    to_storage: Callable[[Obj], Obj]
    from_storage: Callable[[Obj], Obj]
    alike: frozenset[str] = frozenset()


def rename_fields(obj: Obj, names: Mapping[str, str]) -> Obj:
    """Return the object with its top-level fields renamed (old name → new name)."""
    return {names.get(key, key): value for key, value in obj.items()}


OLD_DEVICES = frozenset(("v1beta1", "v1alpha3"))
