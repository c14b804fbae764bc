"""The log on disk: one SQLite file with a row for every event that is not superseded and compacted. Blocking code.

    events  revision (primary key), key, created (the create_revision; 0 = a delete), value (null = a delete), checksum
    meta    compacted: history before it is gone; live: how many keys existed at it; open: 0 if it was closed cleanly

Rows up to `compacted` are the state at that revision; rows above it are all events since, without a gap. A commit
appends rows in one statement, so that the writing thread asks for the interpreter's lock once a batch.
"""

import os
import sqlite3
import zlib
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Final, NamedTuple

from etcd import wal
from etcd.store import Damaged, Event, StoreError, Unavailable

_APPLICATION_ID: Final = 0x6D6B7562  # "mkub", in the file's header
_FORMAT: Final = 1
_SCHEMA: Final = """
CREATE TABLE meta (name TEXT PRIMARY KEY, number INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE events (
    revision INTEGER PRIMARY KEY, key TEXT NOT NULL, created INTEGER NOT NULL, value BLOB, checksum INTEGER NOT NULL
);
INSERT INTO meta VALUES ('compacted', 0), ('live', 0), ('open', 0);
"""
_PRAGMAS: Final = """
PRAGMA journal_mode = WAL;
PRAGMA synchronous = FULL;
PRAGMA wal_autocheckpoint = 2000;
"""
_PAGE: Final = 8192
"""Bytes of a page: two pods of 3 kB, or five of 1.5 kB, leave little of it unused."""
_ROWS: Final = 64
"""The most rows of one INSERT."""
_INSERTS: Final = tuple("INSERT INTO events VALUES" + ",".join(["(?,?,?,?,?)"] * n) for n in range(_ROWS + 1))
_FORGET: Final = "DELETE FROM events WHERE revision IN (SELECT value FROM json_each(?))"
_NOT_DAMAGE: Final = {
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_READONLY,
}
_ADVICE: Final = "Restore the file from a backup, or move it away to start with an empty store."


class Row(NamedTuple):
    """One event as it is stored."""

    revision: int
    key: str
    created: int
    value: bytes | None
    checksum: int


PlainRow = tuple[int, str, int, bytes | None, int]
"""The columns of a Row as SQLite returns them: a start has too many rows to make a named tuple of each."""


@dataclass(frozen=True, slots=True)
class Contents:
    """The contents of a log when it was opened.

    Attributes:
        compacted: the compacted revision.
        state: the keys at that revision.
        events: every event since.
        litter: revisions of rows that a compaction was about to delete.
    """

    compacted: int
    state: dict[str, PlainRow] = field(default_factory=dict)
    events: list[PlainRow] = field(default_factory=list)
    superseded_rows: list[int] = field(default_factory=list)


def row_of(event: Event) -> Row:
    """Return the row of an event; raises UnicodeEncodeError if the key is not valid text."""
    revision, key, kv, _ = event
    created, value = (kv.create_revision, kv.value) if kv else (0, None)
    return row(revision, key, created, value)


def row(revision: int, key: str, created: int, value: bytes | None) -> Row:
    """Return a row with its checksum; raises UnicodeEncodeError if the key is not valid text."""
    return Row(revision, key, created, value, _checksum(revision, key, created, value))


def _checksum(revision: int, key: str, created: int, value: bytes | None) -> int:
    return zlib.crc32(value or b"", zlib.crc32(f"{revision} {created} {key}".encode()))


