"""JSONPath templates evaluated against objects: their results, and their errors."""

import contextlib
from typing import Any

import pytest
from patience import some_work

from apiserver.api.jsonpath import JSONPath, WalkError
from apiserver.api.meta import Obj

STORE = {
    "name": "jsonpath",
    "book": [
        {"author": "Rees", "price": 8.95, "tags": ["a", "b"]},
        {"author": "Waugh", "price": 12.99, "isbn": "x"},
        {"author": "Melville", "price": 8, "isbn": None},
    ],
    "bicycle": {"color": "red", "isNew": True, "price": 19.95},
    "labels": {"web/html": 15, "kubernetes.io/host": "h", "k8s-app": 20},
    "numbers": [2, 6, 3, 7],
    "empty": [],
    "nothing": None,
}
BOOKS = STORE["book"]


def evaluate(template: str, obj: Any = STORE) -> list[Any]:
    return JSONPath(template).find(obj)


@pytest.mark.parametrize(
    ("path", "values"),
    [
        (".name", ["jsonpath"]),
        (".bicycle.color", ["red"]),
        ("$.bicycle['color']", ["red"]),
        (".bicycle", [STORE["bicycle"]]),
        (".labels.web/html", [15]),
        (".labels.k8s-app", [20]),
        (r".labels.kubernetes\.io/host", ["h"]),
        (".hello", []),
        (".hello.you[0]", []),
        (".name.first", []),
        (".nothing", [None]),
        (".nothing.more", []),
        (".nothing[0]", []),
        (".nothing[:]", []),
        (".book.author", []),
        (".book[*].author", ["Rees", "Waugh", "Melville"]),
        (".book[*].isbn", ["x", None]),
        (".book[0].author", ["Rees"]),
        (".book[-1].author", ["Melville"]),
        (".book[-3].author", ["Rees"]),
        (".book[1:].author", ["Waugh", "Melville"]),
        (".book[-1:].author", ["Melville"]),
        (".book[0:-1].author", ["Rees", "Waugh"]),
        (".book[::2].author", ["Rees", "Melville"]),
        (".book[0:3:9].author", ["Rees"]),
        (".book[0:0]", []),
        (".book[9:9]", []),
        (".empty[*]", []),
        (".numbers[1,3,0]", [6, 7, 2]),
        (".book[*]['author','price']", ["Rees", "Waugh", "Melville", 8.95, 12.99, 8]),
        (".bicycle['color', 'gears', 'isNew']", ["red", True]),
        (".bicycle.*", ["red", True, 19.95]),
        (".numbers.*", [2, 6, 3, 7]),
        (".*.color", ["red"]),
        (".numbers[?(@<5)]", [2, 3]),
        (".numbers[?(5>@)]", [2, 3]),
        (".numbers[?(@>=6)]", [6, 7]),
        (".numbers[?(@!=6)]", [2, 3, 7]),
        (".numbers[?(1==1)]", [2, 6, 3, 7]),
        ('.book[?(@.author=="Rees")].price', [8.95]),
        (".book[?(@.author<='Rees')].author", ["Rees", "Melville"]),
        (".book[?(@.author==@.author)].price", [8.95, 12.99, 8]),
        (".book[?(@.isbn)].author", ["Waugh", "Melville"]),
        (".book[?(@.tags[0]=='a')].author", ["Rees"]),
        (".book[?(@.gone=='a')].author", []),
        (".book[?(1==@.gone)].author", []),
        (".gone[?(@.a==1)]", []),
        (".empty[?(@.a==1)]", []),
        ("..color", ["red"]),
        (".book..price", [8.95, 12.99, 8]),
        (".book..tags[1]", ["b"]),
        ('.name "quoted" .more', []),
        ('.name "quoted"', ["quoted"]),
        (".numbers[*] 7", [7, 7, 7, 7]),
        (".gone true", []),
        (".numbers range", [[2, 6, 3, 7]]),
    ],
)
def test_a_path_finds_values_or_nothing(path: str, values: list[Any]):
    assert evaluate(f"{{{path}}}") == [values]


def test_recursion_finds_what_has_something_below_it_from_the_outside_in():
    assert evaluate("{..}", {"a": [1, "x", "", [], {}], "b": 2}) == [
        [{"a": [1, "x", "", [], {}], "b": 2}, [1, "x", "", [], {}], "x"]
    ]


