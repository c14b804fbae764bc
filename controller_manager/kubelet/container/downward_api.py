"""The data of the cluster that a container sees: fields of its pod, ConfigMaps and Services (the downward API)."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from apiserver.api import quantity
from apiserver.api.meta import Obj

_SUBSCRIPT = re.compile(r"metadata\.(labels|annotations)\['(.+)'\]")
_REFERENCE = re.compile(r"\$(?:\$|\(([-._A-Za-z][-._A-Za-z0-9]*)\))")


def _nothing(_: str) -> Obj | None:
    return None


@dataclass(frozen=True, slots=True)
class PodEnvironment:
    """Lookups for the containers of a pod.

    Attributes:
        config_map: returns a ConfigMap of the pod's namespace by name, None if there is none.
        services: the Services that its containers get variables for.
        node: the pod's node.
        root_ca: the CA certificate of the API server, as PEM.
    """

    config_map: Callable[[str], Obj | None] = _nothing
    services: Iterable[Obj] = ()
    node: Obj | None = None
    root_ca: str = ""


def field_value(pod: Obj, path: str) -> str:
    """Return a field of a pod for fieldRef, "" if the field is not supported (pkg/fieldpath)."""
    meta, status = pod["metadata"], pod.get("status") or {}
    subscript = _SUBSCRIPT.fullmatch(path)
    if subscript:
        return str((meta.get(subscript[1]) or {}).get(subscript[2], ""))
    fields = {
        "metadata.name": meta["name"],
        "metadata.namespace": meta.get("namespace", ""),
        "metadata.uid": meta.get("uid", ""),
        "spec.nodeName": pod["spec"].get("nodeName", ""),
        "spec.serviceAccountName": pod["spec"].get("serviceAccountName", ""),
        "status.hostIP": status.get("hostIP", ""),
        "status.podIP": status.get("podIP", ""),
        "status.hostIPs": ",".join(address["ip"] for address in status.get("hostIPs") or ()),
        "status.podIPs": ",".join(address["ip"] for address in status.get("podIPs") or ()),
    }
    if path in ("metadata.labels", "metadata.annotations"):
        texts = meta.get(path.removeprefix("metadata.")) or {}
        return "\n".join(f'{key}="{_escaped(texts[key])}"' for key in sorted(texts))
    return str(fields.get(path, ""))


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def resource_value(container: Obj, reference: Obj, node: Obj | None) -> str:
    """Return a resource of a container for resourceFieldRef (pkg/api/v1/resource); the default limit is the node's."""
    kind, _, name = reference["resource"].partition(".")
    text = ((container.get("resources") or {}).get(kind) or {}).get(name)
    if text is None and kind == "limits" and node is not None:
        text = ((node.get("status") or {}).get("allocatable") or {}).get(name)
    try:
        amount, divisor = quantity.of(text or "0"), quantity.of(reference.get("divisor") or "0")
    except quantity.QuantityError:
        return "0"
    return str(-(-amount.nanos // (divisor.nanos or quantity.of("1").nanos)))


def service_variables(services: Iterable[Obj]) -> dict[str, str]:
    """Return the variables with the addresses of Services (pkg/kubelet/envvars)."""
    variables: dict[str, str] = {}
    for service in services:
        address, ports = service["spec"].get("clusterIP") or "None", service["spec"].get("ports") or ()
        if address == "None" or not ports:
            continue
        name = _variable_name(service["metadata"]["name"])
        variables[f"{name}_SERVICE_HOST"] = address
        variables[f"{name}_SERVICE_PORT"] = str(ports[0]["port"])
        for port in ports:
            if port.get("name"):
                variables[f"{name}_SERVICE_PORT_{_variable_name(port['name'])}"] = str(port["port"])
        variables |= _link_variables(name, address, ports)
    return variables


def _link_variables(name: str, address: str, ports: Iterable[Obj]) -> dict[str, str]:
    """Return the variables for a Service in the style of Docker links."""
    variables: dict[str, str] = {}
    for port in ports:
        number, protocol = port["port"], port.get("protocol") or "TCP"
        url = f"{protocol.lower()}://{address}:{number}"
        variables.setdefault(f"{name}_PORT", url)
        prefix = f"{name}_PORT_{number}_{protocol}"
        variables |= {
            prefix: url,
            f"{prefix}_PROTO": protocol.lower(),
            f"{prefix}_PORT": str(number),
            f"{prefix}_ADDR": address,
        }
    return variables


def _variable_name(name: str) -> str:
    text = name.replace("-", "_").replace(".", "_").upper()
    return f"_{text}" if text[:1].isdigit() else text


def expand(text: str, variables: Mapping[str, str]) -> str:
    """Replace each $(NAME) in a text that names a variable; $$ is a dollar sign."""

    def value(match: "re.Match[str]") -> str:
        if match[1] is None:
            return "$"
        return variables.get(match[1], match[0])

    return _REFERENCE.sub(value, text)
