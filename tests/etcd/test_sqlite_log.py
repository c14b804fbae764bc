"""The file of the durable store: its format, what one commit asks of SQLite, and how each kind of damage is named."""

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from etcd.sqlite import SqliteLog, row, row_of
from etcd.store import Damaged, Event, KeyValue, Unavailable


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def log(path: Path) -> Iterator[SqliteLog]:
    log = SqliteLog(path)
    log.read()
    yield log
    log.close()


def rows(first: int, number: int) -> list[Any]:
    return [row(revision, f"/r/{revision}", revision, b"") for revision in range(first, first + number)]


def test_a_file_says_what_it_is_in_its_header(log, path):
    """Files of older versions are known by these numbers, so they do not change by accident."""
    log.close()
    header = path.read_bytes()[:100]
    assert header[68:72] == b"mkub"
    assert int.from_bytes(header[60:64]) == 1
    assert int.from_bytes(header[16:18]) == 8192


def test_a_row_is_made_of_an_event():
    kv = KeyValue("/r/a", b"x", 3, 7, None)
    assert row_of(Event(7, "/r/a", kv, None))[:4] == (7, "/r/a", 3, b"x")
    assert row_of(Event(8, "/r/a", None, kv))[:4] == (8, "/r/a", 0, None)


@pytest.mark.parametrize(
    ("number", "statements"),
    [
        (1, ["INSERT"]),
        (64, ["INSERT"]),
        (65, ["BEGIN", "INSERT", "INSERT", "COMMIT"]),
        (128, ["BEGIN", "INSERT", "INSERT", "COMMIT"]),
        (129, ["BEGIN", "INSERT", "INSERT", "INSERT", "COMMIT"]),
    ],
)
def test_a_batch_is_one_transaction_of_few_statements(log, number, statements):
    said: list[str] = []
    log._connection.set_trace_callback(lambda statement: said.append(statement.split()[0]))
    log.append(rows(1, number))
    log._connection.set_trace_callback(None)
    assert said == statements
    assert [each.revision for each in log.rows()] == list(range(1, number + 1))


def test_a_batch_that_fails_in_its_middle_leaves_nothing(log):
    log.append(rows(100, 1))
    with pytest.raises(Unavailable, match="cannot be written: UNIQUE"):
        log.append(rows(1, 150))
    assert [each.revision for each in log.rows()] == [100]
    log.append(rows(1, 70))
    assert len(list(log.rows())) == 71


def test_what_cannot_be_written_is_told_by_every_method_that_writes(log):
    log._execute("PRAGMA query_only = 1")
    for write in (log.probe, lambda: log.append(rows(1, 1)), lambda: log.compact(1, 0), lambda: log.delete_rows([1])):
        with pytest.raises(Unavailable, match="cannot be written: attempt to write a readonly database"):
            write()
    log._execute("PRAGMA query_only = 0")


def test_an_empty_write_ahead_log_beside_a_closed_database_is_no_damage(log, path):
    log.append(rows(1, 3))
    log.close()
    path.with_name("store.db-wal").touch()
    again = SqliteLog(path)
    assert len(again.read().events) == 3
    again.close()


def sql(statement: str) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute(statement)

    return change


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda path: os.truncate(path, 8191), "it has only 8191 bytes"),
        (lambda path: os.truncate(path, 8192), "malformed"),
        (
            lambda path: (path.unlink(), path.with_name("store.db-wal").write_bytes(b"x")),
            "is missing, but store.db-wal",
        ),
        (lambda path: path.with_name("store.db-wal").write_bytes(b"x"), "store.db-wal has only 1 bytes"),
        (sql("PRAGMA application_id = 7"), "it is a database of some other program"),
        (sql("PRAGMA user_version = 2"), "its format is 2, and this version reads format 1"),
        (sql("UPDATE meta SET number = 1 WHERE name = 'open'"), "it was not closed, and store.db-wal"),
        (sql("DELETE FROM meta WHERE name = 'open'"), "its table meta lacks open"),
        (sql("DELETE FROM meta WHERE name = 'compacted'"), "its table meta lacks compacted"),
        (sql("DELETE FROM meta WHERE name = 'live'"), "its table meta lacks live"),
        (sql("UPDATE meta SET number = 9 WHERE name = 'live'"), "9 keys were compacted, and it has 0"),
        (sql("UPDATE events SET value = x'00' WHERE revision = 5"), "the checksum of revision 5 does not fit"),
        (sql("DELETE FROM events WHERE revision = 5"), "1 revisions between 0 and 10 are missing"),
        (sql("DELETE FROM events WHERE revision IN (1, 2)"), "2 revisions between 0 and 10 are missing"),
    ],
)
def test_each_kind_of_damage_is_named(log, path, damage, words):
    log.append(rows(1, 10))
    log.close()
    damage(path)
    with pytest.raises(Damaged, match=words) as caught:
        SqliteLog(path).read()
    assert str(path) in str(caught.value)
    assert "Restore the file from a backup" in str(caught.value)


def test_a_database_whose_pages_do_not_fit_together_is_damaged_though_its_rows_can_be_read(log, path):
    log.append(rows(1, 10))
    log.close()
    with path.open("r+b") as file:
        file.seek(36)  # how many pages are free: https://www.sqlite.org/fileformat2.html#the_database_header
        file.write((5).to_bytes(4))
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT count(*) FROM events").fetchone() == (10,)
    with pytest.raises(Damaged, match="reelist"):
        SqliteLog(path)


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE events SET value = 5 WHERE revision = 5",
        "UPDATE events SET value = x'00' WHERE revision = 5",
        "DELETE FROM events WHERE revision = 5",
        "DROP TABLE events",
    ],
)
def test_who_finds_damage_leaves_the_file_to_others(log, path, change):
    log.append(rows(1, 10))
    log.close()
    sql(change)(path)
    opened = SqliteLog(path)
    with pytest.raises(Damaged):
        opened.read()
    with closing(sqlite3.connect(path, timeout=0)) as other:
        other.execute("BEGIN EXCLUSIVE")


def test_a_database_that_may_not_be_made_is_told_with_the_reason(path, monkeypatch):
    def refuse(*_: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(Unavailable, match=r"store\.db cannot be opened: .*Permission denied"):
        SqliteLog(path)


def test_who_finds_a_database_in_use_is_not_kept_waiting(log):
    assert log._execute("PRAGMA busy_timeout").fetchone() == (0,)


def test_rows_that_a_compaction_was_about_to_delete_are_known_in_order_at_the_next_opening(log, path):
    log.append([row(1, "/b", 1, b"1"), row(2, "/a", 2, b"1"), row(3, "/a", 2, b"2"), row(4, "/b", 0, None)])
    log.append([row(5, "/c", 5, b"1"), row(6, "/c", 5, b"2")])
    log.compact(5, 2)
    log.close()
    again = SqliteLog(path)
    contents = again.read()
    again.close()
    assert contents.superseded_rows == [1, 2, 4]
    assert {key: revision for key, (revision, *_) in contents.state.items()} == {"/a": 3, "/c": 5}
    assert [revision for revision, *_ in contents.events] == [6]
