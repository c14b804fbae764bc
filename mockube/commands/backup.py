"""`mockube backup FILE`: writes the current contents of a store to a file, while its servers go on."""

import argparse
import asyncio

from mockube.backup import embedded
from mockube.backup.archive import ArchiveError, refuse_existing
from mockube.backup.options import BackupOptions
from mockube.backup.pki import read_pki
from mockube.backup.progress import Progress, count_text
from mockube.commands.stores import run_command, store_location


def run(options: argparse.Namespace) -> int:
    """Write the file and return the exit code."""
    return run_command(_back_up, options)


def _back_up(options: argparse.Namespace) -> None:
    store, path = store_location(options), options.file.expanduser().absolute()
    if path.name == "-" or path.is_dir() or not path.parent.is_dir():
        raise ArchiveError(f"{path} cannot be written: name a file in a directory that exists")
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise ArchiveError(f"{path} is no regular file, and would be replaced by one: name another")
    if not options.force:
        refuse_existing(path)
    backup_options = BackupOptions(
        path, replace=options.force, files=read_pki(store.data_dir) if options.with_pki else {}
    )
    progress = Progress(quiet=options.quiet)
    if store.access is not None:
        from mockube.backup import clustered  # etcd's client is slow to import, and not needed for files

        header = asyncio.run(clustered.back_up(store.access, backup_options, progress))
    else:
        assert store.database is not None
        header = embedded.back_up(store.database, backup_options, progress)
    if not options.quiet:
        keys = ", with keys and certificates" if header.files else ""
        size = path.stat().st_size
        print(f"{count_text(header.count, 'object')} at revision {header.revision:,} in {path} ({size:,} bytes){keys}.")
