"""Caches and their listeners."""

import asyncio
import logging

import pytest
from running_controller import no_plan

from controller_manager.reconcile.contract import (
    NAMESPACE_INDEX,
    ORPHAN_INDEX,
    OWNER_INDEX,
    Change,
    ControllerSpec,
    Index,
    Watch,
)
from controller_manager.reconcile.kinds import CONFIG_MAP, EVERYTHING, POD, Kind
from controller_manager.runtime.cache import Caches, KindCache, revision_number, revision_of


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
    made.add_listener(fails)
    made.add_listener(lambda change: heard.append(change.obj["metadata"]["name"]))
    return made


def test_who_fails_at_an_odd_object_keeps_nobody_from_hearing_of_it_or_of_others(cache, heard, caplog):
    with caplog.at_level(logging.ERROR):
        cache.replace([pod("a"), pod("odd"), pod("z")], 7)
    assert heard == ["a", "odd", "z"]
    assert cache.synced
    assert cache.revision == 7
    assert len(cache.by_index(NAMESPACE_INDEX, "default")) == 3
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
    cache.add_index("some", lambda obj: odd(obj) if obj["metadata"]["name"] == "b" else ("x",))
    with caplog.at_level(logging.CRITICAL):
        cache.replace([pod("a"), pod("b"), pod("c")], 7)
        cache.put(pod("b", "8"))
        cache.remove(pod("b", "9"))
    assert heard == ["a", "b", "c", "b", "b"]
    assert [obj["metadata"]["name"] for obj in cache.by_index("some", "x")] == ["a", "c"]
    assert (len(cache), cache.revision) == (2, 9)


def test_an_index_may_name_a_value_twice(cache):
    cache.add_index("some", lambda _: ["x", "x"])
    cache.put(pod("a"))
    cache.put(pod("a", "2"))
    assert len(cache.by_index("some", "x")) == 1
    cache.remove(pod("a", "3"))
    assert len(cache.by_index("some", "x")) == 0


def test_a_revision_that_is_no_word_is_as_good_as_none(cache):
    cache.put(pod("a", 5))
    assert cache.get("default/a")
    cache.put(pod("b", ["odd"]))
    assert cache.revision == 5


def test_a_name_of_an_index_has_one_meaning(cache):
    def by_node(objects):
        return (objects["spec"]["nodeName"],)

    cache.add_index("node", by_node)
    cache.add_index("node", by_node)
    with pytest.raises(AssertionError, match="two indexes of pods are named node"):
        cache.add_index("node", lambda _: ())


# -- what is changes, and filed


def owned(name, owner=None, *, revision="1", uid=None, namespace="default"):
    meta = {"name": name, "namespace": namespace, "uid": uid or name, "resourceVersion": revision}
    other = {"uid": "somebody", "kind": "Node", "name": "n"}
    owners = [other, {"uid": owner, "kind": "Set", "name": "s", "controller": True}] if owner else [other]
    return {"metadata": meta | {"ownerReferences": owners}}


@pytest.fixture
def changes():
    return []


@pytest.fixture
def plain(changes):
    """A cache that reports its changes as (name before, name after) and revisions."""

    def version(obj):
        return obj and (obj["metadata"]["uid"], obj["metadata"]["resourceVersion"])

    made = KindCache(POD)
    made.add_listener(lambda change: changes.append((version(change.old), version(change.new))))
    return made


def names(objects):
    return sorted(obj["metadata"]["name"] for obj in objects)


def test_an_object_is_told_to_come_to_change_and_to_go(plain, changes):
    plain.put(owned("a"))
    plain.put(owned("a", revision="2"))
    plain.remove(owned("a", revision="3"))
    assert changes == [(None, ("a", "1")), (("a", "1"), ("a", "2")), (("a", "3"), None)]
    assert plain.revision == 3


def test_another_object_of_the_same_name_is_told_after_the_end_of_the_first(plain, changes):
    plain.put(owned("a", "one"))
    plain.put(owned("a", "two", uid="b", revision="2"))
    assert changes == [(None, ("a", "1")), (("a", "1"), None), (None, ("b", "2"))]
    assert names(plain.by_index(OWNER_INDEX, "one")) == []
    assert names(plain.by_index(OWNER_INDEX, "two")) == ["a"]


def test_the_end_of_the_first_can_be_seen_while_it_is_told(plain):
    seen = []
    plain.put(owned("a"))
    plain.add_listener(lambda change: seen.append((change.new is None, plain.get("default/a") is None)))
    plain.put(owned("a", uid="b", revision="2"))
    assert seen == [(True, True), (False, False)]


def test_what_goes_and_was_not_known_is_told_to_nobody_and_the_cache_is_as_far(plain, changes):
    plain.remove(owned("a", revision="7"))
    assert (changes, plain.revision) == ([], 7)


