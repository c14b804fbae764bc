"""A key waits before it runs again until caches have seen what it wrote, or may have written."""

from typing import Any

import pytest

from controller_manager.reconcile.contract import Create, Delete, Get, ListAll, Update
from controller_manager.reconcile.kinds import CONFIG_MAP, POD
from controller_manager.runtime.cache import Caches
from controller_manager.runtime.expectations import SETTLE_SECONDS, TIMEOUT, Expectations


def pod(name: str, *, revision: int = 1, **meta):
    return {"metadata": {"namespace": "a", "name": name, "uid": f"uid-{name}", "resourceVersion": str(revision)} | meta}


@pytest.fixture
def caches():
    all_caches = Caches()
    all_caches.get_or_create(POD).replace([pod("x")], 10)
    return all_caches


@pytest.mark.parametrize("request_", [Create(POD, {}), Update(POD, {})])
def test_a_key_waits_until_the_cache_has_seen_what_it_wrote(caches, request_):
    awaited, woken = Expectations(caches), []
    awaited.expect("k", request_, pod("y", revision=12), now=0)
    awaited.expect("k", request_, pod("z", revision=14), now=0)
    assert awaited.seconds_blocked("k", lambda: woken.append("k"), now=1) == TIMEOUT - 1
    caches[POD].put(pod("y", revision=12))
    assert not woken
    assert awaited.seconds_blocked("k", lambda: woken.append("k"), now=2)
    caches[POD].put(pod("z", revision=14))
    assert woken == ["k"]
    assert not awaited.seconds_blocked("k", lambda: woken.append("k"), now=3)


def test_other_keys_do_not_wait(caches):
    awaited = Expectations(caches)
    awaited.expect("k", Create(POD, {}), pod("y", revision=12), now=0)
    assert not awaited.seconds_blocked("other", lambda: None, now=1)


def test_what_the_cache_has_seen_before_the_answer_came_is_not_awaited(caches):
    awaited = Expectations(caches)
    awaited.expect("k", Create(POD, {}), pod("x", revision=10), now=0)
    assert not awaited.seconds_blocked("k", lambda: None, now=0)


@pytest.mark.parametrize(
    "seen",
    [
        lambda cache: cache.remove(pod("x", revision=11)),
        lambda cache: cache.put(pod("x", revision=11, deletionTimestamp="2027-01-01T00:00:00Z")),
        lambda cache: cache.put(pod("x", revision=11, uid="another")),
    ],
    ids=["gone", "going", "another of its name"],
)
def test_a_deletion_is_seen_when_the_object_is_gone_or_going(caches, seen):
    awaited, woken = Expectations(caches), []
    awaited.expect("k", Delete(POD, "a/x"), {"kind": "Status", "details": {"uid": "uid-x"}}, now=0)
    assert awaited.seconds_blocked("k", lambda: woken.append("k"), now=1)
    seen(caches[POD])
    assert woken == ["k"]
    assert not awaited.seconds_blocked("k", lambda: None, now=1)


def test_after_five_minutes_a_key_runs_whatever_it_has_seen(caches):
    awaited = Expectations(caches)
    awaited.expect("k", Create(POD, {}), pod("y", revision=12), now=0)
    assert awaited.seconds_blocked("k", lambda: None, now=299)
    assert not awaited.seconds_blocked("k", lambda: None, now=300)


def test_a_kind_that_nobody_follows_is_not_awaited():
    awaited = Expectations(Caches())
    awaited.expect("k", Create(POD, {}), pod("y", revision=12), now=0)
    assert not awaited.seconds_blocked("k", lambda: None, now=0)


def test_what_may_have_been_stored_is_waited_for_until_the_cache_must_have_heard_of_it(caches):
    awaited, woken, cache = Expectations(caches), [], caches[POD]
    awaited.expect_unanswered("k", Delete(POD, "a/x"), now=1)
    assert awaited.seconds_blocked("k", lambda: woken.append("k"), now=1) == TIMEOUT
    cache.attach(5.0)
    assert woken == ["k"]
    assert awaited.seconds_blocked("k", lambda: None, now=5) == pytest.approx(SETTLE_SECONDS)
    cache.detach()
    assert awaited.seconds_blocked("k", lambda: woken.append("again"), now=5.2) > SETTLE_SECONDS
    cache.attach(9.0)
    assert woken == ["k", "again"]
    assert not awaited.seconds_blocked("k", lambda: None, now=9 + SETTLE_SECONDS)


