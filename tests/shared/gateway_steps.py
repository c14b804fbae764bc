"""Common steps of the tests of the store over etcd."""

import asyncio
import base64
from collections.abc import Callable
from typing import Any

import aiohttp
from patience import SECONDS

from etcd.store import Event, Watcher

PODS = "/registry/pods/"


def b64(key: str | bytes) -> str:
    return base64.b64encode(key if isinstance(key, bytes) else key.encode()).decode()


async def seen(watcher: Watcher, number: int, seconds: float = SECONDS) -> list[Event]:
    """Wait for so many events and return them, with any more that come in the last batch."""
    events: list[Event] = []
    async with asyncio.timeout(seconds):
        while len(events) < number:
            events += await watcher.next()
    return events


async def until(what: Callable[[], object], seconds: float = SECONDS) -> None:
    """Poll until a condition holds that nothing reports."""
    async with asyncio.timeout(seconds):
        while not what():  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.02)


def answer_within(store: Any, seconds: float | None) -> None:
    """Set the time that members may take to answer a store; None is for ever, so that a dead one blocks its callers."""
    for client in store._cluster._clients:
        client.session._timeout = aiohttp.ClientTimeout(total=seconds, sock_connect=seconds)
