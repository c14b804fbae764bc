"""A copy of a database that somebody is writing to is one of its states, and does not disturb the writer."""

import asyncio
import os
import shutil
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from etcd import image as images
from etcd.image import NewDatabase, image
from etcd.store import Damaged, Store, Unavailable

Opened = Callable[..., Awaitable[Store]]


def read(database: Path, room: Path) -> tuple[int, dict[str, bytes | None]]:
    with image(database, room) as found:
        return found.revision, {row.key: row.value for row in found.rows()}


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
    assert store.trouble == ""
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
    with image(tmp_path / "data" / "store.db", room) as found:
        assert not found.closed
    await store.close()
    with image(tmp_path / "data" / "store.db", room) as found:
        assert found.closed


async def test_who_is_interrupted_as_soon_as_there_is_a_place_for_the_copy_leaves_none(
    opened: Opened, tmp_path: Path, room: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await opened(f"sqlite://{tmp_path}/data")
    mkdir = os.mkdir

    def interrupted(*arguments: Any) -> None:
        mkdir(*arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "mkdir", interrupted)
    with pytest.raises(KeyboardInterrupt):
        read(tmp_path / "data" / "store.db", room)
    assert not left_in(room)


async def test_a_log_that_begins_anew_too_often_is_given_up(
    durable: Store, tmp_path: Path, room: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ages = iter(range(1_000_000))
    monkeypatch.setattr(images, "_age", lambda *_: next(ages))
    monkeypatch.setattr(images, "PATIENCE", 0.0)
    with pytest.raises(Unavailable, match="changes faster than it can be copied: try again at a quieter time"):
        read(tmp_path / "data" / "store.db", room)
    assert not left_in(room)


async def test_what_is_damaged_is_told_of_the_database_itself(opened: Opened, tmp_path: Path, room: Path) -> None:
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
