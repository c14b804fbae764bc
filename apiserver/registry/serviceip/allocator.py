"""Cluster addresses and node ports of Services: given out and taken back (pkg/registry/core/service/storage/alloc.go).

A write is: the strategy, `allocate`, validate, store; then `commit` if that went well, `revert` if not. What is taken
is held here alone; after a start it is read off the stored Services.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from ipaddress import ip_address, ip_network
from typing import NamedTuple

from apiserver.api import errors
from apiserver.api.field import FieldError, invalid
from apiserver.api.meta import Obj, name_of, namespace_of
from apiserver.groups.core.services.addresses import family_of, headless
from apiserver.groups.core.services.validation import needs_health_check
from apiserver.registry.serviceip.bitmap import Choose, NumberPool, PoolError, static_share
from apiserver.registry.serviceip.families import fill_families, keeps_both

ADDRESSES, PORTS = "serviceips", "servicenodeports"
"""The names of the pools, as upstream has them in its store."""
_TAKEN = "provided {} is already allocated"
_FIRST_DRY_PORT = 32769  # a dry run shows some port that no Service has: the first one above the usual range


class Reservation(NamedTuple):
    """A number of a pool."""

    pool: NumberPool
    number: int

    @property
    def name(self) -> str:
        """What it is called among all that are given out: "serviceips/10.96.0.7" or "servicenodeports/30080"."""
        number = ip_address(self.number) if self.pool.name == ADDRESSES else self.number
        return f"{self.pool.name}/{number}"


@dataclass(frozen=True, slots=True)
class Allocation:
    """A Service with all its fields, and what becomes of addresses and ports with the write.

    Attributes:
        service: the Service to validate and store.
        taken: to be given back if the write fails.
        dropped: to be given back if it does not.
    """

    service: Obj
    taken: list[Reservation] = field(default_factory=list)
    dropped: list[Reservation] = field(default_factory=list)


class _Range:
    """The addresses of one family that Services get."""

    def __init__(self, cidr: str) -> None:
        network = ip_network(cidr)
        self.cidr = cidr
        self.family = family_of(cidr)
        self.base = str(network.network_address)
        first = int(network.network_address) + 1
        last = int(network.broadcast_address) - (1 if network.version == 4 else 0)
        static = static_share(network.num_addresses, step=16, most=256)
        self.pool = NumberPool(first, last, static=static, name=ADDRESSES)
        self.first = first


class ServiceAddresses:
    """All addresses and ports that the cluster's Services have.

    Args:
        cidrs: of cluster addresses, one for each family, the preferred family first.
        node_ports: the lowest and the highest.
        choose: where to start looking for a free number; random in a server, fixed in a test.
    """

    def __init__(
        self, cidrs: Sequence[str] = ("10.96.0.0/12",), node_ports: tuple[int, int] = (30000, 32767), *, choose: Choose
    ) -> None:
        self._choose = choose
        self._ranges = {found.family: found for found in map(_Range, cidrs)}
        self._families = tuple(self._ranges)
        low, high = node_ports
        self._port_words = f"The range of valid ports is {low}-{high}"
        self._ports = NumberPool(low, high, static=static_share(high - low + 1, step=32, most=128), name=PORTS)
        reserved = self._ranges[self._families[0]]
        self._reserved = Reservation(reserved.pool, reserved.first)
        reserved.pool.take(reserved.first)

    def load(self, services: Iterable[Obj]) -> None:
        """Mark as taken what stored Services have."""
        for service in services:
            for pool, number in self._held(service.get("spec") or {}):
                pool.take(number)

    def holds(self, service: Obj) -> Iterator[Reservation]:
        """What a Service has, but for what is kept for the server's own."""
        return (hold for hold in self._held(service.get("spec") or {}) if hold != self._reserved)

    def named(self, name: str) -> Reservation | None:
        """Return the number of a name, None where there is none (any more)."""
        pool, _, number = name.partition("/")
        try:
            if pool == PORTS:
                return Reservation(self._ports, int(number))
            found = self._ranges.get(family_of(number)) if pool == ADDRESSES else None
            return Reservation(found.pool, int(ip_address(number))) if found else None
        except ValueError:
            return None

    def is_reserved(self, hold: Reservation) -> bool:
        """Is it kept for the server's own Service?"""
        return hold == self._reserved

    def note(self, *, taken: Iterable[Reservation] = (), freed: Iterable[Reservation] = ()) -> None:
        """Note what others have given out and taken back."""
        self._free(freed)
        for pool, number in taken:
            pool.take(number)

    def release(self, service: Obj) -> None:
        """Take back what a Service had that is gone."""
        self._free(self._held(service.get("spec") or {}))

    def commit(self, allocation: Allocation) -> None:
        """The write is done: take back what the Service had before and has no more."""
        self._free(allocation.dropped)

    def revert(self, allocation: Allocation) -> None:
        """The write failed: take back what was given for it."""
        self._free(allocation.taken)

    def allocate(self, service: Obj, old: Obj | None = None, *, dry_run: bool = False) -> Allocation:
        """Return a Service with its addresses, ports and families filled in.

        Args:
            service: new, or to take the old one's place, as the strategy has prepared it. It is not changed.
            old: the stored Service, None at creation.
            dry_run: show some address and ports, and take none.

        Raises:
            ApiError: 422 where a wish cannot be fulfilled, 500 where nothing is left.
        """
        spec = dict(service.get("spec") or {})
        spec["ports"] = [dict(port) for port in spec.get("ports") or ()]
        allocation = Allocation(service | {"spec": spec})
        attempt = _Attempt(allocation, dry_run=dry_run)
        try:
            if old is None:
                self._create(attempt, spec)
            else:
                self._update(attempt, spec, old.get("spec") or {})
        except BaseException:
            self.revert(allocation)
            raise
        if not spec["ports"]:
            del spec["ports"]
        return allocation

    def _create(self, attempt: "_Attempt", spec: Obj) -> None:
        if spec.get("type") != "ExternalName":
            attempt.refuse(fill_families(spec, None, self._families))
            if not headless(spec):
                self._give_addresses(attempt, spec)
        if spec.get("type") in {"LoadBalancer", "NodePort"}:
            self._give_node_ports(attempt, spec)
        if needs_health_check(spec):
            self._give_health_port(attempt, spec)

    def _update(self, attempt: "_Attempt", spec: Obj, before: Obj) -> None:
        if spec.get("type") != "ExternalName":
            attempt.refuse(fill_families(spec, before, self._families))
        self._change_addresses(attempt, spec, before)
        self._change_node_ports(attempt, spec, before)
        self._change_health_port(attempt, spec, before)

    def _give_addresses(self, attempt: "_Attempt", spec: Obj) -> None:
        """An address of each family, as far as the Service has none yet."""
        wishes = spec.get("clusterIPs") or []
        given: list[str] = []
        for index, family in enumerate(spec["ipFamilies"]):
            wish = wishes[index] if index < len(wishes) else ""
            given.append(self._give_address(attempt, family, wish, wishes))
        spec["clusterIP"], spec["clusterIPs"] = given[0], given

    def _give_address(self, attempt: "_Attempt", family: str, wish: str, wishes: list[str]) -> str:
        found = self._ranges[family]
        if wish:
            problem = self._address_problem(attempt, found, wish)
            if problem:
                words = f"failed to allocate IP {wish}: {problem}"
                attempt.refuse([invalid("spec.clusterIPs", wishes, words)])
            attempt.take(found.pool, int(ip_address(wish)))
            return wish
        if attempt.dry_run:
            return found.base
        try:
            return str(ip_address(attempt.take_any(found.pool, self._choose)))
        except PoolError as error:
            raise errors.internal(f"failed to allocate a serviceIP: {error}") from None

    def _address_problem(self, attempt: "_Attempt", found: _Range, wish: str) -> str:
        number = int(ip_address(wish))
        if number not in found.pool:
            valid = f"The range of valid IPs is {found.cidr}"
            return f"the provided IP ({wish}) is not in the valid range. {valid}"
        own = (found.pool, number) == self._reserved and attempt.is_server
        taken = found.pool.is_taken(number) and not own and not attempt.dry_run
        return _TAKEN.format("IP") if taken else ""

    def _change_addresses(self, attempt: "_Attempt", spec: Obj, before: Obj) -> None:
        if keeps_both(spec, before):
            return
        if before.get("type") == "ExternalName":
            if spec.get("type") != "ExternalName" and not headless(spec):
                self._give_addresses(attempt, spec)
            return
        if headless(before):
            return
        if spec.get("type") == "ExternalName":
            attempt.drop(self._address_holds(before))
            return
        families, was = spec.get("ipFamilies") or [], before.get("ipFamilies") or []
        if len(was) == 1 and len(families) == 2 and spec.get("clusterIPs"):
            addresses = spec["clusterIPs"]
            second = self._give_address(attempt, families[1], addresses[1] if len(addresses) > 1 else "", addresses)
            spec["clusterIPs"] = [addresses[0], second]
        elif len(was) == 2 and len(families) == 1:
            attempt.drop(list(self._address_holds(before))[1:])

    def _give_node_ports(self, attempt: "_Attempt", spec: Obj) -> None:
        """A node port for each port; ports of one number share it across protocols."""
        given: dict[int, int] = {}
        wished = _wished(spec["ports"])
        for index, port in enumerate(spec["ports"]):
            wish, number = port.get("nodePort") or 0, port.get("port") or 0
            if not wish and not _needs_node_ports(spec):
                continue
            if number not in given:
                wish = wish or wished.get(number, 0)
                given[number] = port["nodePort"] = self._give_node_port(attempt, index, wish)
            elif not wish:
                port["nodePort"] = given[number]
            elif wish != given[number]:
                self._give_node_port(attempt, index, wish)

    def _give_node_port(self, attempt: "_Attempt", index: int, wish: int) -> int:
        if not wish:
            return self._any_port(attempt, "nodePort")
        problem = self._port_problem(attempt, wish)
        if problem:
            attempt.refuse([invalid(f"spec.ports[{index}].nodePort", wish, problem)])
        attempt.take(self._ports, wish)
        return wish

    def _any_port(self, attempt: "_Attempt", what: str) -> int:
        if attempt.dry_run:
            return attempt.dry_port()
        try:
            return attempt.take_any(self._ports, self._choose)
        except PoolError as error:
            raise errors.internal(f"failed to allocate a {what}: {error}") from None

    def _port_problem(self, attempt: "_Attempt", wish: int) -> str:
        if wish not in self._ports and not attempt.dry_run:
            return f"provided port is not in the valid range. {self._port_words}"
        return _TAKEN.format("port") if self._ports.is_taken(wish) or attempt.has_port(wish) else ""

    def _change_node_ports(self, attempt: "_Attempt", spec: Obj, before: Obj) -> None:
        had = {port["nodePort"] for port in before.get("ports") or () if port.get("nodePort")}
        if spec.get("type") not in {"LoadBalancer", "NodePort"}:
            attempt.drop(Reservation(self._ports, number) for number in had)
            return
        given: set[int] = set()
        for index, port in enumerate(spec["ports"]):
            wish = port.get("nodePort") or 0
            if wish not in had and wish not in given and (wish or _needs_node_ports(spec)):
                port["nodePort"] = wish = self._give_node_port(attempt, index, wish)
            given.add(wish)
        attempt.drop(Reservation(self._ports, number) for number in had - given)

    def _give_health_port(self, attempt: "_Attempt", spec: Obj) -> None:
        wish = spec.get("healthCheckNodePort") or 0
        if not wish:
            spec["healthCheckNodePort"] = self._any_port(attempt, "HealthCheck NodePort 0")
            return
        problem = self._port_problem(attempt, wish)
        if problem:
            raise errors.internal(f"failed to allocate requested HealthCheck NodePort {wish}: {problem}")
        attempt.take(self._ports, wish)

    def _change_health_port(self, attempt: "_Attempt", spec: Obj, before: Obj) -> None:
        needed, needs = needs_health_check(before), needs_health_check(spec)
        if needs and not needed:
            self._give_health_port(attempt, spec)
        elif needed and not needs and before.get("healthCheckNodePort"):
            attempt.drop([Reservation(self._ports, before["healthCheckNodePort"])])

    def _address_holds(self, spec: Obj) -> Iterator[Reservation]:
        for address in spec.get("clusterIPs") or ():
            found = self._ranges.get(family_of(address))
            if found is not None and address != "None":
                yield Reservation(found.pool, int(ip_address(address)))

    def _held(self, spec: Obj) -> Iterator[Reservation]:
        yield from self._address_holds(spec)
        numbers = [port.get("nodePort") for port in spec.get("ports") or ()]
        for number in (*numbers, spec.get("healthCheckNodePort")):
            if number:
                yield Reservation(self._ports, number)

    def _free(self, holds: Iterable[Reservation]) -> None:
        for pool, number in holds:
            if (pool, number) != self._reserved:
                pool.free(number)


