"""What updates through a subresource may change: of pods, signing requests and namespaces."""

from collections.abc import Callable, Iterator, Mapping

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj
from apiserver.api.validation import checks, names
from apiserver.api.validation.contract import Errors
from apiserver.registry.strategy.qos import qos_class
from apiserver.registry.validation.certificates import validate_approval
from apiserver.registry.validation.pod_updates import ephemeral_containers_update
from apiserver.registry.validation.pods import pod

_RESIZABLE = frozenset(("cpu", "memory"))


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


def _finalize(new: Obj, _old: Obj) -> Iterator[FieldError]:
    for index, finalizer in enumerate((new.get("spec") or {}).get("finalizers") or ()):
        yield from checks.wrong(f"spec.finalizers[{index}]", finalizer, names.qualified_name(finalizer))


PART_VALIDATORS: Mapping[tuple[str, str, str], Callable[[Obj, Obj], Errors]] = {
    ("", "Namespace", "finalize"): _finalize,
    ("", "Pod", "ephemeralcontainers"): ephemeral_containers_update,
    ("", "Pod", "resize"): _resize,
    ("certificates.k8s.io", "CertificateSigningRequest", "approval"): validate_approval,
}
"""(group, kind, subresource) → what is wrong with an update (new, old) there, beside the metadata."""
