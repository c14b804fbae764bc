"""Logs, streams and proxies: finds the kubelet that serves a request (core/pod/strategy.go)."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from urllib.parse import urlencode

from apiserver.api import errors, field
from apiserver.api.errors import ApiError
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj
from apiserver.api.nodes import HOSTNAME, KUBELET_ENDPOINT
from apiserver.api.parameters import Parameters, integer
from apiserver.api.schema.times import canonical_time
from apiserver.groups.core.pods.containers import CONTAINERS
from apiserver.registry.subresources.call import KubeletLocation, SubresourceRequest, admit, core_resource, read_parent

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


NUMBERS = ("sinceSeconds", "limitBytes", "tailLines")
KUBELET_PATHS = {"attach": "attach", "exec": "exec", "portforward": "portForward"}
STREAMS = {"stdin": "input", "stdout": "output", "stderr": "error", "tty": "tty"}
"""Parameter → its name on kubelets."""


async def log(call: SubresourceRequest) -> KubeletLocation | None:
    """Return the location of a container's log, None while the pod has no node (core/pod's LogLocation).

    Raises:
        ApiError: 400, 404, 422; 500, the node has no address.
    """
    query = call.query
    numbers = {name: number for name in NUMBERS if (number := query.integer(name)) is not None}
    since = _since(query)
    invalid = list(_log_errors(numbers, since))
    if invalid:
        raise errors.invalid("", "PodLogOptions", name=call.target.name, errors=invalid)
    pod = await read_parent(call)
    container = _container(pod, query.get("container", ""))
    node = pod["spec"].get("nodeName")
    if not node:
        return None
    kubelet_query = [(name, "true") for name in ("follow", "previous", "timestamps") if query.is_true(name)]
    kubelet_query += [(name, str(number)) for name, number in numbers.items()]
    kubelet_query += [(name, text) for name, text in (("sinceTime", since), ("stream", query.get("stream"))) if text]
    path = f"/containerLogs/{call.target.namespace}/{call.target.name}/{container}"
    verified = not query.is_true("insecureSkipTLSVerifyBackend")
    return await kubelet_location(call, node, path, kubelet_query, upgrades=False, verified=verified)


async def stream(call: SubresourceRequest) -> KubeletLocation:
    """Return the location for exec, attach and port-forward on a pod (core/pod's ExecLocation and others).

    Raises:
        ApiError: 400, 404; 500, the node has no address.
    """
    kind, target = call.target.subresource, call.target
    await admit(call, _connection_options(call), "CONNECT")
    kubelet_query = _ports(call) if kind == "portforward" else _streams(call)
    pod = await read_parent(call)
    path = f"/{KUBELET_PATHS[kind]}/{target.namespace}/{target.name}"
    if kind != "portforward":
        path += f"/{_container(pod, call.query.get('container', ''))}"
    node = pod["spec"].get("nodeName")
    if not node:
        raise errors.bad_request(f"pod {target.name} does not have a host assigned")
    return await kubelet_location(call, node, path, kubelet_query, upgrades=True)


def _streams(call: SubresourceRequest) -> list[tuple[str, str]]:
    kubelet_query = [
        (kubelet_name, "1") for parameter, kubelet_name in STREAMS.items() if call.query.is_true(parameter)
    ]
    return kubelet_query + [
        ("command", word) for word in call.query.all("command") if call.target.subresource == "exec"
    ]


CONNECTION_KINDS = {
    ("pods", "attach"): "PodAttachOptions",
    ("pods", "exec"): "PodExecOptions",
    ("pods", "portforward"): "PodPortForwardOptions",
    ("pods", "proxy"): "PodProxyOptions",
    ("services", "proxy"): "ServiceProxyOptions",
    ("nodes", "proxy"): "NodeProxyOptions",
}
"""(resource, subresource) → the kind of its parameters, as admission sees them."""


def _connection_options(call: SubresourceRequest) -> Obj:
    """Return the parameters of a connection as the object that admission sees."""
    query, subresource = call.query, call.target.subresource
    options: Obj = {"kind": CONNECTION_KINDS[call.target.resource.plural, subresource], "apiVersion": "v1"}
    match subresource:
        case "portforward":
            options["ports"] = [int(text) for _, ports in _ports(call) for text in ports.split(",")]
        case "proxy":
            options["path"] = query.get("path", "")
        case _:
            options |= {name: True for name in STREAMS if query.is_true(name)}
            options |= {"container": query.get("container", "")}
            options["command"] = query.all("command") if subresource == "exec" else []
    return {name: value for name, value in options.items() if value}


def _ports(call: SubresourceRequest) -> list[tuple[str, str]]:
    texts = [text for value in call.query.all("ports") for text in value.split(",") if text]
    return [("port", ",".join(str(integer(text)) for text in texts))] if texts else []


async def proxy(call: SubresourceRequest) -> Obj:
    """Refuse to proxy a request to a pod, a service or a node: proxying is not implemented yet.

    Raises:
        ApiError: 400, 404, 503; 501 if the target could be reached.
    """
    await admit(call, _connection_options(call), "CONNECT")
    named = _without_port(call)
    owner = await read_parent(named)
    match call.target.resource.plural:
        case "pods" if not (owner.get("status") or {}).get("podIP"):
            raise errors.bad_request("address not allowed")
        case "services":
            await _check_endpoints(named, owner, call.target.name)
    subresource = f"{call.target.resource.plural}/{call.target.subresource}"
    raise ApiError(501, "NotImplemented", f"{subresource} is not implemented by this server yet")


async def _check_endpoints(call: SubresourceRequest, service: Obj, name: str) -> None:
    """Check that a Service has a ready endpoint (core/service's ResourceLocation).

    Args:
        call: the call, with the Service's plain name.
        service: the Service.
        name: the name in the path, which may have a scheme and a port.

    Raises:
        ApiError: 503, it has no such port, or no endpoint for it.
    """
    service_name, port = call.target.name, _port_of(name)
    if port.isascii() and port.isdecimal():
        ports = (service.get("spec") or {}).get("ports") or ()
        names = [each.get("name", "") for each in ports if each["port"] == int(port)]
        if not names:
            raise errors.unavailable(f'no service port {int(port)} found for service "{service_name}"')
        port = names[0]
    row = core_resource(call.registry, "endpoints")
    try:
        kv = await call.registry.storage.get(row, call.target.namespace, service_name)
    except ApiError as error:
        if error.code != 404:
            raise
        subsets: list[Obj] = []
    else:
        subsets = call.registry.codecs.codec_of(row).decode(kv).get("subsets") or []
    if not subsets:
        raise errors.unavailable(f'no endpoints available for service "{service_name}"')
    ready = (each.get("ports") or () for each in subsets if each.get("addresses"))
    if not any(each.get("name", "") == port for ports in ready for each in ports):
        raise errors.unavailable(f'no endpoints available for service "{name}"')


def _port_of(name: str) -> str:
    """Return the port of a proxy's name, "" if it has none."""
    parts = name.split(":")
    return parts[-1] if len(parts) > 1 else ""


def _without_port(call: SubresourceRequest) -> SubresourceRequest:
    """Return the call with the plain name, without a proxy's scheme and port ([SCHEME:]NAME[:PORT])."""
    parts = call.target.name.split(":")
    if len(parts) == 1:
        return call
    kind = call.target.resource.singular
    if len(parts) > 3 or (len(parts) == 3 and parts[0] not in ("", "http", "https")):
        raise errors.bad_request(f'invalid {kind} request "{call.target.name}"')
    return replace(call, target=call.target._replace(name=parts[1 if len(parts) == 3 else 0]))


def _since(query: Parameters) -> str | None:
    """Return the time of the first log lines to show, None for all lines."""
    text = query.get("sinceTime")
    try:
        return canonical_time(text) if text else None
    except ValueError as error:
        raise errors.bad_request(str(error)) from error


def _log_errors(numbers: Mapping[str, int], since: str | None) -> Iterable[FieldError]:
    """Validate log options (ValidatePodLogOptions)."""
    if numbers.get("tailLines", 0) < 0:
        yield field.invalid("tailLines", numbers["tailLines"], "must be greater than or equal to 0")
    if numbers.get("limitBytes", 1) < 1:
        yield field.invalid("limitBytes", numbers["limitBytes"], "must be greater than 0")
    if "sinceSeconds" in numbers and since:
        yield field.forbidden("", "at most one of `sinceTime` or `sinceSeconds` may be specified")
    elif numbers.get("sinceSeconds", 1) < 1:
        yield field.invalid("sinceSeconds", numbers["sinceSeconds"], "must be greater than 0")


def _container(pod: Obj, name: str) -> str:
    """Return the container to connect to; refuse one that the pod does not have, or no name if it has several."""
    spec, pod_name = pod["spec"], pod["metadata"]["name"]
    known = [c["name"] for f in CONTAINERS for c in spec.get(f) or ()]
    if name and name not in known:
        raise errors.bad_request(f"container {name} is not valid for pod {pod_name}")
    if not name and len(spec["containers"]) > 1:
        choice = " ".join(known)
        raise errors.bad_request(f"a container name must be specified for pod {pod_name}, choose one of: [{choice}]")
    return name or str(spec["containers"][0]["name"])
