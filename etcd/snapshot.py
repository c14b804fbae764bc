"""Databases as they stand: a copy of one that a server may be using, and a new one written whole. Blocking code.

A server has its database for itself, so SQLite lets nobody else read it. But between two restarts of the write-ahead
log, what changes in the database itself is in the log as well: a copy of the database, and after it one of the log, are
a whole if the log has not begun anew meanwhile. The server notices nothing; a copy that is no whole is taken again.
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

PATIENCE: Final = 60.0
"""Seconds for which a copy is tried again while the server's log begins anew too often."""
_TRIES: Final = 5
"""How often a copy may look damaged: one that was cut at a bad moment does so once, what is damaged always."""
_WAL_HEADER: Final = 32


@dataclass(frozen=True, slots=True)
class Image:
    """What a database holds at its newest revision.

    Attributes:
        revision: that revision.
        closed: whether its server had ended in good order.
        newest: the revision of each key that exists.
    """

    log: SqliteLog
    revision: int
    closed: bool
    newest: dict[str, int]

    def rows(self) -> Iterator[Row]:
        """The newest version of each key, in order of revision; raises Damaged."""
        return (each for each in self.log.rows() if self.newest.get(each.key) == each.revision)


@contextmanager
def image(path: Path, room: Path) -> Iterator[Image]:
    """A database as it is now, whether a server has it or not.

    Args:
        path: the database.
        room: a directory with room for a copy of it, which is gone at the end.

    Raises:
        Damaged: what is stored cannot be trusted.
        Unavailable: it cannot be read, or its server writes too fast.
        OSError: there is no room.
    """
    directory = room / f".mockube-{secrets.token_hex(8)}"
    try:  # before it is made: who is interrupted in the middle of TemporaryDirectory() leaves it behind
        directory.mkdir(mode=0o700)
        with closing(_copied(path, directory / path.name)) as log:
            try:
                yield _survey(log)
            except sqlite3.Error as error:
                raise Unavailable(f"The database {path} cannot be read: {error}.") from error
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _copied(path: Path, copy: Path) -> SqliteLog:
    deadline, tries = time.monotonic() + PATIENCE, 0
    while True:
        if _copy(path, copy):
            try:
                log = SqliteLog(copy)
            except Damaged as error:
                tries += 1
                if tries == _TRIES:
                    raise Damaged(str(error).replace(str(copy), str(path))) from error
            else:
                log.path = path  # of which its errors speak
                return log
        elif time.monotonic() > deadline:
            raise Unavailable(f"The database {path} changes faster than it can be copied: try again at a quieter time.")


def _copy(path: Path, copy: Path) -> bool:
    """Copy a database and its log; says whether the copies belong together."""
    log, log_copy = (each.with_name(f"{each.name}-wal") for each in (path, copy))
    log_copy.unlink(missing_ok=True)
    before = _age(path, log)
    shutil.copyfile(path, copy)
    with suppress(FileNotFoundError):
        shutil.copyfile(log, log_copy)
    return _age(path, log) == before


def _age(path: Path, log: Path) -> object:
    """What changes when the log begins anew; where there is none, when the database itself does."""
    try:
        with log.open("rb") as file:
            header = file.read(_WAL_HEADER)
    except FileNotFoundError:
        header = b""
    if header:
        return header
    found = path.stat()
    return found.st_ino, found.st_mtime_ns, found.st_size


def _survey(log: SqliteLog) -> Image:
    compacted = log.meta("compacted")
    known, revision, newest = 0, compacted, dict[str, int]()
    for each in _shaped(log):
        if each.revision > compacted:
            if not known:
                _check_state(log, newest)
            known, revision = known + 1, each.revision
        if each.value is None:
            newest.pop(each.key, None)
        else:
            newest[each.key] = each.revision
    if not known:
        _check_state(log, newest)
    if revision - compacted != known:
        raise log.damaged(f"{revision - compacted - known} revisions between {compacted} and {revision} are missing")
    return Image(log, revision, not log.meta("open"), newest)


def _shaped(log: SqliteLog) -> Iterator[Row]:
    try:
        yield from log.rows()
    except (AttributeError, TypeError) as error:
        raise log.damaged(f"a row is of another shape ({error})") from error


def _check_state(log: SqliteLog, state: dict[str, int]) -> None:
    live = log.meta("live")
    if live != len(state):
        raise log.damaged(f"{live} keys were compacted, and it has {len(state)}")


class NewDatabase:
    """A database that is written whole before a server finds it.

    Args:
        path: where it is written, in place of what may be there.
        above: all its revisions are above this one.

    Raises:
        OSError, sqlite3.Error: it cannot be made.
    """

    def __init__(self, path: Path, *, above: int) -> None:
        self.path = path
        self.revision = above
        self._keys = 0
        self._connection = new_database(path)
        self._connection.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN")

    def add(self, items: Iterable[tuple[str, bytes]]) -> None:
        """Add keys that it does not have yet; raises sqlite3.Error."""
        rows = [row(at, key, at, value) for at, (key, value) in enumerate(items, self.revision + 1)]
        self._connection.executemany("INSERT INTO events VALUES (?,?,?,?,?)", rows)
        self._keys += len(rows)
        self.revision += len(rows)

    def finish(self) -> None:
        """Make it durable; raises OSError, sqlite3.Error."""
        self._connection.execute("UPDATE meta SET number = ? WHERE name = 'compacted'", (self.revision,))
        self._connection.execute("UPDATE meta SET number = ? WHERE name = 'live'", (self._keys,))
        self._connection.execute("COMMIT")
        with self.path.open("rb") as file:
            os.fsync(file.fileno())

    def close(self) -> None:
        """Let go of it; what is not finished is of no use."""
        self._connection.close()
