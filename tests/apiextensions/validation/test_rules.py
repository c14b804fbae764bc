"""Defaults that schemas of custom resources have, and the rules of theirs that are expressions."""

from typing import Any

import pytest

from apiserver.api.meta import Obj
from apiserver.apiextensions.validation.schemas import validation
from apiserver.apiextensions.validation.strictness import Strictness, strictness_of_update

PATH = "spec.validation.openAPIV3Schema"
STRICT = Strictness()


def errors_of(schema: Obj, *, strict: Strictness = STRICT) -> list[str]:
    """Return the validation errors of a schema, with paths relative to it."""
    errors = validation("spec.validation", {"openAPIV3Schema": schema}, strict, status=False)
    assert all(error.path.startswith(PATH) for error in errors)
    return [str(error).removeprefix(PATH).removeprefix(".") for error in errors]


def of_field(strict: Strictness = STRICT, **schema: Any) -> list[str]:
    """Return the validation errors of the schema of one field."""
    errors = errors_of({"type": "object", "properties": {"f": schema}}, strict=strict)
    return [error.removeprefix("properties[f].") for error in errors]


@pytest.mark.parametrize(
    ("schema", "errors"),
    [
        ({"type": "integer", "default": 3}, []),
        ({"type": "array", "items": {"type": "string"}, "default": ["a"]}, []),
        (
            {"type": "integer", "default": "many"},
            ['default: Invalid value: "string":  in body must be of type integer: "string"'],
        ),
        ({"type": "string", "enum": ["a"], "default": "b"}, ['default: Unsupported value: "b": supported values: "a"']),
        (
            {"type": "integer", "maximum": 1, "default": 3},
            ["default: Invalid value: 3:  in body should be less than or equal to 1"],
        ),
        (
            {"type": "object", "properties": {"a": {"type": "string"}}, "default": {"a": "x", "b": 1}},
            ['default: Invalid value: {"a":"x","b":1}: must not have unknown fields'],
        ),
    ],
)
def test_defaults_are_values_of_their_schema(schema, errors):
    assert of_field(**schema) == errors


def test_unknown_fields_of_defaults_may_stay_where_they_were():
    field = {"type": "object", "properties": {"a": {"type": "string"}}, "default": {"b": 1}}
    assert errors_of({"type": "object", "properties": {"f": field}}, strict=Strictness(pruned_defaults=False)) == []


def ruled(rule: str, **schema: Any) -> Obj:
    return {
        "type": "object",
        "properties": {"a": {"type": "string"}},
        "x-kubernetes-validations": [{"rule": rule}],
    } | schema


def test_rules_are_compiled():
    assert of_field(**ruled("self.a == 'x'")) == []
    (error,) = of_field(**ruled("self.b == 'x'"))
    assert error.startswith('x-kubernetes-validations[0].rule: Invalid value: {"Rule":"self.b == \'x\'",')
    assert "undefined field 'b'" in error


@pytest.mark.parametrize(
    ("fields", "errors"),
    [
        ({"r": ruled("self.b == 'x'", properties={"a": {"type": "string", "uniqueItems": True}})}, 1),
        ({"r": ruled("self.b == 'x'"), "o": {"type": "string", "uniqueItems": True}}, 2),
        ({"r": ruled("self.b == 'x'"), "o": {"properties": {}}}, 1),
    ],
)
def test_what_rules_say_is_looked_at_where_nothing_else_is_wrong(fields, errors):
    """Nothing in the same schema, or below it; and every schema is structural."""
    assert len(errors_of({"type": "object", "properties": fields})) == errors


def test_how_rules_are_written_is_told_whatever_else_is_wrong():
    fields = {"r": ruled(" "), "o": {"properties": {}}}
    assert errors_of({"type": "object", "properties": fields}) == [
        "properties[o].type: Required value: must not be empty for specified object fields",
        "properties[r].x-kubernetes-validations[0].rule: Required value: rule is not specified",
    ]


def test_a_rule_may_be_costly_where_it_was_there_before_but_all_together_may_not():
    rules = [{"rule": "self.all(x, self.all(y, x == y))"}]
    field = {"type": "array", "items": {"type": "string"}, "x-kubernetes-validations": rules}
    given = {"openAPIV3Schema": {"type": "object", "properties": {"f": field}}}
    known = Strictness(unchanged=frozenset({"v1"}))
    for strict, told_first in (
        (STRICT, ["Forbidden: estimated rule cost exceeds budget by factor of more than 100x"]),
        (known, []),
    ):
        errors = validation("spec.validation", given, strict, status=False, version="v1")
        assert [error.message.partition(" (")[0] for error in errors] == [
            *told_first,
            "Forbidden: contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema",
            (
                "Forbidden: x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema "
                "exceeds budget by factor of more than 100x"
            ),
        ]


def kept(rule: Obj, default: Any) -> list[str]:
    rules: dict[str, Any] = {"x-kubernetes-validations": [rule]}
    return of_field(type="string", maxLength=9, default=default, **rules)


def test_defaults_keep_the_rules():
    rule = {"rule": "self == 'a'", "message": "must be a"}
    assert kept(rule, "a") == []
    assert kept(rule, "b") == ['default: Invalid value: "b": must be a']
    inside = ruled("self.a == 'x'", default={"a": "y"})
    assert of_field(**inside) == ["default: Invalid value: failed rule: self.a == 'x'"]


def test_a_default_is_neither_a_wrong_change_nor_a_wrong_beginning():
    assert kept({"rule": "self != oldSelf", "message": "must change"}, "b") == [
        'default: Invalid value: "b": must change'
    ]
    beginning = {"rule": "oldSelf.hasValue()", "optionalOldSelf": True, "message": "must have been there"}
    assert kept(beginning, "b") == ['default: Invalid value: "b": must have been there']


def test_a_rule_may_use_what_the_release_before_knew_or_what_it_used_before():
    rule = {"rule": "self.exists(i, v, v > i)"}
    schema = {"type": "array", "maxItems": 9, "items": {"type": "integer"}, "x-kubernetes-validations": [rule]}
    version = {"name": "v1", "schema": {"openAPIV3Schema": {"type": "object", "properties": {"f": schema}}}}
    new = {"spec": {"versions": [version]}}
    assert of_field(strict=Strictness(release=33), **schema) == []
    (error,) = of_field(strict=Strictness(release=32), **schema)
    assert "undeclared reference to 'exists'" in error or "undeclared reference to 'i'" in error
    assert of_field(strict=strictness_of_update(new, new, 32), **schema) == []
