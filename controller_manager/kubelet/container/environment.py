"""The environment variables of a container: from its spec, for Services, and from the container runtime."""

from collections.abc import Iterator, Mapping

from apiserver.api.meta import Obj
from controller_manager.kubelet.container.downward_api import (
    PodEnvironment,
    expand,
    field_value,
    resource_value,
    service_variables,
)

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def environment_of(pod: Obj, container: Obj, pod_environment: PodEnvironment) -> dict[str, str]:
    """Return the variables in the order in which `env` shows them (kubelet_pods.go's makeEnvironmentVariables).

    Secrets are not stored here, so that variables from them are left out.
    """
    defaults = service_variables(pod_environment.services)
    for source in container.get("envFrom") or ():
        data = _data(source.get("configMapRef"), pod_environment)
        defaults |= {f"{source.get('prefix') or ''}{key}": value for key, value in data.items()}
    variables = {"PATH": PATH, "HOSTNAME": hostname_of(pod)}
    variables.update(_variables_of_container(pod, container, pod_environment, dict(defaults)))
    return (
        variables
        | {name: value for name, value in sorted(defaults.items()) if name not in variables}
        | _home(variables)
    )


def _variables_of_container(
    pod: Obj, container: Obj, pod_environment: PodEnvironment, known: dict[str, str]
) -> Iterator[tuple[str, str]]:
    """Yield the names and values of the spec's variables; each may refer to those above it."""
    for variable in container.get("env") or ():
        value = _value(pod, container, pod_environment, variable=variable, known=known)
        if value is not None:
            known[variable["name"]] = value
            yield variable["name"], value


def _value(
    pod: Obj, container: Obj, pod_environment: PodEnvironment, *, variable: Obj, known: Mapping[str, str]
) -> str | None:
    source = variable.get("valueFrom")
    if not source:
        return expand(variable.get("value") or "", known)
    if "fieldRef" in source:
        return field_value(pod, source["fieldRef"].get("fieldPath") or "")
    if "resourceFieldRef" in source:
        reference = source["resourceFieldRef"]
        named = reference.get("containerName") or container["name"]
        owner = next((c for c in pod["spec"]["containers"] if c["name"] == named), container)
        return resource_value(owner, reference, pod_environment.node)
    key = source.get("configMapKeyRef")
    return _data(key, pod_environment).get(key["key"]) if key else None


def _data(reference: Obj | None, pod_environment: PodEnvironment) -> Mapping[str, str]:
    config_map = pod_environment.config_map(reference.get("name") or "") if reference else None
    return (config_map or {}).get("data") or {}


def _home(variables: Mapping[str, str]) -> dict[str, str]:
    return {} if "HOME" in variables else {"HOME": "/root"}


def hostname_of(pod: Obj) -> str:
    """Return a pod's host name: its own, or the node's if it uses the host network."""
    spec = pod["spec"]
    if spec.get("hostNetwork"):
        return str(spec.get("nodeName") or "")
    return str(spec.get("hostname") or pod["metadata"]["name"])[:63].rstrip("-.")
