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
    PodContext,
    containers,
    ephemeral_containers,
    image_spaces,
    init_containers,
)
from apiserver.groups.core.pods.network import dns, host_aliases, host_network
from apiserver.groups.core.pods.operating_system import operating_system
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
