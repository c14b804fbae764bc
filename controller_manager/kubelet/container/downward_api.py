"""What a container is told of the cluster around it: fields of its pod, ConfigMaps, Services (the downward API)."""

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
    """Where containers of a pod look things up.

    Attributes:
        config_map: gives a ConfigMap of the pod's namespace by its name, None where there is none.
        services: those whose addresses its containers are told.
        node: that the pod runs on.
        root_ca: the certificate by which the API server is known, as PEM.
    """

    config_map: Callable[[str], Obj | None] = _nothing
    services: Iterable[Obj] = ()
    node: Obj | None = None
    root_ca: str = ""


def field_value(pod: Obj, path: str) -> str:
    """A field of a pod as fieldRef has it, "" for one that is not to be had (pkg/fieldpath)."""
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
        "status.hostIPs": ",".join(each["ip"] for each in status.get("hostIPs") or ()),
        "status.podIPs": ",".join(each["ip"] for each in status.get("podIPs") or ()),
    }
    if path in ("metadata.labels", "metadata.annotations"):
        texts = meta.get(path.removeprefix("metadata.")) or {}
        return "\n".join(f'{key}="{_escaped(texts[key])}"' for key in sorted(texts))
    return str(fields.get(path, ""))


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def resource_value(container: Obj, reference: Obj, node: Obj | None) -> str:
    """A resource of a container as resourceFieldRef has it (pkg/api/v1/resource); without a limit it is the node's."""
    kind, _, name = reference["resource"].partition(".")
    found = ((container.get("resources") or {}).get(kind) or {}).get(name)
    if found is None and kind == "limits" and node is not None:
        found = ((node.get("status") or {}).get("allocatable") or {}).get(name)
    try:
        amount, divisor = quantity.of(found or "0"), quantity.of(reference.get("divisor") or "0")
    except quantity.QuantityError:
        return "0"
    return str(-(-amount.nanos // (divisor.nanos or quantity.of("1").nanos)))


def service_variables(services: Iterable[Obj]) -> dict[str, str]:
    """Where Services are, as variables (pkg/kubelet/envvars)."""
    found: dict[str, str] = {}
    for service in services:
        address, ports = service["spec"].get("clusterIP") or "None", service["spec"].get("ports") or ()
        if address == "None" or not ports:
            continue
        name = _variable_name(service["metadata"]["name"])
        found[f"{name}_SERVICE_HOST"] = address
        found[f"{name}_SERVICE_PORT"] = str(ports[0]["port"])
        for port in ports:
            if port.get("name"):
                found[f"{name}_SERVICE_PORT_{_variable_name(port['name'])}"] = str(port["port"])
        found |= _links(name, address, ports)
    return found


def _links(name: str, address: str, ports: Iterable[Obj]) -> dict[str, str]:
    """The same as Docker's links had it."""
    found: dict[str, str] = {}
    for port in ports:
        number, protocol = port["port"], port.get("protocol") or "TCP"
        url = f"{protocol.lower()}://{address}:{number}"
        found.setdefault(f"{name}_PORT", url)
        prefix = f"{name}_PORT_{number}_{protocol}"
        found |= {
            prefix: url,
            f"{prefix}_PROTO": protocol.lower(),
            f"{prefix}_PORT": str(number),
            f"{prefix}_ADDR": address,
        }
    return found


def _variable_name(name: str) -> str:
    text = name.replace("-", "_").replace(".", "_").upper()
    return f"_{text}" if text[:1].isdigit() else text


def expanded(text: str, variables: Mapping[str, str]) -> str:
    """A text with $(NAME) replaced where there is such a variable; $$ is a dollar sign."""

    def value(found: "re.Match[str]") -> str:
        if found[1] is None:
            return "$"
        return variables.get(found[1], found[0])

    return _REFERENCE.sub(value, text)
