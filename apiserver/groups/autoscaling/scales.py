"""Scales (autoscaling): columns."""

from apiserver.api.meta import Obj, name_of
from apiserver.groups.cell_format import age
from apiserver.groups.cells import Cells, mapping, number_of
from apiserver.groups.columns import AGE, META, Column, Printer
from apiserver.groups.kind import BuiltinKind


def _scale(obj: Obj) -> Cells:
    return [
        name_of(obj),
        number_of(mapping(obj, "spec"), "replicas"),
        number_of(mapping(obj, "status"), "replicas"),
        age(obj),
    ]


SCALE = BuiltinKind(
    "autoscaling",
    "Scale",
    printer=Printer(
        columns=(
            Column("Name", f"{META}ObjectMeta#name"),
            Column("Desired", "io.k8s.api.autoscaling.v1.ScaleSpec#replicas", type="integer"),
            Column("Available", "io.k8s.api.autoscaling.v1.ScaleStatus#replicas", type="integer"),
            AGE,
        ),
        cells=_scale,
    ),
)