def test_what_was_lost_while_the_cache_hears_of_everything_is_waited_for_briefly(caches):
    awaited = Expectations(caches)
    caches[POD].attach(0.0)
    awaited.expect_unanswered("k", Create(POD, {}), now=10)
    assert awaited.seconds_blocked("k", lambda: None, now=10) == pytest.approx(SETTLE_SECONDS)
    assert not awaited.seconds_blocked("k", lambda: None, now=10 + SETTLE_SECONDS)


@pytest.mark.parametrize("request_", [Get(POD, "a/x"), ListAll(POD)])
def test_a_question_without_an_answer_has_changed_nothing(caches, request_):
    awaited = Expectations(caches)
    awaited.expect_unanswered("k", request_, now=0)
    assert not awaited.seconds_blocked("k", lambda: None, now=0)


def test_a_list_that_may_hide_what_a_key_wrote_names_the_key_once_for_each_list():
    hidden: list[object] = []
    caches = Caches()
    cache = caches.get_or_create(POD)
    cache.replace([pod("x")], 10)
    awaited = Expectations(caches, hidden=hidden.append)
    awaited.expect("k", Create(POD, {}), pod("y", revision=12), now=0)
    awaited.expect("k", Create(POD, {}), pod("z", revision=13), now=0)
    awaited.expect("other", Create(POD, {}), pod("v", revision=14), now=0)
    cache.put(pod("y", revision=12))
    assert hidden == [], "an event hides nothing"
    cache.replace([pod("x")], 13)
    assert hidden == ["k", "other"]
    cache.replace([pod("x")], 15)
    assert hidden == ["k", "other", "other"], "k has seen all that it wrote"


# -- several things at once


def test_a_key_waits_for_each_kind_that_it_wrote(caches):
    caches.get_or_create(CONFIG_MAP).replace([], 10)
    awaited, woken = Expectations(caches), []
    awaited.expect("k", Create(POD, {}), pod("y", revision=12), now=0)
    awaited.expect("k", Create(CONFIG_MAP, {}), pod("m", revision=13), now=0)
    awaited.seconds_blocked("k", lambda: woken.append("k"), now=1)
    caches[POD].advance_to(12)
    assert woken == ["k"]
    assert awaited.seconds_blocked("k", lambda: woken.append("k"), now=1)
    caches[CONFIG_MAP].advance_to(12)
    assert woken == ["k"]
    caches[CONFIG_MAP].advance_to(13)
    assert woken == ["k", "k"]
    assert not awaited.seconds_blocked("k", lambda: None, now=1)


def test_a_write_that_is_older_than_another_does_not_shorten_the_wait(caches):
    awaited, woken = Expectations(caches), []
    for revision in (14, 12):
        awaited.expect("k", Create(POD, {}), pod(f"y{revision}", revision=revision), now=0)
    awaited.seconds_blocked("k", lambda: woken.append("k"), now=1)
    caches[POD].advance_to(13)
    assert not woken


def test_a_key_that_asks_twice_is_woken_once(caches):
    awaited, woken = Expectations(caches), []
    awaited.expect("k", Create(POD, {}), pod("y", revision=12), now=0)
    for now in (1, 2, 3):
        assert awaited.seconds_blocked("k", lambda: woken.append("k"), now=now) == TIMEOUT - now
    caches[POD].advance_to(12)
    assert woken == ["k"]


def test_each_write_begins_the_five_minutes_again(caches):
    awaited = Expectations(caches)
    awaited.expect("k", Create(POD, {}), pod("y", revision=12), now=0)
    awaited.expect("k", Create(POD, {}), pod("z", revision=13), now=200)
    assert awaited.seconds_blocked("k", lambda: None, now=300) == 200
    assert not awaited.seconds_blocked("k", lambda: None, now=500)


