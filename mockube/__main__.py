"""`mockube`: the command line."""

import argparse
import sys
from collections.abc import Sequence
from typing import NoReturn

from mockube.failures import fail
from mockube.flags import backup, certificates, ready, restore, up

_EXAMPLES = """\
examples:
  mockube up                       start a cluster that keeps its data
  mockube up --store memory        start one that forgets everything
  mockube up --port 0              take any free port
  mockube backup monday.backup     write all objects to a file
  mockube restore monday.backup    put them back
"""


class Parser(argparse.ArgumentParser):
    """A parser whose error messages are one line: what is wrong, and where to find help."""

    def error(self, message: str) -> NoReturn:
        """Print the message and exit with code 2."""
        self.exit(2, f"{self.prog}: {message}; see {self.prog} --help\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code, which is 2 if it cannot be done as asked."""
    options = _parser().parse_args(arguments)
    try:
        code: int = options.run(options)
    except KeyboardInterrupt:  # before the command itself handles it
        return fail("it was interrupted before it had begun", code=130)
    return code


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="mockube",
        description="A Kubernetes control plane in Python: real clients, a real API, no containers.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action=_Version, help="show the version and exit")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in (up, certificates, ready, backup, restore):
        command.declare(commands)
    return parser


class _Version(argparse.Action):
    """Shows the version of the installed distribution; looked up only when needed, as that reads files."""

    def __init__(self, option_strings: Sequence[str], dest: str, help: str | None = None) -> None:  # noqa: A002 - argparse's name
        super().__init__(option_strings, dest, nargs=0, help=help)

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        from importlib.metadata import version  # reads files, and other commands need none

        print(f"mockube {version('mockube')}")
        parser.exit()


if __name__ == "__main__":
    sys.exit(main())
