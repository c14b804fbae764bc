"""ComponentStatuses (core): columns."""

from apiserver.api.meta import Obj, name_of
from apiserver.groups.cells import Cells, condition_of, text_of
from apiserver.groups.columns import CORE, NAME, Column, Printer
from apiserver.groups.kind import BuiltinKind
from apiserver.groups.strategy import PLAIN


def _component_status(obj: Obj) -> Cells:
    healthy = condition_of(obj, "Healthy")
    if healthy is None:
        return [name_of(obj), "Unknown", "", ""]
    state = "Healthy" if healthy.get("status") == "True" else "Unhealthy"
    return [name_of(obj), state, text_of(healthy, "message"), text_of(healthy, "error")]


COMPONENT_STATUS = BuiltinKind(
    "",
    "ComponentStatus",
    ("cs",),
    namespaced=False,
    verbs=("get", "list"),
    strategy=PLAIN,
    printer=Printer(
        columns=(
            NAME,
            Column("Status", "Whether the component is healthy."),
            Column("Message", f"{CORE}ComponentCondition#message"),
            Column("Error", f"{CORE}ComponentCondition#error"),
        ),
        cells=_component_status,
    ),
)
