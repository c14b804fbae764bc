"""A copy of a database that somebody is writing to is one of its states, and does not disturb the writer."""

import asyncio
import os
import shutil
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from etcd.snapshot import NewDatabase, open_snapshot
from etcd.sqlite import SqliteLog, row
from etcd.store import Damaged, Store, Unavailable

Opened = Callable[..., Awaitable[Store]]


def read(database: Path, room: Path) -> tuple[int, dict[str, bytes | None]]:
    with open_snapshot(database, room) as copied:
        return copied.revision, {row.key: row.value for row in copied.rows()}


def left_in(room: Path) -> list[Path]:
    return list(room.iterdir())


@pytest.fixture
def room(tmp_path: Path) -> Path:
    path = tmp_path / "room"
    path.mkdir()
    return path


async def test_every_copy_is_a_state_that_there_was(opened: Opened, tmp_path: Path, room: Path) -> None:
    store = await opened(f"sqlite://{tmp_path}/data", compact_count=500)
    values = [bytes(5000) + str(number).encode() for number in range(40)]
    written = 0

    async def write() -> None:
        nonlocal written
        while True:  # key k has the number of the round in which it was written last
            key = f"/registry/a/{written % 40}"
            await asyncio.gather(*(store.put(f"{key}/{each}", values[written % 40]) for each in range(20)))
            written += 1

    writer = asyncio.create_task(write())
    for _ in range(12):
        before = written
        revision, state = await asyncio.to_thread(read, tmp_path / "data" / "store.db", room)
        newest = (revision + 19) // 20
        assert before <= newest <= written + 1
        assert len(state) == min(revision, 800)
    writer.cancel()
    with pytest.raises(asyncio.CancelledError):
        await writer
    assert store.health_error == ""
    assert not left_in(room)


async def test_a_copy_has_each_keys_newest_version(opened: Opened, tmp_path: Path, room: Path) -> None:
    store = await opened(f"sqlite://{tmp_path}/data")
    for value in (b"1", b"2"):
        for key in "abc":
            await store.put(f"/registry/a/{key}", value)
    await store.delete("/registry/a/b")
    await store.compact(5)
    await store.put("/registry/a/c", b"3")
    state = {"/registry/a/a": b"2", "/registry/a/c": b"3"}
    assert read(tmp_path / "data" / "store.db", room) == (8, state)
    await store.close()
    assert read(tmp_path / "data" / "store.db", room) == (8, state)


async def test_a_copy_tells_whether_its_server_had_ended(opened: Opened, tmp_path: Path, room: Path) -> None:
    store = await opened(f"sqlite://{tmp_path}/data")
    with open_snapshot(tmp_path / "data" / "store.db", room) as copied:
        assert not copied.closed
    await store.close()
    with open_snapshot(tmp_path / "data" / "store.db", room) as copied:
        assert copied.closed


@pytest.mark.parametrize("is_made", [False, True], ids=["before it is made", "after it is made"])
async def test_who_is_interrupted_as_the_directory_for_the_copy_is_made_leaves_none(
    opened: Opened, tmp_path: Path, room: Path, monkeypatch: pytest.MonkeyPatch, *, is_made: bool
) -> None:
    await opened(f"sqlite://{tmp_path}/data")
    mkdir = os.mkdir

    def interrupted(*arguments: Any) -> None:
        if is_made:
            mkdir(*arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "mkdir", interrupted)
    with pytest.raises(KeyboardInterrupt):
        read(tmp_path / "data" / "store.db", room)
    assert not left_in(room)


async def test_a_copy_can_be_read_by_its_owner_alone(durable: Store, tmp_path: Path, room: Path) -> None:
    with open_snapshot(tmp_path / "data" / "store.db", room):
        [directory] = left_in(room)
        assert directory.stat().st_mode & 0o777 == 0o700


async def test_a_disk_that_fails_while_a_copy_is_read_is_no_damage(durable: Store, tmp_path: Path, room: Path) -> None:
    database = tmp_path / "data" / "store.db"
    with (
        pytest.raises(Unavailable, match=f"The database {database} cannot be read: disk I/O error"),
        open_snapshot(database, room),
    ):
        raise sqlite3.OperationalError("disk I/O error")
    assert not left_in(room)


# -- a server that writes meanwhile


