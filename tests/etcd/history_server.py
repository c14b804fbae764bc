"""One of the servers of the history test: a store with clients and watches, which writes down what they see.

Usage: history_server.py URLS PLACE NAME LOG SEED. It ends at SIGTERM, having seen all that was written until then.
One JSON array a line, times in seconds of the machine's monotonic clock:

    ["i", id, begin, verb, key, value, expect]   a write begins; verb is "put" or "delete"
    ["o", id, end, outcome, revision]            it ends: "ok", "unknown", "refused", or "conflict" with what is there
    ["r", begin, end, revision, key, value, modified]      a read; null and 0 for a missing key
    ["g", begin, end, revision, prefix, [[key, modified], ...]]
    ["s", watch, prefix, after]                  a watch starts
    ["e", watch, revision, key, value, before]   it gives an event; before is the modified revision of what was there
    ["p", watch, asked, position]                it has come to a position, having been asked for it at that time
    ["f"]                                        a read that was refused
"""

import asyncio
import json
import os
import random
import signal
import sys
import time
from typing import Any

from etcd.access import ClusterConfig, KeyPrefix
from etcd.backends import open_store
from etcd.store import Conflict, Event, KeyValue, Store, StoreError, Unreachable, Watcher

CLIENTS = 80
WATCHES = 3
PREFIXES = ["/r/a/", "/r/b/", "/r/c/"]
KEYS = [f"{prefix}{number}" for prefix in PREFIXES for number in range(5)]


class Server:
    """The clients of one store.

    Attributes:
        name: no other server has it, before or after.
        log: where lines go, each at once, since the process may be killed.
    """

    def __init__(self, store: Store, name: str, log: int, seed: str) -> None:
        self.store = store
        self.name = name
        self.log = log
        self.seed = seed
        self.stopped = asyncio.Event()
        self.number = 0

    def say(self, *line: Any) -> None:
        os.write(self.log, json.dumps(line).encode() + b"\n")

    async def run(self) -> None:
        """Work until stopped, then have every watch come to the end."""
        watchers = [self.watch(f"{self.name}/{n}", prefix) for n, prefix in enumerate(["", *PREFIXES][:WATCHES])]
        async with asyncio.TaskGroup() as clients:
            for number in range(CLIENTS):
                clients.create_task(self.client(random.Random(f"{self.seed} {self.name} {number}")))
            following = [asyncio.ensure_future(self.follow(*each)) for each in watchers]
            await self.stopped.wait()
        for each in following:
            each.cancel()
        await asyncio.wait(following)
        asked = time.monotonic()
        await patiently(self.store.sync_read)
        for name, watcher in watchers:
            while events := watcher.next_nowait():
                self.tell(name, events)
            self.say("p", name, asked, watcher.position)

    def watch(self, name: str, prefix: str) -> tuple[str, Watcher]:
        after = self.store.revision
        self.say("s", name, prefix, after)
        return name, self.store.watch(prefix, after=after)

    async def follow(self, name: str, watcher: Watcher) -> None:
        while True:
            self.tell(name, await watcher.next())

    def tell(self, name: str, events: Any) -> None:
        for event in events:
            before = event.prev.mod_revision if event.prev else 0
            self.say("e", name, event.revision, event.key, text(event.kv), before)

    async def client(self, dice: random.Random) -> None:
        while not self.stopped.is_set():
            if dice.random() < 0.7:
                await self.read(dice)
            else:
                await self.write(dice)

    async def read(self, dice: random.Random) -> None:
        begin = time.monotonic()
        try:
            await self.store.sync_read()
        except StoreError:
            self.say("f")
            await asyncio.sleep(0.02)
            return
        revision = self.store.revision
        if dice.random() < 0.9:
            key = dice.choice(KEYS)
            kv = self.store.get(key)
            self.say("r", begin, time.monotonic(), revision, key, text(kv), kv.mod_revision if kv else 0)
        else:
            prefix = dice.choice(PREFIXES)
            items = [[kv.key, kv.mod_revision] for kv in self.store.range(prefix).items]
            self.say("g", begin, time.monotonic(), revision, prefix, items)

    async def write(self, dice: random.Random) -> None:
        self.number += 1
        name, key = f"{self.name}:{self.number}", dice.choice(KEYS)
        deletes = dice.random() < 0.2
        known = self.store.get(key)
        expect = (known.mod_revision if known else 0) if dice.random() < 0.5 else None
        if deletes and expect == 0:
            expect = None
        self.say("i", name, time.monotonic(), "delete" if deletes else "put", key, None if deletes else name, expect)
        try:
            if deletes:
                done: KeyValue | Event = await self.store.delete(key, expect=expect)
            else:
                done = await self.store.put(key, name.encode(), expect=expect)
        except Conflict as conflict:
            self.say("o", name, time.monotonic(), "conflict", conflict.current.mod_revision if conflict.current else 0)
        except Unreachable as error:
            self.say("o", name, time.monotonic(), "unknown" if error.unknown else "refused", 0)
            await asyncio.sleep(0.02)
        else:
            revision = done.revision if isinstance(done, Event) else done.mod_revision
            self.say("o", name, time.monotonic(), "ok", revision)


def text(kv: KeyValue | None) -> str | None:
    return kv.value.decode() if kv else None


async def patiently(work: Any) -> Any:
    """Return the result of work, tried again while the cluster is unreachable."""
    while True:
        try:
            return await work()
        except Unreachable:
            await asyncio.sleep(0.05)


async def main(urls: str, prefix: str, name: str, path: str, seed: str) -> None:
    store = await patiently(lambda: open_store(urls, access=ClusterConfig(key_prefix=KeyPrefix("", prefix))))
    server = Server(store, name, os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND), seed)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, server.stopped.set)
    await server.run()
    await store.close()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
