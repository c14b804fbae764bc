"""DeviceTaintRules (resource.k8s.io): columns."""

from apiserver.api.meta import Obj, name_of
from apiserver.groups.cell_format import age, since
from apiserver.groups.cells import Cells, mapping, text_of
from apiserver.groups.columns import AGE, NAME, RESOURCE, Column, Printer
from apiserver.groups.kind import BuiltinKind
from apiserver.groups.notices import NO_DEVICES, stored
from apiserver.groups.strategy import COUNTED_STATUS


def _taint_rule(obj: Obj) -> Cells:
    taint = mapping(mapping(obj, "spec"), "taint")
    added = taint.get("timeAdded")
    texts = [text_of(taint, key) for key in ("key", "value", "effect")]
    return [name_of(obj), *texts, "" if added is None else since(added), age(obj)]


DEVICE_TAINT_RULE = BuiltinKind(
    "resource.k8s.io",
    "DeviceTaintRule",
    namespaced=False,
    returns_deleted=True,
    strategy=COUNTED_STATUS,
    printer=Printer(
        columns=(
            NAME,
            Column("Key", f"{RESOURCE}DeviceTaint#key"),
            Column("Value", f"{RESOURCE}DeviceTaint#value"),
            Column("Effect", f"{RESOURCE}DeviceTaint#effect"),
            Column("TimeAdded", f"{RESOURCE}DeviceTaint#timeAdded"),
            AGE,
        ),
        cells=_taint_rule,
    ),
    notices=stored("DeviceTaintRule", NO_DEVICES, "taints no device"),
)
