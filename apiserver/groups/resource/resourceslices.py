"""ResourceSlices (resource.k8s.io): conversion and columns."""

from functools import partial

from apiserver.api.meta import Obj, name_of
from apiserver.groups.cell_format import age
from apiserver.groups.cells import Cells, mapping, text_of
from apiserver.groups.columns import AGE, NAME, RESOURCE, Column, Printer
from apiserver.groups.conversion import OLD_DEVICES, Conversion
from apiserver.groups.field_labels import at_paths
from apiserver.groups.kind import BuiltinKind
from apiserver.groups.notices import NO_DEVICES, stored
from apiserver.groups.resource.resourceclaims import each, flatten_request
from apiserver.groups.strategy import COUNTED

_without_basic = partial(flatten_request, part="basic")


def _with_basic(device: Obj) -> Obj:
    return {"name": device.get("name", ""), "basic": {name: value for name, value in device.items() if name != "name"}}


SLICE = ("spec", "devices")


def slice_to_v1(obj: Obj) -> Obj:
    """Return a ResourceSlice of v1beta1 converted to v1."""
    return each(obj, SLICE, _without_basic)


def slice_from_v1(obj: Obj) -> Obj:
    """Return a ResourceSlice of v1 converted to v1beta1."""
    return each(obj, SLICE, _with_basic)


def _slice(obj: Obj) -> Cells:
    spec = mapping(obj, "spec")
    pool = text_of(mapping(spec, "pool"), "name")
    return [name_of(obj), text_of(spec, "nodeName"), text_of(spec, "driver"), pool, age(obj)]


RESOURCE_SLICE = BuiltinKind(
    "resource.k8s.io",
    "ResourceSlice",
    namespaced=False,
    fields=("spec.driver", "spec.nodeName"),
    unknown_field="field label not supported for resource.k8s.io/{version}, Kind=ResourceSlice: {label}",
    selects_namespace=False,
    returns_deleted=True,
    strategy=COUNTED,
    field_labels=at_paths("spec.driver", "spec.nodeName"),
    old_versions=Conversion(slice_to_v1, slice_from_v1, alike=OLD_DEVICES),
    printer=Printer(
        columns=(
            NAME,
            Column("Node", f"{RESOURCE}ResourceSliceSpec#nodeName"),
            Column("Driver", f"{RESOURCE}ResourceSliceSpec#driver"),
            Column("Pool", f"{RESOURCE}ResourcePool#name"),
            AGE,
        ),
        cells=_slice,
    ),
    notices=stored("ResourceSlice", NO_DEVICES, "its devices are given to no Pod"),
)
