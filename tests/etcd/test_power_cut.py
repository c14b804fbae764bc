"""Acknowledged writes are on disk when the power goes, and others are there as a whole or not at all."""

import asyncio
import os
import random
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from power_cut import PowerCut

from etcd.backends import open_store
from etcd.sqlite import SqliteLog, row
from etcd.store import Event, Unavailable

POD = "/registry/pods/a/"
SHARES = (0.0, 0.3, 0.8, 1.0)
"""Of what is not synced, how much the power cut leaves."""


@pytest.fixture
def power() -> Iterator[PowerCut]:
    try:
        power = PowerCut()
    except (AttributeError, OSError) as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(f"the library of SQLite that this Python has cannot be reached: {error}")
    with power.registered():
        yield power


async def state_after(power: PowerCut, folder: Path, room: Path, share: float) -> list[Event]:
    """Return all events of a store that is opened from the files that a power cut leaves."""
    write_files(room, power.left(folder, random.Random(share), share))
    store = await open_store(f"sqlite://{room}")
    events = list(store.watch("", after=0).next_nowait())
    assert (await store.put(POD + "next", b"")).mod_revision == len(events) + 1
    await store.close()
    return events


def test_the_log_is_synced_at_each_commit(tmp_path):
    log = SqliteLog(tmp_path / "store.db")
    log.read()
    settings = {name: log._execute(f"PRAGMA {name}").fetchone()[0] for name in ("synchronous", "journal_mode")}
    assert settings == {"synchronous": 2, "journal_mode": "wal"}  # 2 is FULL
    log.close()


def test_a_power_cut_takes_what_was_not_synced(power, tmp_path):
    """The file system of these tests does what it says, with a database that is not asked to sync its commits."""
    connection = sqlite3.connect(tmp_path / "a.db", isolation_level=None)
    connection.executescript("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; CREATE TABLE t (n)")
    for number in range(10):
        connection.execute("INSERT INTO t VALUES (?)", (number,))
    for share, kept in ((0.0, False), (1.0, True)):
        room = tmp_path / str(share)
        write_files(room, power.left(tmp_path, random.Random(1), share))
        copy = sqlite3.connect(room / "a.db")
        tables = copy.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        assert (tables and copy.execute("SELECT count(*) FROM t").fetchone()[0] == 10) == kept
        copy.close()
    connection.close()


