"""A database that cannot be trusted is refused by name, and never opened as an empty one."""

import json
import os
import sqlite3
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from etcd.backends import open_store
from etcd.store import Damaged, StoreError, Unavailable

POD = "/registry/pods/a/"


async def filled(directory: Path, *, compact: int = 0) -> Path:
    """A database of 200 pods of 3 kB, closed."""
    store = await open_store(f"sqlite://{directory}")
    for n in range(200):
        await store.put(f"{POD}{n}", b"%03d" % n * 1000)
    await store.compact(compact)
    await store.close()
    return directory / "store.db"


async def abandoned(directory: Path) -> Path:
    """A database as a killed process leaves it: the last writes are in the write-ahead log."""
    store = await open_store(f"sqlite://{directory}/source")
    for n in range(20):
        await store.put(f"{POD}{n}", b"x" * 3000)
    copy = directory / "copy"
    copy.mkdir()
    for name in ("store.db", "store.db-wal"):
        (copy / name).write_bytes((directory / "source" / name).read_bytes())
    await store.close()
    return copy / "store.db"


def sql(statement: str) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        connection = sqlite3.connect(path)
        connection.execute(statement)
        connection.commit()
        connection.close()

    return damage


def overwrite(offset: int, data: bytes) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        with path.open("r+b") as file:
            file.seek(offset, os.SEEK_SET if offset >= 0 else os.SEEK_END)
            file.write(data)

    return damage


def flip_a_value(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[content.index(b"123" * 900)] ^= 1
    path.write_bytes(content)


DAMAGES = {
    "empty": lambda path: os.truncate(path, 0),
    "cut in half": lambda path: os.truncate(path, path.stat().st_size // 2),
    "cut by a page": lambda path: os.truncate(path, path.stat().st_size - 8192),
    "cut to a header": lambda path: os.truncate(path, 100),
    "garbage": lambda path: path.write_bytes(b"garbage " * 10_000),
    "one byte": lambda path: path.write_bytes(b"x"),
    "zeros": lambda path: path.write_bytes(bytes(path.stat().st_size)),
    "a header overwritten": overwrite(0, b"\0" * 100),
    "a page in the middle overwritten": overwrite(8192 * 20, b"\xff" * 8192),
    "the last page overwritten": overwrite(-8192, b"\0" * 8192),
    "one bit of a value": flip_a_value,
    "a row is gone": sql("DELETE FROM events WHERE revision = 150"),
    "a compacted row is gone": sql("DELETE FROM events WHERE revision = 50"),
    "a row too many": sql("INSERT INTO events VALUES (300, 'x', 300, '', 0)"),
    "a changed key": sql("UPDATE events SET key = 'x' WHERE revision = 150"),
    "a changed revision": sql("UPDATE events SET revision = 201 WHERE revision = 200"),
    "a value of a wrong type": sql("UPDATE events SET value = 12 WHERE revision = 150"),
    "no events": sql("DELETE FROM events"),
    "no table": sql("DROP TABLE events"),
    "no meta": sql("DELETE FROM meta"),
    "other columns": sql("ALTER TABLE events ADD COLUMN more"),
    "another program's": sql("PRAGMA application_id = 7"),
    "another format": sql("PRAGMA user_version = 99"),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
async def test_a_damaged_database_is_refused_and_left_alone(tmp_path, damage):
    path = await filled(tmp_path, compact=100)
    damage(path)
    content = path.read_bytes()
    for _ in range(2):
        with pytest.raises(Damaged) as caught:
            await open_store(f"sqlite://{path}")
        assert str(path) in str(caught.value)
        assert "backup" in str(caught.value)
    assert path.read_bytes() == content


async def test_writes_in_the_write_ahead_log_are_there_after_a_kill(tmp_path):
    store = await open_store(f"sqlite://{await abandoned(tmp_path)}")
    assert (store.revision, store.count("")) == (20, 20)
    await store.close()


def log_of(path: Path) -> Path:
    return path.with_name(path.name + "-wal")


def frames_of(path: Path) -> int:
    return (log_of(path).stat().st_size - 32) // 8216


@pytest.mark.parametrize("at", [0, 0.1, 0.5, 0.7])
@pytest.mark.parametrize(
    ("within", "damage"),
    [
        pytest.param(12, b"\0" * 24, id="zeros"),
        pytest.param(12, b"\xff" * 500, id="ones"),
        pytest.param(12, b"", id="a byte of the salts"),
        pytest.param(16, b"", id="a byte of the checksums"),
        pytest.param(124, b"", id="a byte of the page"),
    ],
)
async def test_damage_inside_the_write_ahead_log_is_refused_and_left_alone(tmp_path, at, within, damage):
    path = await abandoned(tmp_path)
    offset = 32 + int(frames_of(path) * at) * 8216 + within
    other = bytes(
        [log_of(path).read_bytes()[offset] ^ 1]
    )  # what is there is random, and so might be any byte that we name
    overwrite(offset, damage or other)(log_of(path))
    content = log_of(path).read_bytes()
    for _ in range(2):
        with pytest.raises(Damaged, match=r"store\.db-wal"):
            await open_store(f"sqlite://{path}")
    assert log_of(path).read_bytes() == content


@pytest.mark.parametrize("offset", [0, 8, 16, 24])
async def test_an_overwritten_header_of_the_write_ahead_log_is_refused(tmp_path, offset):
    path = await abandoned(tmp_path)
    overwrite(offset, b"\x07\x07\x07\x07")(log_of(path))
    with pytest.raises(Damaged, match=r"header of store\.db-wal"):
        await open_store(f"sqlite://{path}")


@pytest.mark.parametrize("cut", [1, 4000, 8216])
async def test_a_transaction_cut_off_by_a_crash_was_never_acknowledged_and_is_dropped(tmp_path, cut):
    path = await abandoned(tmp_path)
    os.truncate(log_of(path), log_of(path).stat().st_size - cut)
    store = await open_store(f"sqlite://{path}")
    assert store.revision == 19
    assert (await store.put(POD + "x", b"")).mod_revision == 20
    await store.close()


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.with_name("store.db-wal").unlink(),
        lambda path: os.truncate(path.with_name("store.db-wal"), 0),
        lambda path: path.unlink(),
        lambda path: os.truncate(path, 0),
    ],
    ids=["the log is gone", "the log is empty", "the file is gone", "the file is empty"],
)
async def test_a_file_and_its_log_belong_together(tmp_path, damage):
    path = await abandoned(tmp_path)
    damage(path)
    for _ in range(2):
        with pytest.raises(Damaged) as caught:
            await open_store(f"sqlite://{path}")
        assert str(path) in str(caught.value)


async def test_an_interrupted_compaction_is_finished_at_the_next_start(tmp_path):
    store: Any = await open_store(f"sqlite://{tmp_path}")
    for n in range(5):
        await store.put(f"{POD}{n % 2}", b"%d" % n)
    await store.delete(f"{POD}0")
    store._log.delete_rows = lambda _revisions: None
    await store.compact(6)
    await store.close()
    again: Any = await open_store(f"sqlite://{tmp_path}")
    assert [kv.mod_revision for kv in again.range("").items] == [4]
    assert (again.revision, len(again._superseded_rows)) == (6, 5)
    await again.put(POD + "2", b"")
    await again.compact(7)
    assert again._log._connection.execute("SELECT revision FROM events").fetchall() == [(4,), (7,)]
    await again.close()


async def test_a_second_opener_is_refused(tmp_path):
    store = await open_store(f"sqlite://{tmp_path}")
    for _ in range(2):
        with pytest.raises(Unavailable, match="in use") as caught:
            await open_store(f"sqlite://{tmp_path}")
        assert str(tmp_path) in str(caught.value)
    await store.put(POD + "x", b"")
    await store.close()
    again = await open_store(f"sqlite://{tmp_path}")
    assert again.revision == 1
    await again.close()


async def test_files_belong_to_their_owner_alone(tmp_path):
    store = await open_store(f"sqlite://{tmp_path}/new/data")
    await store.put(POD + "x", b"")
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "new").rglob("*")}
    assert modes == {"data": 0o700, "store.db": 0o600, "store.db-wal": 0o600}
    await store.close()


