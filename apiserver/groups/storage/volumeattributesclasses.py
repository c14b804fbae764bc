"""VolumeAttributesClasses (storage.k8s.io): validation and columns."""

from collections.abc import Iterator

from apiserver.api.field import FieldError
from apiserver.api.meta import Obj, name_of
from apiserver.api.validation import checks
from apiserver.api.validation.contract import Validator
from apiserver.groups.cell_format import age
from apiserver.groups.cells import Cells, text_of
from apiserver.groups.columns import AGE, NAME, STORAGE, Column, Printer
from apiserver.groups.kind import BuiltinKind
from apiserver.groups.storage.storageclasses import fixed, parameter_errors, provisioner_errors
from apiserver.groups.strategy import PLAIN


def _attributes_class(attributes_class: Obj) -> Iterator[FieldError]:
    yield from provisioner_errors("driverName", attributes_class.get("driverName") or "")
    parameters = attributes_class.get("parameters") or {}
    yield from parameter_errors(parameters)
    yield from checks.required("parameters", parameters, "must contain at least one key/value pair")


def _volume_attributes_class(obj: Obj) -> Cells:
    return [name_of(obj), text_of(obj, "driverName"), age(obj)]


VOLUME_ATTRIBUTES_CLASS = BuiltinKind(
    "storage.k8s.io",
    "VolumeAttributesClass",
    ("vac",),
    namespaced=False,
    returns_deleted=True,
    strategy=PLAIN,
    validator=Validator(_attributes_class, fixed("driverName", "parameters")),
    printer=Printer(
        columns=(NAME, Column("DriverName", f"{STORAGE}VolumeAttributesClass#driverName"), AGE),
        cells=_volume_attributes_class,
    ),
)
