"""Validation of a pod's containers: regular, init and ephemeral ones."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj
from apiserver.api.validation import checks, names
from apiserver.api.validation.combinators import Check, FieldErrors, at, cached, nonnegative, one_of, required, struct
from apiserver.api.validation.resource_lists import container_resources
from apiserver.groups.core.pods.env import env, env_from
from apiserver.groups.core.pods.mounts import Volumes, devices, mounts
from apiserver.groups.core.pods.security import container_security

_SCHEMES = ("HTTP", "HTTPS")

_TIMES = ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold")


def _http_get(action: Obj) -> FieldErrors:
    errors = [] if action.get("path") else [field.required("path")]
    errors += checks.port_or_name("port", action.get("port", 0))
    if (scheme := action.get("scheme", "HTTP")) not in _SCHEMES:
        errors.append(field.not_supported("scheme", scheme, _SCHEMES))
    for header in action.get("httpHeaders") or ():
        name = header.get("name", "")
        errors += checks.invalid_values("httpHeaders", name, names.http_header_name(name))
    return errors


def _probe_port(action: Obj) -> FieldErrors:
    return checks.port_or_name("port", action.get("port", 0))


_PROBE_ACTIONS: Mapping[str, Check] = {
    "exec": struct(required("command")),
    "httpGet": _http_get,
    "tcpSocket": _probe_port,
    "grpc": _probe_port,
}

_HOOK_ACTIONS: Mapping[str, Check] = {name: _PROBE_ACTIONS[name] for name in ("exec", "httpGet", "tcpSocket")}


def _handler(handler: Obj, actions: Mapping[str, Check]) -> list[FieldError]:
    present = [name for name in actions if handler.get(name) is not None]
    if not present:
        return [field.required("", "must specify a handler type")]
    errors = [*at(present[0], actions[present[0]](handler[present[0]]))]
    return errors + [field.forbidden(name, "may not specify more than 1 handler type") for name in present[1:]]


_times = struct(*((name, nonnegative) for name in _TIMES))


def _probe(probe: Obj) -> list[FieldError]:
    errors = [*_handler(probe, _PROBE_ACTIONS), *_times(probe)]
    grace = probe.get("terminationGracePeriodSeconds")
    if grace is not None and grace <= 0:
        errors.append(field.invalid("terminationGracePeriodSeconds", grace, "must be greater than 0"))
    return errors


def _single_success(probe: Obj) -> FieldErrors:
    """Return the errors of a liveness or startup probe, whose successThreshold must be 1."""
    threshold, errors = probe.get("successThreshold", 1), _probe(probe)
    return errors if threshold == 1 else [*errors, field.invalid("successThreshold", threshold, "must be 1")]


def _readiness(probe: Obj) -> FieldErrors:
    grace, errors = probe.get("terminationGracePeriodSeconds"), _probe(probe)
    detail = "must not be set for readinessProbes"
    return errors if grace is None else [*errors, field.invalid("terminationGracePeriodSeconds", grace, detail)]


probes = struct(
    ("livenessProbe", cached(_single_success)),
    ("readinessProbe", cached(_readiness)),
    ("startupProbe", cached(_single_success)),
)
"""A check of a container's three probes."""


def lifecycle(hooks: Obj, grace_period: int | None) -> FieldErrors:
    """Return the errors of a container's lifecycle; a sleep must not exceed the pod's grace period, in seconds."""
    errors: list[FieldError] = []
    for name in ("postStart", "preStop"):
        if (hook := hooks.get(name)) is not None:
            sleep = {"sleep": lambda action: _sleep(action, grace_period)}
            errors += at(name, _handler(hook, {**_HOOK_ACTIONS, **sleep}))
    return errors


def _sleep(action: Obj, grace_period: int | None) -> FieldErrors:
    seconds = action.get("seconds", 0)
    if grace_period is None or 0 <= seconds <= grace_period:
        return ()
    detail = f"must be non-negative and less than terminationGracePeriodSeconds ({grace_period})"
    return (field.invalid("", seconds, detail),)


CONTAINERS = ("initContainers", "containers", "ephemeralContainers")
"""The fields of a pod's spec that list containers, in the order in which upstream visits them."""

_PROTOCOLS = frozenset({"TCP", "UDP", "SCTP"})

_PULL_POLICIES = frozenset({"Always", "IfNotPresent", "Never"})

_MESSAGE_POLICIES = ("File", "FallbackToLogsOnError")

_RESIZABLE = frozenset({"cpu", "memory"})

_RESIZE_POLICIES = frozenset({"NotRequired", "RestartContainer"})

_HOOKS_AND_PROBES = ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe")

_SIDECARS_ONLY = "may not be set for init containers without restartPolicy=Always"

_NOT_EPHEMERAL = "cannot be set for an Ephemeral Container"

_FORBIDDEN_EPHEMERAL = ("ports", "resources", *_HOOKS_AND_PROBES[1:], "lifecycle", "resizePolicy", "restartPolicy")

