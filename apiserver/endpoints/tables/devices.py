"""Rows of dynamically allocated devices: resource.k8s.io."""

from apiserver.api.meta import Obj, name_of
from apiserver.endpoints.tables.columns import AGE, NAME, Column, Printer, Printers
from apiserver.endpoints.tables.fields import Cells, is_deleted, mapping, text
from apiserver.endpoints.tables.format import age, since

_GROUP = "resource.k8s.io"
_RESOURCE = "io.k8s.api.resource.v1."


def _name_and_age(obj: Obj) -> Cells:
    return [name_of(obj), age(obj)]


def _claim(obj: Obj) -> Cells:
    return [name_of(obj), _claim_state(obj), age(obj)]


def _claim_state(claim: Obj) -> str:
    status = mapping(claim, "status")
    states = ["deleted"] if is_deleted(claim) else []
    if status.get("allocation") is not None:
        states += ["allocated", "reserved"] if status.get("reservedFor") else ["allocated"]
    return ",".join(states) or "pending"


def _slice(obj: Obj) -> Cells:
    spec = mapping(obj, "spec")
    pool = text(mapping(spec, "pool"), "name")
    return [name_of(obj), text(spec, "nodeName"), text(spec, "driver"), pool, age(obj)]


def _taint_rule(obj: Obj) -> Cells:
    taint = mapping(mapping(obj, "spec"), "taint")
    added = taint.get("timeAdded")
    texts = [text(taint, key) for key in ("key", "value", "effect")]
    return [name_of(obj), *texts, "" if added is None else since(added), age(obj)]


_NAME_AND_AGE = Printer(columns=(NAME, AGE), cells=_name_and_age)

PRINTERS: Printers = {
    (_GROUP, "DeviceClass"): _NAME_AND_AGE,
    (_GROUP, "ResourceClaimTemplate"): _NAME_AND_AGE,
    (_GROUP, "ResourceClaim"): Printer(
        columns=(NAME, Column("State", "Whether the claim is pending, allocated, reserved, deleted."), AGE),
        cells=_claim,
    ),
    (_GROUP, "ResourceSlice"): Printer(
        columns=(
            NAME,
            Column("Node", f"{_RESOURCE}ResourceSliceSpec#nodeName"),
            Column("Driver", f"{_RESOURCE}ResourceSliceSpec#driver"),
            Column("Pool", f"{_RESOURCE}ResourcePool#name"),
            AGE,
        ),
        cells=_slice,
    ),
    (_GROUP, "DeviceTaintRule"): Printer(
        columns=(
            NAME,
            Column("Key", f"{_RESOURCE}DeviceTaint#key"),
            Column("Value", f"{_RESOURCE}DeviceTaint#value"),
            Column("Effect", f"{_RESOURCE}DeviceTaint#effect"),
            Column("TimeAdded", f"{_RESOURCE}DeviceTaint#timeAdded"),
            AGE,
        ),
        cells=_taint_rule,
    ),
}
