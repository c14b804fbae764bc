"""Work that many callers wait for and that is done once for all of them."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any


class SingleFlight:
    """Work that is done once at a time: a caller that comes while it is under way waits for it, and gets its error."""

    def __init__(self, work: Callable[[], Awaitable[None]]) -> None:
        self._work = work
        self._under_way: asyncio.Task[None] | None = None

    async def do(self) -> None:
        """Wait until the work under way, or begun now, is done; raises what it raises."""
        if self._under_way is None or self._under_way.done():
            self._under_way = asyncio.create_task(self._run())
            self._under_way.add_done_callback(retrieve_exception)
        await asyncio.shield(self._under_way)

    async def _run(self) -> None:
        await self._work()


class NextRun:
    """Work that must begin after the call that asks for it: a caller that comes during a run waits for the next one."""

    def __init__(self, work: Callable[[], Awaitable[None]]) -> None:
        self._work = work
        self._under_way: asyncio.Task[None] | None = None
        self._next: asyncio.Task[None] | None = None

    async def do(self) -> None:
        """Wait until a run that began after this call is done; raises what the work raises."""
        if self._next is None:
            self._next = asyncio.create_task(self._run(self._under_way))
            self._next.add_done_callback(retrieve_exception)
        await asyncio.shield(self._next)

    async def wait_idle(self) -> None:
        """Wait until nothing is under way; the caller ensures that this is soon and that no more calls come."""
        under_way = {task for task in (self._under_way, self._next) if task is not None}
        if under_way:
            await asyncio.wait(under_way)

    async def _run(self, previous: asyncio.Task[None] | None) -> None:
        if previous is not None:
            await asyncio.wait([previous])
        self._under_way, self._next = self._next, None
        await self._work()


def retrieve_exception(task: asyncio.Task[Any]) -> None:
    """Retrieve a task's exception: if nobody awaits the task any more, asyncio would complain about it."""
    if not task.cancelled():
        task.exception()
