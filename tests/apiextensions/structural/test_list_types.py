import pytest

SET, ONE_KEY = {"x-kubernetes-list-type": "set"}, {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}
TWO_KEYS = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["l", "k"]}


def listed(**words):
    return {"type": "array", "items": {}} | words


def errors_of(schema, obj, old=None):
    return [str(error) for error in schema.list_errors(obj, old)]


@pytest.mark.parametrize(
    ("words", "value", "errors"),
    [
        (SET, [], []),
        (SET, ["a", "b", 1, 1.5, None, True], []),
        (SET, [1, 1.0, True, "1"], []),
        (SET, ["a", "b", "a", "a"], ['f[2]: Duplicate value: "a"']),
        (SET, [1, 2, 2, 1], ["f[2]: Duplicate value: 2", "f[3]: Duplicate value: 1"]),
        (SET, [None, None], ["f[1]: Duplicate value: null"]),
        (SET, [{"b": 1, "a": 2}, {"a": 2, "b": 1}], ['f[1]: Duplicate value: {"a":2,"b":1}']),
        (SET, [["a"], ["a"]], ['f[1]: Duplicate value: ["a"]']),
        (ONE_KEY, [{"k": "a"}, {"k": "b"}, {"k": 1}, {}], []),
        (ONE_KEY, [{"k": "a", "v": 1}, {"k": "a", "v": 2}], ['f[1]: Duplicate value: {"k":"a"}']),
        (ONE_KEY, [{}, {"v": 1}], ["f[1]: Duplicate value: {}"]),
        (ONE_KEY, [None, {}], ["f[1]: Duplicate value: {}"]),
        (ONE_KEY, [{"k": None}, {}], []),
        (ONE_KEY, [{"k": ["a"]}, {"k": ["a"]}], ['f[1]: Duplicate value: {"k":["a"]}']),
        (
            ONE_KEY,
            [{"k": "a"}, "a", {"k": "a"}],
            ['f[1]: Invalid value: "a": must be an object for an array of list-type map'],
        ),
        (ONE_KEY, [5], ["f[0]: Invalid value: 5: must be an object for an array of list-type map"]),
        (TWO_KEYS, [{"k": 1, "l": 1}, {"k": 1, "l": 2}, {"k": 1}], []),
        (TWO_KEYS, [{"k": 1, "l": "x"}, {"l": "x", "k": 1}], ['f[1]: Duplicate value: {"k":1,"l":"x"}']),
        ({"x-kubernetes-list-type": "atomic"}, ["a", "a"], []),
        ({}, ["a", "a"], []),
        (SET, "no list", []),
    ],
)
def test_items_that_stand_twice_are_told(of_properties, words, value, errors):
    assert errors_of(of_properties({"f": listed(**words)}), {"f": value}) == errors


@pytest.mark.parametrize(
    ("schema", "value", "path"),
    [
        ({"type": "object", "properties": {"a": listed(**SET)}}, {"a": [1, 1]}, "f.a[1]"),
        ({"type": "object", "additionalProperties": listed(**SET)}, {"a": [1, 1]}, "f[a][1]"),
        (listed(items=listed(**SET)), [[], [1, 1]], "f[1][1]"),
        (listed(items={"type": "object", "properties": {"a": listed(**SET)}}, **ONE_KEY), [{"a": [1, 1]}], "f[0].a[1]"),
    ],
)
def test_lists_are_found_wherever_they_stand(of_properties, schema, value, path):
    assert errors_of(of_properties({"f": schema}), {"f": value}) == [f"{path}: Duplicate value: 1"]


def test_an_update_may_repeat_what_was_repeated(of_properties):
    schema = of_properties({"f": listed(**SET), "g": listed(**SET)})
    assert errors_of(schema, {"f": [1, 1]}, {"f": [1]}) == ["f[1]: Duplicate value: 1"]
    assert errors_of(schema, {"f": [1, 1]}, {"g": [2, 2]}) == []
