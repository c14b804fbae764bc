"""What the server does unasked, beside requests: old Events are forgotten, deleted namespaces are emptied."""

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
"""Seconds until work in the background that failed is started again."""


@asynccontextmanager
async def housekeeping(config: Config, registry: Registry, *more: Callable[[], Awaitable[None]]) -> AsyncIterator[None]:
    """What the server does unasked, and more that does so, for as long as the context lasts."""
    work = [*more]
    if not registry.storage.store.expires:
        work.append(EventSweeper(registry, config.event_ttl).run)
    if registry.claims is not None:
        work.append(registry.claims.run)
    if config.empties_namespaces:
        work.append(NamespaceDeleter(registry).run)
    # no TaskGroup: it would wrap whatever is raised inside the context into a group
    tasks = [asyncio.create_task(_lasting(run)) for run in work]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _lasting(run: Callable[[], Awaitable[None]]) -> None:
    """Work that begins anew when it fails, and takes nobody else with it."""
    while True:
        try:
            return await run()
        except Exception:
            log.exception("%s failed and is started again", run.__qualname__)
            await asyncio.sleep(RESTART)