def _needs_node_ports(spec: Obj) -> bool:
    return spec.get("type") == "NodePort" or bool(spec.get("allocateLoadBalancerNodePorts", True))


def _wished(ports: list[Obj]) -> dict[int, int]:
    """Number of a port → the node port that the first of the Service's ports of this number asks for."""
    return {port.get("port") or 0: port["nodePort"] for port in reversed(ports) if port.get("nodePort")}


class _Attempt:
    """One allocation as it goes: what it has taken so far, or would take."""

    def __init__(self, allocation: Allocation, *, dry_run: bool) -> None:
        self._allocation = allocation
        self._name = name_of(allocation.service)
        self._dry_ports: set[int] = set()
        self._next_dry_port = _FIRST_DRY_PORT
        self.dry_run = dry_run
        self.is_server = (namespace_of(allocation.service), self._name) == ("default", "kubernetes")

    def refuse(self, found: list[FieldError]) -> None:
        """Raise what is wrong, if anything is."""
        if found:
            raise errors.invalid("", "Service", name=self._name, errors=found)

    def take(self, pool: NumberPool, number: int) -> None:
        if self.dry_run:
            self._dry_ports.add(number)
            self._next_dry_port = max(self._next_dry_port, number + 1)
        else:
            pool.take(number)
            self._allocation.taken.append(Reservation(pool, number))

    def take_any(self, pool: NumberPool, choose: Choose) -> int:
        number = pool.take_any(choose)
        self._allocation.taken.append(Reservation(pool, number))
        return number

    def has_port(self, number: int) -> bool:
        """Has this dry run come by the port before?"""
        return number in self._dry_ports

    def dry_port(self) -> int:
        number = self._next_dry_port
        self._dry_ports.add(number)
        self._next_dry_port += 1
        return number

    def drop(self, holds: Iterable[Reservation]) -> None:
        if not self.dry_run:
            self._allocation.dropped.extend(holds)