@pytest.mark.parametrize("name", ["data", "data/store.db", "my.cluster"])
async def test_a_directory_or_a_file_is_made_if_it_does_not_exist(tmp_path, name):
    store = await open_store(f"sqlite://{tmp_path}/{name}")
    await store.put(POD + "x", b"")
    await store.close()
    path = tmp_path / name
    assert (path if path.suffix == ".db" else path / "store.db").is_file()


async def test_a_place_where_nothing_can_be_made_is_unavailable(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StoreError) as caught:
        await open_store(f"sqlite://{tmp_path}/file/data")
    assert str(tmp_path) in str(caught.value)


async def test_a_value_that_nothing_can_be_attached_to_leaves_the_file_free(tmp_path):
    path = await filled(tmp_path)

    def attach(_key: str, _value: bytes) -> None:
        raise ValueError("no JSON")

    with pytest.raises(Damaged, match="no JSON"):
        await open_store(f"sqlite://{path}", attach=attach)
    store = await open_store(f"sqlite://{path}")
    assert store.count("") == 200
    await store.close()


async def test_a_value_that_its_owner_cannot_read_is_told_with_its_key(opened: Any, tmp_path: Path) -> None:
    url = f"sqlite://{tmp_path}/data"
    store = await opened(url)
    await store.put("/registry/pods/a/x", b"no object")
    await store.close()

    def attach(_key: str, value: bytes) -> Any:
        return json.loads(value)["metadata"]

    with pytest.raises(Damaged, match="has something under '/registry/pods/a/x' at revision 1 that is no object"):
        await opened(url, attach=attach)
