"""Allocation as a step of every write of a Service: before validation, and reverted if the write fails."""

from asyncio import CancelledError
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext

import orjson

from apiserver.api.errors import internal
from apiserver.api.meta import Obj
from apiserver.registry.context import Registry
from apiserver.registry.options import Target, WriteOptions
from apiserver.registry.serviceip.allocator import Allocation, Reservation
from apiserver.registry.serviceip.reservations import ReservationStore
from etcd.store import KeyValue, Unreachable

PREFIX = "/registry/services/specs/"


ATTEMPTS = 16
"""The number of times to allocate other numbers because other servers were faster to reserve these."""


def allocate_for_write(
    registry: Registry, target: Target, options: WriteOptions, *, new: Obj, old: Obj | None = None
) -> AbstractAsyncContextManager[Obj]:
    """Return a context manager for storing an object; its value is the object with its addresses and ports allocated.

    Raises:
        ApiError: 422 if a requested number is not available, 500 if none is left.
    """
    if target.resource.plural != "services" or target.resource.group or target.subresource:
        return nullcontext(new)
    return _allocation(registry, new, old, dry_run=options.dry_run)


@asynccontextmanager
async def _allocation(registry: Registry, new: Obj, old: Obj | None, *, dry_run: bool) -> AsyncIterator[Obj]:
    allocator, store = registry.service_allocator, registry.reservations
    allocation = allocator.allocate(new, old, dry_run=dry_run)
    reserved: Sequence[Reservation] = ()
    if store is not None and not dry_run:
        allocation, reserved = await _reserve(registry, store, allocation, new, old)
    try:
        yield allocation.service
    except BaseException as error:
        if _may_be_stored(error):  # better to keep the numbers than to allocate them twice
            allocator.commit(allocation)
            raise
        allocator.revert(allocation)
        if store is not None:
            await store.release(reserved)
        raise
    allocator.commit(allocation)


def _may_be_stored(error: BaseException) -> bool:
    """Return whether a failed write may be stored all the same: its client disconnected, or etcd gave no answer."""
    cause = error.__cause__
    return isinstance(error, CancelledError) or (isinstance(cause, Unreachable) and cause.unknown)


async def _reserve(
    registry: Registry, store: ReservationStore, allocation: Allocation, new: Obj, old: Obj | None
) -> tuple[Allocation, list[Reservation]]:
    """Return an allocation whose numbers no other server has allocated, and the reservations made for it."""
    allocator = registry.service_allocator
    for _ in range(ATTEMPTS):
        reservations = [
            reservation for reservation in allocation.allocated if not allocator.is_api_server_ip(reservation)
        ]
        try:
            taken = await store.reserve_all(reservations)
        except BaseException:
            allocator.revert(allocation)
            raise
        if not taken:
            return allocation, reservations
        allocator.revert(allocation)
        allocator.record(allocated=[reservation for reservation in taken if store.is_stored(reservation)])
        allocation = allocator.allocate(new, old)
    allocator.revert(allocation)
    raise internal("failed to allocate: other servers were faster each time, try again")


async def release_deleted(registry: Registry, kv: KeyValue, revision: int) -> None:
    """Release the numbers of a deleted Service before the delete is answered: clients may request them at once."""
    if not kv.key.startswith(PREFIX):
        return
    service = orjson.loads(kv.value)
    registry.service_allocator.release(service)
    if registry.reservations is not None:
        await registry.reservations.release_unless_renewed(
            registry.service_allocator.reservations_of(service), revision
        )


def load_allocations(registry: Registry) -> None:
    """Allocate the numbers of the stored Services; done once, before the first request."""
    services = registry.storage.store.range(PREFIX).items
    registry.service_allocator.load(orjson.loads(kv.value) for kv in services)
