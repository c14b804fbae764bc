"""Allocation as a step of every write of a Service: given out before validation, and taken back if the write fails."""

from asyncio import CancelledError
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

import orjson

from apiserver.api.meta import Obj
from apiserver.registry.allocation import ServiceAddresses
from apiserver.registry.context import Registry
from apiserver.registry.options import Target, WriteOptions
from etcd.store import KeyValue

PREFIX = "/registry/services/specs/"


def allocated(
    registry: Registry, target: Target, options: WriteOptions, *, new: Obj, old: Obj | None = None
) -> AbstractContextManager[Obj]:
    """The object with what only the server can give it, for a block that stores it or raises.

    Raises:
        ApiError: 422 where a wish cannot be fulfilled, 500 where nothing is left.
    """
    if target.resource.plural != "services" or target.resource.group or target.subresource:
        return nullcontext(new)
    return _addresses(registry.addresses, new, old, dry_run=options.dry_run)


@contextmanager
def _addresses(addresses: ServiceAddresses, new: Obj, old: Obj | None, *, dry_run: bool) -> Iterator[Obj]:
    allocation = addresses.allocate(new, old, dry_run=dry_run)
    try:
        yield allocation.service
    except (
        CancelledError
    ):  # the client went away, and what is under way may yet be stored: better kept than given twice
        addresses.commit(allocation)
        raise
    except BaseException:
        addresses.revert(allocation)
        raise
    addresses.commit(allocation)


def give_back(registry: Registry, kv: KeyValue) -> None:
    """Take back what a deleted object had."""
    if kv.key.startswith(PREFIX):
        registry.addresses.release(orjson.loads(kv.value))


def load(registry: Registry) -> None:
    """Take what stored Services have; done once, before the first request."""
    services = registry.storage.store.range(PREFIX).items
    registry.addresses.load(orjson.loads(kv.value) for kv in services)
