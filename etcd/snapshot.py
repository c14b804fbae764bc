"""Databases as files: a copy of one that a server may be using, and a new one written as a whole. Blocking code.

A server has its database for itself, so SQLite lets no other process read it. But between two restarts of the
write-ahead log, what changes in the database itself is in the log as well: a copy of the database and a later copy of
the log fit together if the log was not restarted in between. The server notices nothing; a copy that does not fit is
made again.

SQLite's own backup (sqlite3.Connection.backup) does not serve here: from outside it waits for the server's exclusive
lock for ever, and without locks it reads the database without its log. Within the server it would need a way to ask
for it, and hold up the thread that writes; a copy of files serves running and stopped servers alike.
"""

import os
import secrets
import shutil
import sqlite3
import time
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from etcd.sqlite import Row, SqliteLog, new_database, row
from etcd.store import Damaged, Unavailable

COPY_TIMEOUT: Final = 60.0
"""Seconds for which copying is retried while the server restarts its log too often."""
_MAX_DAMAGED_COPIES: Final = 5
"""The number of copies that must look damaged: one cut at a bad moment does so once, a damaged database always."""
_WAL_HEADER: Final = 32


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The contents of a database at its newest revision.

    Attributes:
        revision: that revision.
        closed: True if its server closed it cleanly.
        newest: the revision of each key that exists.
    """

    log: SqliteLog
    revision: int
    closed: bool
    live_revisions: dict[str, int]

    def rows(self) -> Iterator[Row]:
        """Return the newest version of each key, in order of revision; raises Damaged."""
        return (stored for stored in self.log.rows() if self.live_revisions.get(stored.key) == stored.revision)


@contextmanager
def open_snapshot(path: Path, room: Path) -> Iterator[Snapshot]:
    """Yield a database's contents as they are now, even while a server uses it.

    Args:
        path: the database.
        room: a directory with room for a copy of it, which is deleted at the end.

    Raises:
        Damaged: what is stored cannot be trusted.
        Unavailable: the database cannot be read, or its server writes too fast.
        OSError: there is not enough room.
    """
    directory = room / f".mockube-{secrets.token_hex(8)}"
    try:  # before mkdir: an interrupt in the middle of TemporaryDirectory() would leave the directory behind
        directory.mkdir(mode=0o700)
        with closing(_copy_consistently(path, directory / path.name)) as log:
            try:
                yield _snapshot_of(log)
            except sqlite3.Error as error:
                raise Unavailable(f"The database {path} cannot be read: {error}.") from error
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _copy_consistently(path: Path, copy: Path) -> SqliteLog:
    deadline, tries = time.monotonic() + COPY_TIMEOUT, 0
    while True:
        if _copy(path, copy):
            try:
                log = SqliteLog(copy)
            except Damaged as error:
                tries += 1
                if tries == _MAX_DAMAGED_COPIES:
                    raise Damaged(str(error).replace(str(copy), str(path))) from error
            else:
                log.path = path  # the path in its errors
                return log
        elif time.monotonic() > deadline:
            raise Unavailable(f"The database {path} changes faster than it can be copied: try again at a quieter time.")


def _copy(path: Path, copy: Path) -> bool:
    """Copy a database and its log; return whether the copies belong together."""
    log, log_copy = (file.with_name(f"{file.name}-wal") for file in (path, copy))
    log_copy.unlink(missing_ok=True)
    age_before = _age(path, log)
    shutil.copyfile(path, copy)
    with suppress(FileNotFoundError):
        shutil.copyfile(log, log_copy)
    return _age(path, log) == age_before


def _age(path: Path, log: Path) -> object:
    """Return a value that changes when the log restarts, or without a log when the database itself changes."""
    try:
        with log.open("rb") as file:
            header = file.read(_WAL_HEADER)
    except FileNotFoundError:
        header = b""
    if header:
        return header
    status = path.stat()
    return status.st_ino, status.st_mtime_ns, status.st_size


def _snapshot_of(log: SqliteLog) -> Snapshot:
    compacted = log.meta("compacted")
    event_count, revision, newest = 0, compacted, dict[str, int]()
    for stored in _shaped(log):
        if stored.revision > compacted:
            if not event_count:
                _check_state(log, newest)
            event_count, revision = event_count + 1, stored.revision
        if stored.value is None:
            newest.pop(stored.key, None)
        else:
            newest[stored.key] = stored.revision
    if not event_count:
        _check_state(log, newest)
    if revision - compacted != event_count:
        raise log.damage_error(
            f"{revision - compacted - event_count} revisions between {compacted} and {revision} are missing"
        )
    return Snapshot(log, revision, not log.meta("open"), newest)


def _shaped(log: SqliteLog) -> Iterator[Row]:
    try:
        yield from log.rows()
    except (AttributeError, TypeError, ValueError) as error:
        raise log.damage_error(f"a row is of another shape ({error})") from error


def _check_state(log: SqliteLog, state: dict[str, int]) -> None:
    live = log.meta("live")
    if live != len(state):
        raise log.damage_error(f"{live} keys were compacted, and it has {len(state)}")


class NewDatabase:
    """A database that is written as a whole before a server opens it.

    Args:
        path: the file, which replaces an existing one.
        above: the revision that all its revisions are above.

    Raises:
        OSError, sqlite3.Error: it cannot be created.
    """

    def __init__(self, path: Path, *, above: int) -> None:
        self.path = path
        self.revision = above
        self._keys = 0
        self._connection = new_database(path)
        self._connection.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN")

    def add(self, items: Iterable[tuple[str, bytes]]) -> None:
        """Add keys that the database does not have yet; raises sqlite3.Error."""
        rows = [row(revision, key, revision, value) for revision, (key, value) in enumerate(items, self.revision + 1)]
        self._connection.executemany("INSERT INTO events VALUES (?,?,?,?,?)", rows)
        self._keys += len(rows)
        self.revision += len(rows)

    def finish(self) -> None:
        """Make the database durable; raises OSError, sqlite3.Error."""
        self._connection.execute("UPDATE meta SET number = ? WHERE name = 'compacted'", (self.revision,))
        self._connection.execute("UPDATE meta SET number = ? WHERE name = 'live'", (self._keys,))
        self._connection.execute("COMMIT")
        with self.path.open("rb") as file:
            os.fsync(file.fileno())

    def close(self) -> None:
        """Close the file; an unfinished database is of no use."""
        self._connection.close()
