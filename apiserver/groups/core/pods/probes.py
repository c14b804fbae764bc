"""Validation of containers' probes and lifecycle hooks: each has exactly one handler, probes also have timings."""

from collections.abc import Mapping

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj
from apiserver.api.validation import checks, names
from apiserver.api.validation.combinators import Check, FieldErrors, at, cached, nonnegative, required, struct

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


def _port(action: Obj) -> FieldErrors:
    return checks.port_or_name("port", action.get("port", 0))


_PROBE_ACTIONS: Mapping[str, Check] = {
    "exec": struct(required("command")),
    "httpGet": _http_get,
    "tcpSocket": _port,
    "grpc": _port,
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
