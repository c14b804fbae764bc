"""`mockube backup FILE`: writes the current contents of a store to a file, while its servers go on."""

import argparse
from pathlib import Path
from typing import Any, Final

from mockube.commands.stores import declare_store, run_command, store_location

_DESCRIPTION: Final = """\
Write all objects of a store, as they are at one revision, to a file. Servers may run, and notice nothing.
The file holds every Secret: its owner alone may read it. It is there when it is whole, or not at all.
"""
_EPILOG: Final = """\
examples:
  mockube backup monday.backup                                      what mockube up keeps
  mockube backup monday.backup --etcd-servers https://10.0.0.5:2379 what an etcd cluster has

exit code: 0 if the file was written, 2 if not, 130 after Ctrl-C
"""


def declare(commands: "argparse._SubParsersAction[Any]") -> None:
    """Add the command and its flags to the command line."""
    command = commands.add_parser(
        "backup",
        help="write what a store holds to a file",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.set_defaults(run=run)
    add = command.add_argument
    add("file", type=Path, metavar="FILE", help="the file to write")
    add("--force", action="store_true", help="replace FILE if it exists")
    add("--with-pki", action="store_true", help="add the keys, certificates and tokens of the data directory")
    add("-q", "--quiet", action="store_true", help="tell nothing but errors")
    declare_store(command)


def run(options: argparse.Namespace) -> int:
    """Write the file and return the exit code."""
    return run_command(_back_up, options)


def _back_up(options: argparse.Namespace) -> None:
    import asyncio

    from mockube.backup.archive import ArchiveError, refuse_existing
    from mockube.backup.options import BackupOptions
    from mockube.backup.pki import read_pki
    from mockube.backup.progress import Progress, count_text

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
        from mockube.backup import clustered

        header = asyncio.run(clustered.back_up(store.access, backup_options, progress))
    else:
        from mockube.backup import embedded

        assert store.database is not None
        header = embedded.back_up(store.database, backup_options, progress)
    if not options.quiet:
        keys = ", with keys and certificates" if header.files else ""
        size = path.stat().st_size
        print(f"{count_text(header.count, 'object')} at revision {header.revision:,} in {path} ({size:,} bytes){keys}.")
