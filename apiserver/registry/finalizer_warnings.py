"""Warnings for writers of custom objects about finalizer names that others may choose too.

Rules and texts are those of apiextensions-apiserver's pkg/registry/customresource/validator.go; built-in kinds refuse
such finalizers.
"""

from collections.abc import Iterator

from apiserver.api.golang.strings import quoted
from apiserver.api.meta import Obj, metadata
from apiserver.api.validation.names import qualified_name

_OTHERS = "to avoid accidental conflicts with other finalizer writers"

SINCE, PATHS_SINCE = 29, 32
"""The minor releases that began to warn, and to mention the path that a domain lacks."""

_STANDARD = frozenset(("orphan", "foregroundDeletion", "kubernetes"))


def finalizer_warnings(new: Obj, old: Obj | None, minor: int) -> tuple[str, ...]:
    """Return the warnings for added finalizers, in the order of their names.

    Args:
        new: a custom object as it will be.
        old: the object as it was, None at creation; its finalizers are not warned about again.
        minor: the minor version of the release, such as 34.
    """
    added = metadata(new).get("finalizers")
    if not added or minor < SINCE:
        return ()
    known = (metadata(old).get("finalizers") or ()) if old is not None else ()
    names = sorted({*added}.difference(known))
    return tuple(f"metadata.finalizers: {quoted(name)}: {text}" for name in names for text in _wrong(name, minor))


def _wrong(name: str, minor: int) -> Iterator[str]:
    yield from qualified_name(name)
    if "/" not in name and name not in _STANDARD:
        path = "including a path (/) " if "." in name and minor >= PATHS_SINCE else ""
        yield f"prefer a domain-qualified finalizer name {path}{_OTHERS}"
