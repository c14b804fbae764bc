"""Background tasks of the server: old Events are deleted, terminating namespaces are emptied."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from apiserver.config import Config
from apiserver.controllers.event_ttl import EventSweeper
from apiserver.controllers.namespaces import NamespaceDeleter
from apiserver.registry.context import Registry

log = logging.getLogger("apiserver")

RESTART = 5.0
"""Seconds until a failed background task is started again."""


@asynccontextmanager
async def background_tasks(
    config: Config, registry: Registry, *more: Callable[[], Awaitable[None]]
) -> AsyncIterator[None]:
    """Run the server's background tasks, and `more` of them, for as long as the context lasts."""
    runs = [*more]
    if not registry.storage.store.supports_ttl:
        runs.append(EventSweeper(registry, config.event_ttl).run)
    if registry.reservations is not None:
        runs.append(registry.reservations.run)
    if config.empties_namespaces:
        runs.append(NamespaceDeleter(registry).run)
    # no TaskGroup: it would wrap any exception of the context in a group
    tasks = [asyncio.create_task(_restarted(run)) for run in runs]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _restarted(run: Callable[[], Awaitable[None]]) -> None:
    """Run a task, again each time it fails; other tasks are not affected."""
    while True:
        try:
            return await run()
        except Exception:
            log.exception("%s failed and is started again", run.__qualname__)
            await asyncio.sleep(RESTART)
