"""Columns of Services."""

from apiserver.api.meta import Obj, name_of
from apiserver.groups.cell_format import age, labels_text
from apiserver.groups.cells import NONE, UNKNOWN, Cells, mapping, mappings, number_of, text_of, texts


def balancer_addresses(obj: Obj) -> list[str]:
    """Return the addresses and host names in the status of the load balancer, sorted."""
    points = mappings(mapping(mapping(obj, "status"), "loadBalancer"), "ingress")
    return sorted({address for point in points if (address := text_of(point, "ip") or text_of(point, "hostname"))})


def _external_ip(service: Obj) -> str:
    spec = mapping(service, "spec")
    external = texts(spec, "externalIPs")
    match text_of(spec, "type"):
        case "ClusterIP" | "NodePort":
            return ",".join(external) or NONE
        case "LoadBalancer":
            return ",".join(balancer_addresses(service) + external) or "<pending>"
        case "ExternalName":
            return text_of(spec, "externalName")
    return UNKNOWN


def _service_port(port: Obj) -> str:
    node_port = number_of(port, "nodePort")
    exposed = f":{node_port}" if node_port > 0 else ""
    return f"{number_of(port, 'port')}{exposed}/{text_of(port, 'protocol')}"


def service_cells(obj: Obj) -> Cells:
    """Return the cells of a Service."""
    spec = mapping(obj, "spec")
    addresses = texts(spec, "clusterIPs")
    return [
        name_of(obj),
        text_of(spec, "type"),
        addresses[0] if addresses else text_of(spec, "clusterIP") or NONE,
        _external_ip(obj),
        ",".join([_service_port(port) for port in mappings(spec, "ports")]) or NONE,
        age(obj),
        labels_text(mapping(spec, "selector")),
    ]
