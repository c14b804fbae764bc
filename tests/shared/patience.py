"""The seconds that tests wait for what has to come.

A wait ends as soon as that is there, so a slow machine costs time and nothing else; the bound is there for what never
comes. How quick something is belongs to the bench.
"""

import asyncio
import signal
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import ParamSpec

_P = ParamSpec("_P")

SECONDS = 300.0
"""More than anything here takes on a machine that does ten other things."""


def bounded(test: Callable[_P, Awaitable[None]]) -> Callable[_P, Awaitable[None]]:
    """Break off an asynchronous test that waits for what never comes."""

    @wraps(test)
    async def run(*args: _P.args, **kwargs: _P.kwargs) -> None:
        async with asyncio.timeout(SECONDS):
            await test(*args, **kwargs)

    return run


@contextmanager
def some_work(seconds: float = 60.0) -> Iterator[None]:
    """Break off what does not come to an end: after so many seconds of this process's own work, not of the clock.

    It is for work that grows too fast: its input is so large that it takes either much less or for ever.
    """

    def give_up(*_: object) -> None:
        raise AssertionError(f"it has not come to an end after {seconds:.0f} s of work")

    before = signal.signal(signal.SIGVTALRM, give_up)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
