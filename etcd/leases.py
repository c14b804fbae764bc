"""Leases by which a cluster deletes keys by itself, each shared by keys that are written within a short time.

A lease for each key would cost as much as the key (apiserver/pkg/storage/etcd3/lease_manager.go).
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from etcd.cluster import Cluster
from etcd.coalesce import SingleFlight

LEASE_REUSE_DURATION: Final = 60.0
"""Seconds for which a lease is given to new keys; at most a twentieth of the keys' own time."""
MAX_KEYS_PER_LEASE: Final = 1000
"""The most keys that share a lease."""


class _Lease(NamedTuple):
    """A granted lease: its id, the time to live it is for, and the time from which it is given to no more keys."""

    id: str
    ttl: float
    until: float


class LeaseManager:
    """The newest lease of a cluster for each length of time.

    Args:
        cluster: the cluster that grants them.
        clock: seconds that only ever grow.
    """

    def __init__(self, cluster: Cluster, clock: Callable[[], float]) -> None:
        self._cluster = cluster
        self._clock = clock
        self._lease = _Lease("", 0.0, 0.0)
        self._keys = 0
        self._ttl = 0.0
        self._granting = SingleFlight(self._renew)

    async def lease_for(self, ttl: float) -> str:
        """Return the id of a lease for a key that is to disappear `ttl` seconds from now, or a little later.

        Raises:
            StoreError: the cluster grants none.
        """
        if not self._has_room(ttl) or self._clock() >= self._lease.until:
            await self._await_lease(ttl)
        self._keys += 1
        return self._lease.id

    def _has_room(self, ttl: float) -> bool:
        return self._lease.ttl == ttl and self._keys < MAX_KEYS_PER_LEASE

    async def _await_lease(self, ttl: float) -> None:
        """Wait for a new lease; check again after it, as it may be for another's time to live, or full already."""
        while True:
            self._ttl = ttl
            await self._granting.do()
            if self._has_room(ttl):
                return

    async def _renew(self) -> None:
        self._lease = await self._grant(self._ttl)
        self._keys = 0

    def discard(self) -> None:
        """Give the newest lease to no further key: the cluster does not know it any more."""
        self._lease = _Lease("", 0.0, 0.0)

    async def _grant(self, ttl: float) -> _Lease:
        now, spare = self._clock(), min(LEASE_REUSE_DURATION, ttl / 20)
        # a lease that is granted twice does no harm: so the request may be repeated
        answer = await self._cluster.read("/lease/grant", {"TTL": str(int(ttl + spare) + 1)})
        return _Lease(str(answer["ID"]), ttl, now + spare)
