import pytest

from apiserver.endpoints.responses import response


def warning_texts(*warnings):
    return [text.removeprefix('299 - "').removesuffix('"') for name, text in response(b"", warnings=warnings).headers]


def test_each_is_told_once_and_none_that_says_nothing():
    assert warning_texts("a", "b", "", "a") == ["a", "b"]


@pytest.mark.parametrize("size", [1, 300, 4096])
def test_what_is_not_too_much_is_told_whole(size):
    warnings = ["x" * (size - 1) + chr(97 + number) for number in range(min(26, 4096 // size))]
    assert warning_texts(*warnings) == warnings


def test_of_too_much_the_beginnings_are_told():
    assert warning_texts("a" * 4097) == ["a" * 256]
    assert warning_texts("a" * 4000, "b" * 97, "c", "d" * 300) == ["a" * 256, "b" * 97, "c", "d" * 256]


def test_no_more_are_told_than_fit():
    many = [f"{number:04}" + "x" * 300 for number in range(1000)]
    assert warning_texts(*many) == [text[:256] for text in many[:16]]
    short = [f"{number:04}" for number in range(5000)]
    assert warning_texts(*short) == short[:1025]
