"""The contract's errors, whose words end up in logs and answers, and its limits."""

from collections.abc import Callable

import pytest

from etcd.backends import open_store
from etcd.store import (
    Compacted,
    Conflict,
    Damaged,
    Event,
    Full,
    FutureRevision,
    KeyValue,
    StoreError,
    TooLarge,
    Unavailable,
    Unreachable,
)

KEY_VALUE = KeyValue("/r/a", b"", 3, 7, None)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Conflict(KEY_VALUE), "at revision 7"),
        (lambda: Conflict(None), "the key does not exist"),
        (lambda: Compacted(5), "revisions before 5 have been compacted"),
        (lambda: FutureRevision(5), "the newest revision is 5"),
        (lambda: Unavailable("the disk is full"), "the disk is full"),
        (lambda: Unreachable("nobody answers"), "nobody answers"),
        (TooLarge, "etcdserver: request is too large"),
        (Full, "etcdserver: mvcc: database space exceeded"),
        (lambda: Damaged("store.db is damaged"), "store.db is damaged"),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_every_error_says_what_has_happened(make: Callable[[], StoreError], words: str) -> None:
    error = make()
    assert isinstance(error, StoreError)
    assert str(error) == words


def test_errors_carry_what_callers_decide_by():
    assert Conflict(KEY_VALUE).current == KEY_VALUE
    assert Conflict(None).current is None
    assert Compacted(5).compact_revision == 5
    assert FutureRevision(5).current == 5
    assert Unavailable("the disk is full").reason == "the disk is full"
    assert isinstance(Unreachable("nobody answers"), Unavailable)
    assert Unreachable("nobody answers").reason == "nobody answers"
    assert [Unreachable("late", unknown=each).unknown for each in (True, False)] == [True, False]


def test_a_write_is_known_not_to_have_happened_unless_the_error_says_otherwise():
    assert not Unreachable("nobody answers").unknown


@pytest.mark.parametrize(
    ("kv", "prev", "is_create", "is_delete"),
    [(KEY_VALUE, None, True, False), (KEY_VALUE, KEY_VALUE, False, False), (None, KEY_VALUE, False, True)],
)
def test_an_event_says_what_became_of_its_key(kv, prev, is_create, is_delete):
    event = Event(7, "/r/a", kv, prev)
    assert (event.is_create, event.is_delete) == (is_create, is_delete)


async def test_a_write_may_have_the_bytes_that_an_etcd_server_takes_by_default():
    """Its --max-request-bytes is 1.5 MiB."""
    store = await open_store("memory://")
    largest = bytes(3 * 2**19 - len("/r/a"))
    assert (await store.put("/r/a", largest)).mod_revision == 1
    with pytest.raises(TooLarge):
        await store.put("/r/a", largest + b"x")
    await store.close()
