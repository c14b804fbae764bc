"""PodTemplates (core): defaults, validation and columns."""

from apiserver.api.meta import Obj, metadata, name_of
from apiserver.api.validation.combinators import FieldErrors, at
from apiserver.api.validation.contract import Validator
from apiserver.groups.apps.workload_columns import container_cells
from apiserver.groups.cell_format import labels_text
from apiserver.groups.cells import Cells, mapping
from apiserver.groups.columns import CONTAINERS, IMAGES, NAME, Column, Printer
from apiserver.groups.core.pods.defaults import default_template
from apiserver.groups.core.pods.validation import pod_template
from apiserver.groups.kind import BuiltinKind
from apiserver.groups.strategy import Strategy, creation, unchanged, updating


def default_pod_template(obj: Obj) -> None:
    """Set the defaults of a PodTemplate."""
    default_template(obj.setdefault("template", {}))


def _template(obj: Obj) -> FieldErrors:
    return at("template", pod_template(obj.get("template") or {}))


def _pod_template(obj: Obj) -> Cells:
    template = mapping(obj, "template")
    labels = labels_text(mapping(metadata(template), "labels"))
    return [name_of(obj), *container_cells(mapping(template, "spec")), labels]


POD_TEMPLATE = BuiltinKind(
    "",
    "PodTemplate",
    default=default_pod_template,
    returns_deleted=True,
    strategy=Strategy(creation(), updating("template", status=False), unchanged),
    validator=Validator(create=_template, update=lambda new, _old: _template(new)),
    printer=Printer(
        columns=(
            NAME,
            Column("Containers", CONTAINERS.doc),
            Column("Images", IMAGES.doc),
            Column("Pod Labels", "Labels of the pod template."),
        ),
        cells=_pod_template,
    ),
)
