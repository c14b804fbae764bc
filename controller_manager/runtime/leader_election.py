"""Who works, of several managers: the one that holds a Lease (client-go tools/leaderelection)."""

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
from controller_manager.reconcile.times import micro_stamp
from controller_manager.runtime.client import Client
from controller_manager.runtime.clock import Clock
from controller_manager.runtime.event_recorder import Recorder

log = logging.getLogger("controller_manager.leader")

SOURCE = "kube-controller-manager"
RELEASE = 2.0
"""Seconds that giving up a lease may take at the end."""
_JITTER = 1.2
"""How much longer than the retry period the wait for a lease may be (JitterFactor)."""


class LeadLostError(Exception):
    """The lease could not be renewed in time: somebody else may hold it now."""


@dataclass(frozen=True, slots=True)
class Terms:
    """The times of an election, in seconds.

    Attributes:
        lease: how long others wait for a holder that is silent.
        renew: how long the holder tries to renew before it gives up.
        retry: between two tries.
    """

    lease: float = 15.0
    renew: float = 10.0
    retry: float = 2.0


def identity() -> str:
    """A name for this process that no other has: "host_uuid" (cmd/kube-controller-manager)."""
    return f"{socket.gethostname()}_{uuid.uuid4()}"


class Elector:
    """A candidate for a Lease.

    A holder's clock is never compared with this machine's: that a lease has not changed for its duration, as seen from
    here, is what ends it.

    Args:
        client: the way to the server.
        recorder: takes the Events of the election.
        clock: by which it waits.
        lease: the key of the Lease.
        name: who this is; no other candidate may have it.
        terms: the times.
    """

    def __init__(
        self, client: Client, recorder: Recorder, clock: Clock, *, lease: Key, name: str, terms: Terms | None = None
    ) -> None:
        self._client = client
        self._recorder = recorder
        self._clock = clock
        self._key = lease
        self._name = name
        self._terms = terms or Terms()
        self._seen: Obj = {}
        self._seen_at = 0.0
        self._safe_until = 0.0

    @property
    def holder(self) -> str:
        """Who leads, as far as is known; "" for nobody."""
        return str(_spec(self._seen).get("holderIdentity") or "")

    @property
    def leads(self) -> bool:
        """Whether this candidate leads."""
        return self.holder == self._name

    def is_safe(self) -> bool:
        """Whether this candidate leads for sure: nobody else can have the lease yet, even if this process slept."""
        return self._clock.monotonic() < self._safe_until

    async def acquire(self) -> None:
        """Return once this candidate leads."""
        log.info("attempting to acquire leader lease %s", self._key)
        while not await self._try():
            jitter = 1 + _JITTER * SystemRandom().random()
            await self._clock.sleep(self._terms.retry * jitter)
        log.info("successfully acquired lease %s", self._key)
        self._tell("became leader")

    async def keep(self) -> None:
        """Renew for ever.

        Raises:
            LeadLostError: that did not succeed in time, or somebody else has the lease.
        """
        while True:
            await self._clock.sleep(self._terms.retry)
            await self._renew()

    async def release(self) -> None:
        """Give the lease up, so that another need not wait for its end."""
        try:
            async with asyncio.timeout(RELEASE):
                await self._give_up()
        except ApiError as error:
            log.warning("the lease %s could not be released: %s", self._key, error)
        except TimeoutError:
            log.warning("the lease %s could not be released within %g s", self._key, RELEASE)

    async def _give_up(self) -> None:
        while self.leads:
            now = micro_stamp(self._clock.now())
            spec = _spec(self._seen) | {"leaseDurationSeconds": 1, "renewTime": now, "acquireTime": now}
            spec.pop("holderIdentity")
            try:
                await self._write(Update(LEASE, self._seen | {"spec": spec}))
            except ApiError as error:
                if error.code != 409:
                    raise
                self._note(await self._client.perform(Get(LEASE, self._key)))  # a renewal was still under way

    async def _renew(self) -> None:
        deadline = self._clock.monotonic() + self._terms.renew
        while not await self._try():
            if self.holder and not self.leads:
                raise self._lost(f"is held by {self.holder}")
            if self._clock.monotonic() + self._terms.retry > deadline:
                raise self._lost(f"could not be renewed within {self._terms.renew:g} s")
            await self._clock.sleep(self._terms.retry)

    def _lost(self, why: str) -> LeadLostError:
        self._tell("stopped leading")
        return LeadLostError(f"the lease {self._key} {why}")

    async def _try(self) -> bool:
        """One try to get or keep the lease; whether this candidate leads."""
        try:
            async with asyncio.timeout(self._terms.renew / 2):
                return await self._renewed_as_seen() or await self._taken()
        except ApiError as error:
            log.log(logging.INFO if error.code == 409 else logging.WARNING, "lease %s: %s", self._key, error)
        except TimeoutError:
            log.warning("lease %s: no answer within %g s", self._key, self._terms.renew / 2)
        return False

    async def _renewed_as_seen(self) -> bool:
        """Renew what this candidate holds without asking first; False where that is not, or no longer, so."""
        if not self.leads:
            return False
        try:
            await self._write(Update(LEASE, self._renewed(self._seen)))
        except ApiError as error:
            if error.code not in (404, 409):
                raise
            return False
        return True

    async def _taken(self) -> bool:
        """Look at the lease and take it if nobody holds it."""
        try:
            found: Obj = await self._client.perform(Get(LEASE, self._key))
        except ApiError as error:
            if error.code != 404:
                raise
            await self._write(Create(LEASE, self._new()))
            return True
        if _spec(found) != _spec(self._seen):
            self._note(found)
        if not self.leads and self.holder and self._clock.monotonic() < self._seen_at + self._terms.lease:
            return False
        await self._write(Update(LEASE, self._renewed(found)))
        return True

    async def _write(self, request: Request) -> None:
        began = self._clock.monotonic()
        self._note(await self._client.perform(request))
        self._safe_until = began + self._terms.renew if self.leads else 0.0

    def _note(self, lease: Obj) -> None:
        before = self.holder
        self._seen, self._seen_at = lease, self._clock.monotonic()
        if self.holder != before:
            log.info("new leader of %s: %s", self._key, self.holder or "nobody")

    def _new(self) -> Obj:
        namespace, name = split_key(self._key)
        return {
            "apiVersion": LEASE.api_version,
            "kind": LEASE.kind,
            "metadata": {"name": name, "namespace": namespace},
            "spec": self._claim() | {"acquireTime": micro_stamp(self._clock.now()), "leaseTransitions": 0},
        }

    def _renewed(self, lease: Obj) -> Obj:
        """The lease as this candidate has it from now on."""
        spec = _spec(lease)
        claim = self._claim()
        if spec.get("holderIdentity") != self._name:
            claim["acquireTime"] = claim["renewTime"]
            claim["leaseTransitions"] = int(spec.get("leaseTransitions") or 0) + 1
        return lease | {"spec": spec | claim}

    def _claim(self) -> Obj:
        return {
            "holderIdentity": self._name,
            "leaseDurationSeconds": max(1, int(self._terms.lease)),
            "renewTime": micro_stamp(self._clock.now()),
        }

    def _tell(self, what: str) -> None:
        regarding = {"apiVersion": LEASE.api_version, "kind": LEASE.kind, "metadata": self._seen["metadata"]}
        self._recorder.record(RecordEvent(regarding, "LeaderElection", f"{self._name} {what}"), SOURCE)


def _spec(lease: Obj) -> Obj:
    return dict(lease.get("spec") or {})