def test_every_part_of_a_template_finds_values_of_its_own():
    assert evaluate("a {.name}{.gone}{.bicycle.color}") == [["a "], ["jsonpath"], [], ["red"]]


def test_existence_is_what_is_asked_of_a_list_that_is_too_short():
    """Upstream looks at what it has in hands, not at the error."""
    items = {"l": [{"a": [1]}, {"a": []}, {"b": 1}]}
    assert evaluate("{.l[?(@.a[0])]}", items) == [[{"a": [1]}, {"a": []}]]


@pytest.mark.parametrize(
    ("path", "why"),
    [
        (".book[3]", "array index out of bounds: index 3, length 3"),
        (".book[-4]", "array index out of bounds: index -1, length 3"),
        (".book[1:9]", "array index out of bounds: index 8, length 3"),
        (".book[7:9]", "array index out of bounds: index 7, length 3"),
        (".book[2:1]", "starting index 2 is greater than ending index 1"),
        (".book[-1:0]", "starting index 2 is greater than ending index 0"),
        (".book[0:3:0]", "step must be > 0"),
        (".book[0:3:-1]", "step must be > 0"),
        (".empty[0]", "array index out of bounds: index 0, length 0"),
        (".labels[0]", "map[string]interface {} is not array or slice"),
        (".name[*]", "string is not array or slice"),
        (".bicycle.price[0]", "float64 is not array or slice"),
        (".name[?(@.a)]", "jsonpath is not array or slice and cannot be filtered"),
        (".nothing[?(@.a)]", "<nil> is not array or slice and cannot be filtered"),
        (".book[?(@.price<10)]", "incompatible types for comparison"),
        (".book[?(@.tags=='a')]", "invalid type for comparison"),
        (".book[?(@.isbn=='x')]", "invalid type for comparison"),
        (".book[?(@.price<>10)]", "unrecognized filter operator <>"),
        (".book[?(@.tags[*]=='a')]", "can only compare one element at a time"),
        (".book[?(1==@.tags[*])]", "can only compare one element at a time"),
        (".numbers[?(true<false)]", "invalid type for comparison"),
        (".numbers['a', 9]", "array index out of bounds: index 9, length 4"),
        ("hello", "unrecognized identifier hello"),
        ("end", "not in range, nothing to end"),
    ],
)
def test_a_path_gives_up_in_upstreams_words(path: str, why: str):
    with pytest.raises(WalkError) as given_up:
        evaluate(f"{{{path}}}")
    assert str(given_up.value) == why


def test_nothing_is_compared_with_a_sign_that_means_nothing_until_there_is_something():
    assert evaluate("{.empty[?(@.price<>10)]}") == [[]]


def test_a_path_is_made_once_for_many_objects():
    path = JSONPath("{.status.conditions[?(@.type=='Ready')].status}")
    ready: Obj = {"status": {"conditions": [{"type": "Other", "status": "A"}, {"type": "Ready", "status": "B"}]}}
    objects: tuple[Obj, ...] = (ready, {}, {"status": {}}, ready)
    assert [path.find(obj) for obj in objects] == [[["B"]], [[]], [[]], [["B"]]]


@pytest.mark.parametrize(
    "path",
    [
        "..a..a..a..a..a..a",
        "..[*]..[*]..[*]..[*]",
        "['a','a','a','a']" * 12,
        ".l[?(@.l[*]..a)].l[?(@..l..l..l)]",
        ".l[0:400].l[0:400].l[0:400]",
        "..[*][*][*]",
    ],
)
def test_a_path_that_finds_more_than_there_is_time_for_gives_up(path):
    deep: Obj = {}
    wide = {"l": [{"l": [1] * 400}] * 400}
    for _ in range(120):
        deep = {"a": deep, "l": [deep, [deep]]}
    with some_work():
        for obj in (deep, wide):
            with contextlib.suppress(WalkError):
                JSONPath(f"{{{path}}}").find(obj)


def test_each_object_is_walked_afresh():
    path = JSONPath("{.l[*]}")
    for _ in range(5):
        assert len(path.find({"l": list(range(20_000))})[0]) == 20_000
