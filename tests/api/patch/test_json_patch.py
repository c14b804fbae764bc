"""JSON patches: every operation, what does not apply, and that nothing given is changed."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.api.errors import ApiError
from apiserver.api.patch.json_patch import apply

DOC: dict[str, Any] = {"a": {"b": [1, 2, 3], "c/d": "x", "e~f": "y"}, "n": None, "t": True}


@pytest.mark.parametrize(
    ("operations", "expected"),
    [
        ([{"op": "add", "path": "/a/new", "value": 1}], {**DOC, "a": {**DOC["a"], "new": 1}}),
        ([{"op": "add", "path": "/t", "value": False}], {**DOC, "t": False}),
        ([{"op": "add", "path": "/a/b/-", "value": 4}], {**DOC, "a": {**DOC["a"], "b": [1, 2, 3, 4]}}),
        ([{"op": "add", "path": "/a/b/0", "value": 0}], {**DOC, "a": {**DOC["a"], "b": [0, 1, 2, 3]}}),
        ([{"op": "add", "path": "/a/b/3", "value": 4}], {**DOC, "a": {**DOC["a"], "b": [1, 2, 3, 4]}}),
        ([{"op": "add", "path": "/a/b/-1", "value": 4}], {**DOC, "a": {**DOC["a"], "b": [1, 2, 3, 4]}}),
        ([{"op": "add", "path": "/x"}], {**DOC, "x": None}),
        ([{"op": "remove", "path": "/a"}], {"n": None, "t": True}),
        ([{"op": "remove", "path": "/a/b/-1"}], {**DOC, "a": {**DOC["a"], "b": [1, 2]}}),
        ([{"op": "remove", "path": "/a/c~1d"}], {**DOC, "a": {"b": [1, 2, 3], "e~f": "y"}}),
        ([{"op": "replace", "path": "/a/e~0f", "value": "z"}], {**DOC, "a": {**DOC["a"], "e~f": "z"}}),
        ([{"op": "replace", "path": "", "value": {"k": 1}}], {"k": 1}),
        ([{"op": "move", "from": "/a/b/0", "path": "/a/b/2"}], {**DOC, "a": {**DOC["a"], "b": [2, 3, 1]}}),
        ([{"op": "move", "from": "/t", "path": "/u"}], {"a": DOC["a"], "n": None, "u": True}),
        (
            [{"op": "copy", "from": "/a/b", "path": "/b"}, {"op": "add", "path": "/b/-", "value": 9}],
            {**DOC, "b": [1, 2, 3, 9]},
        ),
        ([{"op": "test", "path": "/a/b", "value": [1, 2, 3]}], DOC),
        ([{"op": "test", "path": "/n"}], DOC),
        ([{"op": "test", "path": "/none"}], DOC),
        ([{"op": "test", "path": "/none", "value": None}], DOC),
        ([{"op": "replace", "path": "/none", "value": 1}], {**DOC, "none": 1}),
        ([{"op": "replace", "path": "/t"}], {**DOC, "t": None}),
        ([{"op": "copy", "from": "/none", "path": "/t"}], {**DOC, "t": None}),
        ([{"op": "add", "path": "a/e~0f", "value": 1}], {**DOC, "e~f": 1}),
        ([{"op": "replace", "path": "/a/b/-03", "value": 0}], {**DOC, "a": {**DOC["a"], "b": [0, 2, 3]}}),
        ([{"op": "test", "path": "/n", "value": None}], DOC),
        ([{"op": "test", "path": "", "value": DOC}], DOC),
        ([], DOC),
        (None, DOC),
    ],
)
def test_an_operation_changes_only_its_place(operations, expected):
    before, patch = copy.deepcopy(DOC), copy.deepcopy(operations)
    assert apply(DOC, operations) == expected
    assert before == DOC
    assert patch == operations


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "remove", "path": "/none"},
        {"op": "remove", "path": "/a/b/3"},
        {"op": "remove", "path": "/a/b/-4"},
        {"op": "remove", "path": ""},
        {"op": "replace", "path": "/a/b/9", "value": 1},
        {"op": "replace", "path": "/a/b/x", "value": 1},
        {"op": "replace", "path": "", "value": "text"},
        {"op": "add", "path": "/none/x", "value": 1},
        {"op": "add", "path": "/a/b/4", "value": 1},
        {"op": "add", "path": "/a/b/1_0", "value": 1},
        {"op": "add", "path": "/t/x", "value": 1},
        {"op": "add", "path": "", "value": 1},
        {"op": "add", "value": 1},
        {"op": "add", "path": 5, "value": 1},
        {"op": "move", "from": "/none", "path": "/x"},
        {"op": "move", "path": "/x"},
        {"op": "copy", "from": "/none/x", "path": "/x"},
        {"op": "copy", "from": "/a/b/9", "path": "/x"},
        {"op": "test", "path": "/a/b/9", "value": None},
        {"op": "test", "path": "/t"},
        {"op": "test", "path": "/a/b", "value": [1, 2]},
        {"op": "test", "path": "/none", "value": 1},
        {"op": "test", "path": "/t", "value": 1},
        {"op": "frob", "path": "/a"},
        {"path": "/a"},
        None,
    ],
)
def test_an_operation_that_does_not_apply_rejects_the_whole_patch(operation):
    with pytest.raises(ApiError) as caught:
        apply(DOC, [{"op": "add", "path": "/first", "value": 1}, operation])
    assert caught.value.status() == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": "the server rejected our request due to an error in our request",
        "reason": "Invalid",
        "details": {},
        "code": 422,
    }


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        ({}, "json: cannot unmarshal object into Go value of type jsonpatch.Patch"),
        ("x", "json: cannot unmarshal string into Go value of type jsonpatch.Patch"),
        ([1], "json: cannot unmarshal number into Go value of type jsonpatch.Operation"),
    ],
)
def test_a_body_that_is_no_patch_is_a_bad_request(patch, message):
    with pytest.raises(ApiError) as caught:
        apply(DOC, patch)
    assert (caught.value.code, caught.value.message) == (400, message)


def test_too_many_operations_are_too_large():
    with pytest.raises(ApiError) as caught:
        apply(DOC, [{"op": "test", "path": "/t", "value": True}] * 10_001)
    assert caught.value.code == 413
    assert caught.value.message == "The allowed maximum operations in a JSON patch is 10000, got 10001"


def test_copies_may_not_grow_without_bound():
    doubling = [{"op": "copy", "from": "/a", "path": f"/a/{i}"} for i in range(20)]
    with pytest.raises(ApiError):
        apply({"a": {"text": "x" * 1000}}, doubling)


def naive(doc, operations):
    """The same by copying everything first, for paths of keys alone."""
    doc = copy.deepcopy(doc)
    for operation in operations:
        *parents, last = operation["path"].split("/")[1:]
        here = doc
        for part in parents:
            here = here[part]
        if operation["op"] == "remove":
            del here[last]
        else:
            here[last] = copy.deepcopy(operation["value"])
    return doc


KEYS = st.sampled_from(["a", "b", "c"])
TREES = st.recursive(st.integers(0, 3), lambda inner: st.dictionaries(KEYS, inner, max_size=3), max_leaves=10)
OPERATIONS = st.lists(
    st.fixed_dictionaries(
        {
            "op": st.sampled_from(["add", "remove", "replace"]),
            "path": st.lists(KEYS, min_size=1, max_size=3).map(lambda parts: "/" + "/".join(parts)),
            "value": TREES,
        }
    ),
    max_size=6,
)


@given(st.dictionaries(KEYS, TREES, max_size=3), OPERATIONS)
def test_applying_is_what_copying_everything_would_give(doc, operations):
    before, patch = copy.deepcopy(doc), copy.deepcopy(operations)
    try:
        result = apply(doc, operations)
    except ApiError:
        result = None
    assert (doc, operations) == (before, patch)
    if result is not None:
        assert result == naive(doc, operations)


def test_a_value_that_is_nested_too_deep_rejects_the_patch():
    value: list[Any] = []
    for _ in range(3000):
        value = [value]
    operations = [{"op": "add", "path": "/deep", "value": value}, {"op": "copy", "from": "/deep", "path": "/deeper"}]
    with pytest.raises(ApiError) as caught:
        apply(DOC, operations)
    assert caught.value.code == 422
