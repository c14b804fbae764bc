"""Caches and those who listen to them."""

import logging

import pytest

from controller_manager.runtime.cache import KindCache
from controller_manager.runtime.contract import NAMESPACE_INDEX, Change
from controller_manager.runtime.kinds import POD


def pod(name, revision="1"):
    return {"metadata": {"name": name, "namespace": "default", "uid": name, "resourceVersion": revision}}


@pytest.fixture
def heard():
    return []


@pytest.fixture
def cache(heard):
    """A cache with a listener that fails at the pod "odd", and one after it that hears of everything."""

    def fails(change: Change) -> None:
        if change.obj["metadata"]["name"] == "odd":
            raise KeyError("what no server lets through")

    made = KindCache(POD)
    made.listen(fails)
    made.listen(lambda change: heard.append(change.obj["metadata"]["name"]))
    return made


def test_who_fails_at_an_odd_object_keeps_nobody_from_hearing_of_it_or_of_others(cache, heard, caplog):
    with caplog.at_level(logging.ERROR):
        cache.replace([pod("a"), pod("odd"), pod("z")], 7)
    assert heard == ["a", "odd", "z"]
    assert cache.synced
    assert cache.revision == 7
    assert len(cache.by(NAMESPACE_INDEX, "default")) == 3
    assert [record.getMessage() for record in caplog.records] == ["whoever listens to pods failed at default/odd"]


def test_what_went_is_told_although_somebody_fails(cache, heard, caplog):
    cache.replace([pod("odd")], 7)
    with caplog.at_level(logging.ERROR):
        cache.replace([pod("b")], 8)
    assert heard == ["odd", "odd", "b"]
    assert cache.get("default/odd") is None


ODD_VALUES = {
    "it fails": lambda obj: obj["spec"],
    "it fails halfway": lambda _: (str(1 // number) for number in (1, 0)),
    "it names what is no word": lambda _: ("x", ["y"]),
}


@pytest.mark.parametrize("odd", ODD_VALUES.values(), ids=ODD_VALUES)
def test_an_index_that_fails_at_an_odd_object_finds_the_others_and_the_object_is_known(cache, heard, caplog, odd):
    cache.index("some", lambda obj: odd(obj) if obj["metadata"]["name"] == "b" else ("x",))
    with caplog.at_level(logging.CRITICAL):
        cache.replace([pod("a"), pod("b"), pod("c")], 7)
        cache.put(pod("b", "8"))
        cache.remove(pod("b", "9"))
    assert heard == ["a", "b", "c", "b", "b"]
    assert [obj["metadata"]["name"] for obj in cache.by("some", "x")] == ["a", "c"]
    assert (len(cache), cache.revision) == (2, 9)


def test_an_index_may_name_a_value_twice(cache):
    cache.index("some", lambda _: ["x", "x"])
    cache.put(pod("a"))
    cache.put(pod("a", "2"))
    assert len(cache.by("some", "x")) == 1
    cache.remove(pod("a", "3"))
    assert len(cache.by("some", "x")) == 0


def test_a_revision_that_is_no_word_is_as_good_as_none(cache):
    cache.put(pod("a", 5))
    assert cache.get("default/a")
    cache.put(pod("b", ["odd"]))
    assert cache.revision == 5


def test_a_name_of_an_index_has_one_meaning(cache):
    def by_node(found):
        return (found["spec"]["nodeName"],)

    cache.index("node", by_node)
    cache.index("node", by_node)
    with pytest.raises(AssertionError, match="two indexes of pods are named node"):
        cache.index("node", lambda _: ())
