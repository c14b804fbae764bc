"""Allocation as a step of every write of a Service: given out before validation, and taken back if the write fails."""

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
"""How often numbers are chosen anew that other servers were faster to claim."""


def allocated(
    registry: Registry, target: Target, options: WriteOptions, *, new: Obj, old: Obj | None = None
) -> AbstractAsyncContextManager[Obj]:
    """Return the object with what only the server can give it, for a block that stores it or raises.

    Raises:
        ApiError: 422 where a wish cannot be fulfilled, 500 where nothing is left.
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
        if _may_be_stored(error):  # better kept than given twice
            addresses.commit(allocation)
            raise
        addresses.revert(allocation)
        if claims is not None:
            await claims.drop(claimed)
        raise
    addresses.commit(allocation)


def _may_be_stored(error: BaseException) -> bool:
    """Is a write that failed so perhaps under way, since its client went away, or done, since etcd gave no answer?"""
    cause = error.__cause__
    return isinstance(error, CancelledError) or (isinstance(cause, Unreachable) and cause.unknown)


async def _claimed(
    registry: Registry, claims: ServiceClaims, allocation: Allocation, new: Obj, old: Obj | None
) -> tuple[Allocation, list[Reservation]]:
    """An allocation of which no other server has given anything, and what was claimed for it."""
    addresses = registry.addresses
    for _ in range(ATTEMPTS):
        wanted = [hold for hold in allocation.taken if not addresses.is_reserved(hold)]
        try:
            lost = await claims.take(wanted)
        except BaseException:
            addresses.revert(allocation)
            raise
        if not lost:
            return allocation, wanted
        addresses.revert(allocation)
        addresses.note(taken=[hold for hold in lost if claims.is_claimed(hold)])
        allocation = addresses.allocate(new, old)
    addresses.revert(allocation)
    raise internal("failed to allocate: other servers were faster each time, try again")


async def give_back(registry: Registry, kv: KeyValue, revision: int) -> None:
    """Take back what an object had that a write has deleted, before that is answered: it may be asked for at once."""
    if not kv.key.startswith(PREFIX):
        return
    service = orjson.loads(kv.value)
    registry.addresses.release(service)
    if registry.claims is not None:
        await registry.claims.give_up(registry.addresses.holds(service), revision)


def load(registry: Registry) -> None:
    """Take what stored Services have; done once, before the first request."""
    services = registry.storage.store.range(PREFIX).items
    registry.addresses.load(orjson.loads(kv.value) for kv in services)
