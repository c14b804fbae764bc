"""Rows of the kinds by which pods are reached: services, endpoints, ingresses, network policies, addresses."""

from apiserver.api.meta import Obj, name_of
from apiserver.endpoints.tables.columns import AGE, CORE, NAME, Column, Printer, Printers
from apiserver.endpoints.tables.fields import NONE, UNKNOWN, UNSET, Cells, mapping, mappings, number, shown, text, texts
from apiserver.endpoints.tables.format import age, labels_text, selector_text

_NETWORKING = "io.k8s.api.networking.v1."
_DISCOVERY = "io.k8s.api.discovery.v1.EndpointSlice"


def _balancer_addresses(obj: Obj) -> list[str]:
    points = mappings(mapping(mapping(obj, "status"), "loadBalancer"), "ingress")
    return sorted({address for point in points if (address := text(point, "ip") or text(point, "hostname"))})


def _external_ip(service: Obj) -> str:
    spec = mapping(service, "spec")
    external = texts(spec, "externalIPs")
    match text(spec, "type"):
        case "ClusterIP" | "NodePort":
            return ",".join(external) or NONE
        case "LoadBalancer":
            return ",".join(_balancer_addresses(service) + external) or "<pending>"
        case "ExternalName":
            return text(spec, "externalName")
    return UNKNOWN


def _service_port(port: Obj) -> str:
    node_port = number(port, "nodePort")
    exposed = f":{node_port}" if node_port > 0 else ""
    return f"{number(port, 'port')}{exposed}/{text(port, 'protocol')}"


def _service(obj: Obj) -> Cells:
    spec = mapping(obj, "spec")
    addresses = texts(spec, "clusterIPs")
    return [
        name_of(obj),
        text(spec, "type"),
        addresses[0] if addresses else text(spec, "clusterIP") or NONE,
        _external_ip(obj),
        ",".join([_service_port(port) for port in mappings(spec, "ports")]) or NONE,
        age(obj),
        labels_text(mapping(spec, "selector")),
    ]


def _host_port(address: str, port: int) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def _subset_addresses(subset: Obj) -> list[str]:
    addresses, ports = [text(a, "ip") for a in mappings(subset, "addresses")], mappings(subset, "ports")
    if not ports:  # a headless service may have none
        return addresses
    return [_host_port(address, number(port, "port")) for port in ports for address in addresses]


def _endpoints(obj: Obj) -> Cells:
    subsets = mappings(obj, "subsets")
    addresses = [address for subset in subsets for address in _subset_addresses(subset)]
    return [name_of(obj), shown(addresses) if subsets else NONE, age(obj)]


def _endpoint_port(port: Obj) -> str:
    return str(port["port"]) if port.get("port") is not None else text(port, "name", "*")


def _endpoint_slice(obj: Obj) -> Cells:
    addresses = [address for endpoint in mappings(obj, "endpoints") for address in texts(endpoint, "addresses")]
    ports = [_endpoint_port(port) for port in mappings(obj, "ports")]
    return [name_of(obj), text(obj, "addressType"), shown(ports) or UNSET, shown(addresses) or UNSET, age(obj)]


_MOST_HOSTS = 3


def _ingress_hosts(rules: list[Obj]) -> str:
    """The first three hosts; what is left out is counted in rules, and only where a rule follows the third host."""
    hosts = [(position, host) for position, rule in enumerate(rules) if (host := text(rule, "host"))][:_MOST_HOSTS]
    listed = ",".join([host for _, host in hosts])
    if len(hosts) == _MOST_HOSTS and hosts[-1][0] < len(rules) - 1:
        return f"{listed} + {len(rules) - _MOST_HOSTS} more..."
    return listed or "*"


def _ingress(obj: Obj) -> Cells:
    spec = mapping(obj, "spec")
    return [
        name_of(obj),
        text(spec, "ingressClassName", NONE),
        _ingress_hosts(mappings(spec, "rules")),
        ",".join(_balancer_addresses(obj)),
        "80, 443" if spec.get("tls") else "80",
        age(obj),
    ]


