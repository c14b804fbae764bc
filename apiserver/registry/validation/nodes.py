"""What Nodes, RuntimeClasses, Leases, LeaseCandidates and Namespaces may be (pkg/apis/core, node, coordination)."""

import re
from collections.abc import Iterator

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj
from apiserver.api.validation import checks, combinators, names
from apiserver.api.validation.contract import Errors, Validator, same_on_update
from apiserver.api.validation.resource_lists import container_resource_name, resource_amount
from apiserver.registry.validation.scheduling import tolerations

_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_STRATEGIES = ("OldestEmulationVersion",)
_FINALIZERS = frozenset({"foregroundDeletion", "kubernetes", "orphan"})
_NO_OTHER_RANGE = 'node updates may not change podCIDR except from "" to valid'
_NO_OTHER_PROVIDER = 'node updates may not change providerID except from "" to valid'
_VERSION = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?")


def _node(node: Obj) -> Iterator[FieldError]:
    spec = node.get("spec") or {}
    yield from _taints(spec.get("taints") or ())
    yield from _amounts(node.get("status") or {})
    ranges = spec.get("podCIDRs") or []
    yield from checks.each_wrong("spec.podCIDRs", ranges, names.cidr)
    if len(ranges) > 1:
        yield from _ranges_of_both_families(ranges)


def _ranges_of_both_families(ranges: list[str]) -> Iterator[FieldError]:
    if len(ranges) > 2 or len({":" in cidr for cidr in ranges}) < 2:
        yield field.invalid("spec.podCIDRs", ranges, "may specify no more than one CIDR for each IP family")
    for index, cidr in enumerate(ranges):
        if cidr in ranges[:index]:
            yield field.duplicate(f"spec.podCIDRs[{index}]", cidr)


def _taints(taints: list[Obj] | tuple[()]) -> Iterator[FieldError]:
    """The path is upstream's: it has them in the metadata, where they once were."""
    yield from checks.each("metadata.taints", taints, _taint)
    seen = set()
    for index, taint in enumerate(taints):
        key = (taint.get("key"), taint.get("effect"))
        if key in seen:
            words = "taints must be unique by key and effect pair"
            told = field.duplicate(f"metadata.taints[{index}]", taint)
            yield FieldError(told.reason, told.path, f"{told.message}: {words}")
        seen.add(key)


def _taint(taint: Obj) -> Iterator[FieldError]:
    key, value = taint.get("key") or "", taint.get("value") or ""
    yield from checks.wrong("key", key, names.qualified_name(key))
    if wrong := names.label_value(value):
        yield field.invalid("value", value, ";".join(wrong))
    yield from checks.needed_one_of("effect", taint.get("effect"), _EFFECTS)


def _amounts(status: Obj) -> Iterator[FieldError]:
    for name in ("capacity", "allocatable"):
        for resource, text in (status.get(name) or {}).items():
            yield from checks.within(f"status.{name}.{resource}", resource_amount(resource, text))


def _node_update(new: Obj, old: Obj) -> Iterator[FieldError]:
    spec, before, status = new.get("spec") or {}, old.get("spec") or {}, new.get("status") or {}
    yield from _amounts(status)
    seen = set()
    for index, address in enumerate(status.get("addresses") or ()):
        key = (address.get("type"), address.get("address"))
        if key in seen:
            shown = {"Type": key[0], "Address": key[1]}
            yield field.duplicate(f"status.addresses[{index}]", shown)
        seen.add(key)
    if before.get("podCIDRs") and before["podCIDRs"] != spec.get("podCIDRs"):
        yield field.forbidden("spec.podCIDRs", _NO_OTHER_RANGE)
    if before.get("providerID") and before["providerID"] != spec.get("providerID"):
        yield field.forbidden("spec.providerID", _NO_OTHER_PROVIDER)
    yield from _taints(spec.get("taints") or ())
    if (spec.get("externalID") or "") != (before.get("externalID") or ""):
        yield field.forbidden("spec.externalID", "may not be updated")


