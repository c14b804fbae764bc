"""Allocates cluster IPs and node ports to Services, and releases them (pkg/registry/core/service/storage/alloc.go).

A write is: the strategy, `allocate`, validate, store; then `commit` if that succeeded, `revert` if not. Allocations are
kept in memory alone; after a start they are read from the stored Services.
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
from apiserver.registry.serviceip.bitmap import Bitmap, Choose, RangeFullError, range_offset
from apiserver.registry.serviceip.families import fill_families, keeps_both

ADDRESSES, PORTS = "serviceips", "servicenodeports"
"""The names of the bitmaps, as upstream has them in its store."""
_ALREADY_ALLOCATED = "provided {} is already allocated"
_FIRST_DRY_PORT = 32769  # a dry run shows a port that no Service has: the first one above the usual range


class Reservation(NamedTuple):
    """An allocated address or port: a number of a bitmap."""

    bitmap: Bitmap
    number: int

    @property
    def name(self) -> str:
        """Its unique name: "serviceips/10.96.0.7" or "servicenodeports/30080"."""
        number = ip_address(self.number) if self.bitmap.name == ADDRESSES else self.number
        return f"{self.bitmap.name}/{number}"


@dataclass(frozen=True, slots=True)
class Allocation:
    """A Service with all its fields, and the addresses and ports that its write allocates and releases.

    Attributes:
        service: the Service to validate and store.
        allocated: allocated for this write, to be released if the write fails.
        released: no longer needed, to be released if the write succeeds.
    """

    service: Obj
    allocated: list[Reservation] = field(default_factory=list)
    released: list[Reservation] = field(default_factory=list)


class _Range:
    """The range of cluster IPs of one family."""

    def __init__(self, cidr: str) -> None:
        network = ip_network(cidr)
        self.cidr = cidr
        self.family = family_of(cidr)
        self.base = str(network.network_address)
        first = int(network.network_address) + 1
        last = int(network.broadcast_address) - (1 if network.version == 4 else 0)
        static = range_offset(network.num_addresses, step=16, most=256)
        self.bitmap = Bitmap(first, last, static=static, name=ADDRESSES)
        self.first = first


class ServiceAllocator:
    """All cluster IPs and node ports that the cluster's Services have.

    Args:
        cidrs: the ranges of cluster IPs, one for each family, the preferred family first.
        node_ports: the lowest and the highest node port.
        choose: where to start looking for a free number; random in a server, fixed in a test.
    """

    def __init__(
        self, cidrs: Sequence[str] = ("10.96.0.0/12",), node_ports: tuple[int, int] = (30000, 32767), *, choose: Choose
    ) -> None:
        self._choose = choose
        self._ranges = {range_.family: range_ for range_ in map(_Range, cidrs)}
        self._families = tuple(self._ranges)
        low, high = node_ports
        self._port_words = f"The range of valid ports is {low}-{high}"
        self._ports = Bitmap(low, high, static=range_offset(high - low + 1, step=32, most=128), name=PORTS)
        preferred = self._ranges[self._families[0]]
        self._reserved = Reservation(preferred.bitmap, preferred.first)
        preferred.bitmap.allocate(preferred.first)

    def load(self, services: Iterable[Obj]) -> None:
        """Mark the addresses and ports of stored Services as allocated."""
        for service in services:
            for bitmap, number in self._reservations(service.get("spec") or {}):
                bitmap.allocate(number)

    def reservations_of(self, service: Obj) -> Iterator[Reservation]:
        """Return the addresses and ports of a Service, except the address reserved for the server's own Service."""
        return (
            reservation
            for reservation in self._reservations(service.get("spec") or {})
            if reservation != self._reserved
        )

    def reservation_named(self, name: str) -> Reservation | None:
        """Return the address or port with a name, None if it lies in none of the ranges."""
        kind, _, number = name.partition("/")
        try:
            if kind == PORTS:
                return Reservation(self._ports, int(number))
            range_ = self._ranges.get(family_of(number)) if kind == ADDRESSES else None
            return Reservation(range_.bitmap, int(ip_address(number))) if range_ else None
        except ValueError:
            return None

    def is_api_server_ip(self, reservation: Reservation) -> bool:
        """Return whether this is the address reserved for the server's own Service."""
        return reservation == self._reserved

    def record(self, *, allocated: Iterable[Reservation] = (), released: Iterable[Reservation] = ()) -> None:
        """Record what other servers have allocated and released."""
        self._free(released)
        for bitmap, number in allocated:
            bitmap.allocate(number)

    def release(self, service: Obj) -> None:
        """Release the addresses and ports of a deleted Service."""
        self._free(self._reservations(service.get("spec") or {}))

    def commit(self, allocation: Allocation) -> None:
        """Release what the Service no longer needs: its write succeeded."""
        self._free(allocation.released)

    def revert(self, allocation: Allocation) -> None:
        """Release what was allocated for the Service: its write failed."""
        self._free(allocation.allocated)

    def allocate(self, service: Obj, old: Obj | None = None, *, dry_run: bool = False) -> Allocation:
        """Return a Service with its addresses, ports and families filled in.

        Args:
            service: the new Service, as the strategy has prepared it. It is not changed.
            old: the stored Service, None at creation.
            dry_run: show an address and ports, but allocate none.

        Raises:
            ApiError: 422 if a requested number is not available, 500 if none is left.
        """
        spec = dict(service.get("spec") or {})
        spec["ports"] = [dict(port) for port in spec.get("ports") or ()]
        allocation = Allocation(service | {"spec": spec})
        attempt = _Transaction(allocation, dry_run=dry_run)
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

    def _create(self, attempt: "_Transaction", spec: Obj) -> None:
        if spec.get("type") != "ExternalName":
            attempt.refuse(fill_families(spec, None, self._families))
            if not headless(spec):
                self._allocate_cluster_ips(attempt, spec)
        if spec.get("type") in {"LoadBalancer", "NodePort"}:
            self._allocate_node_ports(attempt, spec)
        if needs_health_check(spec):
            self._allocate_health_check_port(attempt, spec)

    def _update(self, attempt: "_Transaction", spec: Obj, before: Obj) -> None:
        if spec.get("type") != "ExternalName":
            attempt.refuse(fill_families(spec, before, self._families))
        self._update_cluster_ips(attempt, spec, before)
        self._update_node_ports(attempt, spec, before)
        self._update_health_check_port(attempt, spec, before)

    def _allocate_cluster_ips(self, attempt: "_Transaction", spec: Obj) -> None:
        """Allocate an address of each family for which the Service has none yet."""
        cluster_ips = spec.get("clusterIPs") or []
        addresses: list[str] = []
        for index, family in enumerate(spec["ipFamilies"]):
            requested = cluster_ips[index] if index < len(cluster_ips) else ""
            addresses.append(self._allocate_cluster_ip(attempt, family, requested, cluster_ips))
        spec["clusterIP"], spec["clusterIPs"] = addresses[0], addresses

    def _allocate_cluster_ip(self, attempt: "_Transaction", family: str, requested: str, cluster_ips: list[str]) -> str:
        range_ = self._ranges[family]
        if requested:
            problem = self._cluster_ip_error(attempt, range_, requested)
            if problem:
                message = f"failed to allocate IP {requested}: {problem}"
                attempt.refuse([invalid("spec.clusterIPs", cluster_ips, message)])
            attempt.allocate(range_.bitmap, int(ip_address(requested)))
            return requested
        if attempt.dry_run:
            return range_.base
        try:
            return str(ip_address(attempt.allocate_next(range_.bitmap, self._choose)))
        except RangeFullError as error:
            raise errors.internal(f"failed to allocate a serviceIP: {error}") from None

    def _cluster_ip_error(self, attempt: "_Transaction", range_: _Range, requested: str) -> str:
        number = int(ip_address(requested))
        if number not in range_.bitmap:
            valid = f"The range of valid IPs is {range_.cidr}"
            return f"the provided IP ({requested}) is not in the valid range. {valid}"
        is_own = (range_.bitmap, number) == self._reserved and attempt.is_server
        is_allocated = range_.bitmap.has(number) and not is_own and not attempt.dry_run
        return _ALREADY_ALLOCATED.format("IP") if is_allocated else ""

    def _update_cluster_ips(self, attempt: "_Transaction", spec: Obj, before: Obj) -> None:
        if keeps_both(spec, before):
            return
        if before.get("type") == "ExternalName":
            if spec.get("type") != "ExternalName" and not headless(spec):
                self._allocate_cluster_ips(attempt, spec)
            return
        if headless(before):
            return
        if spec.get("type") == "ExternalName":
            attempt.release_later(self._address_reservations(before))
            return
        families, old_families = spec.get("ipFamilies") or [], before.get("ipFamilies") or []
        if len(old_families) == 1 and len(families) == 2 and spec.get("clusterIPs"):
            addresses = spec["clusterIPs"]
            second = self._allocate_cluster_ip(
                attempt, families[1], addresses[1] if len(addresses) > 1 else "", addresses
            )
            spec["clusterIPs"] = [addresses[0], second]
        elif len(old_families) == 2 and len(families) == 1:
            attempt.release_later(list(self._address_reservations(before))[1:])

    def _allocate_node_ports(self, attempt: "_Transaction", spec: Obj) -> None:
        """Allocate a node port for each port; ports with the same number share one across protocols."""
        allocated: dict[int, int] = {}
        requested_by_port = _requested_node_ports(spec["ports"])
        for index, port in enumerate(spec["ports"]):
            requested, number = port.get("nodePort") or 0, port.get("port") or 0
            if not requested and not _needs_node_ports(spec):
                continue
            if number not in allocated:
                requested = requested or requested_by_port.get(number, 0)
                allocated[number] = port["nodePort"] = self._allocate_node_port(attempt, index, requested)
            elif not requested:
                port["nodePort"] = allocated[number]
            elif requested != allocated[number]:
                self._allocate_node_port(attempt, index, requested)

    def _allocate_node_port(self, attempt: "_Transaction", index: int, requested: int) -> int:
        if not requested:
            return self._allocate_free_port(attempt, "nodePort")
        problem = self._port_error(attempt, requested)
        if problem:
            attempt.refuse([invalid(f"spec.ports[{index}].nodePort", requested, problem)])
        attempt.allocate(self._ports, requested)
        return requested

    def _allocate_free_port(self, attempt: "_Transaction", purpose: str) -> int:
        if attempt.dry_run:
            return attempt.dry_port()
        try:
            return attempt.allocate_next(self._ports, self._choose)
        except RangeFullError as error:
            raise errors.internal(f"failed to allocate a {purpose}: {error}") from None

    def _port_error(self, attempt: "_Transaction", requested: int) -> str:
        if requested not in self._ports and not attempt.dry_run:
            return f"provided port is not in the valid range. {self._port_words}"
        return _ALREADY_ALLOCATED.format("port") if self._ports.has(requested) or attempt.has_port(requested) else ""

    def _update_node_ports(self, attempt: "_Transaction", spec: Obj, before: Obj) -> None:
        before_ports = {port["nodePort"] for port in before.get("ports") or () if port.get("nodePort")}
        if spec.get("type") not in {"LoadBalancer", "NodePort"}:
            attempt.release_later(Reservation(self._ports, number) for number in before_ports)
            return
        kept: set[int] = set()
        for index, port in enumerate(spec["ports"]):
            node_port = port.get("nodePort") or 0
            if node_port not in before_ports and node_port not in kept and (node_port or _needs_node_ports(spec)):
                port["nodePort"] = node_port = self._allocate_node_port(attempt, index, node_port)
            kept.add(node_port)
        attempt.release_later(Reservation(self._ports, number) for number in before_ports - kept)

    def _allocate_health_check_port(self, attempt: "_Transaction", spec: Obj) -> None:
        requested = spec.get("healthCheckNodePort") or 0
        if not requested:
            spec["healthCheckNodePort"] = self._allocate_free_port(attempt, "HealthCheck NodePort 0")
            return
        problem = self._port_error(attempt, requested)
        if problem:
            raise errors.internal(f"failed to allocate requested HealthCheck NodePort {requested}: {problem}")
        attempt.allocate(self._ports, requested)

    def _update_health_check_port(self, attempt: "_Transaction", spec: Obj, before: Obj) -> None:
        needed, needs = needs_health_check(before), needs_health_check(spec)
        if needs and not needed:
            self._allocate_health_check_port(attempt, spec)
        elif needed and not needs and before.get("healthCheckNodePort"):
            attempt.release_later([Reservation(self._ports, before["healthCheckNodePort"])])

    def _address_reservations(self, spec: Obj) -> Iterator[Reservation]:
        for address in spec.get("clusterIPs") or ():
            range_ = self._ranges.get(family_of(address))
            if range_ is not None and address != "None":
                yield Reservation(range_.bitmap, int(ip_address(address)))

    def _reservations(self, spec: Obj) -> Iterator[Reservation]:
        yield from self._address_reservations(spec)
        numbers = [port.get("nodePort") for port in spec.get("ports") or ()]
        for number in (*numbers, spec.get("healthCheckNodePort")):
            if number:
                yield Reservation(self._ports, number)

    def _free(self, reservations: Iterable[Reservation]) -> None:
        for bitmap, number in reservations:
            if (bitmap, number) != self._reserved:
                bitmap.release(number)