def _ingress_class(obj: Obj) -> Cells:
    spec = mapping(obj, "spec")
    parameters = spec.get("parameters")
    shown_parameters = _parameters_text(parameters) if isinstance(parameters, dict) else NONE
    return [name_of(obj), text(spec, "controller"), shown_parameters, age(obj)]


def _parameters_text(parameters: Obj) -> str:
    group = f".{text(parameters, 'apiGroup')}" if parameters.get("apiGroup") is not None else ""
    return f"{text(parameters, 'kind')}{group}/{text(parameters, 'name')}"


def _network_policy(obj: Obj) -> Cells:
    return [name_of(obj), selector_text(mapping(obj, "spec"), "podSelector"), age(obj)]


def _service_cidr(obj: Obj) -> Cells:
    return [name_of(obj), ",".join(texts(mapping(obj, "spec"), "cidrs")), age(obj)]


def _ip_address(obj: Obj) -> Cells:
    # One cell more than columns: upstream computes an age that it has no column for, and clients ignore it.
    parent = mapping(obj, "spec").get("parentRef")
    return [name_of(obj), _parent_text(parent) if isinstance(parent, dict) else NONE, age(obj)]


def _parent_text(parent: Obj) -> str:
    group = f".{text(parent, 'group')}" if text(parent, "group") else ""
    namespace = f"/{text(parent, 'namespace')}" if text(parent, "namespace") else ""
    return f"{text(parent, 'resource')}{group}".lower() + f"{namespace}/{text(parent, 'name')}"


PRINTERS: Printers = {
    ("", "Service"): Printer(
        columns=(
            NAME,
            Column("Type", f"{CORE}ServiceSpec#type"),
            Column("Cluster-IP", f"{CORE}ServiceSpec#clusterIP"),
            Column("External-IP", f"{CORE}ServiceSpec#externalIPs"),
            Column("Port(s)", f"{CORE}ServiceSpec#ports"),
            AGE,
            Column("Selector", f"{CORE}ServiceSpec#selector", priority=1),
        ),
        cells=_service,
    ),
    ("", "Endpoints"): Printer(
        columns=(NAME, Column("Endpoints", f"{CORE}Endpoints#subsets"), AGE),
        cells=_endpoints,
    ),
    ("discovery.k8s.io", "EndpointSlice"): Printer(
        columns=(
            NAME,
            Column("AddressType", f"{_DISCOVERY}#addressType"),
            Column("Ports", f"{_DISCOVERY}#ports"),
            Column("Endpoints", f"{_DISCOVERY}#endpoints"),
            AGE,
        ),
        cells=_endpoint_slice,
    ),
    ("networking.k8s.io", "Ingress"): Printer(
        columns=(
            NAME,
            Column("Class", "The IngressClass that implements the ingress."),
            Column("Hosts", "The hosts that the ingress has rules for."),
            Column("Address", "The addresses of the load balancer."),
            Column("Ports", "The ports that the ingress opens."),
            AGE,
        ),
        cells=_ingress,
    ),
    ("networking.k8s.io", "IngressClass"): Printer(
        columns=(
            NAME,
            Column("Controller", f"{_NETWORKING}IngressClassSpec#controller"),
            Column("Parameters", f"{_NETWORKING}IngressClassSpec#parameters"),
            AGE,
        ),
        cells=_ingress_class,
    ),
    ("networking.k8s.io", "NetworkPolicy"): Printer(
        columns=(NAME, Column("Pod-Selector", f"{_NETWORKING}NetworkPolicySpec#podSelector"), AGE),
        cells=_network_policy,
    ),
    ("networking.k8s.io", "ServiceCIDR"): Printer(
        columns=(NAME, Column("CIDRs", f"{_NETWORKING}ServiceCIDRSpec#cidrs"), AGE),
        cells=_service_cidr,
    ),
    ("networking.k8s.io", "IPAddress"): Printer(
        columns=(NAME, Column("ParentRef", f"{_NETWORKING}IPAddressSpec#parentRef")),
        cells=_ip_address,
    ),
}
