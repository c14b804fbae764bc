"""Writes to a store until it is killed, and says on standard output which writes were acknowledged.

Usage: killed_writer.py URL RUN
"""

import asyncio
import os
import sys

from etcd.backends import open_store
from etcd.store import Store

WRITERS = 8


async def write(store: Store, prefix: str) -> None:
    number = 0
    while True:
        number += 1
        kv = await store.put(f"{prefix}-{number}", b"x" * 1500, expect=0)
        os.write(1, f"{kv.mod_revision} {kv.key}\n".encode())
        event = await store.put(f"{prefix}-counter", b"%d" % number)
        os.write(1, f"{event.mod_revision} -\n".encode())


async def main(url: str, run: str) -> None:
    store = await open_store(url, compact_count=150)
    async with asyncio.TaskGroup() as writers:
        for writer in range(WRITERS):
            writers.create_task(write(store, f"/registry/pods/run-{run}/{writer}"))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
