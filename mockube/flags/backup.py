"""The flags of `mockube backup`."""

import argparse
from pathlib import Path
from typing import Any, Final

from mockube.flags.stores import declare_store, interrupted_by_sigterm

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
    add("-q", "--quiet", action="store_true", help="print nothing but errors")
    declare_store(command)


def run(options: argparse.Namespace) -> int:
    """Write the file and return the exit code."""
    with interrupted_by_sigterm():
        from mockube.commands import backup  # the one command that runs: help and errors come without it

        return backup.run(options)
