"""ResourcePoolStatusRequests (resource.k8s.io): columns."""

from apiserver.api.meta import Obj, name_of
from apiserver.groups.cell_format import since
from apiserver.groups.cells import NONE, Cells, count, mapping, mappings, number_of, text_of
from apiserver.groups.columns import NAME, Column, Printer
from apiserver.groups.kind import BuiltinKind
from apiserver.groups.notices import NO_DEVICES, stored
from apiserver.groups.strategy import METADATA_OF_STATUS, Strategy, nothing, status_updating, updating

_REQUEST = "io.k8s.api.resource.v1alpha3.ResourcePoolStatusRequest"

_POOL = "io.k8s.api.resource.v1alpha3.PoolStatus"

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
        text_of(mapping(obj, "spec"), "driver"),
        *(counts or ["-"] * (len(_COUNTED_DEVICES) + 1)),
        number_of(status, "poolCount"),
        state,
        NONE if ended is None else since(ended.get("lastTransitionTime")),
    ]


def _pool_counts(pools: list[Obj]) -> list[str]:
    """Return the number of devices of all pools by their state, and the number of invalid pools."""
    devices = [str(sum(number_of(pool, field) for pool in pools)) for _, field in _COUNTED_DEVICES]
    return [*devices, str(sum(pool.get("validationError") is not None for pool in pools))]


def _request_state(status: Obj) -> tuple[str, Obj | None]:
    """Return the request's state in one word, and the condition that completed it or None."""
    conditions = [c for c in mappings(status, "conditions") if c.get("status") == "True"]
    ending = next((c for c in conditions if c.get("type") in {"Complete", "Failed"}), None)
    if ending is None:
        return "Pending", None
    if ending.get("type") == "Failed":
        return "Failed", None
    listed, total = count(status, "pools"), number_of(status, "poolCount")
    return (f"Complete ({listed}/{total} pools)" if total > listed else "Complete"), ending


RESOURCE_POOL_STATUS_REQUEST = BuiltinKind(
    "resource.k8s.io",
    "ResourcePoolStatusRequest",
    namespaced=False,
    returns_deleted=True,
    strategy=Strategy(nothing, updating(), status_updating(*METADATA_OF_STATUS), has_status=True),
    printer=Printer(
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
    notices=stored("ResourcePoolStatusRequest", NO_DEVICES, "is not answered"),
)