_restart_policy = one_of("Always", "Never", "OnFailure")

_security = {own: container_security(own) for own in (False, True)}


class PodContext(NamedTuple):
    """The facts of a pod that the rules of its containers depend on.

    Attributes:
        volumes: the pod's valid volumes by name.
        claims: names of the pod's resource claims.
        grace_period: terminationGracePeriodSeconds.
        restart_policy: the pod's restartPolicy.
        own_users: whether hostUsers is false.
    """

    volumes: Volumes
    claims: frozenset[str]
    grace_period: int | None
    restart_policy: str
    own_users: bool


def containers(containers: list[Obj], pod: PodContext) -> FieldErrors:
    """Return the errors of spec.containers (validateContainers)."""
    if not containers:
        return (field.required(""),)
    errors: list[FieldError] = []
    taken: set[str] = set()
    for index, container in enumerate(containers):
        container_errors = [*_common(container, pod, taken), *_hooks_and_probes(container, pod)]
        if container_errors or "restartPolicy" in container:
            errors += at(f"[{index}]", [*container_errors, *_policy(container)])
    return errors + _host_ports(containers) if any("ports" in container for container in containers) else errors


def init_containers(spec: Obj, pod: PodContext) -> FieldErrors:
    """Return the errors of spec.initContainers (validateInitContainers)."""
    errors: list[FieldError] = []
    taken = {container.get("name", "") for container in spec.get("containers") or ()}
    for index, container in enumerate(spec["initContainers"]):
        container_errors = [*_common(container, pod, taken), *_policy(container)]
        errors += at(f"[{index}]", container_errors)
        errors += _host_ports([container])
        sidecar = container.get("restartPolicy") == "Always"
        probe_errors = _hooks_and_probes(container, pod) if sidecar else _no_hooks_or_probes(container)
        errors += at(f"[{index}]", probe_errors)
    return errors


def _policy(container: Obj) -> FieldErrors:
    policy = container.get("restartPolicy")
    return () if policy is None else at("restartPolicy", _restart_policy(policy))


def _hooks_and_probes(container: Obj, pod: PodContext) -> FieldErrors:
    """Return the errors in the hooks and probes of a container that runs beside others."""
    errors = [*probes(container)]
    if hooks := container.get("lifecycle"):
        return [*at("lifecycle", lifecycle(hooks, pod.grace_period)), *errors]
    return errors


def _no_hooks_or_probes(container: Obj) -> list[FieldError]:
    return [field.forbidden(name, _SIDECARS_ONLY) for name in _HOOKS_AND_PROBES if container.get(name) is not None]


def ephemeral_containers(spec: Obj, pod: PodContext) -> FieldErrors:
    """Return the errors of spec.ephemeralContainers (validateEphemeralContainers)."""
    others = {c.get("name", "") for kind in ("containers", "initContainers") for c in spec.get(kind) or ()}
    taken = {*others}
    errors: list[FieldError] = []
    for index, container in enumerate(spec["ephemeralContainers"]):
        container_errors = [*_common(container, pod, taken), *image_spaces(container)]
        if (target := container.get("targetContainerName")) and target not in others:
            container_errors.append(field.not_found("targetContainerName", target))
        container_errors += [
            field.forbidden(name, _NOT_EPHEMERAL) for name in _FORBIDDEN_EPHEMERAL if container.get(name)
        ]
        errors += at(f"[{index}]", container_errors + _whole_mounts(container))
    return errors


def _whole_mounts(container: Obj) -> list[FieldError]:
    return [
        field.forbidden(f"volumeMounts[{index}].{name}", _NOT_EPHEMERAL)
        for index, mount in enumerate(container.get("volumeMounts") or ())
        for name in ("subPath", "subPathExpr")
        if mount.get(name)
    ]


def _common(container: Obj, pod: PodContext, taken: set[str]) -> list[FieldError]:
    """Return the errors in the fields that all containers have (validateContainerCommon), and of a name used twice."""
    errors = _identity(container, taken)
    if ports := container.get("ports"):
        errors += checks.prefix_errors("ports", _ports(ports))
    if variables := container.get("env"):
        errors += checks.prefix_errors("env", env(variables))
    if sources := container.get("envFrom"):
        errors += checks.prefix_errors("envFrom", env_from(sources))
    if container.get("volumeMounts"):
        errors += checks.prefix_errors("volumeMounts", mounts(container, pod.volumes))
    if container.get("volumeDevices"):
        errors += checks.prefix_errors("volumeDevices", devices(container, pod.volumes))
    if (policy := container.get("imagePullPolicy")) not in _PULL_POLICIES:
        errors += checks.required_one_of("imagePullPolicy", policy, _PULL_POLICIES)
    if resources := container.get("resources"):
        errors += checks.prefix_errors("resources", _resources(resources, pod))
    if policies := container.get("resizePolicy"):
        errors += checks.prefix_errors("resizePolicy", _resize(policies, pod.restart_policy))
    if context := container.get("securityContext"):
        errors += checks.prefix_errors("securityContext", _security[pod.own_users](context))
    return errors


