"""Leader election: of several managers, the one that holds a Lease is active (client-go tools/leaderelection)."""

import asyncio
import logging
import socket
import uuid
from dataclasses import dataclass
from random import SystemRandom

from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj
from controller_manager.reconcile.contract import Create, Get, Key, RecordEvent, Request, Update, split_key
from controller_manager.reconcile.kinds import LEASE
from controller_manager.reconcile.times import format_micro_time
from controller_manager.runtime.client import Client
from controller_manager.runtime.clock import Clock
from controller_manager.runtime.event_recorder import Recorder

log = logging.getLogger("controller_manager.leader")

EVENT_SOURCE = "kube-controller-manager"
RELEASE_TIMEOUT = 2.0
"""Seconds that releasing a lease may take at the end."""
_JITTER = 1.2
"""The factor by which the wait for a lease may exceed the retry period (JitterFactor)."""


class LeaseLostError(Exception):
    """The lease could not be renewed in time: another candidate may hold it now."""


@dataclass(frozen=True, slots=True)
class ElectionTimes:
    """The times of an election, in seconds.

    Attributes:
        lease_duration: how long other candidates wait for a silent holder.
        renew_deadline: how long the holder tries to renew before it gives up.
        retry_period: between two tries.
    """

    lease_duration: float = 15.0
    renew_deadline: float = 10.0
    retry_period: float = 2.0


def new_identity() -> str:
    """Return a unique name for this process: "host_uuid" (cmd/kube-controller-manager)."""
    return f"{socket.gethostname()}_{uuid.uuid4()}"


