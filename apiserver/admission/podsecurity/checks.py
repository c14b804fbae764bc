"""The checks of the levels baseline and restricted (pod-security-admission policy/check_*.go)."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from apiserver.admission.podsecurity.levels import LevelVersion
from apiserver.api.golang.strings import quoted
from apiserver.api.meta import Obj


class Violation(NamedTuple):
    """A part of a pod that a check forbids.

    Attributes:
        reason: a few words, such as "host namespaces".
        detail: the containers and values, "" for none.
    """

    reason: str
    detail: str = ""


CheckPod = Callable[[Obj, Obj], Violation | None]
"""(metadata, spec) → what is forbidden, None if nothing is."""


class Check(NamedTuple):
    """One check.

    Attributes:
        versions: the minor release from which on each form of the check holds.
        overrides: the check of the level baseline that this one of the level restricted replaces, "" for none.
    """

    versions: Sequence[tuple[int, CheckPod]]
    overrides: str = ""

    def at(self, minor: int) -> CheckPod | None:
        """Return the form of the check that holds in a release, None if there was none yet."""
        return next((check for since, check in reversed(self.versions) if since <= minor), None)


def violations(level_version: LevelVersion, meta: Obj, spec: Obj, *, newest: int) -> list[Violation]:
    """Return what a level forbids in a pod: of the baseline first, by the names of the checks.

    Args:
        level_version: the level, and the release that defines it.
        meta: the pod's metadata.
        spec: the pod's spec.
        newest: the newest minor release that "latest" and later ones mean.
    """
    if level_version.level == "privileged":
        return []
    minor = min(level_version.minor, newest)
    restricted = RESTRICTED if level_version.level == "restricted" else {}
    overridden = {check.overrides for check in restricted.values() if check.at(minor) is not None}
    checks = [check for name, check in BASELINE.items() if name not in overridden] + list(restricted.values())
    current = (check.at(minor) for check in checks)
    results = (check(meta, spec) for check in current if check is not None)
    return [violation for violation in results if violation is not None]


def detail_of(forbidden: Iterable[Violation]) -> str:
    """Return all that is forbidden in one line (ForbiddenDetail)."""
    return ", ".join(f"{each.reason} ({each.detail})" if each.detail else each.reason for each in forbidden)


def reason_of(forbidden: Iterable[Violation]) -> str:
    """Return the reasons alone (ForbiddenReason)."""
    return ", ".join(each.reason for each in forbidden)


# -- parts of messages ------------------------------------------------------------------------------------------------


def _containers(spec: Obj) -> Iterator[Obj]:
    for field in ("initContainers", "containers", "ephemeralContainers"):
        yield from spec.get(field) or ()


def _context(owner: Obj) -> Obj:
    return owner.get("securityContext") or {}


def _quoted(items: Iterable[str]) -> str:
    return ", ".join(f'"{item}"' for item in items)


def _plural(singular: str, count: int, plural: str = "") -> str:
    return singular if count == 1 else plural or f"{singular}s"


def _named(names: Sequence[str], noun: str = "container") -> str:
    """Return such as `containers "a", "b"`."""
    return f"{_plural(noun, len(names))} {_quoted(names)}"


def _setters(spec: Obj, is_bad: Callable[[Obj], bool]) -> list[str]:
    """Return who sets a forbidden value in its security context: the pod, its containers."""
    containers = [each["name"] for each in _containers(spec) if is_bad(_context(each))]
    return [*(["pod"] if is_bad(_context(spec)) else []), *([_named(containers)] if containers else [])]


def _contexts(spec: Obj) -> Iterator[Obj]:
    yield _context(spec)
    for container in _containers(spec):
        yield _context(container)


def _is_windows(spec: Obj) -> bool:
    return (spec.get("os") or {}).get("name") == "windows"


def _unless_windows(check: CheckPod) -> CheckPod:
    """Return a check that pods of Windows pass, whose validation refuses such fields."""
    return lambda meta, spec: None if _is_windows(spec) else check(meta, spec)


def _unless_in_user_namespace(check: CheckPod) -> CheckPod:
    """Return a check that pods in a user namespace of their own pass (relaxPolicyForUserNamespacePod)."""
    return lambda meta, spec: None if spec.get("hostUsers") is False else check(meta, spec)


# -- baseline ---------------------------------------------------------------------------------------------------------

_APP_ARMOR = "container.apparmor.security.beta.kubernetes.io/"


def _app_armor(meta: Obj, spec: Obj) -> Violation | None:
    def bad_type(context: Obj) -> str | None:
        profile = context.get("appArmorProfile")
        if profile is None or profile.get("type") in ("RuntimeDefault", "Localhost"):
            return None
        return profile.get("type") or ""

    setters = _setters(spec, lambda context: bad_type(context) is not None)
    values = sorted({kind for context in _contexts(spec) if (kind := bad_type(context)) is not None})
    annotations = sorted(
        f"{key}={quoted(value)}"
        for key, value in (meta.get("annotations") or {}).items()
        if key.startswith(_APP_ARMOR) and value not in ("", "runtime/default") and not value.startswith("localhost/")
    )
    if annotations:
        values += annotations
        setters.append(_plural("annotation", len(annotations)))
    if not setters:
        return None
    detail = f"{' and '.join(setters)} must not set AppArmor profile type to {_quoted(values)}"
    return Violation(_plural("forbidden AppArmor profile", len(values)), detail)


_DEFAULT_CAPABILITIES = frozenset(
    (
        "AUDIT_WRITE",
        "CHOWN",
        "DAC_OVERRIDE",
        "FOWNER",
        "FSETID",
        "KILL",
        "MKNOD",
        "NET_BIND_SERVICE",
        "SETFCAP",
        "SETGID",
        "SETPCAP",
        "SETUID",
        "SYS_CHROOT",
    )
)


def _added_capabilities(spec: Obj, allowed: frozenset[str]) -> str:
    """Return which containers add capabilities other than the allowed ones, "" if none does."""
    forbidden: set[str] = set()
    containers = []
    for container in _containers(spec):
        added = set((_context(container).get("capabilities") or {}).get("add") or ()) - allowed
        if added:
            forbidden |= added
            containers.append(container["name"])
    if not containers:
        return ""
    return f"{_named(containers)} must not include {_quoted(sorted(forbidden))} in securityContext.capabilities.add"


def _baseline_capabilities(_meta: Obj, spec: Obj) -> Violation | None:
    detail = _added_capabilities(spec, _DEFAULT_CAPABILITIES)
    return Violation("non-default capabilities", detail) if detail else None


def _host_namespaces(_meta: Obj, spec: Obj) -> Violation | None:
    shared = [f"{name}=true" for name in ("hostNetwork", "hostPID", "hostIPC") if spec.get(name)]
    return Violation("host namespaces", ", ".join(shared)) if shared else None


def _host_paths(_meta: Obj, spec: Obj) -> Violation | None:
    volumes = [volume["name"] for volume in spec.get("volumes") or () if volume.get("hostPath") is not None]
    return Violation("hostPath volumes", _named(volumes, "volume")) if volumes else None


def _host_ports(_meta: Obj, spec: Obj) -> Violation | None:
    ports: set[str] = set()
    containers = []
    for container in _containers(spec):
        own = {str(port["hostPort"]) for port in container.get("ports") or () if port.get("hostPort")}
        if own:
            ports |= own
            containers.append(container["name"])
    if not containers:
        return None
    uses = f"{_plural('uses', len(containers), 'use')} {_plural('hostPort', len(ports))} {', '.join(sorted(ports))}"
    return Violation("hostPort", f"{_named(containers)} {uses}")


def _probe_hosts(_meta: Obj, spec: Obj) -> Violation | None:
    hosts: set[str] = set()
    containers = set()
    for container in _containers(spec):
        lifecycle = container.get("lifecycle") or {}
        handlers = [container.get(name) for name in ("livenessProbe", "readinessProbe", "startupProbe")]
        handlers += [lifecycle.get(name) for name in ("postStart", "preStop")]
        own = {host for handler in handlers if handler for host in _handler_hosts(handler)}
        if own:
            hosts |= own
            containers.add(container["name"])
    if not containers:
        return None
    what = f"{_plural('probe or lifecycle host', len(hosts))} {_quoted(sorted(hosts))}"
    uses = _plural("uses", len(containers), "use")
    return Violation("probe or lifecycle host", f"{_named(sorted(containers))} {uses} {what}")


def _handler_hosts(handler: Obj) -> Iterator[str]:
    for name in ("httpGet", "tcpSocket"):
        if host := (handler.get(name) or {}).get("host"):
            yield host


def _privileged(_meta: Obj, spec: Obj) -> Violation | None:
    containers = [each["name"] for each in _containers(spec) if _context(each).get("privileged")]
    if not containers:
        return None
    return Violation("privileged", f"{_named(containers)} must not set securityContext.privileged=true")


def _proc_mount(_meta: Obj, spec: Obj) -> Violation | None:
    mounts = {each["name"]: _context(each).get("procMount") for each in _containers(spec)}
    bad = {name: mount for name, mount in mounts.items() if mount not in (None, "Default")}
    if not bad:
        return None
    detail = f"{_named(list(bad))} must not set securityContext.procMount to {_quoted(sorted({*bad.values()}))}"
    return Violation("procMount", detail)


def _se_linux(allowed: frozenset[str]) -> CheckPod:
    def is_bad(context: Obj) -> bool:
        options = context.get("seLinuxOptions")
        if options is None:
            return False
        return (options.get("type") or "") not in allowed or bool(options.get("user") or options.get("role"))

    def check(_meta: Obj, spec: Obj) -> Violation | None:
        setters = _setters(spec, is_bad)
        if not setters:
            return None
        all_options = [context.get("seLinuxOptions") or {} for context in _contexts(spec)]
        types = sorted({options.get("type") or "" for options in all_options} - allowed)
        data = [_named(types, "type")] if types else []
        data += [f"{name} may not be set" for name in ("user", "role") if any(each.get(name) for each in all_options)]
        detail = f"{' and '.join(setters)} set forbidden securityContext.seLinuxOptions: {'; '.join(data)}"
        return Violation("seLinuxOptions", detail)

    return check


_SE_LINUX_TYPES = frozenset(("", "container_t", "container_init_t", "container_kvm_t"))

_SECCOMP_TYPES = ("Localhost", "RuntimeDefault")
_SECCOMP_POD = "seccomp.security.alpha.kubernetes.io/pod"
_SECCOMP_CONTAINER = "container.seccomp.security.alpha.kubernetes.io/"


def _seccomp_annotations(meta: Obj, spec: Obj) -> Violation | None:
    annotations = meta.get("annotations") or {}
    keys = [_SECCOMP_POD, *(f"{_SECCOMP_CONTAINER}{each['name']}" for each in _containers(spec))]
    forbidden = sorted(
        f"{key}={quoted(value)}"
        for key in dict.fromkeys(keys)
        if (value := annotations.get(key)) is not None
        and value not in ("runtime/default", "docker/default")
        and not value.startswith("localhost/")
    )
    if not forbidden:
        return None
    return Violation("seccompProfile", f"forbidden {_plural('annotation', len(forbidden))} {', '.join(forbidden)}")


def _has_bad_seccomp(context: Obj) -> bool:
    profile = context.get("seccompProfile")
    return profile is not None and profile.get("type") not in _SECCOMP_TYPES


def _baseline_seccomp(_meta: Obj, spec: Obj) -> Violation | None:
    setters = _setters(spec, _has_bad_seccomp)
    if not setters:
        return None
    bad = (context["seccompProfile"].get("type") or "" for context in _contexts(spec) if _has_bad_seccomp(context))
    detail = f"{' and '.join(setters)} must not set securityContext.seccompProfile.type to {_quoted(sorted({*bad}))}"
    return Violation("seccompProfile", detail)


_SYSCTLS: Mapping[int, tuple[str, ...]] = {
    0: (
        "kernel.shm_rmid_forced",
        "net.ipv4.ip_local_port_range",
        "net.ipv4.tcp_syncookies",
        "net.ipv4.ping_group_range",
        "net.ipv4.ip_unprivileged_port_start",
    ),
    27: ("net.ipv4.ip_local_reserved_ports",),
    29: (
        "net.ipv4.tcp_keepalive_time",
        "net.ipv4.tcp_fin_timeout",
        "net.ipv4.tcp_keepalive_intvl",
        "net.ipv4.tcp_keepalive_probes",
    ),
    32: ("net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"),
    37: ("net.ipv4.tcp_slow_start_after_idle", "net.ipv4.tcp_notsent_lowat"),
}
"""Minor release → the sysctls that it adds to the allowed ones."""


def _sysctls(minor: int) -> CheckPod:
    allowed = frozenset(name for since, names in _SYSCTLS.items() if since <= minor for name in names)

    def check(_meta: Obj, spec: Obj) -> Violation | None:
        names = [each.get("name", "") for each in _context(spec).get("sysctls") or ()]
        forbidden = [name for name in names if name not in allowed]
        return Violation("forbidden sysctls", ", ".join(forbidden)) if forbidden else None

    return check


def _host_process(_meta: Obj, spec: Obj) -> Violation | None:
    setters = _setters(spec, lambda context: bool((context.get("windowsOptions") or {}).get("hostProcess")))
    if not setters:
        return None
    return Violation(
        "hostProcess", f"{' and '.join(setters)} must not set securityContext.windowsOptions.hostProcess=true"
    )


# -- restricted -------------------------------------------------------------------------------------------------------


def _privilege_escalation(_meta: Obj, spec: Obj) -> Violation | None:
    bad = [each["name"] for each in _containers(spec) if _context(each).get("allowPrivilegeEscalation") is not False]
    if not bad:
        return None
    detail = f"{_named(bad)} must set securityContext.allowPrivilegeEscalation=false"
    return Violation("allowPrivilegeEscalation != false", detail)


def _restricted_capabilities(_meta: Obj, spec: Obj) -> Violation | None:
    keeping = [
        each["name"]
        for each in _containers(spec)
        if "ALL" not in ((_context(each).get("capabilities") or {}).get("drop") or ())
    ]
    dropped = f'{_named(keeping)} must set securityContext.capabilities.drop=["ALL"]' if keeping else ""
    added = _added_capabilities(spec, frozenset(("NET_BIND_SERVICE",)))
    details = [detail for detail in (dropped, added) if detail]
    return Violation("unrestricted capabilities", "; ".join(details)) if details else None


_ALLOWED_VOLUMES = (
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "image",
    "persistentVolumeClaim",
    "projected",
    "secret",
)


def _restricted_volumes(_meta: Obj, spec: Obj) -> Violation | None:
    bad: dict[str, str] = {}
    for volume in spec.get("volumes") or ():
        sources = [name for name, value in volume.items() if name != "name" and value is not None]
        if not any(name in _ALLOWED_VOLUMES for name in sources):
            bad[volume["name"]] = sources[0] if sources else "unknown"
    if not bad:
        return None
    kinds = sorted({*bad.values()})
    uses = f"{_plural('uses', len(bad), 'use')} {_named(kinds, 'restricted volume type')}"
    return Violation("restricted volume types", f"{_named(list(bad), 'volume')} {uses}")


def _non_root(_meta: Obj, spec: Obj) -> Violation | None:
    reason = "runAsNonRoot != true"
    setters = _setters(spec, lambda context: context.get("runAsNonRoot") is False)
    if setters:
        return Violation(reason, f"{' and '.join(setters)} must not set securityContext.runAsNonRoot=false")
    if _context(spec).get("runAsNonRoot"):
        return None
    unset = [each["name"] for each in _containers(spec) if _context(each).get("runAsNonRoot") is None]
    return Violation(reason, f"pod or {_named(unset)} must set securityContext.runAsNonRoot=true") if unset else None


def _root_user(_meta: Obj, spec: Obj) -> Violation | None:
    setters = _setters(spec, lambda context: context.get("runAsUser") == 0)
    return Violation("runAsUser=0", f"{' and '.join(setters)} must not set runAsUser=0") if setters else None


def _restricted_seccomp(meta: Obj, spec: Obj) -> Violation | None:
    if bad := _baseline_seccomp(meta, spec):
        return bad
    if _context(spec).get("seccompProfile") is not None:
        return None
    unset = [each["name"] for each in _containers(spec) if _context(each).get("seccompProfile") is None]
    if not unset:
        return None
    detail = f'pod or {_named(unset)} must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"'
    return Violation("seccompProfile", detail)


BASELINE: Mapping[str, Check] = {
    "appArmorProfile": Check([(0, _app_armor)]),
    "capabilities_baseline": Check([(0, _baseline_capabilities)]),
    "hostNamespaces": Check([(0, _host_namespaces)]),
    "hostPathVolumes": Check([(0, _host_paths)]),
    "hostPorts": Check([(0, _host_ports)]),
    "hostProbesAndHostLifecycle": Check([(34, _probe_hosts)]),
    "privileged": Check([(0, _privileged)]),
    "procMount": Check([(0, _proc_mount), (35, _unless_in_user_namespace(_proc_mount))]),
    "seLinuxOptions": Check(
        [(0, _se_linux(_SE_LINUX_TYPES)), (31, _se_linux(_SE_LINUX_TYPES | {"container_engine_t"}))]
    ),
    "seccompProfile_baseline": Check([(0, _seccomp_annotations), (19, _baseline_seccomp)]),
    "sysctls": Check([(minor, _sysctls(minor)) for minor in _SYSCTLS]),
    "windowsHostProcess": Check([(0, _host_process)]),
}
"""Name → check of the level baseline, in the order of their names."""

RESTRICTED: Mapping[str, Check] = {
    "allowPrivilegeEscalation": Check([(8, _privilege_escalation), (25, _unless_windows(_privilege_escalation))]),
    "capabilities_restricted": Check(
        [(22, _restricted_capabilities), (25, _unless_windows(_restricted_capabilities))], "capabilities_baseline"
    ),
    "procMount_restricted": Check([(35, _proc_mount)], "procMount"),
    "restrictedVolumes": Check([(0, _restricted_volumes)], "hostPathVolumes"),
    "runAsNonRoot": Check([(0, _non_root), (35, _unless_in_user_namespace(_non_root))]),
    "runAsUser": Check([(23, _root_user), (35, _unless_in_user_namespace(_root_user))]),
    "seccompProfile_restricted": Check(
        [(19, _restricted_seccomp), (25, _unless_windows(_restricted_seccomp))], "seccompProfile_baseline"
    ),
}
"""Name → check of the level restricted, in the order of their names."""
