"""The types of values, and which type a schema wants (k8s.io/kube-openapi/pkg/validation/validate/type.go)."""

from typing import Any, NamedTuple

from apiserver.api.meta import Obj
from apiserver.api.schema.keywords import INT_OR_STRING
from apiserver.apiextensions.structural.numbers import is_whole

_KINDS: dict[type, tuple[str, str]] = {  # of a value other than null → its type, and its format
    str: ("string", ""),
    bool: ("boolean", ""),
    int: ("integer", "int64"),
    float: ("number", "float64"),
    list: ("array", ""),
    dict: ("object", ""),
}
_NUMBERS = frozenset({"integer", "number"})


class Unfit(NamedTuple):
    """A value of the wrong type: what it should be, and what it is."""

    wanted: str
    given: str


def types_of(schema: Obj) -> tuple[str, ...]:
    """The types that a value may have; none for any."""
    if schema.get(INT_OR_STRING):
        return ("integer", "string")
    return (schema["type"],) if schema.get("type") else ()


def unfit(value: Any, kinds: tuple[str, ...], form: str) -> Unfit | None:
    """What is wrong with the type of a value that is not null; the format is a part of it where there is one.

    What is a text or a list passes for any type with a format of texts; only the format itself then tells of texts.
    """
    if not kinds and not form:
        return None
    kind, own_form = _KINDS[type(value)]
    fits = kind in kinds or (
        "number" in kinds if kind == "integer" else kind == "number" and "integer" in kinds and is_whole(value)
    )
    if form and kind not in ("string", "array"):
        return None if fits else Unfit(form, own_form)
    if fits or (form and not _NUMBERS.intersection(kinds)):
        return None
    return Unfit(",".join(kinds), kind)
