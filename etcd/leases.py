"""Leases by which a cluster lets keys go by itself, each shared by what is written in a short while.

A lease of each key's own would be as dear as the key (apiserver/pkg/storage/etcd3/lease_manager.go).
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from etcd.cluster import Cluster
from etcd.coalesce import SingleFlight

REUSED: Final = 60.0
"""Seconds for which a lease is given to new keys; at most a twentieth of their own time."""
MOST: Final = 1000
"""How many keys share a lease at the most."""


class _Lease(NamedTuple):
    """A lease that was granted: its id, for which time it is, and when it is given to no more keys."""

    id: str
    ttl: float
    until: float


class Leases:
    """The newest lease of a cluster for each length of time.

    Args:
        cluster: which grants them.
        clock: seconds that only ever grow.
    """

    def __init__(self, cluster: Cluster, clock: Callable[[], float]) -> None:
        self._cluster = cluster
        self._clock = clock
        self._lease = _Lease("", 0.0, 0.0)
        self._keys = 0
        self._wanted = 0.0
        self._granting = SingleFlight(self._renew)

    async def of(self, ttl: float) -> str:
        """The id of a lease for a key that is to go so many seconds after now, or a little later.

        Raises:
            StoreError: none is granted.
        """
        if not self._has_room(ttl) or self._clock() >= self._lease.until:
            await self._granted(ttl)
        self._keys += 1
        return self._lease.id

    def _has_room(self, ttl: float) -> bool:
        return self._lease.ttl == ttl and self._keys < MOST

    async def _granted(self, ttl: float) -> None:
        """Wait for a new lease; who waits at the same moment may get it for another time, or fill it."""
        while True:
            self._wanted = ttl
            await self._granting.done()
            if self._has_room(ttl):
                return

    async def _renew(self) -> None:
        self._lease = await self._grant(self._wanted)
        self._keys = 0

    def forget(self) -> None:
        """Give the newest lease to nobody else: it is not known to the cluster any more."""
        self._lease = _Lease("", 0.0, 0.0)

    async def _grant(self, ttl: float) -> _Lease:
        began, spare = self._clock(), min(REUSED, ttl / 20)
        # a lease that is granted twice does no harm: so it may be asked for again
        answer = await self._cluster.read("/lease/grant", {"TTL": str(int(ttl + spare) + 1)})
        return _Lease(str(answer["ID"]), ttl, began + spare)
