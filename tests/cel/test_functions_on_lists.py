import pytest


@pytest.mark.parametrize(
    "text",
    [
        "[1, 2, 2].isSorted() && ![2, 1].isSorted() && ['a', 'b'].isSorted() && [].isSorted()",
        "[1, 3].sum() == 4 && [1.5, 1.5].sum() == 3.0 && [1u].sum() == 1u",
        "[duration('1m'), duration('1s')].sum() == duration('61s')",
        "[1, 3, 2].max() == 3 && [1, 3, 2].min() == 1 && ['a', 'b'].max() == 'b' && [true, false].min() == false",
        "[1, 2, 2, 3].indexOf(2) == 1 && [1, 2, 2, 3].lastIndexOf(2) == 2 && ['a'].indexOf('b') == -1",
        "[1, 2, 3, 4].slice(1, 3) == [2, 3] && [1, 2].slice(0, 2) == [1, 2] && [1].slice(1, 1) == []",
        "[[1], [2, 3]].flatten() == [1, 2, 3]",
        "[dyn(1), dyn([dyn(2), dyn([3])])].flatten(2) == [dyn(1), dyn(2), dyn(3)]",
        "[3, 1, 2].sort() == [1, 2, 3] && ['b', 'a'].sort() == ['a', 'b'] && [2.5, 1.5].sort() == [1.5, 2.5]",
        "lists.range(3) == [0, 1, 2] && lists.range(0) == [] && [1, 2].reverse() == [2, 1]",
        "[1, 2, 1].distinct() == [1, 2] && [dyn(1), dyn(1.0), dyn('1')].distinct().size() == 2",
        "sets.contains([1, 2], [2]) && sets.contains([1], []) && !sets.contains([1], [2])",
        "sets.equivalent([1, 1, 2], [2, 1]) && !sets.equivalent([1], [1, 2]) && sets.equivalent([], [])",
        "sets.intersects([1, 2], [2, 3]) && !sets.intersects([1], [2]) && !sets.intersects([], [])",
        "size([1, 2]) == 2 && [1].size() == 1 && size({'a': 1}) == 1 && {}.size() == 0",
    ],
)
def test_lists_are_looked_through(value, text):
    assert value(text) is True


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("[1].slice(0, 2) == []", "cannot slice(0, 2), list is length 1"),
        ("[1].slice(-1, 1) == []", "cannot slice(-1, 1), negative indexes not supported"),
        ("[1].slice(1, 0) == []", "cannot slice(1, 0), start index must be less than or equal to end index"),
        ("[[1]].map(x, x)[0].filter(x, x > 1).max() == 1", "max called on empty list"),
        ("[1].filter(x, x > 1).min() == 1", "min called on empty list"),
        ("[9223372036854775807, 1].sum() == 0", "integer overflow"),
        ("[dyn([1])].flatten(-1) == []", "level must be non-negative"),
        ("lists.range(-1) == []", "lists.range: size must be non-negative, got -1"),
        ("lists.range(1000001) == []", "lists.range: size 1000001 exceeds maximum allowed (1000000)"),
        ("lists.range(1000000) == []", "operation cancelled: actual cost limit exceeded"),
    ],
)
def test_what_a_list_does_not_have_is_told(value, text, error):
    assert value(text) == f"error: {error}"