class AfterCopy:
    """Has something happen whenever a database has been copied, before its log is.

    Attributes:
        acts: what happens, copy by copy; nothing after the last.
        copies: how many copies of the database were made.
    """

    def __init__(self, database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.acts: list[Callable[[Path], None]] = []
        self.copies = 0
        self._database = database
        self._copyfile = shutil.copyfile
        monkeypatch.setattr("etcd.snapshot.shutil.copyfile", self._copy)

    def _copy(self, source: Path, copy: Path) -> None:
        self._copyfile(source, copy)
        if source == self._database:
            self.copies += 1
            if self.acts:
                self.acts.pop(0)(copy)


@pytest.fixture
async def database(opened: Opened, tmp_path: Path) -> Path:
    """A database with one key, which no server has."""
    store = await opened(f"sqlite://{tmp_path}/data")
    await store.put("/registry/a/a", b"1")
    await store.close()
    return tmp_path / "data" / "store.db"


@pytest.fixture
def meanwhile(database: Path, monkeypatch: pytest.MonkeyPatch) -> AfterCopy:
    return AfterCopy(database, monkeypatch)


def write(log: SqliteLog, revision: int) -> None:
    log.append([row(revision, "/registry/a/a", 1, b"%d" % revision)])


def test_a_copy_during_which_a_server_came_and_went_is_taken_again(
    database: Path, room: Path, meanwhile: AfterCopy
) -> None:
    def serve(_copy: Path) -> None:
        log = SqliteLog(database)
        log.read()
        write(log, 2)
        log.close()

    meanwhile.acts = [serve]
    assert read(database, room) == (2, {"/registry/a/a": b"2"})
    assert meanwhile.copies == 2


def test_a_log_that_ends_while_it_is_copied_is_no_part_of_the_next_copy(
    database: Path, room: Path, meanwhile: AfterCopy, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = SqliteLog(database)
    log.read()
    write(log, 2)
    copyfile = shutil.copyfile

    def copied(source: Path, copy: Path) -> None:
        copyfile(source, copy)
        if source != database:
            write(log, 3)
            log.close()

    monkeypatch.setattr("etcd.snapshot.shutil.copyfile", copied)
    assert read(database, room) == (3, {"/registry/a/a": b"3"})


def test_a_log_may_begin_again_more_often_than_a_copy_may_look_damaged(
    database: Path, room: Path, meanwhile: AfterCopy
) -> None:
    log = SqliteLog(database)
    log.read()
    write(log, 2)
    revisions = iter(range(3, 100))

    def begin_again(_copy: Path) -> None:
        log._execute("PRAGMA wal_checkpoint(RESTART)")
        write(log, next(revisions))

    meanwhile.acts = [begin_again] * 10
    assert read(database, room) == (12, {"/registry/a/a": b"12"})
    assert meanwhile.copies == 11
    log.close()


def test_a_log_that_is_written_to_the_database_and_goes_on_does_not_spoil_a_copy(
    database: Path, room: Path, meanwhile: AfterCopy
) -> None:
    log = SqliteLog(database)
    log.read()
    write(log, 2)

    def checkpoint(_copy: Path) -> None:
        write(log, 3)
        log._execute("PRAGMA wal_checkpoint(PASSIVE)")

    meanwhile.acts = [checkpoint]
    assert read(database, room) == (3, {"/registry/a/a": b"3"})
    assert meanwhile.copies == 1
    log.close()


@pytest.mark.parametrize("number", [1, 4, 5])
def test_a_copy_that_looks_damaged_is_taken_again_up_to_five_times(
    database: Path, room: Path, meanwhile: AfterCopy, number: int
) -> None:
    meanwhile.acts = [lambda copy: os.truncate(copy, 10_000)] * number
    if number < 5:
        assert read(database, room) == (1, {"/registry/a/a": b"1"})
    else:
        with pytest.raises(Damaged, match=f"The database {database} is damaged"):
            read(database, room)
    assert meanwhile.copies == min(number + 1, 5)
    assert not left_in(room)


@pytest.mark.parametrize(("seconds", "copies"), [(70.0, 1), (30.25, 2), (20.0, 4)])
def test_a_log_that_restarts_too_often_is_given_up_after_a_minute(
    database: Path, room: Path, meanwhile: AfterCopy, monkeypatch: pytest.MonkeyPatch, seconds: float, copies: int
) -> None:
    now = 1000.0
    monkeypatch.setattr("etcd.snapshot.time", SimpleNamespace(monotonic=lambda: now))

    def change(_copy: Path) -> None:
        nonlocal now
        now += seconds
        os.utime(database, (now, now))

    meanwhile.acts = [change] * 10
    words = f"The database {database} changes faster than it can be copied: try again at a quieter time."
    with pytest.raises(Unavailable, match=f"^{words}$"):
        read(database, room)
    assert meanwhile.copies == copies
    assert not left_in(room)


# -- what is damaged


async def test_damage_of_the_database_itself_is_reported_as_such(opened: Opened, tmp_path: Path, room: Path) -> None:
    store = await opened(f"sqlite://{tmp_path}/data")
    await asyncio.gather(*(store.put(f"/registry/a/{number}", b"value" * 500) for number in range(50)))
    await store.close()
    database = tmp_path / "data" / "store.db"
    content = database.read_bytes()
    database.write_bytes(content.replace(b"valuevalue", b"valuevalux", 1))
    with pytest.raises(Damaged, match=rf"The database {database} is damaged: the checksum of revision"):
        read(database, room)
    database.write_bytes(content[:20_000])
    with pytest.raises(Damaged, match=rf"The database {database} is damaged"):
        read(database, room)


@pytest.mark.parametrize("compacted", [0, 2, 5], ids="compacted at {}".format)
async def test_keys_that_were_compacted_are_counted_whether_anything_was_written_since(
    opened: Opened, tmp_path: Path, room: Path, compacted: int
) -> None:
    store = await opened(f"sqlite://{tmp_path}/data")
    for key in "abcde":
        await store.put(f"/registry/a/{key}", b"{}")
    await store.compact(compacted)
    await store.close()
    assert read(tmp_path / "data" / "store.db", room)[0] == 5
    with closing(sqlite3.connect(tmp_path / "data" / "store.db")) as connection, connection:
        connection.execute("UPDATE meta SET number = 9 WHERE name = 'live'")
    with pytest.raises(Damaged, match=f"9 keys were compacted, and it has {compacted}"):
        read(tmp_path / "data" / "store.db", room)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ("DELETE FROM events WHERE revision = 3", "1 revisions between 2 and 5 are missing"),
        ("DELETE FROM events WHERE revision = 1", "2 keys were compacted, and it has 1"),
        ("UPDATE events SET value = 5 WHERE revision = 4", "a row is of another shape"),
        ("UPDATE meta SET number = 9 WHERE name = 'live'", "9 keys were compacted, and it has 2"),
    ],
)
async def test_rows_that_do_not_fit_are_damage(
    opened: Opened, tmp_path: Path, room: Path, change: str, why: str
) -> None:
    store = await opened(f"sqlite://{tmp_path}/data")
    for key in "abcde":
        await store.put(f"/registry/a/{key}", b"{}")
    await store.compact(2)
    await store.close()
    with closing(sqlite3.connect(tmp_path / "data" / "store.db")) as connection, connection:
        connection.execute(change)
    with pytest.raises(Damaged, match=why):
        read(tmp_path / "data" / "store.db", room)


