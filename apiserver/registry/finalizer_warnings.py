"""What the writer of a custom object is warned of: finalizers whose names others may choose too.

The rules and words are those of apiextensions-apiserver's pkg/registry/customresource/validator.go; finalizers of
built-in kinds are refused where those of custom ones are warned of.
"""

from collections.abc import Iterator

from apiserver.api.golang.strings import quoted
from apiserver.api.meta import Obj, metadata
from apiserver.api.validation.names import qualified_name

_OTHERS = "to avoid accidental conflicts with other finalizer writers"

SINCE, PATHS_SINCE = 29, 32
"""The releases that began to warn, and to tell of the path that a domain lacks."""

_STANDARD = frozenset(("orphan", "foregroundDeletion", "kubernetes"))


def finalizer_warnings(new: Obj, old: Obj | None, minor: int) -> tuple[str, ...]:
    """What to warn of, in the order of the names.

    Args:
        new: a custom object as it will be.
        old: as it was, None for a new one; nothing is told of the finalizers that it has already.
        minor: of the release, such as 34.
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
