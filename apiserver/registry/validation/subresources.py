"""What updates through a subresource may change: of pods, signing requests and namespaces."""

from collections.abc import Callable, Iterator, Mapping

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj
from apiserver.registry.strategy.qos import qos_class
from apiserver.registry.validation import checks, names
from apiserver.registry.validation.contract import Errors
from apiserver.registry.validation.pod_updates import ephemeral_containers_update
from apiserver.registry.validation.pods import pod

_RESIZABLE = frozenset(("cpu", "memory"))
_DECISIONS = ("Approved", "Denied", "Failed")


def _resize(new: Obj, old: Obj) -> Iterator[FieldError]:
    """ValidatePodResize: cpu and memory of containers that stay, within the same quality of service."""
    yield from pod(new)
    if qos_class(new) != qos_class(old):
        yield field.invalid("spec", qos_class(new), "Pod QOS Class may not change as a result of resizing")
    for name in ("containers", "initContainers"):
        listed, before = new["spec"].get(name) or [], old["spec"].get(name) or []
        if [c.get("name") for c in listed] != [c.get("name") for c in before]:
            yield field.forbidden("spec", f"{name} may not be added, removed, renamed or reordered on resize")
            continue
        for index, (container, was) in enumerate(zip(listed, before, strict=True)):
            yield from checks.within(f"spec.{name}[{index}].resources", _resources(container, was))


def _resources(container: Obj, was: Obj) -> Iterator[FieldError]:
    new, old = container.get("resources") or {}, was.get("resources") or {}
    for kind in ("limits", "requests"):
        amounts, before = new.get(kind) or {}, old.get(kind) or {}
        if any(amounts.get(r) != before.get(r) for r in amounts.keys() | before.keys() if r not in _RESIZABLE):
            yield field.forbidden(kind, "only cpu and memory resources are mutable")
        if any(resource not in amounts for resource in before if resource in _RESIZABLE):
            yield field.forbidden(kind, f"resource {kind} cannot be removed")


def _approval(new: Obj, old: Obj) -> Iterator[FieldError]:
    """ValidateCertificateSigningRequestApprovalUpdate: what is decided stays, and is decided one way."""
    conditions = (new.get("status") or {}).get("conditions") or []
    yield from checks.within("status", _conditions(conditions))
    given = {condition.get("type") for condition in conditions}
    for condition in (old.get("status") or {}).get("conditions") or []:
        decision = condition.get("type")
        if decision in _DECISIONS and decision not in given:
            yield field.forbidden("status.conditions", f'updates may not remove a condition of type "{decision}"')


def _conditions(conditions: list[Obj]) -> Iterator[FieldError]:
    seen: set[str] = set()
    for index, condition in enumerate(conditions):
        path, decision, status = f"conditions[{index}]", condition.get("type") or "", condition.get("status") or ""
        yield from checks.needed(f"{path}.type", decision)
        if decision in _DECISIONS:
            yield from checks.needed_one_of(f"{path}.status", status, ("True",))
        else:
            yield from checks.needed_one_of(f"{path}.status", status, ("True", "False", "Unknown"))
        if decision in seen:
            yield field.duplicate(f"{path}.type", decision)
        other = {"Approved": "Denied", "Denied": "Approved"}.get(decision)
        if other in seen:
            yield field.invalid(f"{path}.type", decision, "Approved and Denied conditions are mutually exclusive")
        seen.add(decision)


def _finalize(new: Obj, _old: Obj) -> Iterator[FieldError]:
    for index, finalizer in enumerate((new.get("spec") or {}).get("finalizers") or ()):
        yield from checks.wrong(f"spec.finalizers[{index}]", finalizer, names.qualified_name(finalizer))


PART_VALIDATORS: Mapping[tuple[str, str, str], Callable[[Obj, Obj], Errors]] = {
    ("", "Namespace", "finalize"): _finalize,
    ("", "Pod", "ephemeralcontainers"): ephemeral_containers_update,
    ("", "Pod", "resize"): _resize,
    ("certificates.k8s.io", "CertificateSigningRequest", "approval"): _approval,
}
"""(group, kind, subresource) → what is wrong with an update (new, old) there, beside the metadata."""
