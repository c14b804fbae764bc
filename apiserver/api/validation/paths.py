"""Paths of files that containers and volumes name."""

from apiserver.api import field
from apiserver.api.validation.combinators import Found


def no_backsteps(path: str) -> Found:
    """A check that no part of the path is ".."."""
    return (field.invalid("", path, "must not contain '..'"),) if ".." in path.split("/") else ()


def descending(path: str) -> Found:
    """A check that the path leads down from where it starts (validateLocalDescendingPath)."""
    absolute = (field.invalid("", path, "must be a relative path"),) if path[:1] == "/" else ()
    return (*absolute, *no_backsteps(path)) if absolute or ".." in path else ()


def local(path: str) -> Found:
    """The same, for a name that a volume projects: it may not start with ".." (ValidateLocalNonReservedPath)."""
    if not path.startswith("..") or path.startswith("../"):
        return descending(path)
    return (*descending(path), field.invalid("", path, "must not start with '..'"))
