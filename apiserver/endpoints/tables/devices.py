"""Rows of dynamically allocated devices: resource.k8s.io."""

from apiserver.api.meta import Obj, name_of
from apiserver.endpoints.tables.columns import AGE, NAME, NAME_AND_AGE, Column, Printer, Printers
from apiserver.endpoints.tables.fields import NONE, Cells, count, is_deleted, mapping, mappings, number, text
from apiserver.endpoints.tables.format import age, since

_GROUP = "resource.k8s.io"
_RESOURCE = "io.k8s.api.resource.v1."
_REQUEST = "io.k8s.api.resource.v1alpha3.ResourcePoolStatusRequest"
_POOL = "io.k8s.api.resource.v1alpha3.PoolStatus"


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


_COUNTED_DEVICES = (
    ("Total", "totalDevices"),
    ("Available", "availableDevices"),
    ("Allocated", "allocatedDevices"),
    ("Unavailable", "unavailableDevices"),
)


def _pool_status_request(obj: Obj) -> Cells:
    status = mapping(obj, "status")
    state, ended = _request_state(status)
    counts = _pool_counts(mappings(status, "pools")) if obj.get("status") is not None and state != "Failed" else None
    return [
        name_of(obj),
        text(mapping(obj, "spec"), "driver"),
        *(counts or ["-"] * (len(_COUNTED_DEVICES) + 1)),
        number(status, "poolCount"),
        state,
        NONE if ended is None else since(ended.get("lastTransitionTime")),
    ]


def _pool_counts(pools: list[Obj]) -> list[str]:
    """The devices of all pools by their state, and how many pools are not valid."""
    devices = [str(sum(number(pool, field) for pool in pools)) for _, field in _COUNTED_DEVICES]
    return [*devices, str(sum(pool.get("validationError") is not None for pool in pools))]


def _request_state(status: Obj) -> tuple[str, Obj | None]:
    """The request's state in one word, and the condition that says it is complete."""
    conditions = [c for c in mappings(status, "conditions") if c.get("status") == "True"]
    ending = next((c for c in conditions if c.get("type") in {"Complete", "Failed"}), None)
    if ending is None:
        return "Pending", None
    if ending.get("type") == "Failed":
        return "Failed", None
    listed, found = count(status, "pools"), number(status, "poolCount")
    return (f"Complete ({listed}/{found} pools)" if found > listed else "Complete"), ending


PRINTERS: Printers = {
    (_GROUP, "DeviceClass"): NAME_AND_AGE,
    (_GROUP, "ResourceClaimTemplate"): NAME_AND_AGE,
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
    (_GROUP, "ResourcePoolStatusRequest"): Printer(
        columns=(
            NAME,
            Column("Driver", f"{_REQUEST}Spec#driver"),
            *(Column(name, f"{_POOL}#{field}") for name, field in _COUNTED_DEVICES),
            Column("Errors", "How many pools are not valid."),
            Column("Pools", f"{_REQUEST}Status#poolCount", type="integer"),
            Column("Status", "How far the request is, in one word."),
            Column("Completed", "How long ago the pools were counted."),
        ),
        cells=_pool_status_request,
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