class SqliteLog:
    """The open file. Every method blocks; all but the constructor may be called in another thread, one at a time.

    Args:
        path: the file; it and its directory are created, readable to their owner alone, if they do not exist.

    Raises:
        Damaged: the file exists but is not what this module wrote.
        Unavailable: the file is in use, cannot be read, or cannot be created.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._has_remains = False
        try:
            has_wal = self._open_existing()
            self._connection = _connect(path)
        except (OSError, sqlite3.Error) as error:
            raise Unavailable(f"The database {path} cannot be opened: {error}.") from error
        with self._opening():
            self._check(has_wal=has_wal)

    def read(self) -> Contents:
        """Return everything that is stored. Call it once, before any write; raises the constructor's errors."""
        with self._opening():
            contents = self._read()
            self._mark_open()
            return contents

    def append(self, rows: Sequence[Row]) -> None:
        """Make rows durable, all or none; raises Unavailable."""
        with self._writing():
            if len(rows) <= _ROWS:
                self._insert(rows)
                return
            self._execute("BEGIN IMMEDIATE")
            for begin in range(0, len(rows), _ROWS):
                self._insert(rows[begin : begin + _ROWS])
            self._execute("COMMIT")

    def compact(self, revision: int, live: int) -> None:
        """Record that history before a revision, at which `live` keys existed, is gone; raises Unavailable."""
        with self._writing():
            self._execute(
                "UPDATE meta SET number = CASE name WHEN 'live' THEN ? ELSE ? END WHERE name IN ('live', 'compacted')",
                (live, revision),
            )

    def delete_rows(self, revisions: Sequence[int]) -> None:
        """Delete rows, which must be superseded and in ascending order; raises Unavailable."""
        with self._writing():
            self._execute(_FORGET, (str(list(revisions)),))

    def probe(self) -> None:
        """Write a value without meaning to see whether writes work; raises Unavailable.

        The number for "open" is 1 or 2 in turn: SQLite writes nothing if a row stays as it is.
        """
        with self._writing():
            self._execute("UPDATE meta SET number = 1 + (number = 1) WHERE name = 'open'")

    def close(self) -> None:
        """Record the clean end, if the disk has room for that, and close the file, whose contents stay."""
        with suppress(sqlite3.Error), closing(self._connection):
            try:
                self._note_closed()
            except sqlite3.OperationalError:  # an empty log frees space; if killed now, the log is taken for lost
                self._execute("PRAGMA wal_checkpoint(TRUNCATE)")
                self._note_closed()

    def _note_closed(self) -> None:
        self._execute("UPDATE meta SET number = 0 WHERE name = 'open'")

    def _execute(self, statement: str, parameters: tuple[object, ...] = ()) -> sqlite3.Cursor:
        return self._connection.execute(statement, parameters)

    def _insert(self, rows: Sequence[Row]) -> None:
        # `executemany` of one: unlike `execute` it does not let go of the interpreter's lock to ask for the last rowid.
        self._connection.executemany(_INSERTS[len(rows)], (tuple(chain.from_iterable(rows)),))

    def _open_existing(self) -> bool:
        """Create the file if it does not exist; return whether it has a write-ahead log."""
        log = self.path.with_name(self.path.name + "-wal")
        has_wal = log.exists() and log.stat().st_size > 0
        if self.path.exists():
            size = self.path.stat().st_size
            if size < _PAGE:
                raise self.damage_error(f"it has only {size} bytes")
        elif has_wal:
            raise self.damage_error(f"it is missing, but {log.name} beside it has data")
        else:
            _create(self.path)
        broken = wal.damage(log) if has_wal else ""
        if broken:
            raise self.damage_error(broken)
        return has_wal

    def _check(self, *, has_wal: bool) -> None:
        self._execute("PRAGMA locking_mode = EXCLUSIVE")
        (application,) = self._execute("PRAGMA application_id").fetchone()
        (version,) = self._execute("PRAGMA user_version").fetchone()
        if application != _APPLICATION_ID:
            raise self.damage_error("it is a database of some other program")
        if version != _FORMAT:
            raise self.damage_error(f"its format is {version}, and this version reads format {_FORMAT}")
        if self.meta("open") and not has_wal:
            raise self.damage_error(f"it was not closed, and {self.path.name}-wal, which has its last writes, is gone")
        for statement in _PRAGMAS.strip().splitlines():
            self._execute(statement)
        (verdict,) = self._execute("PRAGMA quick_check(1)").fetchone()
        if verdict != "ok":
            raise self.damage_error(verdict)

    def meta(self, name: str) -> int:
        """Return one of the numbers of the table meta; raises Damaged."""
        row = self._execute("SELECT number FROM meta WHERE name = ?", (name,)).fetchone()
        if row is None:
            raise self.damage_error(f"its table meta lacks {name}")
        return int(row[0])

    def _read(self) -> Contents:
        contents = Contents(self.meta("compacted"))
        state, compacted = contents.state, contents.compacted
        for row in self._checked_rows():
            revision, key, _, value, _ = row
            if revision > compacted:
                contents.events.append(row)
                continue
            if older := state.pop(key, None):
                contents.superseded_rows.append(older[0])
            if value is None:
                contents.superseded_rows.append(revision)
            else:
                state[key] = row
        self._check_counts(contents)
        contents.superseded_rows.sort()
        return contents

    def rows(self) -> Iterator[Row]:
        """Return all rows in order of revision, each checked; raises Damaged."""
        return map(Row._make, self._checked_rows())

    def _checked_rows(self) -> Iterator[PlainRow]:
        for row in self._execute("SELECT * FROM events ORDER BY revision"):
            revision, key, created, value, checksum = row
            if checksum != _checksum(revision, key, created, value):
                raise self.damage_error(f"the checksum of revision {revision} does not fit its contents")
            yield row

    def _check_counts(self, contents: Contents) -> None:
        live = self.meta("live")
        if live != len(contents.state):
            raise self.damage_error(f"{live} keys were compacted, and it has {len(contents.state)}")
        newest = contents.events[-1][0] if contents.events else contents.compacted
        missing = newest - contents.compacted - len(contents.events)
        if missing:
            raise self.damage_error(f"{missing} revisions between {contents.compacted} and {newest} are missing")

    def _mark_open(self) -> None:
        """Note in the file itself, not only in its log, that from now on the two belong together."""
        try:
            self._execute("UPDATE meta SET number = 1 WHERE name = 'open'")
            self._execute("PRAGMA wal_checkpoint")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_FULL:  # a full disk can still be read
                raise

    def damage_error(self, what: str) -> Damaged:
        """Return the error that says what is wrong with the file."""
        return Damaged(f"The database {self.path} is damaged: {what}. {_ADVICE}")

    @contextmanager
    def _opening(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            self._connection.close()
            raise self._refusal(error) from error
        except (AttributeError, TypeError, ValueError) as error:
            self._connection.close()
            raise self.damage_error(f"a row is of another shape ({error})") from error
        except BaseException:
            self._connection.close()
            raise

    def _refusal(self, error: sqlite3.Error) -> StoreError:
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
        if code == sqlite3.SQLITE_BUSY:
            return Unavailable(f"The database {self.path} is in use by another process.")
        if code in _NOT_DAMAGE:
            return Unavailable(f"The database {self.path} cannot be used: {error}.")
        return self.damage_error(str(error))

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Turn errors into Unavailable, having rolled back.

        A commit that cannot be synced leaves its frames in the log, behind the end of the valid ones. The next commit
        may be shorter, and `wal` would take the rest for damage: so the log is restarted first, with other salts.
        """
        try:
            if self._has_remains:
                self._execute("PRAGMA wal_checkpoint(RESTART)")
                self._has_remains = False
            yield
        except sqlite3.Error as error:
            self._has_remains |= getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_IOERR
            with suppress(sqlite3.Error):
                self._connection.rollback()
            raise Unavailable(f"The database {self.path} cannot be written: {error}.") from error


def _connect(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(
        f"{path.absolute().as_uri()}?mode=rw", uri=True, timeout=0, isolation_level=None, check_same_thread=False
    )


def new_database(path: Path) -> sqlite3.Connection:
    """Create an empty database, readable to its owner alone, replacing an old file; raises OSError, sqlite3.Error."""
    path.unlink(missing_ok=True)
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    header = f"PRAGMA page_size = {_PAGE}; PRAGMA application_id = {_APPLICATION_ID}; PRAGMA user_version = {_FORMAT};"
    connection = _connect(path)
    try:
        connection.executescript(header + _SCHEMA)
    except BaseException:
        connection.close()
        raise
    return connection


def _create(path: Path) -> None:
    """Create an empty database under another name and link it in, so that no process finds a half-written one."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.{os.getpid()}.new")
    try:
        new_database(draft).close()
        with suppress(FileExistsError):  # another process was faster: then its file is the database
            os.link(draft, path)
    finally:
        draft.unlink(missing_ok=True)
