"""Reserves addresses and ports of Services among several servers: the store has a key for each allocated number.

Upstream writes a bitmap of a whole range with each Service, or an IPAddress for each address; here a server creates a
key, which must not exist. If two servers allocate the same number at once, one of them fails and takes another number.
"""

import asyncio
import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Final

import orjson

from apiserver.api.meta import Obj
from apiserver.registry.serviceip.allocator import Reservation, ServiceAllocator
from apiserver.registry.storage import map_store_errors
from apiserver.registry.store_watch import follow
from etcd.store import Conflict, Event, KeyValue, Store, Watcher

log = logging.getLogger("apiserver")

SERVICES: Final = "/registry/services/specs/"
RESERVATIONS: Final = "/registry/ranges/"
MAX_WRITE_SECONDS: Final = 120.0
"""Seconds after which a reserved number must be in a Service, or else its reservation is released."""


def reservation_key(reservation: Reservation) -> str:
    """Return the key of a number: "/registry/ranges/serviceips/10.96.0.7"."""
    return f"{RESERVATIONS}{reservation.name}"


class ReservationStore:
    """The reservations of addresses and ports in a store that several servers share.

    Args:
        store: the store of the reservations, which other servers write to as well.
        addresses: this server's allocations; kept up to date with the Services that others write.
    """

    def __init__(self, store: Store, addresses: ServiceAllocator) -> None:
        self._store = store
        self._addresses = addresses

    async def reserve_all(self, reservations: Sequence[Reservation]) -> list[Reservation]:
        """Reserve numbers, all or none; return those that other servers have reserved already.

        Raises:
            ApiError: the store is unreachable.
        """
        taken, reserved = list[Reservation](), list[Reservation]()
        for reservation in reservations:
            try:
                await self._reserve(reservation)
            except Conflict:
                taken.append(reservation)
            except BaseException:
                await self.release(reserved)
                raise
            else:
                reserved.append(reservation)
        if taken:
            await self.release(reserved)
        return taken

    async def _reserve(self, reservation: Reservation) -> None:
        key = reservation_key(reservation)
        value = orjson.dumps({"metadata": {"name": key.rpartition("/")[2]}})
        with map_store_errors():
            await self._store.put(key, value, expect=0)

    async def release(self, reservations: Iterable[Reservation]) -> None:
        """Release reservations; those that cannot be deleted now are released later, as unused ones."""
        for reservation in reservations:
            with suppress(Exception):
                await self._store.delete(reservation_key(reservation))

    async def release_unless_renewed(self, reservations: Iterable[Reservation], revision: int) -> None:
        """Release the numbers that a write released, unless another server has reserved them since."""
        for reservation in reservations:
            kv = self._store.get(reservation_key(reservation))
            if kv is not None and kv.mod_revision < revision:
                with suppress(Exception):  # somebody else deletes it, or it is released later as unused
                    await self._store.delete(kv.key, expect=kv.mod_revision)

    def is_stored(self, reservation: Reservation) -> bool:
        """Return whether the store is known to have the reservation; its watch will then see the release."""
        return self._store.get(reservation_key(reservation)) is not None

    async def run(self) -> None:
        """Follow Services and reservations until cancelled or the store is closed."""
        followers = (
            follow(self._store, SERVICES, self._follow_services),
            follow(self._store, RESERVATIONS, self._follow_reservations),
        )
        tasks = [asyncio.create_task(each) for each in (*followers, self._release_unused())]
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)

    async def _follow_reservations(self, watcher: Watcher, items: Sequence[KeyValue]) -> None:
        """Record reserved numbers as allocated, and released ones as free."""
        for kv in items:
            self._record_reservation(kv.key, allocated=True)
        while True:
            for event in await watcher.next():
                self._record_reservation(event.key, allocated=not event.is_delete)

    def _record_reservation(self, key: str, *, allocated: bool) -> None:
        reservation = self._addresses.reservation_named(key.removeprefix(RESERVATIONS))
        if reservation is not None:
            self._addresses.record(**{"allocated" if allocated else "released": [reservation]})

    async def _follow_services(self, watcher: Watcher, items: Sequence[KeyValue]) -> None:
        self._addresses.load(map(_service, items))
        while True:
            for event in await watcher.next():
                await self._record_write(event)

    async def _record_write(self, event: Event) -> None:
        """Record what the write of a Service has allocated and released."""
        allocated = set(self._reservations_of(event.kv))
        released = set(self._reservations_of(event.prev)) - allocated
        self._addresses.record(allocated=allocated, released=released)
        await self.release_unless_renewed(released, event.revision)

    def _reservations_of(self, kv: KeyValue | None) -> Iterator[Reservation]:
        return self._addresses.reservations_of(_service(kv)) if kv is not None else iter(())

    async def _release_unused(self) -> None:
        """Release, every MAX_WRITE_SECONDS, the reservations of servers that ended before their Service was written."""
        while True:
            before = self._unused()
            await asyncio.sleep(MAX_WRITE_SECONDS)
            for key, revision in self._unused().items():
                if before.get(key) == revision:
                    with suppress(Conflict):
                        await self._store.delete(key, expect=revision)
                        log.warning("%s was reserved but never used and is free again", key)

    def _unused(self) -> dict[str, int]:
        """Return the keys of the reservations that no Service uses, with their revisions."""
        used = {
            reservation_key(reservation)
            for kv in self._store.range(SERVICES).items
            for reservation in self._reservations_of(kv)
        }
        return {kv.key: kv.mod_revision for kv in self._store.range(RESERVATIONS).items if kv.key not in used}


def _service(kv: KeyValue) -> Obj:
    service: Obj = orjson.loads(kv.value)
    return service
