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
