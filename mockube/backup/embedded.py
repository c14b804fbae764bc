"""Backups of the embedded store, and its restoration: a database read as it stands, and one put in place whole."""

import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager
from itertools import islice
from pathlib import Path
from typing import Final

from etcd.snapshot import NewDatabase, image
from etcd.sqlite import SqliteLog
from etcd.store import Damaged, Unavailable
from mockube.backup.archive import Archive, ArchiveError, Header, Record, sync_directory
from mockube.backup.options import BackupOptions
from mockube.backup.progress import Progress, counted
from mockube.files import make_private_directory

_ROWS: Final = 256


def back_up(database: Path, wanted: BackupOptions, progress: Progress) -> Header:
    """Write a backup of a database, which a server may be using; says what was written.

    Raises:
        ArchiveError: the file cannot be written as asked.
        StoreError: the database cannot be read.
        OSError: there is no room.
    """
    if not database.is_file():
        raise Unavailable(f"There is no database {database}: name the directory of another with --data-dir.")
    progress.say(f"Reading {database}")
    with image(database, wanted.path.parent) as found:
        header = wanted.header("sqlite", revision=found.revision, count=len(found.newest), closed=found.closed)
        with wanted.archive(header) as writer, progress.phase("Backing up", header.count) as phase:
            for row in found.rows():
                writer.add(Record(row.key, row.created, row.revision, row.value or b""))
                phase.step()
    return header


def restore(archive: Archive, database: Path, progress: Progress, *, above: int, force: bool) -> int:
    """Put a database with what a backup holds in place; says at which revision it begins.

    Args:
        archive: the backup, which has been checked.
        database: the file; the objects of one that is there are replaced if there are none, or with `force`.
        progress: is told how far it is.
        above: all revisions are above this one, and above those of a database that is there.
        force: see above.

    Raises:
        ArchiveError: there are objects already, or the file is damaged.
        StoreError: a server has the database, or it cannot be written.
        OSError: it cannot be written.
    """
    make_private_directory(database.parent)
    with ExitStack() as stack:
        there = database.exists()
        draft = database.with_name(f".{database.name}.restored.new")  # one that was killed leaves one at the most
        try:
            if there:
                above = max(above, stack.enter_context(_taken(database, progress, force=force)))
            revision = _write(archive, draft, progress, above)
            stack.close()  # lets go of the database that was there: what it had in its log it has itself now
            _put(draft, database, replace=there)
        except sqlite3.Error as error:
            raise Unavailable(f"The database {database} cannot be written: {error}. Nothing was changed.") from error
        finally:
            draft.unlink(missing_ok=True)
    return revision


def _write(archive: Archive, draft: Path, progress: Progress, above: int) -> int:
    with (
        closing(NewDatabase(draft, above=above)) as new,
        progress.phase("Restoring", archive.header.count) as phase,
    ):
        for chunk in _chunks((record.key, record.value) for record in archive.records()):
            new.add(chunk)
            phase.step(len(chunk))
        new.finish()
        return new.revision


@contextmanager
def _taken(database: Path, progress: Progress, *, force: bool) -> Iterator[int]:
    """Keep servers from a database that is to be replaced; gives its newest revision, as far as it can be told."""
    with ExitStack() as stack:
        try:
            log = stack.enter_context(closing(SqliteLog(database)))
            count, newest = _survey(log)
        except Damaged as error:
            if not force:
                raise
            progress.say(f"{error} It is replaced, as --force says.")
            count = newest = 0
        if count and not force:
            raise ArchiveError(
                f"{database} holds {counted(count, 'object')} already: name an empty directory with --data-dir, or "
                "replace what it holds with --force"
            )
        if count:
            progress.say(f"What {database} holds, {counted(count, 'object')}, is replaced, as --force says")
        yield newest


def _survey(log: SqliteLog) -> tuple[int, int]:
    """How many objects a database has, and its newest revision."""
    state, newest = set[str](), log.meta("compacted")
    for row in log.rows():
        newest = max(newest, row.revision)
        (state.discard if row.value is None else state.add)(row.key)
    return len(state), newest


def _put(draft: Path, database: Path, *, replace: bool) -> None:
    """Give a new database its name; whatever happens, either it is there or what was there before."""
    if replace:
        database.with_name(f"{database.name}-wal").unlink(missing_ok=True)  # left by a damaged one
        draft.replace(database)
    else:
        try:
            os.link(draft, database)
        except FileExistsError as error:
            raise Unavailable(f"The database {database} was made by a server meanwhile: stop it.") from error
    sync_directory(database.parent)


def _chunks(items: Iterable[tuple[str, bytes]]) -> Iterator[list[tuple[str, bytes]]]:
    """Items, a number of them at a time."""
    rest = iter(items)
    while chunk := list(islice(rest, _ROWS)):
        yield chunk
