"""What tests of the store over etcd do again and again."""

import asyncio
import base64

from etcd.store import Event

PODS = "/registry/pods/"


def b64(key: str | bytes) -> str:
    return base64.b64encode(key if isinstance(key, bytes) else key.encode()).decode()


async def seen(watcher, number: int, seconds: float = 20) -> list[Event]:
    """As many events, and none that comes with the last."""
    events: list[Event] = []
    async with asyncio.timeout(seconds):
        while len(events) < number:
            events += await watcher.next()
    return events


async def until(what, seconds: float = 20) -> None:
    """Wait until something that nobody tells of is so."""
    async with asyncio.timeout(seconds):
        while not what():  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.02)