def _runtime_class(runtime_class: Obj) -> Iterator[FieldError]:
    handler = runtime_class.get("handler") or ""
    yield from checks.wrong("handler", handler, names.dns1123_label(handler))
    overhead = (runtime_class.get("overhead") or {}).get("podFixed") or {}
    for name, text in overhead.items():
        found = (*container_resource_name(name), *resource_amount(name, text))
        yield from checks.within(f"overhead.limits[{name}]", found)
    scheduling = runtime_class.get("scheduling") or {}
    yield from checks.labels("scheduling.nodeSelector", scheduling.get("nodeSelector"))
    yield from combinators.at("scheduling.tolerations", tolerations(scheduling.get("tolerations") or ()))


def _runtime_class_update(new: Obj, old: Obj) -> Errors:
    return checks.immutable("handler", new.get("handler"), old.get("handler"))


def _lease(lease: Obj) -> Iterator[FieldError]:
    spec = lease.get("spec") or {}
    seconds, strategy, preferred = (spec.get(name) for name in ("leaseDurationSeconds", "strategy", "preferredHolder"))
    if seconds is not None and seconds <= 0:
        yield field.invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0")
    yield from checks.not_negative("spec.leaseTransitions", spec.get("leaseTransitions"))
    if strategy is not None:
        yield from _strategy(strategy)
    if preferred and not strategy:
        yield field.forbidden("spec.preferredHolder", "may only be specified if `strategy` is defined")


def _strategy(strategy: str) -> checks.Found:
    """The doubled word in the path is upstream's."""
    if "/" in strategy:
        return checks.wrong("spec.strategy.strategy", strategy, names.qualified_name(strategy))
    return checks.one_of("spec.strategy.strategy", strategy, _STRATEGIES)


def _candidate(candidate: Obj) -> Iterator[FieldError]:
    spec = candidate.get("spec") or {}
    emulated, binary, strategy = (spec.get(name) or "" for name in ("emulationVersion", "binaryVersion", "strategy"))
    yield from checks.needed("spec.leaseName", spec.get("leaseName"))
    for name, version in (("emulationVersion", emulated), ("binaryVersion", binary)):
        if version and not _VERSION.fullmatch(version):
            yield field.invalid(f"spec.{name}", version, "must be a valid semantic version")
        elif name == "binaryVersion":
            yield from checks.needed("spec.binaryVersion", version)
    if emulated and binary and _numbers(binary) < _numbers(emulated):
        yield field.invalid("spec.binaryVersion", binary, "must be greater than or equal to `emulationVersion`")
    if not strategy:
        yield field.required("spec.strategy")
        return
    if strategy in _STRATEGIES and not any(_numbers(emulated)):
        words = f"must be specified when `strategy` is '{strategy}'"
        yield field.required("spec.emulationVersion", words)
    yield from _strategy(strategy)


def _numbers(version: str) -> tuple[int, ...]:
    found = _VERSION.fullmatch(version)
    return tuple(map(int, found.group(1, 2, 3))) if found else (0, 0, 0)


def _candidate_update(new: Obj, old: Obj) -> Iterator[FieldError]:
    yield from _candidate(new)
    name, before = ((obj.get("spec") or {}).get("leaseName") for obj in (new, old))
    yield from checks.immutable("spec.leaseName", name, before)


def _namespace(namespace: Obj) -> Iterator[FieldError]:
    for name in (namespace.get("spec") or {}).get("finalizers") or ():
        yield from checks.wrong("spec.finalizers", name, names.qualified_name(name))
        if "/" not in name and name not in _FINALIZERS:
            words = "name is neither a standard finalizer name nor is it fully qualified"
            yield field.invalid("spec.finalizers", name, words)


def _namespace_status(new: Obj, _old: Obj) -> Iterator[FieldError]:
    phase = (new.get("status") or {}).get("phase") or ""
    deleting = bool(new["metadata"].get("deletionTimestamp"))
    expected, state = ("Terminating", "not empty") if deleting else ("Active", "empty")
    if phase != expected:
        words = f"may only be '{expected}' if `deletionTimestamp` is {state}"
        yield field.invalid("status.Phase", phase, words)


VALIDATORS = {
    ("", "Node"): Validator(_node, _node_update, _node_update),
    ("", "Namespace"): Validator(_namespace, lambda _new, _old: (), _namespace_status),
    ("node.k8s.io", "RuntimeClass"): Validator(_runtime_class, _runtime_class_update),
    ("coordination.k8s.io", "Lease"): same_on_update(_lease),
    ("coordination.k8s.io", "LeaseCandidate"): Validator(_candidate, _candidate_update),
}