def _needs_node_ports(spec: Obj) -> bool:
    return spec.get("type") == "NodePort" or bool(spec.get("allocateLoadBalancerNodePorts", True))


def _requested_node_ports(ports: list[Obj]) -> dict[int, int]:
    """Return port number → the node port that the first of the Service's ports with this number requests."""
    return {port.get("port") or 0: port["nodePort"] for port in reversed(ports) if port.get("nodePort")}


class _Transaction:
    """One allocation in progress: what it has allocated so far, or in a dry run would allocate."""

    def __init__(self, allocation: Allocation, *, dry_run: bool) -> None:
        self._allocation = allocation
        self._name = name_of(allocation.service)
        self._dry_ports: set[int] = set()
        self._next_dry_port = _FIRST_DRY_PORT
        self.dry_run = dry_run
        self.is_server = (namespace_of(allocation.service), self._name) == ("default", "kubernetes")

    def refuse(self, invalid_fields: list[FieldError]) -> None:
        """Raise a 422 if there are errors."""
        if invalid_fields:
            raise errors.invalid("", "Service", name=self._name, errors=invalid_fields)

    def allocate(self, bitmap: Bitmap, number: int) -> None:
        if self.dry_run:
            self._dry_ports.add(number)
            self._next_dry_port = max(self._next_dry_port, number + 1)
        else:
            bitmap.allocate(number)
            self._allocation.allocated.append(Reservation(bitmap, number))

    def allocate_next(self, bitmap: Bitmap, choose: Choose) -> int:
        number = bitmap.allocate_next(choose)
        self._allocation.allocated.append(Reservation(bitmap, number))
        return number

    def has_port(self, number: int) -> bool:
        """Return whether this dry run has handed out the port already."""
        return number in self._dry_ports

    def dry_port(self) -> int:
        number = self._next_dry_port
        self._dry_ports.add(number)
        self._next_dry_port += 1
        return number

    def release_later(self, reservations: Iterable[Reservation]) -> None:
        if not self.dry_run:
            self._allocation.released.extend(reservations)
