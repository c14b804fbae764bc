"""Locates a kubelet: the address and port of its node, and the path to request there."""

from urllib.parse import urlencode

from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj
from apiserver.api.nodes import HOSTNAME, KUBELET_ENDPOINT
from apiserver.registry.subresources.call import KubeletLocation, SubresourceRequest, core_resource

KUBELET_PORT = 10250
"""The port for nodes whose status has none (--kubelet-port)."""
PREFERRED = ("Hostname", "InternalDNS", "InternalIP", "ExternalDNS", "ExternalIP")
"""Types of addresses; the first one that a node has is used (--kubelet-preferred-address-types)."""


async def kubelet_location(
    call: SubresourceRequest,
    node: str,
    path: str,
    query: list[tuple[str, str]],
    *,
    upgrades: bool,
    verified: bool = True,
) -> KubeletLocation:
    """Return the location of a path on a node's kubelet.

    Raises:
        ApiError: 404, there is no such node; 500, it has no address.
    """
    row = core_resource(call.registry, "nodes")
    node_obj = call.registry.codecs.codec_of(row).decode(await call.registry.storage.get(row, "", node))
    host, port = _endpoint(node_obj)
    wire = f"{path}?{urlencode(query)}" if query else path
    return KubeletLocation(host, port, wire, upgrades, verified)


def _endpoint(node: Obj) -> tuple[str, int]:
    endpoint = (node["metadata"].get("annotations") or {}).get(KUBELET_ENDPOINT, "")
    host, _, port = endpoint.rpartition(":")
    host = host.strip("[]")
    if host and port.isascii() and port.isdecimal() and 0 < int(port[:6]) < 65536:
        return host, int(port)
    status = node.get("status") or {}
    kubelet_port = ((status.get("daemonEndpoints") or {}).get("kubeletEndpoint") or {}).get("Port")
    return _address(node, status.get("addresses") or []), kubelet_port or KUBELET_PORT


def _address(node: Obj, addresses: list[Obj]) -> str:
    """Return the preferred address of a node (pkg/util/node's GetPreferredNodeAddress)."""
    for preferred in PREFERRED:
        for address in addresses:
            if address["type"] == preferred:
                return str(address["address"])
        label = (node["metadata"].get("labels") or {}).get(HOSTNAME)
        if preferred == "Hostname" and label:
            return str(label)
    known = " ".join(f"{{{address['type']} {address['address']}}}" for address in addresses)
    raise ApiError(500, "", f"no preferred addresses found; known addresses: [{known}]")