def _identity(container: Obj, taken: set[str]) -> list[FieldError]:
    errors: list[FieldError] = []
    name = container.get("name", "")
    if not name:
        errors.append(field.required("name"))
    elif messages := names.dns1123_label(name):
        errors += checks.invalid_values("name", name, messages)
    if name in taken:
        errors.append(field.duplicate("name", name))
    taken.add(name)
    if not container.get("image"):
        errors.append(field.required("image"))
    if (policy := container.get("terminationMessagePolicy")) not in _MESSAGE_POLICIES:
        errors += checks.required_one_of("terminationMessagePolicy", policy, _MESSAGE_POLICIES)
    return errors


def _ports(ports: list[Obj]) -> list[FieldError]:
    errors: list[FieldError] = []
    taken: set[str] = set()
    for index, port in enumerate(ports):
        if port_errors := [*_port_name(port.get("name"), taken), *_port(port)]:
            errors += checks.prefix_errors(f"[{index}]", port_errors)
    return errors


def _port_name(name: str | None, taken: set[str]) -> FieldErrors:
    if not name:
        return ()
    if messages := names.port_name(name):
        return checks.invalid_values("name", name, messages)
    if name in taken:
        return (field.duplicate("name", name),)
    taken.add(name)
    return ()


def _port(port: Obj) -> list[FieldError]:
    errors: list[FieldError] = []
    if not (number := port.get("containerPort")):
        errors.append(field.required("containerPort"))
    else:
        errors += checks.port("containerPort", number)
    if number := port.get("hostPort"):
        errors += checks.port("hostPort", number)
    if (protocol := port.get("protocol")) not in _PROTOCOLS:
        errors += checks.required_one_of("protocol", protocol, _PROTOCOLS)
    return errors


def _host_ports(containers: Iterable[Obj]) -> list[FieldError]:
    """Return an error for each host port that an earlier container already uses (checkHostPortConflicts)."""
    taken: set[str] = set()
    errors: list[FieldError] = []
    for index, container in enumerate(containers):
        for port_index, port in enumerate(container.get("ports") or ()):
            if not port.get("hostPort"):
                continue
            host_port = f"{port.get('protocol', '')}/{port.get('hostIP', '')}/{port['hostPort']}"
            if host_port in taken:
                errors.append(field.duplicate(f"[{index}].ports[{port_index}].hostPort", host_port))
            taken.add(host_port)
    return errors


def _resources(resources: Obj, pod: PodContext) -> list[FieldError]:
    errors = [*container_resources(resources)]
    taken: set[str] = set()
    for index, claim in enumerate(resources.get("claims") or ()):
        errors += at(f"claims[{index}]", _claim(claim, taken, pod.claims))
    return errors


def _claim(claim: Obj, taken: set[str], pod_claims: frozenset[str]) -> list[FieldError]:
    """Return the errors of a container's claim, one of the pod's, named once (validateResourceClaimNames)."""
    name, request = claim.get("name", ""), claim.get("request", "")
    if not name:
        return [field.required("")]
    claim_request = f"{name}/{request}" if request else name
    errors = [*checks.optional_name("request", request, names.dns1123_label)]
    if name in taken or claim_request in taken:
        errors.append(field.duplicate("", name if name in taken else claim_request))
    taken.add(claim_request)
    if name not in pod_claims:
        known_names = f": {', '.join(sorted(pod_claims))}" if pod_claims else " which is empty"
        message = f'Not found: "{name}": must be one of the names in pod.spec.resourceClaims{known_names}'
        errors.append(FieldError("FieldValueNotFound", "", message))
    return errors


def _resize(policies: list[Obj], pod_restart_policy: str) -> list[FieldError]:
    errors: list[FieldError] = []
    taken: set[str] = set()
    for index, policy in enumerate(policies):
        name, restart = policy.get("resourceName", ""), policy.get("restartPolicy", "")
        if name in taken:
            errors.append(field.duplicate(f"[{index}]", name))
        taken.add(name)
        errors += checks.required_one_of("", name, _RESIZABLE)
        errors += checks.required_one_of("", restart, _RESIZE_POLICIES)
        if pod_restart_policy == "Never" and restart != "NotRequired":
            detail = "must be 'NotRequired' when `restartPolicy` is 'Never'"
            errors.append(field.invalid("", restart, detail))
    return errors


def image_spaces(container: Obj) -> FieldErrors:
    """Return an error if a pod's container has spaces around its image name (validateContainerOnlyForPod)."""
    image = container.get("image") or ""
    detail = "must not have leading or trailing whitespace"
    return () if image.strip() == image else (field.invalid("image", image, detail),)
