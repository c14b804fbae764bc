"""Fields of custom resources that selectors may name; paths are those of upstream's internal type."""

import copy

import pytest

from apiserver.api.meta import Obj
from apiserver.apiextensions.validation.definition import validator
from apiserver.registry.kind_tables import set_defaults
from apiserver.registry.strategy import STRATEGIES

KIND = ("apiextensions.k8s.io", "CustomResourceDefinition")
SCHEMA = {
    "type": "object",
    "properties": {
        "metadata": {"type": "object", "properties": {"name": {"type": "string"}}},
        "spec": {
            "type": "object",
            "properties": {
                "colour": {"type": "string"},
                "size": {"type": "integer"},
                "ratio": {"type": "number"},
                "labels": {"type": "object", "additionalProperties": {"type": "string"}},
                "any": {"type": "object", "additionalProperties": True},
            }
            | {f"f{index}": {"type": "boolean"} for index in range(9)},
        },
    },
}
V1 = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": SCHEMA}}
NOT_SELECTABLE = (
    "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed."
)


def errors_of(*versions: Obj) -> list[str]:
    """Return the validation errors of a definition with these versions."""
    names = {"plural": "widgets", "kind": "Widget"}
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": copy.deepcopy([*versions])}
    made = {"metadata": {"name": "widgets.example.com"}, "spec": spec}
    set_defaults(KIND[0], "v1", KIND[1], made)
    STRATEGIES[KIND].prepare_create(made)
    return [str(error) for error in validator(0).create(made)]


def selecting(*paths: str) -> list[str]:
    fields = [{"jsonPath": path} for path in paths]
    return errors_of(V1 | {"selectableFields": fields})


@pytest.mark.parametrize("path", [".spec.colour", ".spec.size", ".spec.f0", ".spec.labels.any"])
def test_plain_fields_can_be_selected(path):
    assert selecting(path) == []


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("", "Required value"),
        ("spec.colour", 'Invalid value: "spec.colour": is an invalid path: expected [ or . but got: spec'),
        (".spec.none", 'Invalid value: ".spec.none": is an invalid path: does not refer to a valid field'),
        (".spec.colour.x", 'Invalid value: ".spec.colour.x": is an invalid path: does not refer to a valid field'),
        (".spec.any.x.y", 'Invalid value: ".spec.any.x.y": is an invalid path: does not refer to a valid field'),
        (".spec..size", 'Invalid value: ".spec..size": is an invalid path: does not refer to a valid field'),
        (".spec.", 'Invalid value: ".spec.": is an invalid path: unexpected end of JSON path'),
        (".spec['size']", "Invalid value: \".spec['size']\": is an invalid path: array notation is not allowed"),
        (".metadata.name", 'Invalid value: ".metadata.name": must not point to fields in metadata'),
        (".spec.ratio", f'Invalid value: ".spec.ratio": {NOT_SELECTABLE}'),
        (".spec", f'Invalid value: ".spec": {NOT_SELECTABLE}'),
        (".spec.any.x", f'Invalid value: ".spec.any.x": {NOT_SELECTABLE}'),
    ],
)
def test_a_field_that_selectors_name_is_a_plain_one_of_the_schema(path, message):
    assert selecting(path) == [f"spec.selectableFields[0].jsonPath: {message}"]


def test_a_field_is_selected_once():
    assert selecting(".spec.size", ".spec.size") == ['spec.selectableFields[1].jsonPath: Duplicate value: ".spec.size"']


def test_eight_fields_can_be_selected():
    assert selecting(*(f".spec.f{index}" for index in range(8))) == []
    assert selecting(*(f".spec.f{index}" for index in range(9))) == [
        "spec.selectableFields: Too many: 9: must have at most 8 items"
    ]


def test_selectable_fields_stand_where_the_schema_does():
    fields = [{"jsonPath": ".spec.size"}]
    one, two = V1, V1 | {"name": "v2", "storage": False, "schema": {"openAPIV3Schema": {"type": "object"}}}
    assert errors_of(one | {"selectableFields": fields}, two | {"selectableFields": fields}) == [
        'spec.selectableFields: Invalid value: "": may only be set when validations.schema is included'
    ]
    assert errors_of(one | {"selectableFields": fields}, one | {"name": "v2", "storage": False}) == [
        (
            'spec.versions[0].selectableFields: Invalid value: "": '
            "may only be set when `version.schema.openAPIV3Schema` is not included"
        )
    ]
