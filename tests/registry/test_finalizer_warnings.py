"""The warnings that the writer of a custom object gets for the finalizers that it adds."""

import pytest

from apiserver.registry.validation import finalizer_warnings

BARE = "prefer a domain-qualified finalizer name to avoid accidental conflicts with other finalizer writers"
PATHLESS = BARE.replace("name to", "name including a path (/) to")


def warnings(*names, known=None, minor=34):
    old = None if known is None else {"metadata": {"finalizers": known}}
    return finalizer_warnings({"metadata": {"finalizers": [*names]}}, old, minor)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("example.com/a", []),
        ("kubernetes", []),
        ("orphan", []),
        ("foregroundDeletion", []),
        ("foo", [BARE]),
        ("foo.example.com", [PATHLESS]),
    ],
)
def test_names_without_a_path_get_a_warning_but_for_those_of_kubernetes(name, words):
    assert warnings(name) == tuple(f'metadata.finalizers: "{name}": {each}' for each in words)


def test_what_is_no_name_is_told_too():
    first, second = warnings("a b")
    assert first.startswith('metadata.finalizers: "a b": name part must consist of alphanumeric characters')
    assert second == f'metadata.finalizers: "a b": {BARE}'


def test_each_is_told_once_in_the_order_of_names_and_not_again():
    assert [each.split('"')[1] for each in warnings("b", "a", "b")] == ["a", "b"]
    assert [each.split('"')[1] for each in warnings("b", "a", known=["b"])] == ["a"]
    assert warnings("b", known=["b"]) == warnings(known=[]) == ()


def test_releases_tell_what_they_told():
    assert warnings("foo", minor=28) == ()
    assert warnings("foo.example.com", minor=31) == (f'metadata.finalizers: "foo.example.com": {BARE}',)
    assert warnings("foo.example.com", minor=32) == (f'metadata.finalizers: "foo.example.com": {PATHLESS}',)
