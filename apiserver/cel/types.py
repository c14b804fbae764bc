"""Types: what the checker finds out about an expression before it is evaluated (cel/expr/checked.proto)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CelType:
    """A type.

    Attributes:
        kind: "bool", "list", …; "struct" is an object with declared fields, "opaque" a type known only by name, "param"
            a type that is not known yet.
        name: the name of a struct, an opaque type or a parameter; else empty.
        params: the parameters of lists, maps, opaque types, and of the type of a type.
    """

    kind: str
    name: str = ""
    params: tuple[CelType, ...] = ()

    def __str__(self) -> str:
        name = self.name or _SHOWN.get(self.kind, self.kind)
        return f"{name}({', '.join(map(str, self.params))})" if self.params else name

    @property
    def is_dyn(self) -> bool:
        """True if the type of the value is not known."""
        return self.kind == "dyn"

    @property
    def is_optional(self) -> bool:
        """True if the value may be missing."""
        return self.kind == "opaque" and self.name == "optional_type"


_SHOWN = {"null_type": "null", "error": "!error!"}

BOOL, INT, UINT, DOUBLE = CelType("bool"), CelType("int"), CelType("uint"), CelType("double")
STRING, BYTES, NULL, DYN, ERROR = map(CelType, ("string", "bytes", "null_type", "dyn", "error"))
TIMESTAMP, DURATION, TYPE = CelType("timestamp"), CelType("duration"), CelType("type")


def list_of(item: CelType) -> CelType:
    """Return the type of a list."""
    return CelType("list", params=(item,))


def map_of(key: CelType, value: CelType) -> CelType:
    """Return the type of a map."""
    return CelType("map", params=(key, value))


def optional_of(value: CelType) -> CelType:
    """Return the type of a value that may be missing."""
    return CelType("opaque", "optional_type", (value,))


def type_of(value: CelType) -> CelType:
    """Return the type of a type."""
    return CelType("type", params=(value,))


def struct(name: str) -> CelType:
    """Return the type of an object with declared fields."""
    return CelType("struct", name)


def param(name: str) -> CelType:
    """Return a type parameter, which is not known yet."""
    return CelType("param", name)


def unwrapped(kind: CelType) -> CelType:
    """Return the type without the optional around it."""
    return kind.params[0] if kind.is_optional else kind
