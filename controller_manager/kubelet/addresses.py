"""Allocation of addresses to simulated nodes and their pods."""

from collections.abc import Iterator
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network
from itertools import chain

from apiserver.api.meta import Obj
from controller_manager.reconcile.pods import TERMINAL_PHASES

FIRST_HOST = int(IPv4Address("172.18.0.2"))
"""The address of the node with the first block."""
RESERVED_ADDRESSES = 2
"""Addresses at the beginning of a block that no pod gets: the network's own and the gateway's."""


@lru_cache(maxsize=4096)
def parse_network(cidr: str) -> IPv4Network | None:
    """Parse a block; None if it is not an IPv4 block, since other people's nodes may have anything."""
    try:
        return IPv4Network(cidr, strict=False)
    except ValueError:
        return None


def prefix_for(pods: int) -> int:
    """Return the prefix length of a block with twice that many addresses, for pods that come while others go."""
    return min(24, 32 - (2 * pods + RESERVED_ADDRESSES).bit_length())


def host_address(block: str, cluster: str) -> str:
    """Return the address of the node with a block, "" if the block is not an IPv4 one."""
    own, whole = parse_network(block), parse_network(cluster)
    if own is None or whole is None:
        return ""
    number = (int(own.network_address) - int(whole.network_address)) // own.num_addresses
    return str(IPv4Address((FIRST_HOST + number) % 2**32))


class NodeBlocks:
    """The blocks of pod addresses by node: a view of the nodes (pkg/controller/nodeipam)."""

    def __init__(self) -> None:
        self._blocks: dict[str, IPv4Network] = {}
        self._used: set[IPv4Network] = set()
        self._left: dict[tuple[str, int], Iterator[IPv4Network]] = {}

    def apply_change(self, kind: object, old: Obj | None, new: Obj | None) -> None:
        """Take over a node that came, changed or went."""
        del kind
        node = new or old
        assert node is not None
        name, block = node["metadata"]["name"], node["spec"].get("podCIDR") or ""
        former = self._blocks.get(name)
        if new is None:
            self._blocks.pop(name, None)
        elif (block_network := parse_network(block)) is not None:
            self._blocks[name] = block_network
        if self._blocks.get(name) != former:  # some block may be free again: start over
            self._used = set(self._blocks.values())
            self._left.clear()

    def allocate(self, name: str, cluster: str, prefix: int) -> str:
        """Return a node's block, and allocate one if it has none; "" if none is left."""
        if name not in self._blocks:
            free = next((block for block in self._untried(cluster, prefix) if block not in self._used), None)
            if free is None:
                return ""
            self._blocks[name] = free
            self._used.add(free)
        return str(self._blocks[name])

    def _untried(self, cluster: str, prefix: int) -> Iterator[IPv4Network]:
        """Return the blocks of a network that were not tried yet; those before them are in use."""
        whole = parse_network(cluster)
        if whole is None or prefix < whole.prefixlen:
            return iter(())
        return self._left.setdefault((cluster, prefix), whole.subnets(new_prefix=prefix))


class PodAddresses:
    """The addresses by pod: a view of the pods, which also knows addresses that are allocated and not written yet."""

    def __init__(self) -> None:
        self._held: dict[str, int] = {}
        self._used: set[int] = set()
        self._last: dict[str, int] = {}

    def apply_change(self, kind: object, old: Obj | None, new: Obj | None) -> None:
        """Take over a pod that came, changed or went."""
        del kind
        pod = new or old
        assert pod is not None
        uid, status = pod["metadata"]["uid"], pod.get("status") or {}
        if new is None or status.get("phase") in TERMINAL_PHASES:
            self._used.discard(self._held.pop(uid, -1))
        elif uid not in self._held:
            number = _number(status.get("podIP") or "")
            if number is not None and number not in self._used:  # pods of the host's network share its address
                self._held[uid] = number
                self._used.add(number)

    def allocate(self, uid: str, block: str) -> str:
        """Return a pod's address, and allocate one from the block if it has none; "" if none is left."""
        if uid not in self._held:
            number = self._next(block)
            if number is None:
                return ""
            self._held[uid] = self._last[block] = number
            self._used.add(number)
        return _to_text(self._held[uid])

    def _next(self, block: str) -> int | None:
        """Return the next free address after the last one, so that none is reused too soon; None if all are used."""
        own = parse_network(block)
        if own is None:
            return None
        start = int(own.network_address)
        low, high = start + RESERVED_ADDRESSES, start + own.num_addresses - 1
        last = self._last.get(block, low - 1)
        numbers = chain(range(last + 1, high), range(low, last + 1))
        return next((number for number in numbers if number not in self._used), None)


def _number(address: str) -> int | None:
    """Parse an IPv4 address as a number; None if it is not one."""
    try:
        return int(IPv4Address(address))
    except ValueError:
        return None


def _to_text(number: int) -> str:
    return f"{number >> 24}.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"
