"""Flags that the services have in common: how their help looks, and types of values as in Go's flags."""

import argparse

from apiserver.api.golang.durations import parse_duration


class Help(argparse.ArgumentDefaultsHelpFormatter):
    """Shows defaults, except those that mean nothing is set."""

    def _get_help_string(self, action: argparse.Action) -> str | None:
        is_unset = action.default in (None, False, "")
        return action.help if is_unset else super()._get_help_string(action)


def add_process_flags(flags: "argparse._ActionsContainer", *, verbosity: str) -> None:
    """Add the flags that say how the process logs and when it stops; `verbosity` is the help of -v."""
    flags.add_argument(
        "--until-stdin-ends",
        action="store_true",
        help="stop when standard input ends, and say what it says: for keepers",
    )
    flags.add_argument("-v", "--v", type=int, default=0, metavar="LEVEL", help=verbosity)


def duration(text: str) -> float:
    """Parse a duration in Go's format as seconds: "1m30s", "250ms".

    Raises:
        argparse.ArgumentTypeError: it is invalid.
    """
    try:
        return parse_duration(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def boolean(text: str) -> bool:
    """Parse "true" or "false".

    Raises:
        argparse.ArgumentTypeError: it is neither.
    """
    if text.lower() not in ("true", "false"):
        raise argparse.ArgumentTypeError(f'"{text}" is neither true nor false')
    return text.lower() == "true"
