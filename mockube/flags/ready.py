"""The flags of `mockube ready`."""

import argparse
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

_DESCRIPTION: Final = "Ask a health page once, and tell by the exit code whether the server behind it is ready."
_EPILOG: Final = """\
example:
  mockube ready https://127.0.0.1:6443/readyz --certificate-authority ~/.local/share/mockube/pki/ca.crt

exit code: 0 if it answers that it is ready, 1 if it does not, 2 if it cannot be asked
"""


def declare(commands: "argparse._SubParsersAction[Any]") -> None:
    """Add the command and its flags to the command line."""
    command = commands.add_parser(
        "ready",
        help="ask a server's health page whether it is ready",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.set_defaults(run=run)
    add = command.add_argument
    add("url", type=_url, metavar="URL", help="the page: /readyz of an API server or of a controller manager")
    add(
        "--certificate-authority",
        type=Path,
        metavar="FILE",
        help="CA certificates that signed the server's certificate (default: the system's)",
    )
    add("--timeout", type=_seconds, default=5.0, metavar="SECONDS", help="how long it may take (default: %(default)s)")


def run(options: argparse.Namespace) -> int:
    """Request the page once and return the exit code."""
    from mockube.commands import ready  # the one command that runs: help and errors come without it

    return ready.run(options)


def _url(text: str) -> str:
    try:
        parts = urlsplit(text)
        fits = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        fits = False
    if not fits:
        raise argparse.ArgumentTypeError(f"{text} is no page: give a URL such as https://127.0.0.1:6443/readyz")
    return text


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is no time: give seconds, such as 5")
    return seconds
