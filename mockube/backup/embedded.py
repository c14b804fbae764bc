"""Backups of the embedded store, and its restoration: a database is copied as it is, and replaced as a whole."""

import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager
from itertools import islice
from pathlib import Path
from typing import Final

from etcd.snapshot import NewDatabase, open_snapshot
from etcd.sqlite import SqliteLog
from etcd.store import Damaged, Unavailable
from mockube.backup.archive import Archive, ArchiveError, Header, Record, sync_directory
from mockube.backup.options import BackupOptions
from mockube.backup.progress import Progress, count_text
from mockube.files import make_private_directory

_ROWS: Final = 256


def back_up(database: Path, options: BackupOptions, progress: Progress) -> Header:
    """Write a backup of a database, which a server may be using, and return its header.

    Raises:
        ArchiveError: the file cannot be written as asked.
        StoreError: the database cannot be read.
        OSError: there is not enough room.
    """
    if not database.is_file():
        raise Unavailable(f"There is no database {database}: name the directory of another with --data-dir.")
    progress.print_line(f"Reading {database}")
    with open_snapshot(database, options.path.parent) as state:
        header = options.header("sqlite", revision=state.revision, count=len(state.live_revisions), closed=state.closed)
        with options.archive(header) as writer, progress.phase("Backing up", header.count) as phase:
            for row in state.rows():
                writer.add(Record(row.key, row.created, row.revision, row.value or b""))
                phase.advance()
    return header


def restore(archive: Archive, database: Path, progress: Progress, *, above: int, force: bool) -> int:
    """Put a database with the contents of a backup in place and return its first revision.

    Args:
        archive: the backup, which has been checked.
        database: the file; if it exists, it is replaced if it has no objects, or with `force`.
        progress: shows how far the restore is.
        above: all new revisions are higher than this one, and than those of an existing database.
        force: see above.

    Raises:
        ArchiveError: there are objects already, or the file is damaged.
        StoreError: a server has the database, or it cannot be written.
        OSError: it cannot be written.
    """
    make_private_directory(database.parent)
    with ExitStack() as stack:
        exists = database.exists()
        draft = database.with_name(f".{database.name}.restored.new")  # a killed restore leaves at most this one file
        try:
            if exists:
                above = max(above, stack.enter_context(_locked_database(database, progress, force=force)))
            revision = _write(archive, draft, progress, above)
            stack.close()  # releases the old database, which now has in its file what it had in its log
            _put(draft, database, replace=exists)
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
            phase.advance(len(chunk))
        new.finish()
        return new.revision


@contextmanager
def _locked_database(database: Path, progress: Progress, *, force: bool) -> Iterator[int]:
    """Lock a database that is to be replaced; yield its newest revision, as far as it is known."""
    with ExitStack() as stack:
        try:
            log = stack.enter_context(closing(SqliteLog(database)))
            count, newest = _survey(log)
        except Damaged as error:
            if not force:
                raise
            progress.print_line(f"{error} It is replaced, as --force says.")
            count = newest = 0
        if count and not force:
            raise ArchiveError(
                f"{database} holds {count_text(count, 'object')} already: name an empty directory with --data-dir, or "
                "replace what it holds with --force"
            )
        if count:
            progress.print_line(f"What {database} holds, {count_text(count, 'object')}, is replaced, as --force says")
        yield newest


def _survey(log: SqliteLog) -> tuple[int, int]:
    """Return how many objects a database has, and its newest revision."""
    state, newest = set[str](), log.meta("compacted")
    for row in log.rows():
        newest = max(newest, row.revision)
        (state.discard if row.value is None else state.add)(row.key)
    return len(state), newest


def _put(draft: Path, database: Path, *, replace: bool) -> None:
    """Give a new database its name; on an error, the old one or nothing is there."""
    if replace:
        database.with_name(f"{database.name}-wal").unlink(missing_ok=True)  # left by a damaged database
        draft.replace(database)
    else:
        try:
            os.link(draft, database)
        except FileExistsError as error:
            raise Unavailable(f"The database {database} was made by a server meanwhile: stop it.") from error
    sync_directory(database.parent)


def _chunks(items: Iterable[tuple[str, bytes]]) -> Iterator[list[tuple[str, bytes]]]:
    """Yield the items in lists of limited length."""
    remaining = iter(items)
    while chunk := list(islice(remaining, _ROWS)):
        yield chunk
