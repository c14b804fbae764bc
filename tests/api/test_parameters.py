import pytest

from apiserver.api.errors import ApiError
from apiserver.api.parameters import Parameters, integer

QUERY = Parameters([("a", "1"), ("list", "x"), ("a", "2"), ("list", ""), ("list", "y"), ("empty", "")])


def test_of_several_values_the_first_counts():
    assert (QUERY["a"], QUERY.get("list"), QUERY.get("none")) == ("1", "x", None)
    assert "empty" in QUERY
    assert "none" not in QUERY


def test_a_list_has_all_its_values_in_their_order():
    assert QUERY.all("list") == ["x", "", "y"]
    assert QUERY.all("none") == []


@pytest.mark.parametrize(
    ("value", "is_so"),
    [("true", True), ("1", True), ("", True), ("no", True), ("0", False), ("false", False), ("FALSE", False)],
)
def test_what_is_neither_0_nor_false_is_true(value, is_so):
    assert Parameters([("x", value)]).is_true("x") is is_so
    assert Parameters([("x", value), ("x", "0"), ("x", "1")]).is_true("x") is is_so


def test_what_is_not_there_is_not_true():
    assert not QUERY.is_true("none")


def test_a_number_is_read_where_there_is_one():
    assert (QUERY.integer("a"), QUERY.integer("none")) == (1, None)


def test_an_empty_number_is_none():
    with pytest.raises(ApiError, match=r'strconv\.ParseInt: parsing "": invalid syntax'):
        QUERY.integer("empty")


@pytest.mark.parametrize("read", [integer, lambda text: Parameters([("x", text)]).integer("x")])
def test_what_is_no_number_is_a_bad_request_in_words_of_go(read):
    with pytest.raises(ApiError) as refused:
        read("ten")
    assert (refused.value.code, refused.value.message) == (400, 'strconv.ParseInt: parsing "ten": invalid syntax')


def test_no_parameters_are_nothing():
    assert not Parameters()
