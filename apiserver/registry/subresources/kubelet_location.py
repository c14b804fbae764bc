"""Where a kubelet is reached: which of a node's addresses, which port, and what is asked of it there."""

from urllib.parse import urlencode

from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj
from apiserver.api.nodes import HOSTNAME, KUBELET_ENDPOINT
from apiserver.registry.subresources.call import Call, Location, core

KUBELET_PORT = 10250
"""The port of nodes that tell none (--kubelet-port)."""
PREFERRED = ("Hostname", "InternalDNS", "InternalIP", "ExternalDNS", "ExternalIP")
"""Types of addresses, the first that a node has is used (--kubelet-preferred-address-types)."""


async def kubelet_location(
    call: Call, node: str, path: str, query: list[tuple[str, str]], *, upgrades: bool, verified: bool = True
) -> Location:
    """Where a node's kubelet answers for a path.

    Raises:
        ApiError: 404, there is no such node; 500, it has no address.
    """
    row = core(call.registry, "nodes")
    found = call.registry.codecs.of(row).decode(await call.registry.storage.get(row, "", node))
    host, port = _endpoint(found)
    wire = f"{path}?{urlencode(query)}" if query else path
    return Location(host, port, wire, upgrades, verified)


def _endpoint(node: Obj) -> tuple[str, int]:
    given = (node["metadata"].get("annotations") or {}).get(KUBELET_ENDPOINT, "")
    host, _, port = given.rpartition(":")
    host = host.strip("[]")
    if host and port.isascii() and port.isdecimal() and 0 < int(port[:6]) < 65536:
        return host, int(port)
    status = node.get("status") or {}
    told = ((status.get("daemonEndpoints") or {}).get("kubeletEndpoint") or {}).get("Port")
    return _address(node, status.get("addresses") or []), told or KUBELET_PORT


def _address(node: Obj, addresses: list[Obj]) -> str:
    """Return the preferred one of a node's addresses (pkg/util/node's GetPreferredNodeAddress)."""
    for wanted in PREFERRED:
        for address in addresses:
            if address["type"] == wanted:
                return str(address["address"])
        label = (node["metadata"].get("labels") or {}).get(HOSTNAME)
        if wanted == "Hostname" and label:
            return str(label)
    known = " ".join(f"{{{address['type']} {address['address']}}}" for address in addresses)
    raise ApiError(500, "", f"no preferred addresses found; known addresses: [{known}]")
