import pytest


@pytest.mark.parametrize(
    "text",
    [
        "[1, 2, 3].all(x, x > 0) && ![1, 2, 3].all(x, x > 1) && [].all(x, x == 1)",
        "[1, 2, 3].exists(x, x == 2) && ![1, 2].exists(x, x == 5) && !{}.exists(k, k == 'a')",
        "[1, 2].existsOne(x, x == 2) && {'a': 1}.exists_one(k, v, v == 1)",
        "[1, 2, 3].exists_one(x, x == 2) && ![1, 1].exists_one(x, x == 1) && ![].exists_one(x, x == 1)",
        "[1, 2].map(x, x * 2) == [2, 4] && [1, 2, 3].map(x, x > 1, x * 2) == [4, 6]",
        "[1, 2, 3].filter(x, x > 1) == [2, 3]",
        "{'a': 1, 'b': 2}.all(k, k in ['a', 'b']) && {'a': 1, 'b': 2}.map(k, k).size() == 2",
        "[[1, 2], [3]].all(x, x.all(x, x > 0))",
        "[[1], [2]].map(x, x.map(y, y + x[0])) == [[2], [4]]",
        "has({'a': 1}.a) && !has({'a': 1}.b)",
        "[1, 2].all(i, x, i + 1 == x) && {'a': 1}.all(k, v, k == 'a' && v == 1)",
        "[1, 2].exists(i, x, i == 1 && x == 2) && {'a': 1}.exists(k, v, v == 1)",
        "[1, 2].existsOne(i, x, x == 2) && !{'a': 1, 'b': 1}.existsOne(k, v, v == 1)",
        "[1, 2].transformList(i, x, x * 10 + i) == [10, 21]",
        "[1, 2].transformList(i, x, i > 0, x) == [2]",
        "{'a': 1}.transformMap(k, v, v + 1) == {'a': 2}",
        "{'a': 1, 'b': 2}.transformMap(k, v, k == 'b', v) == {'b': 2}",
        "{'a': 'x'}.transformMapEntry(k, v, {v: k}) == {'x': 'a'}",
        "['x', 'y'].transformMapEntry(i, v, i > 0, {v: i}) == {'y': 1}",
        "[3, 1, 2].sortBy(x, -x) == [3, 2, 1] && ['bb', 'a'].sortBy(s, s.size()) == ['a', 'bb']",
    ],
)
def test_macros_loop(value, text):
    assert value(text) is True


@pytest.mark.parametrize(
    "text",
    [
        "optional.of(1).value() == 1 && optional.of(1).hasValue() && !optional.none().hasValue()",
        "optional.none().orValue(5) == 5 && optional.of(1).orValue(5) == 1",
        "optional.none().or(optional.of(2)).value() == 2",
        "optional.ofNonZeroValue(0) == optional.none() && optional.ofNonZeroValue('a') == optional.of('a')",
        "optional.ofNonZeroValue([]) == optional.none() && optional.ofNonZeroValue(duration('0s')) == optional.none()",
        "{'a': {'b': 1}}.?a.?b.orValue(0) == 1 && {'a': {'b': 1}}.?x.b.orValue(0) == 0",
        "[1, 2][?5].orValue(9) == 9 && [1, 2][?0] == optional.of(1) && {'a': 1}[?'a'].value() == 1",
        "[?optional.of(1), ?optional.none(), 2] == [1, 2]",
        "{?'a': optional.of(1), ?'b': optional.none()} == {'a': 1}",
        "optional.of(2).optMap(x, x * 2).value() == 4 && optional.none().optMap(x, x * 2) == optional.none()",
        "optional.of(2).optFlatMap(x, optional.of(x + 1)).value() == 3",
        "optional.unwrap([optional.of(1), optional.none()]) == [1] && [optional.of(2)].unwrapOpt() == [2]",
        "[1, 2].first().value() == 1 && [1, 2].last().value() == 2 && [].first() == optional.none()",
        "type(optional.none()) == optional_type",
    ],
)
def test_optionals_may_be_empty(value, text):
    assert value(text) is True


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("optional.none().value() == 1", "optional.none() dereference"),
        (
            "{'a': 1}.transformMapEntry(k, v, {'x': v}) == {} || [1, 2].transformMapEntry(i, v, {'x': v}) == {}",
            "insert",
        ),
        ("[dyn(1), dyn('a')].sortBy(x, x) == []", "list elements must have the same type"),
    ],
)
def test_what_macros_and_optionals_cannot_do_is_told(value, text, error):
    assert value(text).startswith("error: ")
    assert error in value(text)
