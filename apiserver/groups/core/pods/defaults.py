"""Defaults of pods and pod templates: the spec that both have, and the fields that only a pod gets."""

import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any

from apiserver.api.meta import Obj
from apiserver.api.quantity import Quantity, parse
from apiserver.api.validation.resource_lists import HUGE_PAGES
from apiserver.groups.core.pods.containers import CONTAINERS
from apiserver.groups.quantities import round_up_to_milli

_DOMAIN_PART = "[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?"

_DOMAIN = rf"(?:{_DOMAIN_PART}(?:\.{_DOMAIN_PART})*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?"

_PATH_PART = "[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"

_TAG = r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}"

_DIGEST = "(?:sha256:[a-f0-9]{64}|sha384:[a-f0-9]{96}|sha512:[a-f0-9]{128})"

_REFERENCE = re.compile(rf"{_DOMAIN}/{_PATH_PART}(?:/{_PATH_PART})*(?P<tag>:{_TAG})?(?P<digest>@{_DIGEST})?")

_BARE_IDENTIFIER = re.compile("[a-f0-9]{64}")


@lru_cache(maxsize=4096)
def pull_policy(image: str) -> str:
    """Return the imagePullPolicy of a container that sets none.

    "Always" for the tag latest, written out or implied by the lack of tag and digest; "IfNotPresent" for every other
    reference, and for a malformed one (pkg/util/parsers).
    """
    match = _REFERENCE.fullmatch(_with_domain(image))
    if match is None or _BARE_IDENTIFIER.fullmatch(image):
        return "IfNotPresent"
    implied = not match["tag"] and not match["digest"]
    return "Always" if implied or match["tag"] == ":latest" else "IfNotPresent"


def _with_domain(image: str) -> str:
    """Return the reference with its registry; a first part without dot, colon or capitals is not a registry."""
    first, slash, _ = image.partition("/")
    has_registry = slash and ("." in first or ":" in first or first == "localhost" or first != first.lower())
    return image if has_registry else f"docker.io/{image}"


FILE_MODE = 0o644

TOKEN_SECONDS = 3600

SOURCE_CONSTANTS: Mapping[str, Mapping[str, Any]] = {
    "azureDisk": {"cachingMode": "ReadWrite", "fsType": "ext4", "readOnly": False, "kind": "Shared"},
    "configMap": {"defaultMode": FILE_MODE},
    "downwardAPI": {"defaultMode": FILE_MODE},
    "hostPath": {"type": ""},
    "iscsi": {"iscsiInterface": "default"},
    "projected": {"defaultMode": FILE_MODE},
    "rbd": {"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"},
    "scaleIO": {"storageMode": "ThinProvisioned", "fsType": "xfs"},
    "secret": {"defaultMode": FILE_MODE},
}
"""Volume source (of pods and of PersistentVolumes) → its fields' default values."""


def default_volume(volume: Obj) -> None:
    """Set the defaults of a pod's volume; one without a source is an emptyDir."""
    if volume.keys() <= {"name"}:
        volume["emptyDir"] = {}
        return
    for kind, source in volume.items():
        if kind != "name":
            default_source(kind, source)


def default_source(kind: str, source: Obj) -> None:
    """Set the defaults of one volume source, given its field name."""
    for name, value in SOURCE_CONSTANTS.get(kind, {}).items():
        source.setdefault(name, value)
    if kind in _SOURCES:
        _SOURCES[kind](source)


def default_claim_spec(spec: Obj) -> None:
    """Set the defaults of the spec of a claim or of a claim template."""
    spec.setdefault("volumeMode", "Filesystem")
    resources = spec.get("resources") or {}
    round_up_to_milli(resources.get("requests"))
    round_up_to_milli(resources.get("limits"))


def default_field_reference(source: Obj) -> None:
    """Set the defaults of the fieldRef of an environment variable's source or of a downwardAPI file."""
    reference = source.get("fieldRef")
    if reference is not None:
        reference.setdefault("apiVersion", "v1")


