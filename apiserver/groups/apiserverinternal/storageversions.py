"""StorageVersions (internal.apiserver.k8s.io): columns."""

from apiserver.api.meta import Obj, name_of
from apiserver.groups.cell_format import age
from apiserver.groups.cells import UNSET, Cells, first_items, mapping, mappings, text_of
from apiserver.groups.columns import AGE, NAME, Column, Printer
from apiserver.groups.kind import BuiltinKind
from apiserver.groups.strategy import Strategy, creation, status_updating, updating

_STORAGE_VERSION = "io.k8s.api.apiserverinternal.v1alpha1.StorageVersionStatus"


def _storage_version(obj: Obj) -> Cells:
    status = mapping(obj, "status")
    versions = [
        f"{text_of(version, 'apiServerID')}={text_of(version, 'encodingVersion')}"
        for version in mappings(status, "storageVersions")
    ]
    return [name_of(obj), text_of(status, "commonEncodingVersion", UNSET), first_items(versions) or UNSET, age(obj)]


STORAGE_VERSION = BuiltinKind(
    "internal.apiserver.k8s.io",
    "StorageVersion",
    namespaced=False,
    strategy=Strategy(
        creation(status=dict, generation=False),
        updating(),
        status_updating(),
        has_status=True,
        allow_unconditional_update=False,
    ),
    printer=Printer(
        columns=(
            NAME,
            Column("CommonEncodingVersion", f"{_STORAGE_VERSION}#commonEncodingVersion"),
            Column("StorageVersions", f"{_STORAGE_VERSION}#storageVersions"),
            AGE,
        ),
        cells=_storage_version,
    ),
)