def test_a_list_tells_what_changed_and_leaves_alone_what_did_not(plain, changes):
    plain.replace([owned("a"), owned("b"), owned("c", revision="3")], 5)
    changes.clear()
    plain.replace([owned("b"), owned("c", revision="6"), owned("d", revision="7")], 9)
    assert changes == [(("a", "1"), None), (("c", "3"), ("c", "6")), (None, ("d", "7"))]
    assert (names(plain), plain.revision, len(plain)) == (["b", "c", "d"], 9, 3)


def test_a_change_says_whether_states_before_it_may_have_been_missed(plain):
    changes = []
    plain.add_listener(lambda change: changes.append((change.obj["metadata"]["name"], change.relisted)))
    plain.replace([owned("a"), owned("b"), owned("c")], 5)
    assert changes == [("a", False), ("b", False), ("c", False)]
    changes.clear()
    plain.put(owned("a", revision="6"))
    plain.replace([owned("a", revision="8"), owned("b", uid="other", revision="9")], 9)
    plain.put(owned("a", revision="10"))
    plain.resync()
    assert changes == [
        ("a", False),
        ("c", False),
        ("a", True),
        ("b", False),
        ("b", False),
        ("a", False),
        ("a", False),
        ("b", False),
    ]


def test_a_list_of_another_store_begins_at_its_revision(plain):
    plain.replace([owned("a", revision="50")], 60)
    woken = []
    plain.replace([owned("b", revision="3")], 5)
    assert plain.revision == 5
    plain.call_at_revision(6, lambda: woken.append(6))
    assert not woken
    plain.put(owned("c", revision="6"))
    assert woken == [6]


def test_a_resync_tells_everything_as_it_is(plain, changes):
    plain.replace([owned("a"), owned("b")], 5)
    changes.clear()
    plain.resync()
    assert changes == [(("a", "1"), ("a", "1")), (("b", "1"), ("b", "1"))]


def test_owners_are_filed_by_who_controls_and_others_as_orphans(plain):
    plain.replace([owned("a", "one"), owned("b"), owned("c", namespace="other")], 5)
    assert names(plain.by_index(OWNER_INDEX, "one")) == ["a"]
    assert names(plain.by_index(OWNER_INDEX, "somebody")) == []
    assert names(plain.by_index(ORPHAN_INDEX, "default")) == ["b"]
    assert names(plain.by_index(ORPHAN_INDEX, "other")) == ["c"]
    assert names(plain.by_index(NAMESPACE_INDEX, "default")) == ["a", "b"]
    plain.put(owned("b", "one", revision="6"))
    assert names(plain.by_index(ORPHAN_INDEX, "default")) == []
    assert names(plain.by_index(OWNER_INDEX, "one")) == ["a", "b"]
    for name in "ab":
        plain.remove(owned(name, "one", revision="7"))
    assert names(plain.by_index(OWNER_INDEX, "one")) == []


def test_values_that_no_object_has_any_more_take_no_room(plain):
    plain.replace([owned("a", "one"), owned("b", "one")], 5)
    plain.remove(owned("a", "one", revision="6"))
    assert list(plain._indexed[OWNER_INDEX]) == ["one"]
    plain.remove(owned("b", "one", revision="7"))
    assert not any(plain._indexed.values())


def test_a_new_cache_knows_nothing_and_hears_of_nothing_yet(plain):
    assert (plain.kind, plain.revision, plain.attached, plain.absent, plain.synced) == (POD, 0, None, False, False)
    assert (len(plain), list(plain), plain.get("default/a")) == (0, [], None)


def test_a_kind_that_is_not_served_is_known_to_be_empty_and_at_no_revision(plain):
    plain.replace([], 7)
    plain.replace([], 0)
    assert plain.synced
    assert plain.revision == 0


def test_an_index_that_two_want_is_asked_once_for_each_object(plain):
    asked = []

    def by_name(obj):
        asked.append(obj["metadata"]["name"])
        return (obj["metadata"]["name"],)

    plain.add_index("name", by_name)
    plain.add_index("name", by_name)
    plain.put(pod("a"))
    assert asked == ["a"]
    assert list(plain.by_index("name", "a")) == [pod("a")]


def test_an_index_comes_before_objects(plain):
    plain.put(owned("a"))
    with pytest.raises(AssertionError, match="indexes come before objects"):
        plain.add_index("late", lambda _: ())


# -- who waits


def test_who_waits_for_a_revision_is_woken_once_in_the_order_of_revisions(plain):
    woken = []
    for revision in (7, 5, 6, 5):
        plain.call_at_revision(revision, lambda revision=revision: woken.append(revision))
    plain.advance_to(4)
    assert woken == []
    plain.advance_to(6)
    assert woken == [5, 5, 6]
    plain.advance_to(6)
    plain.advance_to(5)
    assert (woken, plain.revision) == ([5, 5, 6], 6)
    plain.advance_to(9)
    assert woken == [5, 5, 6, 7]


