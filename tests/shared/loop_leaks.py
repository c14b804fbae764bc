"""A test fails if it closes an asyncio loop while connections on it are open.

The garbage collector finds such a connection later, in the middle of another test, which then fails instead. asyncio
knows at the end of a loop what is open, so nothing has to be collected for this check.
"""

import asyncio
from asyncio.selector_events import BaseSelectorEventLoop
from collections.abc import Callable
from typing import Any

import pytest


class LeakedConnectionError(AssertionError):
    """A loop was closed while connections on it were open."""


def open_transports(loop: Any) -> list[asyncio.Transport]:
    """Return the transports of a selector loop whose sockets are open; asyncio itself has no public list of them."""
    return [transport for transport in list(loop._transports.values()) if transport._sock is not None]


def check_loops_when_closed(patch: pytest.MonkeyPatch) -> None:
    """Make each selector loop check that no connection on it is open when it is closed."""
    close = BaseSelectorEventLoop.close
    patch.setattr(BaseSelectorEventLoop, "close", lambda loop: _checked_close(loop, close))


def _checked_close(loop: BaseSelectorEventLoop, close: Callable[[BaseSelectorEventLoop], None]) -> None:
    leaked = [] if loop.is_closed() or loop.is_running() else open_transports(loop)
    shown = ", ".join(map(repr, leaked))
    if leaked:  # they end here, so that no other test fails as well
        for transport in leaked:
            transport.abort()
        loop.run_until_complete(asyncio.sleep(0))
    close(loop)
    if leaked:
        raise LeakedConnectionError(
            f"a loop was closed while connections on it were open: {shown}. Close them, and wait until they are closed:"
            " by `async with` of a session or server, or StreamWriter.wait_closed()"
        )
