"""Work that many wait for and that is done once for all of them."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any


class SingleFlight:
    """Work that whoever comes while it is under way waits for as well, and whose failure is everybody's."""

    def __init__(self, work: Callable[[], Awaitable[None]]) -> None:
        self._work = work
        self._under_way: asyncio.Task[None] | None = None

    async def done(self) -> None:
        """Wait until the work that is under way, or is begun now, is done; raises what it raises."""
        if self._under_way is None or self._under_way.done():
            self._under_way = asyncio.create_task(self._run())
            self._under_way.add_done_callback(look_at)
        await asyncio.shield(self._under_way)

    async def _run(self) -> None:
        await self._work()


class NextRun:
    """Work that has to be begun after it was asked for: whoever comes while it is under way waits for the next time."""

    def __init__(self, work: Callable[[], Awaitable[None]]) -> None:
        self._work = work
        self._under_way: asyncio.Task[None] | None = None
        self._next: asyncio.Task[None] | None = None

    async def done(self) -> None:
        """Wait until the work has been begun and done; raises what it raises."""
        if self._next is None:
            self._next = asyncio.create_task(self._run(self._under_way))
            self._next.add_done_callback(look_at)
        await asyncio.shield(self._next)

    async def ended(self) -> None:
        """Wait until nothing is under way; the caller sees to it that this is soon, and that nobody comes any more."""
        under_way = {each for each in (self._under_way, self._next) if each is not None}
        if under_way:
            await asyncio.wait(under_way)

    async def _run(self, before: asyncio.Task[None] | None) -> None:
        if before is not None:
            await asyncio.wait([before])
        self._under_way, self._next = self._next, None
        await self._work()


def look_at(task: asyncio.Task[Any]) -> None:
    """Nobody may be left to see how a task ended, which asyncio would complain of."""
    if not task.cancelled():
        task.exception()