def test_who_waits_for_an_object_is_woken_by_its_next_change_alone(plain):
    woken = []
    plain.put(owned("a"))
    plain.call_when_changed("default/a", lambda: woken.append("one"))
    plain.call_when_changed("default/a", lambda: woken.append("two"))
    plain.put(owned("b"))
    assert woken == []
    plain.put(owned("a", revision="2"))
    plain.remove(owned("a", revision="3"))
    assert woken == ["one", "two"]


def test_since_when_changes_come_in_is_the_first_moment_until_they_stop(plain):
    woken = []
    plain.call_when_attached(lambda: woken.append("now"))
    plain.attach(3.0)
    plain.attach(4.0)
    assert (plain.attached, woken) == (3.0, ["now"])
    plain.detach()
    detached = plain.attached
    assert detached is None
    plain.attach(5.0)
    assert (plain.attached, woken) == (5.0, ["now"])


async def test_a_cache_is_synced_after_its_first_list(plain):
    waiting = asyncio.ensure_future(plain.wait_until_synced())
    await asyncio.sleep(0)
    plain.put(owned("a"))
    plain.advance_to(8)
    await asyncio.sleep(0)
    assert not waiting.done()
    assert not plain.synced
    plain.replace([], 9)
    await waiting
    assert plain.synced


@pytest.mark.parametrize(("text", "number"), [("0", 0), ("17", 17), ("", 0), ("-1", 0), ("1.5", 0), ("x", 0)])
def test_a_revision_is_a_number_or_none(text, number):
    assert revision_number(text) == number
    assert revision_of({"metadata": {"resourceVersion": text}}) == number


# -- all caches


class CountingView:
    """A view that counts changes."""

    def __init__(self):
        self.changes = []

    def apply_change(self, kind, old, new):
        self.changes.append((kind, old is None, new is None))


def a_spec(name, *watches, **more):
    return ControllerSpec(name=name, watches=watches, observe=lambda *_: None, reconcile=no_plan, **more)


def test_a_view_is_made_once_and_hears_of_the_kinds_that_feed_it():
    caches = Caches()
    more = {"views": {"room": CountingView}, "view_kinds": {"room": (POD, CONFIG_MAP)}}
    caches.prepare_for(a_spec("one", Watch(POD), **more))
    first = caches.view("room")
    caches.prepare_for(a_spec("two", Watch(POD), **more))
    assert caches.view("room") is first
    caches[POD].put(owned("a"))
    caches[CONFIG_MAP].put(owned("m"))
    caches[POD].remove(owned("a", revision="2"))
    assert caches.view("room").changes == [(POD, True, False), (CONFIG_MAP, True, False), (POD, False, True)]


def test_what_a_controller_needs_is_provided():
    caches = Caches()
    index = Index(POD, "first letter", lambda obj: obj["metadata"]["name"][:1])
    caches.prepare_for(a_spec("one", Watch(POD), Watch(EVERYTHING), indexes=(index,)))
    assert list(caches.kinds) == [POD]
    caches[POD].put(owned("abc"))
    assert names(caches[POD].by_index("first letter", "a")) == ["abc"]


def test_who_follows_everything_hears_of_each_kind_once():
    caches, heard = Caches(), []
    caches.get_or_create(POD)
    assert not caches.follows_everything
    caches.add_listener(EVERYTHING, lambda kind: lambda change: heard.append((kind, change.obj["metadata"]["name"])))
    assert caches.follows_everything
    caches.get_or_create(CONFIG_MAP).put(owned("m"))
    caches[POD].put(owned("a"))
    assert heard == [(CONFIG_MAP, "m"), (POD, "a")]
    assert EVERYTHING not in caches.kinds


def test_who_follows_one_kind_hears_of_that_alone():
    caches, heard = Caches(), []
    caches.add_listener(POD, lambda _: lambda change: heard.append(change.obj["metadata"]["name"]))
    caches.get_or_create(CONFIG_MAP).put(owned("m"))
    caches[POD].put(owned("a"))
    assert heard == ["a"]


def test_a_kind_is_found_in_the_version_that_is_followed_now():
    caches = Caches()
    old, new = Kind("example.com", "v1", "Widget", "widgets"), Kind("example.com", "v2", "Widget", "widgets")
    assert caches.find(str(old)) is None
    first = caches.get_or_create(old)
    second = caches.get_or_create(new)
    assert caches.find(str(old)) is first
    assert caches.use_version(new) is second
    assert caches.find(str(old)) is second
    assert caches.use_version(old) is first
