"""Addresses and ports of Services where several servers give them out: a key for each one that is given.

Upstream writes a bitmap of a whole range with each Service, or an IPAddress for each address; here a key is made where
there must be none. So of two servers that give the same number at the same time one finds that out, and takes another.
"""

import asyncio
import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Final

import orjson

from apiserver.api.meta import Obj
from apiserver.registry.serviceip.allocator import Reservation, ServiceAddresses
from apiserver.registry.storage import map_store_errors
from apiserver.registry.store_watch import follow
from etcd.store import Conflict, Event, KeyValue, Store, Watcher

log = logging.getLogger("apiserver")

SERVICES: Final = "/registry/services/specs/"
CLAIMS: Final = "/registry/ranges/"
LONGEST_WRITE: Final = 120.0
"""Seconds after which a number that is claimed is in a Service, or was claimed in vain."""


def claim_key(hold: Reservation) -> str:
    """Return the key of a number: "/registry/ranges/serviceips/10.96.0.7"."""
    return f"{CLAIMS}{hold.name}"


class ServiceClaims:
    """The claims of one server.

    Args:
        store: where they lie, which others write to as well.
        addresses: what this server knows to be given; it is kept in step with the Services that others write.
    """

    def __init__(self, store: Store, addresses: ServiceAddresses) -> None:
        self._store = store
        self._addresses = addresses

    async def take(self, holds: Sequence[Reservation]) -> list[Reservation]:
        """Claim numbers, all or none; gives those that another server was faster to claim.

        Raises:
            ApiError: the store is away.
        """
        lost, made = list[Reservation](), list[Reservation]()
        for hold in holds:
            try:
                await self._claim(hold)
            except Conflict:
                lost.append(hold)
            except BaseException:
                await self.drop(made)
                raise
            else:
                made.append(hold)
        if lost:
            await self.drop(made)
        return lost

    async def _claim(self, hold: Reservation) -> None:
        key = claim_key(hold)
        value = orjson.dumps({"metadata": {"name": key.rpartition("/")[2]}})
        with map_store_errors():
            await self._store.put(key, value, expect=0)

    async def drop(self, holds: Iterable[Reservation]) -> None:
        """Give claims up, as far as that is possible now; the rest is found later."""
        for hold in holds:
            with suppress(Exception):
                await self._store.delete(claim_key(hold))

    async def give_up(self, holds: Iterable[Reservation], revision: int) -> None:
        """Give up what a write has given back; who claimed it after that write, as other servers may have, keeps it."""
        for hold in holds:
            kv = self._store.get(claim_key(hold))
            if kv is not None and kv.mod_revision < revision:
                with suppress(Exception):  # somebody was faster, or it is found in vain later
                    await self._store.delete(kv.key, expect=kv.mod_revision)

    def is_claimed(self, hold: Reservation) -> bool:
        """Is a number claimed, as far as this server knows? If so it is going to hear when it is no more."""
        return self._store.get(claim_key(hold)) is not None

    async def run(self) -> None:
        """Follow Services and claims until cancelled or the store is closed."""
        work = (follow(self._store, SERVICES, self._keep), follow(self._store, CLAIMS, self._keep_claims))
        tasks = [asyncio.create_task(each) for each in (*work, self._drop_vain())]
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)

    async def _keep_claims(self, watcher: Watcher, found: Sequence[KeyValue]) -> None:
        """What is claimed is taken, and free again when nobody claims it any more."""
        for kv in found:
            self._note(kv.key, taken=True)
        while True:
            for event in await watcher.next():
                self._note(event.key, taken=not event.is_delete)

    def _note(self, key: str, *, taken: bool) -> None:
        hold = self._addresses.named(key.removeprefix(CLAIMS))
        if hold is not None:
            self._addresses.note(**{"taken" if taken else "freed": [hold]})

    async def _keep(self, watcher: Watcher, found: Sequence[KeyValue]) -> None:
        self._addresses.load(map(_service, found))
        while True:
            for event in await watcher.next():
                await self._take_in(event)

    async def _take_in(self, event: Event) -> None:
        """Note what a write has given and given back."""
        has = set(self._holds(event.kv))
        had = set(self._holds(event.prev)) - has
        self._addresses.note(taken=has, freed=had)
        await self.give_up(had, event.revision)

    def _holds(self, kv: KeyValue | None) -> Iterator[Reservation]:
        return self._addresses.holds(_service(kv)) if kv is not None else iter(())

    async def _drop_vain(self) -> None:
        """Give up claims of servers that ended before their Service was written: once in a while, after a while."""
        while True:
            before = self._unused()
            await asyncio.sleep(LONGEST_WRITE)
            for key, revision in self._unused().items():
                if before.get(key) == revision:
                    with suppress(Conflict):
                        await self._store.delete(key, expect=revision)
                        log.warning("%s was claimed in vain and is free again", key)

    def _unused(self) -> dict[str, int]:
        """Return the claims that no Service needs, with their revisions."""
        used = {claim_key(hold) for kv in self._store.range(SERVICES).items for hold in self._holds(kv)}
        return {kv.key: kv.mod_revision for kv in self._store.range(CLAIMS).items if kv.key not in used}


def _service(kv: KeyValue) -> Obj:
    found: Obj = orjson.loads(kv.value)
    return found
