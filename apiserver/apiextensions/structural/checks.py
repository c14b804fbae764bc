"""A schema compiled to a check that quickly says whether a value is valid.

A value that a check refuses is validated again by `full_validation`, which says what is wrong. Most fields of most
objects are strings and bools without further constraints; their check is only their type, compared in place.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from apiserver.api.formats import format_of, known_format
from apiserver.api.golang.regexp import compile_regexp
from apiserver.api.meta import Obj
from apiserver.api.schema.keywords import (
    INT_OR_STRING,
    INT_OR_STRING_TYPES,
    has_values,
    items,
    properties,
    takes_null,
    values,
)
from apiserver.apiextensions.structural.equality import is_one_of, key_of
from apiserver.apiextensions.structural.numbers import float_bounds, in_go, int_bounds, number_errors
from apiserver.apiextensions.structural.types import type_mismatch, types_of

Check = Callable[[Any], bool]
TypeCheck = Check | type
"""A check, or just the type that a value must have."""

_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "boolean": (bool,),
    "integer": (int, float),
    "number": (int, float),
    "array": (list,),
    "object": (dict,),
}
_ALL = (str, bool, int, float, list, dict)
_LIMITS = ("minimum", "maximum", "multipleOf")


def check_of(schema: Obj, minor: int) -> Check:
    """Return the check of a schema.

    Args:
        schema: a structural schema, or a part of one.
        minor: the minor release whose rules apply.
    """
    return _as_check(_type_check(schema, minor))


def _as_check(look: TypeCheck) -> Check:
    return (lambda value: value.__class__ is look) if isinstance(look, type) else look


def _type_check(schema: Obj, minor: int) -> TypeCheck:
    form = format_of(schema, minor)
    junctors = [*_junctors(schema, minor)]  # compiled once for all types: they are nested
    table = {kind: _all([*_tests(schema, kind, form, minor), *junctors]) for kind in _types(schema, form)}
    if (takes_null(schema) or not types_of(schema)) and not schema.get("enum"):
        table[type(None)] = None
    if len(table) != 1:
        return _by_type(table)
    ((kind, test),) = table.items()
    return kind if test is None else _of_type(kind, test)


def _all(tests: list[Check]) -> Check | None:
    """Return one test that combines all of them; None for an empty list."""
    if len(tests) < 2:
        return tests[0] if tests else None

    def check(value: Any) -> bool:
        for test in tests:  # noqa: SIM110 - a generator costs more than the tests
            if not test(value):
                return False
        return True

    return check


def _of_type(kind: type, test: Check) -> Check:
    return lambda value: value.__class__ is kind and test(value)


def _by_type(table: Mapping[type, Check | None]) -> Check:
    def check(value: Any) -> bool:
        test = table.get(value.__class__, _never)
        return test is None or test(value)

    return check


def _types(schema: Obj, form: str) -> Iterator[type]:
    """Yield the types that a valid value can have."""
    kinds = types_of(schema)
    if not kinds and not form:
        yield from _ALL
        return
    possible = dict.fromkeys(kind for name in kinds for kind in _TYPES.get(name, ()))
    for kind in (*possible, *(extra for extra in (str, list) if form and extra not in possible)):
        if kind is float or type_mismatch(kind(), kinds, form) is None:
            yield kind


def _never(_value: Any) -> bool:
    return False


def _tests(schema: Obj, kind: type, form: str, minor: int) -> Iterator[Check]:
    """Yield the tests for a value of a type, besides the type itself."""
    if kind is str:
        yield from _of_text(schema, form, minor)
    elif kind in (int, float):
        yield from _of_number(schema, kind, form, minor)
    elif kind is list:
        yield from _of_list(schema, minor)
    elif kind is dict:
        yield from _of_object(schema, minor)
    if enum := schema.get("enum"):
        texts = frozenset(allowed for allowed in enum if isinstance(allowed, str))
        yield texts.__contains__ if kind is str else lambda value: is_one_of(in_go(value), enum)


def _of_text(schema: Obj, form: str, minor: int) -> Iterator[Check]:
    longest, shortest, pattern = schema.get("maxLength"), schema.get("minLength") or 0, schema.get("pattern")
    if longest is not None:
        yield lambda value: shortest <= len(value) <= longest
    elif shortest:
        yield lambda value: len(value) >= shortest
    if pattern:
        try:
            yield compile_regexp(pattern).matches
        except ValueError:  # a stored definition may have an invalid pattern
            yield _never
    if form and (is_format := known_format(form, minor)):
        yield is_format


def _of_number(schema: Obj, kind: type, form: str, minor: int) -> Iterator[Check]:
    kinds = types_of(schema)
    single = kinds[0] if len(kinds) == 1 else ""
    if kind is int:
        bounds: tuple[float, float] | None = int_bounds(schema, kind=single, form=form, minor=minor)
    else:
        bounds = float_bounds(schema, kind=single, form=form)
    if bounds is not None:
        least, most = bounds
        yield lambda value: least <= value <= most
    elif kind is int or single == "integer" or form or any(schema.get(word) is not None for word in _LIMITS):
        yield lambda value: not any(number_errors(in_go(value), schema, kind=single, form=form, minor=minor))
    if kind is float and "number" not in kinds and kinds:
        yield lambda value: type_mismatch(value, kinds, form) is None


def _of_list(schema: Obj, minor: int) -> Iterator[Check]:
    least, most, of_items = schema.get("minItems"), schema.get("maxItems"), items(schema)
    if least:
        yield lambda value: len(value) >= least
    if most is not None:
        yield lambda value: len(value) <= most
    if of_items is not None:
        yield _each(_type_check(of_items, minor))
    if schema.get("uniqueItems"):
        yield lambda value: len({key_of(item) for item in value}) == len(value)


def _each(look: TypeCheck) -> Check:
    if isinstance(look, type):
        return lambda value: not [item for item in value if item.__class__ is not look]

    def check(value: Any) -> bool:
        for item in value:  # noqa: SIM110 - a generator costs more
            if not look(item):
                return False
        return True

    return check


def _of_object(schema: Obj, minor: int) -> Iterator[Check]:
    least, most = schema.get("minProperties"), schema.get("maxProperties")
    if least:
        yield lambda value: len(value) >= least
    if most is not None:
        yield lambda value: len(value) <= most
    if required := frozenset(schema.get("required") or ()):
        yield lambda value: required <= value.keys()
    looks = {name: _type_check(field_schema, minor) for name, field_schema in properties(schema).items()}
    of_values, others = values(schema), None
    if of_values is not None:
        others = _type_check(of_values, minor)
    elif has_values(schema) and schema["additionalProperties"] is False:
        others = _never
    if looks or others is not None:
        yield _fields(looks, others)


def _fields(looks: Mapping[str, TypeCheck], others: TypeCheck | None) -> Check:
    def check(value: Any) -> bool:
        for key, field_value in value.items():
            look = looks.get(key, others)
            if field_value.__class__ is look or look is None:
                continue
            if look.__class__ is type or not look(field_value):
                return False
        return True

    return check


def _junctors(schema: Obj, minor: int) -> Iterator[Check]:
    for subschema in schema.get("allOf") or ():
        yield check_of(subschema, minor)
    any_of = [check_of(subschema, minor) for subschema in schema.get("anyOf") or ()]
    if any_of and not (schema.get(INT_OR_STRING) and schema["anyOf"] == INT_OR_STRING_TYPES):
        yield _any(any_of)
    if one_of := [check_of(subschema, minor) for subschema in schema.get("oneOf") or ()]:
        yield lambda value: sum([check(value) for check in one_of]) == 1
    if schema.get("not") is not None:
        refused = check_of(schema["not"], minor)
        yield lambda value: not refused(value)


def _any(checks: list[Check]) -> Check:
    def check(value: Any) -> bool:
        for alternative in checks:  # noqa: SIM110 - a generator costs more than the checks
            if alternative(value):
                return True
        return False

    return check
