"""`mockube restore FILE`: puts the contents of a backup into an empty store of either kind."""

import argparse
import asyncio
import contextlib
import time
from typing import Final

from mockube.backup import embedded
from mockube.backup.archive import Archive, ArchiveError, Header, open_archive
from mockube.backup.pki import require_no_pki, write_pki
from mockube.backup.progress import Progress, count_text
from mockube.commands.stores import StoreLocation, run_command, store_location
from mockube.files import locked, make_private_directory

PER_SECOND: Final = 1000
"""Revisions per second that a server makes at the most in the long run, counted since the backup."""
BURST: Final = 100_000
"""Further revisions that a server may make at once, if one was running at the time of the backup."""


def run(options: argparse.Namespace) -> int:
    """Restore and return the exit code."""
    return run_command(_restore, options)


def _restore(options: argparse.Namespace) -> None:
    store, progress = store_location(options), Progress(quiet=options.quiet)
    archive = open_archive(options.file.expanduser().absolute())
    if options.with_pki and not archive.files:
        raise ArchiveError(f"{archive.path} has no certificates: leave out --with-pki")
    with progress.phase("Checking", archive.header.count) as phase:
        for _ in archive.check():
            phase.advance()
    above = highest_seen(archive.header, time.time()) if options.above is None else options.above
    with _lock_store(store, with_pki=options.with_pki):
        if options.with_pki and not options.force:
            require_no_pki(store.data_dir)
        revision = _restore_into(store, archive, progress, above=above, options=options)
        if options.with_pki:
            write_pki(store.data_dir, archive.files)
    if not options.quiet:
        print(f"{count_text(archive.header.count, 'object')} restored into {store.name}, at revision {revision:,}.")


def _restore_into(
    store: StoreLocation, archive: Archive, progress: Progress, *, above: int, options: argparse.Namespace
) -> int:
    if store.access is not None:
        from mockube.backup import clustered  # etcd's client is slow to import, and not needed for files

        is_above_named = options.above is not None
        work = clustered.restore(
            archive, store.access, progress, above=above, named=is_above_named, force=options.force
        )
        return asyncio.run(work)
    assert store.database is not None
    return embedded.restore(archive, store.database, progress, above=above, force=options.force)


def _lock_store(store: StoreLocation, *, with_pki: bool) -> contextlib.AbstractContextManager[None]:
    """Lock the data directory for this process if something in it is written; raises InUseError, OSError."""
    if not with_pki and (store.database is None or store.database.parent != store.data_dir):
        return contextlib.nullcontext()
    make_private_directory(store.data_dir)
    return locked(store.data_dir)


def highest_seen(header: Header, now: float) -> int:
    """Return an estimate of the highest revision that a client may have seen of the store in a backup.

    A client that watches from a revision of the old store has to get 410 Gone, or else it would miss the differences.
    And its memory of an object must not look newer than the object (etcd's own tool does the same in
    `etcdutl snapshot restore --bump-revision --mark-compacted`). So all objects get new revisions, and nothing is known
    of earlier ones. The old store's last revision is not known here; it is estimated from the time.
    """
    burst = 0 if header.closed else BURST
    return header.revision + burst + round(max(now - header.taken, 0.0) * PER_SECOND)