class LeaderElector:
    """A candidate for a Lease.

    The holder's clock is never compared with this machine's: a lease ends when this candidate has seen no change of it
    for its duration.

    Args:
        client: the client for the Lease.
        recorder: takes the Events of the election.
        clock: the clock to wait with.
        lease: the key of the Lease.
        identity: this candidate's name, which must be unique.
        election_times: the times of the election.
    """

    def __init__(
        self,
        client: Client,
        recorder: Recorder,
        clock: Clock,
        *,
        lease: Key,
        identity: str,
        election_times: ElectionTimes | None = None,
    ) -> None:
        self._client = client
        self._recorder = recorder
        self._clock = clock
        self._key = lease
        self._identity = identity
        self._election_times = election_times or ElectionTimes()
        self._observed: Obj = {}
        self._observed_at = 0.0
        self._safe_until = 0.0

    @property
    def holder(self) -> str:
        """The known leader's identity, or "" if there is none."""
        return str(_spec(self._observed).get("holderIdentity") or "")

    @property
    def is_leader(self) -> bool:
        """True if this candidate leads."""
        return self.holder == self._identity

    def is_safe(self) -> bool:
        """Return whether this candidate surely leads: no other can have the lease yet, even if this process slept."""
        return self._clock.monotonic() < self._safe_until

    async def acquire(self) -> None:
        """Return once this candidate leads."""
        log.info("attempting to acquire leader lease %s", self._key)
        while not await self._try_acquire_or_renew():
            jitter = 1 + _JITTER * SystemRandom().random()
            await self._clock.sleep(self._election_times.retry_period * jitter)
        log.info("successfully acquired lease %s", self._key)
        self._record_event("became leader")

    async def keep_renewing(self) -> None:
        """Renew the lease for ever.

        Raises:
            LeaseLostError: renewing did not succeed in time, or another candidate has the lease.
        """
        while True:
            await self._clock.sleep(self._election_times.retry_period)
            await self._renew()

    async def release(self) -> None:
        """Release the lease, so that the next leader need not wait for its end."""
        try:
            async with asyncio.timeout(RELEASE_TIMEOUT):
                await self._write_release()
        except ApiError as error:
            log.warning("the lease %s could not be released: %s", self._key, error)
        except TimeoutError:
            log.warning("the lease %s could not be released within %g s", self._key, RELEASE_TIMEOUT)

    async def _write_release(self) -> None:
        while self.is_leader:
            now = format_micro_time(self._clock.now())
            spec = _spec(self._observed) | {"leaseDurationSeconds": 1, "renewTime": now, "acquireTime": now}
            spec.pop("holderIdentity")
            try:
                await self._write(Update(LEASE, self._observed | {"spec": spec}))
            except ApiError as error:
                if error.code != 409:
                    raise
                self._observe(await self._client.perform(Get(LEASE, self._key)))  # a renewal was still under way

    async def _renew(self) -> None:
        deadline = self._clock.monotonic() + self._election_times.renew_deadline
        while not await self._try_acquire_or_renew():
            if self.holder and not self.is_leader:
                raise self._lease_lost(f"is held by {self.holder}")
            if self._clock.monotonic() + self._election_times.retry_period > deadline:
                raise self._lease_lost(f"could not be renewed within {self._election_times.renew_deadline:g} s")
            await self._clock.sleep(self._election_times.retry_period)

    def _lease_lost(self, problem: str) -> LeaseLostError:
        self._record_event("stopped leading")
        return LeaseLostError(f"the lease {self._key} {problem}")

    async def _try_acquire_or_renew(self) -> bool:
        """Try once to acquire or renew the lease; return whether this candidate leads."""
        try:
            async with asyncio.timeout(self._election_times.renew_deadline / 2):
                return await self._renew_observed() or await self._acquire()
        except ApiError as error:
            log.log(logging.INFO if error.code == 409 else logging.WARNING, "lease %s: %s", self._key, error)
        except TimeoutError:
            log.warning("lease %s: no answer within %g s", self._key, self._election_times.renew_deadline / 2)
        return False

    async def _renew_observed(self) -> bool:
        """Renew the lease without reading it first; return False if this candidate does not hold it, or no longer."""
        if not self.is_leader:
            return False
        try:
            await self._write(Update(LEASE, self._renewed_lease(self._observed)))
        except ApiError as error:
            if error.code not in (404, 409):
                raise
            return False
        return True

    async def _acquire(self) -> bool:
        """Read the lease and acquire it if nobody holds it; return whether this candidate holds it."""
        try:
            current: Obj = await self._client.perform(Get(LEASE, self._key))
        except ApiError as error:
            if error.code != 404:
                raise
            await self._write(Create(LEASE, self._new_lease()))
            return True
        if _spec(current) != _spec(self._observed):
            self._observe(current)
        if (
            not self.is_leader
            and self.holder
            and self._clock.monotonic() < self._observed_at + self._election_times.lease_duration
        ):
            return False
        await self._write(Update(LEASE, self._renewed_lease(current)))
        return True

    async def _write(self, request: Request) -> None:
        began = self._clock.monotonic()
        self._observe(await self._client.perform(request))
        self._safe_until = began + self._election_times.renew_deadline if self.is_leader else 0.0

    def _observe(self, lease: Obj) -> None:
        before = self.holder
        self._observed, self._observed_at = lease, self._clock.monotonic()
        if self.holder != before:
            log.info("new leader of %s: %s", self._key, self.holder or "nobody")

    def _new_lease(self) -> Obj:
        namespace, name = split_key(self._key)
        return {
            "apiVersion": LEASE.api_version,
            "kind": LEASE.kind,
            "metadata": {"name": name, "namespace": namespace},
            "spec": self._holder_fields()
            | {"acquireTime": format_micro_time(self._clock.now()), "leaseTransitions": 0},
        }

    def _renewed_lease(self, lease: Obj) -> Obj:
        """Return the lease as this candidate holds it from now on."""
        spec = _spec(lease)
        fields = self._holder_fields()
        if spec.get("holderIdentity") != self._identity:
            fields["acquireTime"] = fields["renewTime"]
            fields["leaseTransitions"] = int(spec.get("leaseTransitions") or 0) + 1
        return lease | {"spec": spec | fields}

    def _holder_fields(self) -> Obj:
        return {
            "holderIdentity": self._identity,
            "leaseDurationSeconds": max(1, int(self._election_times.lease_duration)),
            "renewTime": format_micro_time(self._clock.now()),
        }

    def _record_event(self, action: str) -> None:
        regarding = {"apiVersion": LEASE.api_version, "kind": LEASE.kind, "metadata": self._observed["metadata"]}
        self._recorder.record(RecordEvent(regarding, "LeaderElection", f"{self._identity} {action}"), EVENT_SOURCE)


def _spec(lease: Obj) -> Obj:
    return dict(lease.get("spec") or {})
