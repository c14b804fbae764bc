"""Fields deep in an object, at simple paths such as ".spec.replicas" (apimachinery's unstructured/helpers.go).

Definitions call them JSONPath, but they are not: every name between two dots is a key, even one with brackets.
"""

from dataclasses import dataclass
from typing import Any

from apiserver.api.golang.values import go_text, go_type
from apiserver.api.meta import Obj

_A_MAP = "map[string]interface{}"
_MISSING: Any = object()


class NestedFieldError(ValueError):
    """The object's structure does not match the path; the message is upstream's."""


@dataclass(frozen=True, slots=True)
class NestedField:
    """A field at a path.

    Attributes:
        path: the path as written: ".spec.replicas", with or without a leading dot.
        names: the keys from the outside in.
    """

    path: str
    names: tuple[str, ...]

    @classmethod
    def parse(cls, path: str) -> "NestedField":
        """Return the field at a path."""
        return cls(path, tuple(path.removeprefix(".").split(".")))

    def read_int64(self, obj: Obj) -> int | None:
        """Return the integer in the field, or None if the field is absent (NestedInt64).

        Raises:
            NestedFieldError: the field has another value, such as null or 1.0.
        """
        value: int | None = self._read_typed(obj, "int64")
        return value

    def read_string(self, obj: Obj) -> str | None:
        """Return the string in the field, or None if the field is absent (NestedString).

        Raises:
            NestedFieldError: the field has another value, such as null.
        """
        value: str | None = self._read_typed(obj, "string")
        return value

    def set_value(self, obj: Obj, value: Any) -> Obj:
        """Return a copy of the object with a value in the field; missing maps on the path are added (SetNestedField).

        Raises:
            NestedFieldError: something on the path is no map, such as null.
        """
        changed = parent = obj.copy()
        for depth, name in enumerate(self.names[:-1], 1):
            inner = parent.get(name, {})
            if type(inner) is not dict:
                raise NestedFieldError(f"value cannot be set because {self._path_prefix(depth)} is not a {_A_MAP}")
            parent[name] = inner.copy()
            parent = parent[name]
        parent[self.names[-1]] = value
        return changed

    def _read_typed(self, obj: Obj, expected: str) -> Any:
        value = self._find(obj)
        if value is _MISSING:
            return None
        if go_type(value) != expected:
            raise self._unexpected(len(self.names), value, expected)
        return value

    def _find(self, obj: Obj) -> Any:
        value: Any = obj
        for depth, name in enumerate(self.names, 1):
            if value is None:
                return _MISSING
            if type(value) is not dict:
                raise self._unexpected(depth, value, _A_MAP)
            if name not in value:
                return _MISSING
            value = value[name]
        return value

    def _unexpected(self, depth: int, value: Any, expected: str) -> NestedFieldError:
        return NestedFieldError(
            f"{self._path_prefix(depth)} accessor error: {go_text(value)} is of the type {go_type(value)}, "
            f"expected {expected}"
        )

    def _path_prefix(self, depth: int) -> str:
        return f".{'.'.join(self.names[:depth])}"
