"""Validation of updates of pods and of their status (ValidatePodUpdate, ValidatePodStatusUpdate)."""

from collections.abc import Iterator

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj, annotations_of
from apiserver.api.validation import checks, names
from apiserver.api.validation.combinators import FieldErrors, at, deeply_equal, deeply_immutable
from apiserver.groups.core.pods.annotations import MIRROR, annotation_changes
from apiserver.groups.core.pods.containers import image_spaces
from apiserver.groups.core.pods.scheduling import tolerations
from apiserver.groups.core.pods.validation import pod

_UPDATABLE = (
    "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,"
    "`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)

_FREE = ("activeDeadlineSeconds", "tolerations", "schedulingGates")

_SYSTEM_CONDITIONS = frozenset({"PodScheduled", "Ready", "Initialized"})

_DEADLINE = 2**31 - 1


def update(new: Obj, old: Obj) -> Iterator[FieldError]:
    """Return the errors of an update of a pod."""
    yield from pod(new)
    yield from at("metadata.annotations", list(annotation_changes(annotations_of(new), annotations_of(old))))
    after, before = new.get("spec") or {}, old.get("spec") or {}
    for kind in ("containers", "initContainers"):
        new_containers = after.get(kind) or []
        if len(new_containers) != len(before.get(kind) or ()):
            yield field.forbidden(f"spec.{kind}", "pod updates may not add or remove containers")
            return
        yield from at(f"spec.{kind}", _images(new_containers))
    deadline = _deadline(after.get("activeDeadlineSeconds"), before.get("activeDeadlineSeconds"))
    yield from at("spec.activeDeadlineSeconds", deadline)
    if after.get("activeDeadlineSeconds") is not None and deadline:
        return
    yield from at("spec.tolerations", _added_tolerations(after, before))
    yield from at("spec.schedulingGates", _removed_gates(after, before))
    if not deeply_equal(after, before):
        yield from at("spec", _other_changes(after, before))


def _images(containers: list[Obj]) -> FieldErrors:
    errors: list[FieldError] = []
    for index, container in enumerate(containers):
        missing = () if container.get("image") else (field.required("image"),)
        errors += at(f"[{index}]", [*missing, *image_spaces(container)])
    return errors


def _deadline(new: int | None, old: int | None) -> FieldErrors:
    """Return the errors of a changed deadline, which may be set or shortened but not removed."""
    if new is None:
        detail = "must not update from a positive integer to nil value"
        return () if old is None else (field.invalid("", None, detail),)
    if not 0 <= new <= _DEADLINE:
        return (field.invalid("", new, names.range_error(0, _DEADLINE)),)
    if old is not None and old < new:
        return (field.invalid("", new, "must be less than or equal to previous value"),)
    return ()


def _added_tolerations(new: Obj, old: Obj) -> FieldErrors:
    new_tolerations = new.get("tolerations") or []
    without_seconds = [_without_seconds(toleration) for toleration in new_tolerations]
    if any(_without_seconds(toleration) not in without_seconds for toleration in old.get("tolerations") or ()):
        return (field.forbidden("", "existing toleration can not be modified except its tolerationSeconds"),)
    return tolerations(new_tolerations)


def _without_seconds(toleration: Obj) -> Obj:
    return {name: value for name, value in toleration.items() if name != "tolerationSeconds" and value}


def _removed_gates(new: Obj, old: Obj) -> FieldErrors:
    known = {gate.get("name") for gate in old.get("schedulingGates") or ()}
    return [
        field.forbidden(f"[{i}].name", f"only deletion is allowed, but found new scheduling gate '{gate.get('name')}'")
        for i, gate in enumerate(new.get("schedulingGates") or ())
        if gate.get("name") not in known
    ]


def _other_changes(new: Obj, old: Obj) -> FieldErrors:
    """Return the errors of changes that pods do not allow; a gated pod may still restrict its nodes further."""
    munged = _with_allowed_changes(new, old)
    errors: list[FieldError] = []
    if old.get("schedulingGates"):
        errors += _node_selector_changes(munged.get("nodeSelector") or {}, old.get("nodeSelector") or {})
        errors += _node_affinity_changes(munged, old)
        munged = _with_old_placement(munged, old)
    if deeply_equal(munged, old):
        return errors
    detail = f"pod updates may not change fields other than {_UPDATABLE}\n{_difference(munged, old)}"
    return [*errors, field.forbidden("", detail)]


def _with_allowed_changes(new: Obj, old: Obj) -> Obj:
    """Return the new spec with every field that may change restored from the old one."""
    munged = {name: value for name, value in new.items() if name not in _FREE}
    munged |= {name: old[name] for name in _FREE if name in old}
    for kind in ("containers", "initContainers"):
        if kind in new and kind in old:
            pairs = zip(new[kind], old[kind], strict=True)
            munged[kind] = [container | {"image": before.get("image")} for container, before in pairs]
    grace = old.get("terminationGracePeriodSeconds")
    if grace is not None and grace < 0 and new.get("terminationGracePeriodSeconds") == 1:
        munged["terminationGracePeriodSeconds"] = grace
    return munged


def _node_selector_changes(new: dict[str, str], old: dict[str, str]) -> FieldErrors:
    if all(new.get(name) == value for name, value in old.items()):
        return ()
    detail = "only additions are allowed (no mutations or deletions)"
    return (field.invalid("nodeSelector", new, detail),)


def _node_affinity(spec: Obj) -> Obj:
    return (spec.get("affinity") or {}).get("nodeAffinity") or {}


def _node_affinity_changes(new: Obj, old: Obj) -> FieldErrors:
    """Return the errors of required terms that are changed other than by added requirements.

    Source: validateNodeAffinityMutation.
    """
    name = "requiredDuringSchedulingIgnoredDuringExecution"
    after = (_node_affinity(new).get(name) or {}).get("nodeSelectorTerms") or []
    before = (_node_affinity(old).get(name) or {}).get("nodeSelectorTerms") or []
    path = f"affinity.nodeAffinity.{name}.nodeSelectorTerms"
    if not before:
        return ()
    if len(after) != len(before):
        detail = "no additions/deletions to non-empty NodeSelectorTerms list are allowed"
        return (field.invalid(path, after, detail),)
    detail = "only additions are allowed (no mutations or deletions)"
    pairs = enumerate(zip(after, before, strict=True))
    return [field.invalid(f"{path}[{i}]", term, detail) for i, (term, was) in pairs if not _is_narrowed(term, was)]


def _is_narrowed(term: Obj, old_term: Obj) -> bool:
    return all(
        requirement in (term.get(kind) or ())
        for kind in ("matchExpressions", "matchFields")
        for requirement in old_term.get(kind) or ()
    )


def _with_old_placement(munged: Obj, old: Obj) -> Obj:
    affinity = {name: value for name, value in (munged.get("affinity") or {}).items() if name != "nodeAffinity"}
    if before := _node_affinity(old):
        affinity["nodeAffinity"] = before
    result = {name: value for name, value in munged.items() if name not in {"affinity", "nodeSelector"}}
    node_selector = {"nodeSelector": old["nodeSelector"]} if "nodeSelector" in old else {}
    return result | node_selector | ({"affinity": affinity} if affinity or "affinity" in old else {})


def _difference(new: Obj, old: Obj) -> str:
    """Return the fields that differ, in the format of upstream's diff of Go values."""
    fields = [*old, *(name for name in new if name not in old)]
    changed = [name for name in fields if not deeply_equal(new.get(name), old.get(name))]
    lines = [f"  \t... // {len(fields) - len(changed)} identical fields"]
    for name in changed:
        label = f"{name[:1].upper()}{name[1:]}:"
        lines += [f"{sign} \t{label} {field.show(spec.get(name))}," for sign, spec in (("-", old), ("+", new))]
    return "\n".join(("  core.PodSpec{", *lines, "  }", ""))


def ephemeral_containers_update(new: Obj, old: Obj) -> list[FieldError]:
    """Return the errors of an update at pods/ephemeralcontainers (ValidatePodEphemeralContainersUpdate)."""
    if MIRROR in annotations_of(old):
        return [field.forbidden("", "static pods do not support ephemeral containers")]
    errors = pod(new)
    new_containers = {c.get("name"): c for c in (new.get("spec") or {}).get("ephemeralContainers") or ()}
    for container in (old.get("spec") or {}).get("ephemeralContainers") or ():
        name = container.get("name")
        detail = ""
        if name not in new_containers:
            detail = f'existing ephemeral containers "{name}" may not be removed\n'
        elif not deeply_equal(new_containers[name], container):
            detail = (
                f'existing ephemeral containers "{name}" may not be changed\n'
                f"{_difference(new_containers[name], container)}"
            )
        errors += [field.forbidden("spec.ephemeralContainers", detail)] if detail else []
    return errors


def status_update(new: Obj, old: Obj) -> Iterator[FieldError]:
    """Return the errors of an update of a pod's status."""
    yield from at("metadata.annotations", list(annotation_changes(annotations_of(new), annotations_of(old))))
    status, old_status = new.get("status") or {}, old.get("status") or {}
    for index, condition in enumerate(status.get("conditions") or ()):
        kind = condition.get("type", "")
        if kind not in _SYSTEM_CONDITIONS and (messages := names.qualified_name(kind)):
            yield from checks.invalid_values(f"metadata.conditions[{index}].Type", kind, messages)
    if (node := status.get("nominatedNodeName")) and node != old_status.get("nominatedNodeName"):
        yield from checks.invalid_values("status.nominatedNodeName", node, names.dns1123_subdomain(node))
    yield from at("status", deeply_immutable("qosClass", status.get("qosClass"), old_status.get("qosClass")))
    yield from _restarted_containers(status, old_status, old.get("spec") or {})
    for single, several in (("podIP", "podIPs"), ("hostIP", "hostIPs")):
        if several in status:
            yield from at("status", _addresses(status, single, several))


def _restarted_containers(new: Obj, old: Obj, spec: Obj) -> Iterator[FieldError]:
    """Yield an error for each ended container that would run again although it must not.

    Source: ValidateContainerStateTransition.
    """
    policy = spec.get("restartPolicy")
    sidecars = {c.get("name") for c in spec.get("initContainers") or () if c.get("restartPolicy") == "Always"}
    kinds = (("containerStatuses", policy), ("initContainerStatuses", policy), ("ephemeralContainerStatuses", "Never"))
    for kind, restarts in kinds:
        if not old.get(kind):
            continue
        running = {s.get("name") for s in new.get(kind) or () if not (s.get("state") or {}).get("terminated")}
        for index, status in enumerate(old[kind]):
            ended = (status.get("state") or {}).get("terminated")
            may_restart = restarts == "Always" or (ended and ended.get("exitCode") and restarts == "OnFailure")
            if ended and not may_restart and status.get("name") in running - sidecars:
                detail = "may not be transitioned to non-terminated state"
                yield field.forbidden(f"status.{kind}[{index}].state", detail)


def _addresses(status: Obj, single: str, several: str) -> list[FieldError]:
    """Return the errors of addresses: at most one of each family, each once (validatePodIPs, validateHostIPs)."""
    addresses = [entry.get("ip", "") for entry in status[several] or ()]
    errors: list[FieldError] = []
    if single == "hostIP" and addresses and addresses[0] != status.get(single, ""):
        errors.append(field.invalid(f"{several}[0].ip", addresses[0], "must be equal to `hostIP`"))
    errors += checks.each_invalid(several, addresses, names.ip)
    if len(addresses) < 2:
        return errors
    families = [":" in address for address in addresses]
    if len(set(families)) < len(families):
        detail = "may specify no more than one IP for each IP family"
        errors.append(field.invalid(several, status[several], detail))
    repeated = [i for i, address in enumerate(addresses) if address in addresses[:i]]
    return errors + [field.duplicate(f"{several}[{i}]", status[several][i]) for i in repeated]
