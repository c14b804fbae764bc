"""The variables of a container: what its spec says, what it is told of Services, and what runtimes add."""

from collections.abc import Iterator, Mapping

from apiserver.api.meta import Obj
from controller_manager.kubelet.container.downward_api import (
    PodEnvironment,
    expanded,
    field_value,
    resource_value,
    service_variables,
)

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def environment_of(pod: Obj, container: Obj, around: PodEnvironment) -> dict[str, str]:
    """The variables by name, in the order in which `env` shows them (kubelet_pods.go's makeEnvironmentVariables).

    Secrets are not kept here, so variables that come from them are left out.
    """
    rest = service_variables(around.services)
    for source in container.get("envFrom") or ():
        data = _data(source.get("configMapRef"), around)
        rest |= {f"{source.get('prefix') or ''}{key}": value for key, value in data.items()}
    found = {"PATH": PATH, "HOSTNAME": hostname_of(pod)}
    found.update(_own(pod, container, around, dict(rest)))
    return found | {name: value for name, value in sorted(rest.items()) if name not in found} | _home(found)


def _own(pod: Obj, container: Obj, around: PodEnvironment, known: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Names and values of the spec's own; what stands further down sees what stands above."""
    for variable in container.get("env") or ():
        value = _value(pod, container, around, variable=variable, known=known)
        if value is not None:
            known[variable["name"]] = value
            yield variable["name"], value


def _value(pod: Obj, container: Obj, around: PodEnvironment, *, variable: Obj, known: Mapping[str, str]) -> str | None:
    source = variable.get("valueFrom")
    if not source:
        return expanded(variable.get("value") or "", known)
    if "fieldRef" in source:
        return field_value(pod, source["fieldRef"].get("fieldPath") or "")
    if "resourceFieldRef" in source:
        reference = source["resourceFieldRef"]
        named = reference.get("containerName") or container["name"]
        owner = next((each for each in pod["spec"]["containers"] if each["name"] == named), container)
        return resource_value(owner, reference, around.node)
    key = source.get("configMapKeyRef")
    return _data(key, around).get(key["key"]) if key else None


def _data(reference: Obj | None, around: PodEnvironment) -> Mapping[str, str]:
    found = around.config_map(reference.get("name") or "") if reference else None
    return (found or {}).get("data") or {}


def _home(found: Mapping[str, str]) -> dict[str, str]:
    return {} if "HOME" in found else {"HOME": "/root"}


def hostname_of(pod: Obj) -> str:
    """The name of a pod's host: its own, or the node's where it shares that one's network."""
    spec = pod["spec"]
    if spec.get("hostNetwork"):
        return str(spec.get("nodeName") or "")
    return str(spec.get("hostname") or pod["metadata"]["name"])[:63].rstrip("-.")
