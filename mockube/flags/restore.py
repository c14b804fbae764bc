"""The flags of `mockube restore`."""

import argparse
from pathlib import Path
from typing import Any, Final

from mockube.flags.stores import declare_store, interrupted_by_sigterm

_MAX_ABOVE: Final = 2**62
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
    add("-q", "--quiet", action="store_true", help="print nothing but errors")
    declare_store(command)


def run(options: argparse.Namespace) -> int:
    """Restore and return the exit code."""
    with interrupted_by_sigterm():
        from mockube.commands import restore  # the one command that runs: help and errors come without it

        return restore.run(options)


def _revision(text: str) -> int:
    if not text.isdecimal() or int(text) > _MAX_ABOVE:
        raise argparse.ArgumentTypeError(f"{text} is no resourceVersion: give a number up to {_MAX_ABOVE}")
    return int(text)