def test_what_expired_is_told_once_and_awaited_no_longer(caches):
    expired: list[Any] = []
    awaited = Expectations(caches, expired.append)
    awaited.expect("k", Create(POD, {}), pod("y", revision=12), now=0)
    for now in (TIMEOUT, TIMEOUT, TIMEOUT + 1):
        assert not awaited.seconds_blocked("k", lambda: None, now=now)
    assert expired == ["k"]


def test_what_was_seen_is_not_told_to_have_expired_later(caches):
    expired: list[Any] = []
    awaited = Expectations(caches, expired.append)
    awaited.expect("k", Create(POD, {}), pod("y", revision=12), now=0)
    caches[POD].advance_to(12)
    assert not awaited.seconds_blocked("k", lambda: None, now=1)
    assert not awaited.seconds_blocked("k", lambda: None, now=TIMEOUT + 1)
    assert expired == []


def test_what_a_forgotten_key_wrote_is_not_awaited(caches):
    awaited = Expectations(caches)
    awaited.expect("k", Create(POD, {}), pod("y", revision=12), now=0)
    awaited.delete("k")
    awaited.delete("another")
    assert not awaited.seconds_blocked("k", lambda: None, now=1)


@pytest.mark.parametrize("answer", [None, [], "text", {}, {"metadata": {}}, {"metadata": {"resourceVersion": "odd"}}])
def test_an_answer_without_a_revision_is_not_awaited(caches, answer):
    awaited = Expectations(caches)
    awaited.expect("k", Create(POD, {}), answer, now=0)
    assert not awaited.seconds_blocked("k", lambda: None, now=0)


@pytest.mark.parametrize(
    ("uid", "answer"),
    [
        ("uid-x", {}),
        ("", {"metadata": {"uid": "uid-x"}}),
        ("", {"details": {"uid": "uid-x"}}),
        ("uid-x", {"details": {"uid": "other"}}),
    ],
    ids=["asked for", "of the object", "of the Status", "asked for and told otherwise"],
)
def test_the_deletion_of_one_object_is_awaited_by_its_uid(caches, uid, answer):
    awaited = Expectations(caches)
    awaited.expect("k", Delete(POD, "a/x", uid=uid), answer, now=0)
    assert awaited.seconds_blocked("k", lambda: None, now=0)


@pytest.mark.parametrize("answer", [{"details": {"uid": "of another"}}, {"metadata": {"uid": "of another"}}, {}])
def test_the_deletion_of_an_object_that_the_cache_never_had_is_not_awaited(caches, answer):
    awaited = Expectations(caches)
    awaited.expect("k", Delete(POD, "a/x"), answer, now=0)
    awaited.expect("k", Delete(POD, "a/unknown"), answer, now=0)
    assert not awaited.seconds_blocked("k", lambda: None, now=0)


def test_all_deletions_are_awaited(caches):
    caches[POD].put(pod("y"))
    awaited, woken = Expectations(caches), []
    for name in "xy":
        awaited.expect("k", Delete(POD, f"a/{name}"), {"details": {"uid": f"uid-{name}"}}, now=0)
    awaited.seconds_blocked("k", lambda: woken.append("k"), now=1)
    caches[POD].remove(pod("y", revision=11))
    assert awaited.seconds_blocked("k", lambda: woken.append("k"), now=1)
    caches[POD].remove(pod("x", revision=12))
    assert not awaited.seconds_blocked("k", lambda: None, now=1)


def test_of_several_doubts_the_last_to_be_settled_counts(caches):
    caches.get_or_create(CONFIG_MAP).attach(5.0)
    caches[POD].attach(0.0)
    awaited = Expectations(caches)
    awaited.expect_unanswered("k", Create(CONFIG_MAP, {}), now=1)
    awaited.expect_unanswered("k", Create(POD, {}), now=4)
    assert awaited.seconds_blocked("k", lambda: None, now=4) == pytest.approx(1 + SETTLE_SECONDS)
    assert not awaited.seconds_blocked("k", lambda: None, now=5 + SETTLE_SECONDS)


def test_a_doubt_about_a_kind_that_nobody_follows_delays_nothing(caches):
    awaited = Expectations(caches)
    awaited.expect_unanswered("k", Create(CONFIG_MAP, {}), now=1)
    assert not awaited.seconds_blocked("k", lambda: None, now=1)
