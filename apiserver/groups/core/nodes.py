"""Nodes (core): defaults, validation, field labels and columns."""

from collections.abc import Iterator

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj, metadata, name_of
from apiserver.api.validation import checks, names
from apiserver.api.validation.contract import Validator
from apiserver.api.validation.resource_lists import resource_amount
from apiserver.groups.cell_format import age
from apiserver.groups.cells import NONE, UNKNOWN, Cells, flag, mapping, mappings, text_of
from apiserver.groups.columns import AGE, CORE, NAME, Column, Printer
from apiserver.groups.core.pods.scheduling import EFFECTS
from apiserver.groups.field_labels import Fields
from apiserver.groups.kind import BuiltinKind
from apiserver.groups.quantities import round_up_to_milli
from apiserver.groups.strategy import Strategy, nothing, status_updating, updating


def default_node(node: Obj) -> None:
    """Set the defaults of a Node: all capacity is allocatable; podCIDR becomes the first of podCIDRs (conversion)."""
    status = node.setdefault("status", {})
    round_up_to_milli(status.get("capacity"))
    if "capacity" in status and "allocatable" not in status:
        status["allocatable"] = dict(status["capacity"])
    round_up_to_milli(status.get("allocatable"))
    spec = node.setdefault("spec", {})
    block, blocks = spec.get("podCIDR"), spec.get("podCIDRs")
    if block and (not blocks or blocks[0] != block):
        spec["podCIDRs"] = [block]
    elif blocks:
        spec["podCIDR"] = blocks[0]


_NO_OTHER_RANGE = 'node updates may not change podCIDR except from "" to valid'

_NO_OTHER_PROVIDER = 'node updates may not change providerID except from "" to valid'


def _validate_node(node: Obj) -> Iterator[FieldError]:
    spec = node.get("spec") or {}
    yield from _taints(spec.get("taints") or ())
    yield from _amounts(node.get("status") or {})
    ranges = spec.get("podCIDRs") or []
    yield from checks.each_invalid("spec.podCIDRs", ranges, names.cidr)
    if len(ranges) > 1:
        yield from _ranges_of_both_families(ranges)


def _ranges_of_both_families(ranges: list[str]) -> Iterator[FieldError]:
    if len(ranges) > 2 or len({":" in cidr for cidr in ranges}) < 2:
        yield field.invalid("spec.podCIDRs", ranges, "may specify no more than one CIDR for each IP family")
    for index, cidr in enumerate(ranges):
        if cidr in ranges[:index]:
            yield field.duplicate(f"spec.podCIDRs[{index}]", cidr)


def _taints(taints: list[Obj] | tuple[()]) -> Iterator[FieldError]:
    """Yield the errors of taints; upstream's path has them in the metadata, where they once were."""
    yield from checks.each("metadata.taints", taints, _taint)
    seen = set()
    for index, taint in enumerate(taints):
        key = (taint.get("key"), taint.get("effect"))
        if key in seen:
            detail = "taints must be unique by key and effect pair"
            error = field.duplicate(f"metadata.taints[{index}]", taint)
            yield FieldError(error.reason, error.path, f"{error.message}: {detail}")
        seen.add(key)


def _taint(taint: Obj) -> Iterator[FieldError]:
    key, value = taint.get("key") or "", taint.get("value") or ""
    yield from checks.invalid_values("key", key, names.qualified_name(key))
    if messages := names.label_value(value):
        yield field.invalid("value", value, ";".join(messages))
    yield from checks.required_one_of("effect", taint.get("effect"), EFFECTS)


def _amounts(status: Obj) -> Iterator[FieldError]:
    for name in ("capacity", "allocatable"):
        for resource, text in (status.get(name) or {}).items():
            yield from checks.prefix_errors(f"status.{name}.{resource}", resource_amount(resource, text))


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


def _node_fields(node: Obj) -> Fields:
    return {"spec.unschedulable": "true" if (node.get("spec") or {}).get("unschedulable") else "false"}


_ROLE_PREFIX = "node-role.kubernetes.io/"


def _node_status(node: Obj) -> str:
    # The last condition of a type counts, unlike elsewhere.
    ready = [c for c in mappings(mapping(node, "status"), "conditions") if c.get("type") == "Ready"]
    state = "Unknown" if not ready else "Ready" if ready[-1].get("status") == "True" else "NotReady"
    return f"{state},SchedulingDisabled" if flag(mapping(node, "spec"), "unschedulable") else state


def _node_roles(node: Obj) -> str:
    labels = mapping(metadata(node), "labels")
    roles = {key.removeprefix(_ROLE_PREFIX) for key in labels if key.startswith(_ROLE_PREFIX)}
    roles.add(text_of(labels, "kubernetes.io/role"))
    return ",".join(sorted(roles - {""})) or NONE


def _node_address(status: Obj, kind: str) -> str:
    addresses = (text_of(a, "address") for a in mappings(status, "addresses") if a.get("type") == kind)
    return next(addresses, NONE)


_NODE_SOFTWARE = (
    ("OS-Image", "osImage"),
    ("Kernel-Version", "kernelVersion"),
    ("Container-Runtime", "containerRuntimeVersion"),
)


def _node_cells(obj: Obj) -> Cells:
    status = mapping(obj, "status")
    info = mapping(status, "nodeInfo")
    return [
        name_of(obj),
        _node_status(obj),
        _node_roles(obj),
        age(obj),
        text_of(info, "kubeletVersion"),
        _node_address(status, "InternalIP"),
        _node_address(status, "ExternalIP"),
        *[text_of(info, field) or UNKNOWN for _, field in _NODE_SOFTWARE],
    ]


NODE = BuiltinKind(
    "",
    "Node",
    ("no",),
    namespaced=False,
    subresources=("proxy",),
    fields=("spec.unschedulable",),
    selects_namespace=False,
    prefix="minions",
    default=default_node,
    strategy=Strategy(nothing, updating(), status_updating()),
    validator=Validator(_validate_node, _node_update, _node_update),
    field_labels=_node_fields,
    printer=Printer(
        columns=(
            NAME,
            Column("Status", "Whether the node is ready, and whether it takes new pods."),
            Column("Roles", "The roles that the node's labels give it."),
            AGE,
            Column("Version", f"{CORE}NodeSystemInfo#kubeletVersion"),
            Column("Internal-IP", f"{CORE}NodeStatus#addresses", priority=1),
            Column("External-IP", f"{CORE}NodeStatus#addresses", priority=1),
            *(Column(name, f"{CORE}NodeSystemInfo#{field}", priority=1) for name, field in _NODE_SOFTWARE),
        ),
        cells=_node_cells,
    ),
)
