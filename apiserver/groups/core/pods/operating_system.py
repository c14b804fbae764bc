"""Validation of fields that a pod for one operating system may not set (validateOS, validateLinux, validateWindows)."""

from collections.abc import Iterator

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj
from apiserver.api.validation.combinators import FieldErrors
from apiserver.groups.core.pods.containers import CONTAINERS

_FOR_WINDOWS = "cannot be set for a windows pod"

_FOR_LINUX = "windows options cannot be set for a linux pod"

_SYSTEMS = frozenset({"linux", "windows"})

_NOT_ON_WINDOWS = (  # fields of the pod spec, in the order in which upstream checks them
    "securityContext.appArmorProfile",
    "securityContext.seLinuxOptions",
    "hostUsers",
    "hostPID",
    "hostIPC",
    "securityContext.seccompProfile",
    "securityContext.fsGroup",
    "securityContext.fsGroupChangePolicy",
    "securityContext.sysctls",
    "shareProcessNamespace",
    "securityContext.runAsUser",
    "securityContext.runAsGroup",
    "securityContext.supplementalGroups",
    "securityContext.supplementalGroupsPolicy",
    "securityContext.seLinuxChangePolicy",
)

_CONTAINER_NOT_ON_WINDOWS = (
    "appArmorProfile",
    "seLinuxOptions",
    "seccompProfile",
    "capabilities",
    "readOnlyRootFilesystem",
    "privileged",
    "allowPrivilegeEscalation",
    "procMount",
    "runAsUser",
    "runAsGroup",
)


def operating_system(spec: Obj) -> FieldErrors:
    """Return the errors of spec.os, and of fields that are not allowed for that operating system."""
    system = spec.get("os")
    if system is None:
        return ()
    name = system.get("name")
    if not name:
        return (field.required("os.name", "cannot be empty"),)
    if name not in _SYSTEMS:
        return (field.not_supported("os", name, _SYSTEMS),)
    return list(_linux(spec) if name == "linux" else _windows(spec))


def _contexts(spec: Obj) -> Iterator[tuple[str, Obj]]:
    """Yield the security contexts of all containers, each with its path."""
    for kind in CONTAINERS:
        for index, container in enumerate(spec.get(kind) or ()):
            if context := container.get("securityContext"):
                yield f"{kind}[{index}].securityContext", context


def _linux(spec: Obj) -> Iterator[FieldError]:
    if (spec.get("securityContext") or {}).get("windowsOptions") is not None:
        yield field.forbidden("securityContext.windowsOptions", _FOR_LINUX)
    for path, context in _contexts(spec):
        if context.get("windowsOptions") is not None:
            yield field.forbidden(f"{path}.windowsOptions", _FOR_LINUX)


def _windows(spec: Obj) -> Iterator[FieldError]:
    for path in _NOT_ON_WINDOWS:
        parent, _, name = path.rpartition(".")
        value = ((spec.get(parent) or {}) if parent else spec).get(name)
        if value is not None and (parent or name != "hostPID" or value):
            yield field.forbidden(path, _FOR_WINDOWS)
    for path, context in _contexts(spec):
        for name in _CONTAINER_NOT_ON_WINDOWS:
            if context.get(name) is not None:
                yield field.forbidden(f"{path}.{name}", _FOR_WINDOWS)
