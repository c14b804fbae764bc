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
from apiserver.registry.serviceip.reservations import ServiceClaims
from etcd.store import KeyValue, Unreachable

PREFIX = "/registry/services/specs/"


ATTEMPTS = 16
"""How often to allocate other numbers because other servers were faster to claim these."""


def allocated(
    registry: Registry, target: Target, options: WriteOptions, *, new: Obj, old: Obj | None = None
) -> AbstractAsyncContextManager[Obj]:
    """Return a context manager for storing an object; its value is the object with its addresses and ports allocated.

    Raises:
        ApiError: 422 if a requested number is not available, 500 if none is left.
    """
    if target.resource.plural != "services" or target.resource.group or target.subresource:
        return nullcontext(new)
    return _numbers(registry, new, old, dry_run=options.dry_run)


@asynccontextmanager
async def _numbers(registry: Registry, new: Obj, old: Obj | None, *, dry_run: bool) -> AsyncIterator[Obj]:
    addresses, claims = registry.addresses, registry.claims
    allocation = addresses.allocate(new, old, dry_run=dry_run)
    claimed: Sequence[Reservation] = ()
    if claims is not None and not dry_run:
        allocation, claimed = await _claimed(registry, claims, allocation, new, old)
    try:
        yield allocation.service
    except BaseException as error:
        if _may_be_stored(error):  # better to keep the numbers than to allocate them twice
            addresses.commit(allocation)
            raise
        addresses.revert(allocation)
        if claims is not None:
            await claims.release(claimed)
        raise
    addresses.commit(allocation)


def _may_be_stored(error: BaseException) -> bool:
    """Return whether a failed write may be stored all the same: its client disconnected, or etcd gave no answer."""
    cause = error.__cause__
    return isinstance(error, CancelledError) or (isinstance(cause, Unreachable) and cause.unknown)


async def _claimed(
    registry: Registry, claims: ServiceClaims, allocation: Allocation, new: Obj, old: Obj | None
) -> tuple[Allocation, list[Reservation]]:
    """Return an allocation whose numbers no other server has allocated, and the claims made for it."""
    addresses = registry.addresses
    for _ in range(ATTEMPTS):
        reservations = [reservation for reservation in allocation.allocated if not addresses.is_reserved(reservation)]
        try:
            lost = await claims.claim_all(reservations)
        except BaseException:
            addresses.revert(allocation)
            raise
        if not lost:
            return allocation, reservations
        addresses.revert(allocation)
        addresses.record(allocated=[reservation for reservation in lost if claims.is_claimed(reservation)])
        allocation = addresses.allocate(new, old)
    addresses.revert(allocation)
    raise internal("failed to allocate: other servers were faster each time, try again")


async def give_back(registry: Registry, kv: KeyValue, revision: int) -> None:
    """Release the numbers of a deleted Service before the delete is answered: clients may request them at once."""
    if not kv.key.startswith(PREFIX):
        return
    service = orjson.loads(kv.value)
    registry.addresses.release(service)
    if registry.claims is not None:
        await registry.claims.release_unless_reclaimed(registry.addresses.reservations_of(service), revision)


def load(registry: Registry) -> None:
    """Allocate the numbers of the stored Services; done once, before the first request."""
    services = registry.storage.store.range(PREFIX).items
    registry.addresses.load(orjson.loads(kv.value) for kv in services)
