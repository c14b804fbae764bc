"""Merge patches: the table of RFC 7386, and that nothing given is changed."""

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj
from apiserver.api.patch.merge_patch import apply


@pytest.mark.parametrize(
    ("doc", "patch", "expected"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
        ({"a": "text"}, {"a": {"b": 1, "c": None}}, {"a": {"b": 1}}),
        ({"a": 1}, {"a": [None, {"b": None, "c": 1}]}, {"a": [None, {"c": 1}]}),
        ({"a": 1}, {"b": None}, {"a": 1}),
        ({"a": 1}, {}, {"a": 1}),
    ],
)
def test_a_merge_patch_merges(doc, patch, expected):
    given_before = copy.deepcopy((doc, patch))
    assert apply(doc, patch) == expected
    assert (doc, patch) == given_before


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        (None, "Invalid JSON Patch"),
        ([], "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}"),
        (5, "error decoding patch: json: cannot unmarshal number into Go value of type map[string]interface {}"),
    ],
)
def test_a_body_that_is_no_object_is_a_bad_request(patch, message):
    with pytest.raises(ApiError) as caught:
        apply({}, patch)
    assert (caught.value.code, caught.value.message) == (400, message)


JSON = st.recursive(
    st.sampled_from([None, True, 0, 1, "x"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=10,
)
OBJECTS = st.dictionaries(st.sampled_from("abc"), JSON, max_size=3)


@given(OBJECTS, OBJECTS)
def test_a_second_time_changes_nothing_and_what_is_not_named_stays(doc, patch):
    before = copy.deepcopy((doc, patch))
    once = apply(doc, patch)
    assert apply(once, patch) == once
    assert {key: value for key, value in once.items() if key not in patch} == {
        key: value for key, value in doc.items() if key not in patch
    }
    assert (doc, patch) == before


def test_a_patch_that_is_nested_too_deep_is_a_bad_request():
    patch: Obj = {}
    for _ in range(3000):
        patch = {"a": patch}
    with pytest.raises(ApiError) as caught:
        apply({}, patch)
    assert caught.value.code == 400
