"""Fields deep in an object, at simple paths such as ".spec.replicas" (apimachinery's unstructured/helpers.go).

These are not JSONPath, though definitions call them so: every name between two dots is a key, brackets and all.
"""

from dataclasses import dataclass
from typing import Any

from apiserver.api.golang.values import go_text, go_type
from apiserver.api.meta import Obj

_A_MAP = "map[string]interface{}"
_MISSING: Any = object()


class NestedFieldError(ValueError):
    """The object is of another shape than the path; the message is upstream's."""


@dataclass(frozen=True, slots=True)
class NestedField:
    """A place in objects.

    Attributes:
        path: as it was given: ".spec.replicas", with or without the dot at its beginning.
        names: the keys from the outside in.
    """

    path: str
    names: tuple[str, ...]

    @classmethod
    def at(cls, path: str) -> "NestedField":
        """The place at a path."""
        return cls(path, tuple(path.removeprefix(".").split(".")))

    def integer(self, obj: Obj) -> int | None:
        """The whole number there, None where nothing is there (NestedInt64).

        Raises:
            NestedFieldError: there is something else, such as null or 1.0.
        """
        found: int | None = self._typed(obj, "int64")
        return found

    def text(self, obj: Obj) -> str | None:
        """The string there, None where nothing is there (NestedString).

        Raises:
            NestedFieldError: there is something else, such as null.
        """
        found: str | None = self._typed(obj, "string")
        return found

    def put(self, obj: Obj, value: Any) -> Obj:
        """A copy of the object with a value there; maps that are missing on the way are made (SetNestedField).

        Raises:
            NestedFieldError: something on the way is no map, such as null.
        """
        changed = below = obj.copy()
        for depth, name in enumerate(self.names[:-1], 1):
            inner = below.get(name, {})
            if type(inner) is not dict:
                raise NestedFieldError(f"value cannot be set because {self._shown(depth)} is not a {_A_MAP}")
            below[name] = inner.copy()
            below = below[name]
        below[self.names[-1]] = value
        return changed

    def _typed(self, obj: Obj, wanted: str) -> Any:
        found = self._find(obj)
        if found is _MISSING:
            return None
        if go_type(found) != wanted:
            raise self._unexpected(len(self.names), found, wanted)
        return found

    def _find(self, obj: Obj) -> Any:
        found: Any = obj
        for depth, name in enumerate(self.names, 1):
            if found is None:
                return _MISSING
            if type(found) is not dict:
                raise self._unexpected(depth, found, _A_MAP)
            if name not in found:
                return _MISSING
            found = found[name]
        return found

    def _unexpected(self, depth: int, found: Any, wanted: str) -> NestedFieldError:
        return NestedFieldError(
            f"{self._shown(depth)} accessor error: {go_text(found)} is of the type {go_type(found)}, expected {wanted}"
        )

    def _shown(self, depth: int) -> str:
        return f".{'.'.join(self.names[:depth])}"
