"""Validation of pods and pod templates (ValidatePodSpec, ValidatePodTemplateSpec)."""

from collections.abc import Iterator

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj, metadata
from apiserver.api.validation import checks, names
from apiserver.api.validation.combinators import (
    FieldErrors,
    at,
    cached,
    in_range,
    labels,
    named,
    one_of,
    required_one_of,
    struct,
)
from apiserver.api.validation.metadata import validate_annotations
from apiserver.api.validation.resource_lists import container_resources, pod_resources
from apiserver.groups.core.pods.annotations import pod_annotations
from apiserver.groups.core.pods.containers import (
    CONTAINERS,
    PodContext,
    containers,
    ephemeral_containers,
    image_spaces,
    init_containers,
)
from apiserver.groups.core.pods.qos import qos_class
from apiserver.groups.core.pods.scheduling import (
    affinity,
    readiness_gates,
    scheduling_gates,
    tolerations,
    topology_spread,
)
from apiserver.groups.core.pods.security import host_users, pod_security
from apiserver.groups.core.pods.volumes import volumes

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


_MAX_NAMESERVERS = 3

_MAX_SEARCHES = 32

_MAX_SEARCH_CHARACTERS = 2048


def dns(spec: Obj) -> FieldErrors:
    """Return the errors of spec.dnsConfig together with spec.dnsPolicy (validatePodDNSConfig)."""
    config, is_none = spec.get("dnsConfig"), spec.get("dnsPolicy") == "None"
    if config is None:
        detail = "must provide `dnsConfig` when `dnsPolicy` is None"
        return (field.required("dnsConfig", detail),) if is_none else ()
    if is_none and not config.get("nameservers"):
        detail = "must provide at least one DNS nameserver when `dnsPolicy` is None"
        return (field.required("dnsConfig.nameservers", detail),)
    errors = [*_nameservers(config.get("nameservers") or []), *_searches(config.get("searches") or [])]
    for index, option in enumerate(config.get("options") or ()):
        if not option.get("name"):
            errors.append(field.required(f"options[{index}]", "must not be empty"))
    return list(checks.prefix_errors("dnsConfig", errors))


def _nameservers(servers: list[str]) -> list[FieldError]:
    errors: list[FieldError] = []
    if len(servers) > _MAX_NAMESERVERS:
        detail = f"must not have more than {_MAX_NAMESERVERS} nameservers"
        errors.append(field.invalid("nameservers", servers, detail))
    return [*errors, *checks.each_invalid("nameservers", servers, names.ip)]


def _searches(searches: list[str]) -> list[FieldError]:
    errors: list[FieldError] = []
    if len(searches) > _MAX_SEARCHES:
        detail = f"must not have more than {_MAX_SEARCHES} search paths"
        errors.append(field.invalid("searches", searches, detail))
    if len(" ".join(searches)) > _MAX_SEARCH_CHARACTERS:
        detail = f"must not have more than {_MAX_SEARCH_CHARACTERS} characters (including spaces) in the search list"
        errors.append(field.invalid("searches", searches, detail))
    for index, search in enumerate(searches):
        if search != ".":
            bare = search.removesuffix(".")
            errors += checks.invalid_values(f"searches[{index}]", bare, names.dns1123_subdomain_with_underscore(bare))
    return errors


def host_aliases(aliases: list[Obj]) -> FieldErrors:
    """Return the errors of spec.hostAliases (ValidateHostAliases)."""
    errors: list[FieldError] = []
    for index, alias in enumerate(aliases):
        address = alias.get("ip", "")
        errors += checks.invalid_values(f"[{index}].ip", address, names.ip(address))
        errors += checks.each_invalid(f"[{index}].hostnames", alias.get("hostnames"), names.dns1123_subdomain)
    return errors


def host_network(spec: Obj, *, pod: bool) -> FieldErrors:
    """Return the errors of hostPorts in the host's network; templates may omit them (validatePodHostNetworkDeps)."""
    if not spec.get("hostNetwork"):
        return ()
    detail = "must match `containerPort` when `hostNetwork` is true"
    return [
        field.invalid(f"containers[{index}].ports[{port_index}].hostPort", port.get("hostPort", 0), detail)
        for index, container in enumerate(spec.get("containers") or ())
        for port_index, port in enumerate(container.get("ports") or ())
        if (pod or port.get("hostPort")) and port.get("hostPort", 0) != port.get("containerPort")
    ]


