"""Validation of the security contexts of pods and containers."""

import re

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj
from apiserver.api.validation import checks, names
from apiserver.api.validation.combinators import Check, FieldErrors, items, one_of, struct
from apiserver.api.validation.paths import descending

_PROFILES = ("Localhost", "RuntimeDefault", "Unconfined")

_SYSCTL = "([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?"

_SYSCTL_WORDS = f"must have at most 253 characters and match regex ^{_SYSCTL}$"

_is_sysctl = re.compile(_SYSCTL).fullmatch

_NET_SYSCTLS = ("net.",)

_IPC_SYSCTLS = ("kernel.sem", "kernel.shm", "kernel.msg", "fs.mqueue.")


def id_number(value: int) -> FieldErrors:
    """Return the errors of a user or group ID."""
    return checks.invalid_values("", value, names.user_id(value))


def _profile_type(profile: Obj, detail: str) -> FieldErrors:
    kind = profile.get("type")
    if kind in _PROFILES:
        return ()
    return (field.not_supported("type", kind, _PROFILES) if kind else field.required("type", detail),)


def _seccomp(profile: Obj) -> FieldErrors:
    errors = list(_profile_type(profile, "type is required when seccompProfile is set"))
    local = profile.get("localhostProfile")
    if profile.get("type") != "Localhost":
        detail = "can only be set when seccomp type is Localhost"
        return errors if local is None else [*errors, field.invalid("localhostProfile", profile, detail)]
    if local is None:
        return [*errors, field.required("localhostProfile", "must be set when seccomp type is Localhost")]
    return [*errors, *checks.prefix_errors("localhostProfile", descending(local))]


def _app_armor(profile: Obj) -> FieldErrors:
    errors = list(_profile_type(profile, "type is required when appArmorProfile is set"))
    local, kind = profile.get("localhostProfile"), profile.get("type")
    if kind in {"RuntimeDefault", "Unconfined"} and local is not None:
        errors.append(field.invalid("localhostProfile", local, "can only be set when AppArmor type is Localhost"))
    return errors + _app_armor_file(local) if kind == "Localhost" else errors


def _app_armor_file(local: str | None) -> list[FieldError]:
    if not local:
        return [field.required("localhostProfile", "must be set when AppArmor type is Localhost")]
    if local.strip() != local:
        return [field.invalid("localhostProfile", local, "must not be padded with whitespace")]
    return [field.too_long("localhostProfile", 4095)] if len(local) > 4095 else []


def _sysctl_name(name: str, seen: set[str]) -> FieldError | None:
    if not name:
        return field.required("name")
    if len(name) > 253 or not _is_sysctl(name):
        return field.invalid("name", name, _SYSCTL_WORDS)
    return field.duplicate("name", name) if name in seen else None


def _sysctls(context: Obj, spec: Obj) -> list[FieldError]:
    seen: set[str] = set()
    errors: list[FieldError] = []
    for index, sysctl in enumerate(context.get("sysctls") or ()):
        name = sysctl.get("name", "")
        sysctl_errors = [e for e in (_sysctl_name(name, seen), _host_sysctl(name, spec)) if e]
        errors += checks.prefix_errors(f"sysctls[{index}]", sysctl_errors)
        seen.add(name)
    return errors


def _host_sysctl(name: str, spec: Obj) -> FieldError | None:
    plain = name.replace("/", ".")
    if spec.get("hostNetwork") and plain.startswith(_NET_SYSCTLS):
        return field.invalid("name", name, "may not be specified when 'hostNetwork' is true")
    if spec.get("hostIPC") and plain.startswith(_IPC_SYSCTLS):
        return field.invalid("name", name, "may not be specified when 'hostIPC' is true")
    return None


_owners = struct(("fsGroup", id_number), ("runAsUser", id_number), ("runAsGroup", id_number))

_groups = struct(("supplementalGroups", items(id_number)))

_profiles = struct(("seccompProfile", _seccomp), ("appArmorProfile", _app_armor))

_policies = struct(
    ("supplementalGroupsPolicy", one_of("Merge", "Strict")),
    ("seLinuxChangePolicy", one_of("MountOption", "Recursive")),
)

_fs_group_policy = struct(("fsGroupChangePolicy", one_of("Always", "OnRootMismatch")))


def pod_security(spec: Obj) -> FieldErrors:
    """Return the errors of a pod spec's securityContext and of its fields for host namespaces."""
    context = spec.get("securityContext")
    shared_errors = _shared_process_namespace(spec)
    if not context:
        return shared_errors
    errors = [*_owners(context), *_groups(context)]
    later_errors = [*_sysctls(context, spec), *_fs_group_policy(context), *_profiles(context), *_policies(context)]
    return [
        *checks.prefix_errors("securityContext", errors),
        *shared_errors,
        *checks.prefix_errors("securityContext", later_errors),
    ]


def _shared_process_namespace(spec: Obj) -> FieldErrors:
    if not (spec.get("shareProcessNamespace") and spec.get("hostPID")):
        return ()
    detail = "ShareProcessNamespace and HostPID cannot both be enabled"
    return (field.invalid("securityContext.shareProcessNamespace", True, detail),)


def host_users(spec: Obj) -> FieldErrors:
    """Return an error for each host namespace of a pod that has its own user namespace (validateHostUsers)."""
    if spec.get("hostUsers") is not False:
        return ()
    detail = "when `pod.Spec.HostUsers` is false"
    shared = (("hostNetwork", "hostNetwork"), ("hostPID", "HostPID"), ("hostIPC", "HostIPC"))
    return [field.forbidden(path, detail) for name, path in shared if spec.get(name)]


_proc_mount = one_of("Default", "Unmasked")

_container_owners = struct(("runAsUser", id_number), ("runAsGroup", id_number), ("procMount", _proc_mount))

_container_seccomp = struct(("seccompProfile", _seccomp))

_container_app_armor = struct(("appArmorProfile", _app_armor))


def container_security(own_users: bool) -> Check:  # noqa: FBT001 - the one fact of the pod that matters here
    """Return a check of a container's securityContext (ValidateSecurityContext).

    Args:
        own_users: whether the pod has its own user namespace (hostUsers is false).
    """

    def check(context: Obj) -> FieldErrors:
        errors = [*_container_owners(context)]
        if not own_users and context.get("procMount") == "Unmasked":
            detail = "`hostUsers` must be false to use `Unmasked`"
            errors.append(field.invalid("procMount", "Unmasked", detail))
        return [*errors, *_container_seccomp(context), *_escalation(context), *_container_app_armor(context)]

    return check


def _escalation(context: Obj) -> list[FieldError]:
    if context.get("allowPrivilegeEscalation") is not False:
        return []
    errors: list[FieldError] = []
    if context.get("privileged"):
        detail = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"
        errors.append(field.invalid("", context, detail))
    if "CAP_SYS_ADMIN" in ((context.get("capabilities") or {}).get("add") or ()):
        detail = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN"
        errors.append(field.invalid("", context, detail))
    return errors