async def test_a_new_database_is_opened_as_any_other(opened: Opened, tmp_path: Path, room: Path) -> None:
    new = NewDatabase(tmp_path / "draft", above=100)
    new.add([("/registry/a/a", b"1"), ("/registry/a/b", b"2")])
    new.add([("/registry/b/a", b"3")])
    new.finish()
    new.close()
    shutil.move(tmp_path / "draft", tmp_path / "new.db")
    assert (tmp_path / "new.db").stat().st_mode & 0o777 == 0o600
    store: Any = await opened(f"sqlite://{tmp_path}/new.db")
    assert [(kv.key, kv.value, kv.mod_revision) for kv in store.range("").items] == [
        ("/registry/a/a", b"1", 101),
        ("/registry/a/b", b"2", 102),
        ("/registry/b/a", b"3", 103),
    ]
    assert (await store.put("/registry/a/a", b"4", expect=101)).mod_revision == 104


def test_a_new_database_takes_the_place_of_what_was_there_and_is_on_disk_when_it_is_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "draft"
    path.write_bytes(b"left behind")
    synced: list[bytes] = []

    def fsync(descriptor: int) -> None:
        assert os.path.samestat(os.fstat(descriptor), path.stat())
        synced.append(path.read_bytes())

    monkeypatch.setattr(os, "fsync", fsync)
    new = NewDatabase(path, above=7)
    new.add([("/registry/a/a", b"1")])
    new.finish()
    new.close()
    assert synced == [path.read_bytes()]
    log = SqliteLog(path)
    assert [(revision, key, value) for revision, key, _, value, _ in log.read().state.values()] == [
        (8, "/registry/a/a", b"1")
    ]
    log.close()


def test_a_new_database_that_is_closed_takes_nothing_more(tmp_path: Path) -> None:
    new = NewDatabase(tmp_path / "draft", above=0)
    new.close()
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        new.add([("/registry/a/a", b"1")])