def _default_downward(source: Obj) -> None:
    for item in source.get("items") or ():
        default_field_reference(item)


def _default_projected(source: Obj) -> None:
    for projection in source.get("sources") or ():
        if "downwardAPI" in projection:
            _default_downward(projection["downwardAPI"])
        if "serviceAccountToken" in projection:
            projection["serviceAccountToken"].setdefault("expirationSeconds", TOKEN_SECONDS)


def _default_ephemeral(source: Obj) -> None:
    template = source.get("volumeClaimTemplate")
    if template is not None:
        default_claim_spec(template.setdefault("spec", {}))


def _default_image(source: Obj) -> None:
    source.setdefault("pullPolicy", pull_policy(source.get("reference", "")))


_SOURCES: Mapping[str, Callable[[Obj], None]] = {
    "downwardAPI": _default_downward,
    "ephemeral": _default_ephemeral,
    "image": _default_image,
    "projected": _default_projected,
}


Amounts = dict[str, Quantity]

_OVERCOMMITTED = ("cpu", "memory")


def default_pod_resources(spec: Obj) -> None:
    """Set the missing amounts in spec.resources; a pod without pod-level resources stays as it is.

    Limits of huge pages are the containers' limits; requests are the containers' requests, or else the pod's limits;
    limits of cpu and memory are the containers' if the pod has only requests and every container has a limit.
    """
    resources = spec.get("resources")
    if not resources:
        return
    limits, requests = dict(resources.get("limits") or {}), dict(resources.get("requests") or {})
    limit = _aggregate(spec, "limits")
    _fill(limits, limit, (name for name in limit if name.startswith(HUGE_PAGES) and name not in requests))
    if limits:
        _fill(requests, _aggregate(spec, "requests"), _OVERCOMMITTED)
        requests = {name: amount for name, amount in limits.items() if _is_supported(name)} | requests
    else:
        _fill(limits, limit, (name for name in _OVERCOMMITTED if _all_limit(spec, name)))
    for field, amounts in (("limits", limits), ("requests", requests)):
        if amounts:
            resources[field] = amounts


def _fill(amounts: Obj, aggregated: Amounts, names: Iterable[str]) -> None:
    for name in names:
        if name in aggregated and name not in amounts:
            amounts[name] = str(aggregated[name])


def _is_supported(name: str) -> bool:
    return name in _OVERCOMMITTED or name.startswith(HUGE_PAGES)


def _all_limit(spec: Obj, name: str) -> bool:
    containers = (*(spec.get("containers") or ()), *(spec.get("initContainers") or ()))
    return all(name in ((container.get("resources") or {}).get("limits") or {}) for container in containers)


def _aggregate(spec: Obj, field: str) -> Amounts:
    """Return the most that the containers need at once: all running ones, or an init container and earlier sidecars."""
    running: Amounts = {}
    sidecars: Amounts = {}
    starting: Amounts = {}
    for container in spec.get("containers") or ():
        running = _sum(running, _amounts(container, field))
    for container in spec.get("initContainers") or ():
        needed = _sum(_amounts(container, field), sidecars)
        if container.get("restartPolicy") == "Always":
            running = _sum(running, _amounts(container, field))
            sidecars = needed
        starting = _largest(starting, needed)
    return _largest(running, starting)


def _amounts(container: Obj, field: str) -> Amounts:
    return {name: parse(amount) for name, amount in ((container.get("resources") or {}).get(field) or {}).items()}


def _sum(amounts: Amounts, added: Amounts) -> Amounts:
    return amounts | {name: amounts[name] + amount if name in amounts else amount for name, amount in added.items()}


def _largest(amounts: Amounts, others: Amounts) -> Amounts:
    return amounts | {
        name: amount for name, amount in others.items() if name not in amounts or amount.nanos > amounts[name].nanos
    }


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
