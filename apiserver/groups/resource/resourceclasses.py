"""ResourceClasses (resource.k8s.io): validation and columns; of 1.26 to 1.30."""

from collections.abc import Iterator

from apiserver.api.field import FieldError
from apiserver.api.meta import Obj, name_of
from apiserver.api.validation import checks
from apiserver.api.validation.contract import Errors, Validator
from apiserver.groups.cell_format import age
from apiserver.groups.cells import Cells, text_of
from apiserver.groups.columns import AGE, NAME, Column, Printer
from apiserver.groups.core.pods.scheduling import node_selector
from apiserver.groups.core.pods.volumes import csi_driver_name
from apiserver.groups.kind import BuiltinKind
from apiserver.groups.notices import NO_DEVICES, stored
from apiserver.groups.resource.resourceparameters import parameters_reference
from apiserver.groups.strategy import PLAIN


def _class(resource_class: Obj) -> Iterator[FieldError]:
    """Yield the errors of a ResourceClass (ValidateClass)."""
    yield from checks.prefix_errors("driverName", csi_driver_name(resource_class.get("driverName") or ""))
    yield from checks.prefix_errors("parametersRef", parameters_reference(resource_class.get("parametersRef")))
    suitable_nodes = resource_class.get("suitableNodes")
    if suitable_nodes is not None:
        yield from checks.prefix_errors("suitableNodes", node_selector(suitable_nodes))


def _class_update(new: Obj, _old: Obj) -> Errors:
    """Return the errors twice, as upstream's strategy checks the new object and then the change, which has it again."""
    return [*_class(new), *_class(new)]


def _class_cells(obj: Obj) -> Cells:
    return [name_of(obj), text_of(obj, "driverName"), age(obj)]


RESOURCE_CLASS = BuiltinKind(
    "resource.k8s.io",
    "ResourceClass",
    namespaced=False,
    returns_deleted=True,
    strategy=PLAIN,
    validator=Validator(_class, _class_update),
    printer=Printer(
        columns=(NAME, Column("DriverName", "io.k8s.api.resource.v1alpha2.ResourceClass#driverName"), AGE),
        cells=_class_cells,
    ),
    notices=stored("ResourceClass", NO_DEVICES, "no resource is chosen by it"),
)
