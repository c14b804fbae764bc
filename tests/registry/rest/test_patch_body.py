"""Patches before they are applied: unknown and repeated fields in them, and how their results are shown."""

from typing import Any

import pytest

from apiserver.api.errors import ApiError
from apiserver.registry.rest.patch_body import JsonPatch, MergePatch, StrategicMergePatch

DEPLOYMENT = {
    "kind": "Deployment",
    "apiVersion": "apps/v1",
    "metadata": {"name": "a", "annotations": {"b": "<1>", "a": ""}},
    "spec": {"template": {"spec": {}, "metadata": {}}, "replicas": 1, "list": [{"b": 1, "a": 2}, {"d": 1, "c": 2}]},
}


@pytest.mark.parametrize(
    ("raw", "odd"),
    [
        (b'[{"op": "add", "path": "/a", "value": {"x": 1}}]', ()),
        (b"[]", ()),
        (b"null", ()),
        (b'[{"op": "a", "op": "b", "foo": 1}]', ('duplicate field "[0].op"', 'unknown field "[0].foo"')),
        (b'[{"foo": 1, "op": "a", "op": "b"}]', ('unknown field "[0].foo"', 'duplicate field "[0].op"')),
        (b'[{}, {"Op": "a", "value": {"x": [{"y": 1, "y": 2}]}}]',
         ('unknown field "[1].Op"', 'duplicate field "[1].value.x[0].y"')),
        (b'[null, {"foo": 1, "foo": 2}]', ('unknown field "[1].foo"',)),
    ],
)  # fmt: skip
def test_unknown_and_repeated_fields_of_operations_are_told_in_their_order(raw, odd):
    assert JsonPatch(raw).strict_errors() == tuple(f"json patch {each}" for each in odd)


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b'"x"', "string into Go value of type []handlers.jsonPatchOp"),
        (b"{}", "object into Go value of type []handlers.jsonPatchOp"),
        (b"[1]", "number into Go value of type handlers.jsonPatchOp"),
        (b'[{"op": 1}]', "number into Go struct field jsonPatchOp.op of type string"),
        (b'[{"op": "add", "path": ["a"]}]', "array into Go struct field jsonPatchOp.path of type string"),
    ],
)
def test_what_is_no_list_of_operations_is_refused(raw, why):
    with pytest.raises(ApiError) as refused:
        JsonPatch(raw).strict_errors()
    assert (refused.value.code, refused.value.message) == (400, f"error decoding patch: json: cannot unmarshal {why}")


def test_custom_objects_are_shown_with_sorted_keys_all_through():
    shown = MergePatch(b"{}").in_internal_form(DEPLOYMENT | {"spec": {"b": {"d": 1.0, "c": 1e20}, "a": 1}}, custom=True)
    assert shown == (
        '{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"annotations":{"a":"","b":"\\u003c1\\u003e"},'
        '"name":"a"},"spec":{"a":1,"b":{"c":100000000000000000000,"d":1}}}'
    )


@pytest.mark.parametrize(
    ("patch", "spec"),
    [
        (MergePatch(b'{"x": 1}'),
         '{"template":{"spec":{},"metadata":{}},"replicas":1,"list":[{"b":1,"a":2},{"d":1,"c":2}]}'),
        (MergePatch(b'{"spec": {"template": {"x": 1}}}'),
         '{"list":[{"b":1,"a":2},{"d":1,"c":2}],"replicas":1,"template":{"metadata":{},"spec":{}}}'),
        (JsonPatch(b'[{"op": "test", "path": "/spec/list/1/c", "value": 2}]'),
         '{"list":[{"b":1,"a":2},{"c":2,"d":1}],"replicas":1,"template":{"spec":{},"metadata":{}}}'),
        (JsonPatch(b'[{"op": "copy", "path": "/x", "from": "/spec/template/spec"}]'),
         '{"list":[{"b":1,"a":2},{"d":1,"c":2}],"replicas":1,"template":{"metadata":{},"spec":{}}}'),
    ],
)  # fmt: skip
def test_built_in_objects_are_shown_with_sorted_keys_where_the_patch_reaches_into_them(patch, spec):
    head = '{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"a","annotations":'
    annotations = r'{"b":"\u003c1\u003e","a":""}'
    assert patch.in_internal_form(DEPLOYMENT, custom=False) == f'{head}{annotations}}},"spec":{spec}}}'


NO_LIST = "json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp"
NO_MAP = "json: cannot unmarshal number into Go value of type map[string]interface {}"
UNKNOWN: Any = None
"""The merge of a kind, where the patch is refused before it is looked for."""
NO_FLOAT = "json: cannot unmarshal number 1e400 into Go %s of type float64"


@pytest.mark.parametrize(
    ("patch", "strict", "lenient"),
    [
        (JsonPatch(b"[{"), "error decoding patch: unexpected end of JSON input", "unexpected end of JSON input"),
        (MergePatch(b"[{"), "error decoding patch: unexpected end of JSON input", "Invalid JSON Patch"),
        (MergePatch(b"5"), f"error decoding patch: {NO_MAP}", "Invalid JSON Patch"),
        (MergePatch(b"null"), None, "Invalid JSON Patch"),
        (MergePatch(b'{"a": 1e400}'), f"error decoding patch: {NO_FLOAT % 'value'}", None),
        (StrategicMergePatch(b"[{", UNKNOWN), "unexpected end of JSON input", "unexpected end of JSON input"),
        (StrategicMergePatch(b'{"a": 1e400}', UNKNOWN), NO_FLOAT % "value", NO_FLOAT % "value"),
        (JsonPatch(b'[{"op": "add", "path": "/a", "value": {"b": 1e400}}]'),
         f"error decoding patch: {NO_FLOAT % 'struct field jsonPatchOp.value'}",
         NO_FLOAT % "struct field jsonPatchOp.value"),
        (JsonPatch(b"{}"), f"error decoding patch: {NO_LIST}",
         "json: cannot unmarshal object into Go value of type jsonpatch.Patch"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_patch_depends_on_whether_its_fields_are_looked_at(patch, strict, lenient):
    for do, why in ((patch.strict_errors, strict), (lambda: patch.apply({}), lenient)):
        if why is not None:
            with pytest.raises(ApiError) as refused:
                do()
            assert (refused.value.code, refused.value.message) == (400, why)


def test_a_list_merged_into_an_object_takes_its_place():
    assert MergePatch(b"[1, null]").apply({"a": 1}) == [1, None]


@pytest.mark.parametrize(
    ("value", "agrees"),
    [(b'"a<b"', False), (rb'"a\u003cb"', True), (b'{"x": ["a<b"]}', False), (rb'{"x": ["a\u003cb"]}', True)],
)
def test_texts_with_markup_are_tested_as_they_are_written(value, agrees):
    doc = {"t": "a<b", "o": {"x": ["a<b"]}}
    patch = JsonPatch(b'[{"op": "test", "path": "/%s", "value": %s}]' % (b"o" if b"x" in value else b"t", value))
    if agrees:
        assert patch.apply(doc) == doc
    else:
        with pytest.raises(ApiError, match="the server rejected our request"):
            patch.apply(doc)
