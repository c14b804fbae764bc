"""`mockube restore FILE`: puts the contents of a backup into an empty store of either kind."""

import argparse
import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from mockube.commands.stores import StoreLocation, declare_store, run_command, store_location

if TYPE_CHECKING:
    from mockube.backup.archive import Archive, Header
    from mockube.backup.progress import Progress

PER_SECOND: Final = 1000
"""Revisions per second that a server makes at the most in the long run, counted since the backup."""
BURST: Final = 100_000
"""Further revisions that a server may make at once, if one was running at the time of the backup."""
_HIGHEST: Final = 2**62
"""The highest resourceVersion to restore above: as many again are left above it."""
_DESCRIPTION: Final = """\
Put all objects of a backup into an empty store, which need not be of the kind that the backup is of. The file is
checked before anything is written. All objects get new revisions, above those that clients may have seen of the old
server, so clients that watched it have to list again. Stop the store's servers first; one on the data directory is
noticed.
"""
_EPILOG: Final = """\
examples:
  mockube restore monday.backup --data-dir copy                       into a new data directory
  mockube restore monday.backup --force                               in place of what mockube up keeps
  mockube restore monday.backup --etcd-servers https://10.0.0.5:2379  into an etcd cluster

exit code: 0 if it was restored, 2 if not, 130 after Ctrl-C
"""


def declare(commands: "argparse._SubParsersAction[Any]") -> None:
    """Add the command and its flags to the command line."""
    command = commands.add_parser(
        "restore",
        help="put what a backup holds into a store",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.set_defaults(run=run)
    add = command.add_argument
    add("file", type=Path, metavar="FILE", help="what mockube backup wrote")
    add("--force", action="store_true", help="replace what the store holds; all of that is gone then")
    add("--with-pki", action="store_true", help="put the keys, certificates and tokens of the backup in place as well")
    add(
        "--above",
        type=_revision,
        metavar="REVISION",
        help="the highest resourceVersion that clients have seen of the old server; if not given, estimated from the "
        "backup's age; 0 if none goes on with the new one",
    )
    add("-q", "--quiet", action="store_true", help="tell nothing but errors")
    declare_store(command)


def run(options: argparse.Namespace) -> int:
    """Restore and return the exit code."""
    return run_command(_restore, options)


def _restore(options: argparse.Namespace) -> None:
    import time

    from mockube.backup.archive import ArchiveError, open_archive
    from mockube.backup.pki import require_no_pki, write_pki
    from mockube.backup.progress import Progress, count_text

    store, progress = store_location(options), Progress(quiet=options.quiet)
    archive = open_archive(options.file.expanduser().absolute())
    if options.with_pki and not archive.files:
        raise ArchiveError(f"{archive.path} has no certificates: leave out --with-pki")
    with progress.phase("Checking", archive.header.count) as phase:
        for _ in archive.check():
            phase.step()
    above = highest_seen(archive.header, time.time()) if options.above is None else options.above
    with _own(store, with_pki=options.with_pki):
        if options.with_pki and not options.force:
            require_no_pki(store.data_dir)
        revision = _fill(store, archive, progress, above=above, options=options)
        if options.with_pki:
            write_pki(store.data_dir, archive.files)
    if not options.quiet:
        print(f"{count_text(archive.header.count, 'object')} restored into {store.name}, at revision {revision:,}.")


def _fill(
    store: StoreLocation, archive: "Archive", progress: "Progress", *, above: int, options: argparse.Namespace
) -> int:
    if store.access is not None:
        import asyncio

        from mockube.backup import clustered

        is_above_named = options.above is not None
        work = clustered.restore(
            archive, store.access, progress, above=above, named=is_above_named, force=options.force
        )
        return asyncio.run(work)
    from mockube.backup import embedded

    assert store.database is not None
    return embedded.restore(archive, store.database, progress, above=above, force=options.force)


def _own(store: StoreLocation, *, with_pki: bool) -> contextlib.AbstractContextManager[None]:
    """Lock the data directory for this process if something in it is written; raises InUseError, OSError."""
    from mockube.files import locked, make_private_directory

    if not with_pki and (store.database is None or store.database.parent != store.data_dir):
        return contextlib.nullcontext()
    make_private_directory(store.data_dir)
    return locked(store.data_dir)


def _revision(text: str) -> int:
    if not text.isdecimal() or int(text) > _HIGHEST:
        raise argparse.ArgumentTypeError(f"{text} is no resourceVersion: give a number up to {_HIGHEST}")
    return int(text)


def highest_seen(header: "Header", now: float) -> int:
    """Return an estimate of the highest revision that a client may have seen of the store in a backup.

    A client that watches from a revision of the old store has to get 410 Gone, or else it would miss the differences.
    And its memory of an object must not look newer than the object (etcd's own tool does the same in
    `etcdutl snapshot restore --bump-revision --mark-compacted`). So all objects get new revisions, and nothing is known
    of earlier ones. The old store's last revision is not known here; it is estimated from the time.
    """
    burst = 0 if header.closed else BURST
    return header.revision + burst + round(max(now - header.taken, 0.0) * PER_SECOND)
