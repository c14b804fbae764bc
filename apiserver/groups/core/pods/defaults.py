"""Defaults of pods and pod templates: the spec that both have, and the fields that only a pod gets."""

from apiserver.api.meta import Obj
from apiserver.groups.core.pods.containers import CONTAINERS
from apiserver.groups.core.pods.images import pull_policy
from apiserver.groups.core.pods.resource_defaults import default_pod_resources
from apiserver.groups.core.pods.volume_defaults import default_field_reference, default_volume
from apiserver.groups.quantities import round_up_to_milli

_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")

_HOOKS = ("postStart", "preStop")


def default_pod(pod: Obj) -> None:
    """Set the defaults of a pod: its spec, and fields left open in templates (requests, service links, host ports)."""
    spec = pod.setdefault("spec", {})
    for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
        _default_requests(container)
    if "resources" in spec:
        default_pod_resources(spec)
    spec.setdefault("enableServiceLinks", True)
    default_pod_spec(spec)
    if spec.get("hostNetwork"):
        _default_host_ports(spec)
    default_pod_status(pod)


def default_pod_status(pod: Obj) -> None:
    """Set the defaults of a pod outside its spec: podIP is the first of podIPs."""
    if "podIP" in (status := pod.get("status") or {}) or "podIPs" in status:
        _mirror_pod_ips(status)


def default_template(template: Obj) -> None:
    """Set the defaults of a pod template's spec."""
    default_pod_spec(template.setdefault("spec", {}))


def default_pod_spec(spec: Obj) -> None:
    """Set the defaults that a pod and a template have in common (SetDefaults_PodSpec and all below it)."""
    spec.setdefault("dnsPolicy", "ClusterFirst")
    spec.setdefault("restartPolicy", "Always")
    spec.setdefault("securityContext", {})
    spec.setdefault("terminationGracePeriodSeconds", 30)
    spec.setdefault("schedulerName", "default-scheduler")
    _mirror_service_account(spec)
    for field in CONTAINERS:
        for container in spec.get(field) or ():
            default_container(container)
    for volume in spec.get("volumes") or ():
        default_volume(volume)
    if "overhead" in spec:
        round_up_to_milli(spec["overhead"])


def default_container(container: Obj) -> None:
    """Set the defaults of a regular, init or ephemeral container."""
    if "imagePullPolicy" not in container:
        container["imagePullPolicy"] = pull_policy(container.get("image", ""))
    container.setdefault("terminationMessagePath", "/dev/termination-log")
    container.setdefault("terminationMessagePolicy", "File")
    for port in container.get("ports") or ():
        port.setdefault("protocol", "TCP")
    for variable in container.get("env") or ():
        if "valueFrom" in variable:
            _default_variable_source(variable["valueFrom"])
    if resources := container.get("resources"):
        round_up_to_milli(resources.get("limits"))
        round_up_to_milli(resources.get("requests"))
    for name in _PROBES:
        if name in container:
            _default_probe(container[name])
    if "lifecycle" in container:
        _default_lifecycle(container["lifecycle"])


def _default_variable_source(source: Obj) -> None:
    default_field_reference(source)
    if "fileKeyRef" in source:
        source["fileKeyRef"].setdefault("optional", False)


def _default_probe(probe: Obj) -> None:
    probe.setdefault("timeoutSeconds", 1)
    probe.setdefault("periodSeconds", 10)
    probe.setdefault("successThreshold", 1)
    probe.setdefault("failureThreshold", 3)
    if "httpGet" in probe:
        _default_http_get(probe["httpGet"])
    if "grpc" in probe:
        probe["grpc"]["service"] = probe["grpc"].get("service") or ""


def _default_lifecycle(lifecycle: Obj) -> None:
    for hook in _HOOKS:
        action = (lifecycle.get(hook) or {}).get("httpGet")
        if action is not None:
            _default_http_get(action)


def _default_http_get(action: Obj) -> None:
    action.setdefault("path", "/")
    action.setdefault("scheme", "HTTP")


def _default_requests(container: Obj) -> None:
    """Default each resource request of a container to its limit."""
    resources = container.get("resources")
    if resources and (limits := resources.get("limits")):
        resources["requests"] = limits | resources.get("requests", {})


def _default_host_ports(spec: Obj) -> None:
    """Default each hostPort to the containerPort, since the pod is in the host's network."""
    for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
        for port in container.get("ports") or ():
            port.setdefault("hostPort", port["containerPort"])


def _mirror_service_account(spec: Obj) -> None:
    """Copy serviceAccountName to the deprecated serviceAccount, or the other way if absent (conversion)."""
    account = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if account:
        spec["serviceAccountName"] = spec["serviceAccount"] = account


def _mirror_pod_ips(status: Obj) -> None:
    """Make podIP the first of podIPs; if both are set and differ, podIP takes precedence (conversion)."""
    address, addresses = status.get("podIP"), status.get("podIPs")
    if address and (not addresses or addresses[0].get("ip") != address):
        status["podIPs"] = [{"ip": address}]
    elif addresses:
        status["podIP"] = addresses[0].get("ip", "")
