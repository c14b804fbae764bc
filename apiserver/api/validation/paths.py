"""Validation of the file paths that containers and volumes name."""

from apiserver.api import field
from apiserver.api.validation.combinators import FieldErrors


def no_backsteps(path: str) -> FieldErrors:
    """Return an error if a part of the path is ".."."""
    return (field.invalid("", path, "must not contain '..'"),) if ".." in path.split("/") else ()


def descending(path: str) -> FieldErrors:
    """Return the errors of a path that must be relative and lead down (validateLocalDescendingPath)."""
    absolute = (field.invalid("", path, "must be a relative path"),) if path[:1] == "/" else ()
    return (*absolute, *no_backsteps(path)) if absolute or ".." in path else ()


def local(path: str) -> FieldErrors:
    """Return the errors of a projected file's path, which must not start with ".." (ValidateLocalNonReservedPath)."""
    if not path.startswith("..") or path.startswith("../"):
        return descending(path)
    return (*descending(path), field.invalid("", path, "must not start with '..'"))