_RESTART_POLICIES = ("Always", "OnFailure", "Never")

_DNS_POLICIES = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")

_rest = struct(
    required_one_of("restartPolicy", *_RESTART_POLICIES),
    required_one_of("dnsPolicy", *_DNS_POLICIES),
    ("nodeSelector", labels),
    ("", pod_security),
    ("affinity", affinity),
    ("", dns),
    ("readinessGates", readiness_gates),
    ("schedulingGates", scheduling_gates),
    ("topologySpreadConstraints", topology_spread),
    ("", host_users),
    ("serviceAccountName", named(names.dns1123_subdomain)),
    ("nodeName", named(names.dns1123_subdomain)),
    ("activeDeadlineSeconds", in_range(1, 2**31 - 1)),
    ("hostname", named(names.dns1123_label)),
    ("subdomain", named(names.dns1123_label)),
    ("tolerations", tolerations),
    ("hostAliases", host_aliases),
    ("priorityClassName", named(names.dns1123_subdomain)),
    ("runtimeClassName", named(names.dns1123_subdomain)),
    ("preemptionPolicy", one_of("PreemptLowerPriority", "Never")),
    ("overhead", lambda amounts: container_resources({"limits": amounts})),
    ("", operating_system),
)


def _spec(spec: Obj, pod_name: str | None) -> list[FieldError]:
    """Return the errors of a pod's spec; `pod_name` is None for a template (ValidatePodSpec)."""
    errors: list[FieldError] = []
    if spec.get("terminationGracePeriodSeconds") is None:
        errors.append(field.required("terminationGracePeriodSeconds"))
    volume_errors, valid_volumes = volumes(spec["volumes"], pod_name) if spec.get("volumes") else ((), {})
    errors += at("volumes", volume_errors)
    context = _pod_context(spec, valid_volumes)
    if claims := spec.get("resourceClaims"):
        errors += checks.prefix_errors("resourceClaims", _claims(claims))
    errors += at("containers", containers(spec.get("containers") or [], context))
    if spec.get("initContainers"):
        errors += at("initContainers", init_containers(spec, context))
    if spec.get("ephemeralContainers"):
        errors += at("ephemeralContainers", ephemeral_containers(spec, context))
    if resources := spec.get("resources"):
        errors += at("resources", pod_resources(resources))
    errors += host_network(spec, pod=pod_name is not None)
    errors += _rest(spec)
    return errors


def _pod_context(spec: Obj, valid_volumes: dict[str, Obj]) -> PodContext:
    return PodContext(
        volumes=valid_volumes,
        claims=frozenset(c.get("name", "") for c in spec.get("resourceClaims") or ()),
        grace_period=spec.get("terminationGracePeriodSeconds"),
        restart_policy=spec.get("restartPolicy", ""),
        own_users=spec.get("hostUsers") is False,
    )


def _claims(claims: list[Obj]) -> list[FieldError]:
    errors: list[FieldError] = []
    taken: set[str] = set()
    for index, claim in enumerate(claims):
        errors += at(f"[{index}]", [*_claim_name(claim.get("name"), taken), *_claim_source(claim)])
    return errors


def _claim_name(name: str | None, taken: set[str]) -> FieldErrors:
    if not name or name in taken:
        return (field.duplicate("name", name) if name else field.required("name"),)
    taken.add(name)
    return checks.invalid_values("name", name, names.dns1123_label(name))


def _claim_source(claim: Obj) -> list[FieldError]:
    sources = [name for name in ("resourceClaimName", "resourceClaimTemplateName") if claim.get(name) is not None]
    errors: list[FieldError] = []
    if len(sources) == 2:
        detail = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
        errors.append(field.invalid("", claim, detail))
    elif not sources:
        detail = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
        errors.append(field.invalid("", claim, detail))
    for name in sources:
        errors += checks.invalid_values(name, claim[name], names.dns1123_subdomain(claim[name]))
    return errors


_template_spec = cached(lambda spec: _spec(spec, None))


def pod_template(template: Obj) -> list[FieldError]:
    """Return the errors of a pod template (ValidatePodTemplateSpec)."""
    spec = template.get("spec") or {}
    errors = [*template_metadata(template), *at("spec", _template_spec(spec))]
    if spec.get("ephemeralContainers"):
        detail = "ephemeral containers not allowed in pod template"
        errors.append(field.forbidden("spec.ephemeralContainers", detail))
    return errors


