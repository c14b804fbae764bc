"""Field labels: the fields of an object that selectors may name, as text, for kinds whose fields are plain paths."""

from collections.abc import Callable, Iterable

from apiserver.api.golang.values import go_text
from apiserver.api.meta import Obj

Fields = dict[str, str]


def at_paths(*paths: str) -> Callable[[Obj], Fields]:
    """Return a function that reads the values at paths of field names."""
    return lambda obj: at(obj, paths)


def at(obj: Obj, paths: Iterable[str]) -> Fields:
    """Return the values at paths of field names: path → text."""
    return {path: _text(obj, path) for path in paths}


def _text(obj: Obj, path: str) -> str:
    """Return the value at a path of field names as Go prints it, or "" if there is none."""
    value: object = obj
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return "" if value is None else go_text(value)
