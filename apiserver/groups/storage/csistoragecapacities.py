"""CSIStorageCapacities (storage.k8s.io): validation and columns."""

from collections.abc import Iterator

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj, name_of
from apiserver.api.validation import checks, names
from apiserver.api.validation.contract import Validator
from apiserver.api.validation.resource_lists import amount
from apiserver.groups.cells import UNSET, Cells, quantity_text, text_of
from apiserver.groups.columns import NAME, STORAGE, Column, Printer
from apiserver.groups.kind import BuiltinKind
from apiserver.groups.notices import stored
from apiserver.groups.storage.storageclasses import fixed
from apiserver.groups.strategy import PINNED


def _capacity(capacity: Obj) -> Iterator[FieldError]:
    name = capacity.get("storageClassName") or ""
    yield from checks.invalid_values("storageClassName", name, names.dns1123_subdomain(name))
    for limit in ("capacity", "maximumVolumeSize"):
        text = capacity.get(limit)
        if text is not None and amount(text) < 0:
            yield field.invalid(limit, text, checks.NEGATIVE)
    yield from checks.label_selector("nodeTopology", capacity.get("nodeTopology"))


def _csi_storage_capacity(obj: Obj) -> Cells:
    capacity = UNSET if obj.get("capacity") is None else quantity_text(obj, "capacity")
    return [name_of(obj), text_of(obj, "storageClassName"), capacity]


CSI_STORAGE_CAPACITY = BuiltinKind(
    "storage.k8s.io",
    "CSIStorageCapacity",
    strategy=PINNED,
    validator=Validator(_capacity, fixed("nodeTopology", "storageClassName")),
    printer=Printer(
        columns=(
            NAME,
            Column("StorageClassName", f"{STORAGE}CSIStorageCapacity#storageClassName"),
            Column("Capacity", f"{STORAGE}CSIStorageCapacity#capacity"),
        ),
        cells=_csi_storage_capacity,
    ),
    notices=stored("CSIStorageCapacity", "schedules without a look at storage capacity", "keeps no Pod from a Node"),
)