def template_metadata(template: Obj) -> list[FieldError]:
    """Return the errors of a template's labels and annotations; upstream's paths omit "metadata"."""
    meta = metadata(template)
    errors: list[FieldError] = []
    if pairs := meta.get("labels"):
        errors += at("labels", labels(pairs))
    if pairs := meta.get("annotations"):
        errors += validate_annotations("annotations", pairs)
        errors += at("annotations", pod_annotations(pairs, template.get("spec") or {}))
    return errors


def _own_spec(spec: Obj, name: str) -> list[FieldError]:
    """Return the errors of the spec of a pod with this name: the rules for templates, and rules added later."""
    errors = _spec(spec, name)
    if not spec.get("serviceAccountName") and spec.get("volumes"):
        errors += _tokens_without_account(spec["volumes"])
    for kind in ("containers", "initContainers"):
        for index, container in enumerate(spec.get(kind) or ()):
            if spaces := image_spaces(container):
                errors += at(f"{kind}[{index}]", spaces)
    return errors


_nameless_spec = cached(lambda spec: _own_spec(spec, ""))


def pod(obj: Obj) -> list[FieldError]:
    """Return the errors of a new or changed pod except its metadata (validatePodMetadataAndSpec)."""
    meta, spec = metadata(obj), obj.get("spec") or {}
    errors: list[FieldError] = []
    if pairs := meta.get("annotations"):
        errors += at("metadata.annotations", pod_annotations(pairs, spec))
    ephemeral_volumes = [volume for volume in spec.get("volumes") or () if "ephemeral" in volume]
    spec_errors = _own_spec(spec, meta.get("name") or "") if ephemeral_volumes else _nameless_spec(spec)
    return [*errors, *at("spec", spec_errors)] if spec_errors else errors


def _tokens_without_account(volumes: list[Obj]) -> list[FieldError]:
    detail = "must not be specified when serviceAccountName is not set"
    return [
        field.forbidden(f"volumes[{index}].projected.sources[{source_index}].serviceAccountToken", detail)
        for index, volume in enumerate(volumes)
        for source_index, source in enumerate((volume.get("projected") or {}).get("sources") or ())
        if source.get("serviceAccountToken") is not None
    ]


def new_pod(obj: Obj) -> list[FieldError]:
    """Return the errors of a new pod except its metadata (ValidatePodCreate)."""
    errors, spec = pod(obj), obj.get("spec") or {}
    if spec.get("ephemeralContainers"):
        errors.append(field.forbidden("spec.ephemeralContainers", "cannot be set on create"))
    if spec.get("nodeName") and spec.get("schedulingGates"):
        detail = "cannot be set until all schedulingGates have been cleared"
        errors.append(field.forbidden("spec.nodeName", detail))
    return errors


_RESIZABLE = frozenset(("cpu", "memory"))


def resize(new: Obj, old: Obj) -> Iterator[FieldError]:
    """Yield the errors of a resize: only cpu and memory change, within the same QoS class (ValidatePodResize)."""
    yield from pod(new)
    if qos_class(new) != qos_class(old):
        yield field.invalid("spec", qos_class(new), "Pod QOS Class may not change as a result of resizing")
    for name in ("containers", "initContainers"):
        containers, old_containers = new["spec"].get(name) or [], old["spec"].get(name) or []
        if [c.get("name") for c in containers] != [c.get("name") for c in old_containers]:
            yield field.forbidden("spec", f"{name} may not be added, removed, renamed or reordered on resize")
            continue
        for index, (container, old_container) in enumerate(zip(containers, old_containers, strict=True)):
            yield from checks.prefix_errors(f"spec.{name}[{index}].resources", _resources(container, old_container))


def _resources(container: Obj, old_container: Obj) -> Iterator[FieldError]:
    new, old = container.get("resources") or {}, old_container.get("resources") or {}
    for kind in ("limits", "requests"):
        amounts, before = new.get(kind) or {}, old.get(kind) or {}
        if any(amounts.get(r) != before.get(r) for r in amounts.keys() | before.keys() if r not in _RESIZABLE):
            yield field.forbidden(kind, "only cpu and memory resources are mutable")
        if any(resource not in amounts for resource in before if resource in _RESIZABLE):
            yield field.forbidden(kind, f"resource {kind} cannot be removed")
