"""CSINodes (storage.k8s.io): validation and columns."""

from collections.abc import Iterator

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj, name_of
from apiserver.api.validation import checks, combinators, names
from apiserver.api.validation.contract import Validator
from apiserver.groups.cell_format import age
from apiserver.groups.cells import Cells, count, mapping
from apiserver.groups.columns import AGE, NAME, Column, Printer
from apiserver.groups.core.pods.volumes import csi_driver_name
from apiserver.groups.kind import BuiltinKind
from apiserver.groups.notices import stored
from apiserver.groups.storage.storageclasses import LONGEST_NODE_ID
from apiserver.groups.strategy import Strategy, nothing, status_updating, updating


def _node(node: Obj) -> Iterator[FieldError]:
    drivers = (node.get("spec") or {}).get("drivers") or []
    yield from checks.each("spec.drivers", drivers, _node_driver)
    seen = set()
    for index, driver in enumerate(drivers):
        name = driver.get("name", "")
        if name in seen:
            yield field.duplicate(f"spec.drivers[{index}].name", name)
        seen.add(name)


def _node_driver(driver: Obj) -> Iterator[FieldError]:
    yield from combinators.at("name", csi_driver_name(driver.get("name") or ""))
    node_id, keys = driver.get("nodeID") or "", driver.get("topologyKeys") or []
    yield from checks.required("nodeID", node_id)
    if len(node_id) > LONGEST_NODE_ID:
        yield field.invalid("nodeID", node_id, f"must be {LONGEST_NODE_ID} characters or less")
    yield from checks.not_negative("allocatable.count", (driver.get("allocatable") or {}).get("count"))
    for index, key in enumerate(keys):
        yield from checks.required(f"topologyKeys[{index}]", key)
        if key in keys[:index]:
            yield field.duplicate("topologyKeys", key)
        yield from checks.optional_name("topologyKeys", key, names.qualified_name)


def _node_update(new: Obj, old: Obj) -> Iterator[FieldError]:
    """Yield the errors of changed drivers: one may be added or removed, or change its count, but nothing else."""
    yield from _node(new)
    drivers = {driver.get("name"): driver for driver in (new.get("spec") or {}).get("drivers") or ()}
    for driver in (old.get("spec") or {}).get("drivers") or ():
        current = drivers.get(driver.get("name"))
        if current and not combinators.deeply_equal(current | {"allocatable": None}, driver | {"allocatable": None}):
            yield field.invalid("CSINodeDriver", current, checks.IMMUTABLE)


def _csi_node(obj: Obj) -> Cells:
    return [name_of(obj), count(mapping(obj, "spec"), "drivers"), age(obj)]


def _limits_volumes(new: Obj, _old: Obj | None) -> bool:
    return any(driver.get("allocatable") for driver in (new.get("spec") or {}).get("drivers") or ())


CSI_NODE = BuiltinKind(
    "storage.k8s.io",
    "CSINode",
    namespaced=False,
    returns_deleted=True,
    strategy=Strategy(nothing, updating(), status_updating(), has_status=True, allow_unconditional_update=False),
    validator=Validator(_node, _node_update),
    printer=Printer(
        columns=(NAME, Column("Drivers", "How many CSI drivers the node has.", type="integer"), AGE),
        cells=_csi_node,
    ),
    notices=stored(
        "CSINode",
        "counts no attached volumes",
        "its limits keep no Pod from the Node",
        "a driver has `allocatable`",
        _limits_volumes,
    ),
)
