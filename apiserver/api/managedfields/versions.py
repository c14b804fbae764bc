"""The versions of a kind: each owner's fields are named in the version that the owner wrote."""

from typing import Protocol

from apiserver.api.managedfields.value_types import Changes, Struct
from apiserver.api.meta import Obj


class Versions(Protocol):
    """The versions of a kind."""

    def kind(self, api_version: str) -> Struct | None:
        """Return the kind in a version, None if there is no such version (any longer): its entries are dropped.

        Raises:
            TypedValueError: there is no such version, and upstream cannot go on without it.
        """

    def convert(self, obj: Obj, api_version: str) -> Obj:
        """Return an object in another version, which there is; the argument does not change.

        Raises:
            TypedValueError: the outcome does not fit the version's schema.
        """


def changes_in(versions: Versions, api_version: str, old: Obj, new: Obj) -> Changes | None:
    """Return the differences between two objects in a version, None if there is no such version.

    Raises:
        TypedValueError: one of the objects does not convert to it.
    """
    kind = versions.kind(api_version)
    if kind is None:
        return None
    old, new = (obj if obj["apiVersion"] == api_version else versions.convert(obj, api_version) for obj in (old, new))
    return kind.changes(old, new)