@pytest.fixture
def room() -> Iterator[Path]:
    """A folder in memory, if there is such a place: opening a database syncs it several times."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        yield Path(folder)


def write_files(folder: Path, files: dict[str, bytes]) -> None:
    folder.mkdir()
    for name, content in files.items():
        (folder / name).write_bytes(content)


async def put_together(store, size: int, value: bytes) -> list[Any]:
    writes = (store.put(f"{POD}{size}/{number}", value) for number in range(size))
    return await asyncio.gather(*writes, return_exceptions=True)


@pytest.mark.parametrize("share", SHARES)
async def test_a_power_cut_takes_no_acknowledged_write(power, tmp_path, share):
    """Through commits of several sizes, checkpoints, and logs that begin again."""
    store: Any = await open_store(f"sqlite://{tmp_path}/data")
    store._log._execute("PRAGMA wal_autocheckpoint = 15")
    for round_number in range(3):
        for size in (1, 70):
            await put_together(store, size, b"%d" % round_number * 3000)
            room = tmp_path / f"{round_number}-{size}"
            events = await state_after(power, tmp_path / "data", room, share)
            assert events == list(store.watch("", after=0).next_nowait())
    await store.close()


@pytest.mark.parametrize("share", SHARES)
async def test_a_power_cut_after_closing_leaves_everything(power, tmp_path, share):
    store = await open_store(f"sqlite://{tmp_path}/data")
    await put_together(store, 20, bytes(3000))
    events = list(store.watch("", after=0).next_nowait())
    await store.close()
    assert await state_after(power, tmp_path / "data", tmp_path / "left", share) == events


@pytest.mark.parametrize("share", SHARES)
async def test_commits_that_could_not_be_synced_leave_nothing_that_looks_like_damage(power, tmp_path, share):
    """Their frames stay in the log behind those of the commit that follows, which is shorter."""
    store = await open_store(f"sqlite://{tmp_path}/data")
    await put_together(store, 1, b"")
    for size in (40, 25, 10):
        power.failing = 1
        assert {type(error) for error in await put_together(store, size, bytes(3000))} == {Unavailable}
    assert [kv.mod_revision for kv in await put_together(store, 1, b"")] == [2]
    events = await state_after(power, tmp_path / "data", tmp_path / "left", share)
    assert events == list(store.watch("", after=0).next_nowait())
    await store.close()


async def test_whenever_the_power_goes_the_database_can_be_opened_and_has_what_was_acknowledged(power, tmp_path, room):
    """At an opening, in commits and a compaction, and at the closing, after everything that is done to a file."""
    folder, dice = tmp_path / "data", random.Random(7)
    acknowledged = [0]
    moments: list[tuple[int, dict[str, bytes]]] = []

    def look() -> None:
        moments.append((max(acknowledged), power.left(folder, dice, dice.choice(SHARES))))

    for is_watched in (False, True):
        store = await open_store(f"sqlite://{folder}")
        power.watcher = look if is_watched else power.watcher
        for size, length in ((1, 10), (3, 3000), (66, 1)):
            results = await put_together(store, size, b"x" * length)
            acknowledged += [kv.mod_revision for kv in results]
        await store.compact(store.revision - 3)
        await store.close()
    power.watcher = lambda: None
    assert len(moments) > 20
    for number, (known, left) in enumerate(moments):
        await asyncio.to_thread(write_files, room / str(number), left)
        store = await open_store(f"sqlite://{room}/{number}")
        assert store.revision >= known
        await store.close()


# -- disks that are full


def fill_the_log(log: SqliteLog, power: PowerCut) -> None:
    """Leave no room for another page of the write-ahead log, whose pages need none in the database."""
    log._execute("PRAGMA wal_checkpoint")
    size = power.size()
    for _ in range(1000):
        log.probe()
        if power.size() > size:
            break
    power.room = power.size()


async def test_a_database_on_a_full_disk_is_closed_in_good_order_where_emptying_its_log_makes_room(power, tmp_path):
    store: Any = await open_store(f"sqlite://{tmp_path}/data")
    await put_together(store, 5, bytes(3000))
    fill_the_log(store._log, power)
    with pytest.raises(Unavailable, match="full"):
        await store.put(POD + "x", b"")
    await store.close()
    power.room = None
    assert not (tmp_path / "data" / "store.db-wal").exists()
    again = await open_store(f"sqlite://{tmp_path}/data")
    assert again.revision == 5
    await again.close()


async def test_a_database_on_a_full_disk_keeps_its_log_where_nothing_makes_room(power, tmp_path):
    store = await open_store(f"sqlite://{tmp_path}/data")
    await put_together(store, 50, bytes(3000))
    power.room = power.size()
    with pytest.raises(Unavailable, match="full"):
        await store.put(POD + "x", bytes(100_000))
    await store.close()
    assert (tmp_path / "data" / "store.db-wal").stat().st_size > 0
    power.room = None
    again = await open_store(f"sqlite://{tmp_path}/data")
    assert again.revision == 50
    await again.close()


async def test_a_probe_fails_as_long_as_the_disk_is_full(power, tmp_path):
    log = SqliteLog(tmp_path / "store.db")
    log.read()
    fill_the_log(log, power)
    for _ in range(2):
        with pytest.raises(Unavailable, match="full"):
            log.probe()
    power.room = None
    log.probe()
    assert log.meta("open")
    log.close()


async def test_a_database_on_a_full_disk_can_be_opened_and_read(power, tmp_path):
    store = await open_store(f"sqlite://{tmp_path}/data")
    await put_together(store, 5, bytes(3000))
    await store.close()
    power.room = power.size()
    again = await open_store(f"sqlite://{tmp_path}/data")
    assert again.count(POD) == 5
    with pytest.raises(Unavailable, match="full"):
        await again.put(POD + "x", b"")
    power.room = None
    assert (await again.put(POD + "x", b"")).mod_revision == 6
    await again.close()


# -- disks that fail


def descriptors() -> list[str]:
    """Return what this process has open, by path."""
    if not Path("/proc/self/fd").is_dir():
        pytest.skip("the system does not say which files a process has open")
    paths: list[str] = []
    for each in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):  # it has been closed meanwhile
            paths.append(str(each.readlink()))
    return paths


def test_a_disk_that_fails_while_a_database_is_opened_is_no_damage(power, tmp_path):
    log = SqliteLog(tmp_path / "store.db")
    power.failing = 1
    with pytest.raises(Unavailable, match=r"store\.db cannot be used: disk I/O error") as caught:
        log.read()
    assert str(tmp_path) in caught.value.reason
    assert not [path for path in descriptors() if path.startswith(str(tmp_path))]
    again = SqliteLog(tmp_path / "store.db")
    assert again.read().events == []
    again.close()


def test_a_new_database_for_which_there_is_no_room_leaves_nothing(power, tmp_path):
    power.room = 0
    with pytest.raises(Unavailable, match=r"store\.db cannot be opened: database or disk is full") as caught:
        SqliteLog(tmp_path / "store.db")
    assert str(tmp_path) in caught.value.reason
    assert list(tmp_path.iterdir()) == []
    assert not [path for path in descriptors() if path.startswith(str(tmp_path))]
    power.room = None
    log = SqliteLog(tmp_path / "store.db")
    log.read()
    log.close()


def test_the_log_begins_again_once_after_a_commit_that_could_not_be_synced(power, tmp_path):
    log = SqliteLog(tmp_path / "store.db")
    log.read()
    power.failing = 1
    with pytest.raises(Unavailable):
        log.append([row(1, "/a", 1, b"")])
    statements: list[str] = []
    log._connection.set_trace_callback(lambda statement: statements.append(statement.split()[0]))
    log.append([row(1, "/a", 1, b"")])
    log.append([row(2, "/b", 2, b"")])
    log._connection.set_trace_callback(None)
    assert statements == ["PRAGMA", "INSERT", "INSERT"]
    log.close()
