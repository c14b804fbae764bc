"""The types of values, and which type a schema requires (k8s.io/kube-openapi/pkg/validation/validate/type.go)."""

from typing import Any, NamedTuple

from apiserver.api.meta import Obj
from apiserver.api.schema.keywords import INT_OR_STRING
from apiserver.apiextensions.structural.numbers import is_whole

_KINDS: dict[type, tuple[str, str]] = {  # type of a value other than null → its JSON type, and its format
    str: ("string", ""),
    bool: ("boolean", ""),
    int: ("integer", "int64"),
    float: ("number", "float64"),
    list: ("array", ""),
    dict: ("object", ""),
}
_NUMBERS = frozenset({"integer", "number"})


class TypeMismatch(NamedTuple):
    """A value of the wrong type: the required type, and its own."""

    expected: str
    given: str


def types_of(schema: Obj) -> tuple[str, ...]:
    """Return the types that a value may have; empty for any type."""
    if schema.get(INT_OR_STRING):
        return ("integer", "string")
    return (schema["type"],) if schema.get("type") else ()


def type_mismatch(value: Any, kinds: tuple[str, ...], form: str) -> TypeMismatch | None:
    """Return the type error of a value that is not null, None if it fits; a format is part of the type if there is one.

    A string or a list fits any type with a format of strings; only the format itself then checks strings.
    """
    if not kinds and not form:
        return None
    kind, own_form = _KINDS[type(value)]
    fits = kind in kinds or (
        "number" in kinds if kind == "integer" else kind == "number" and "integer" in kinds and is_whole(value)
    )
    if form and kind not in ("string", "array"):
        return None if fits else TypeMismatch(form, own_form)
    if fits or (form and not _NUMBERS.intersection(kinds)):
        return None
    return TypeMismatch(",".join(kinds), kind)
