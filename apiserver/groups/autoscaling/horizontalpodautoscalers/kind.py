"""HorizontalPodAutoscalers (autoscaling): the kind and its strategy."""

from apiserver.api.meta import Obj
from apiserver.api.validation.contract import Validator
from apiserver.groups.autoscaling.horizontalpodautoscalers.columns import HPA, autoscaler_cells
from apiserver.groups.autoscaling.horizontalpodautoscalers.conversion import from_v2, to_v2
from apiserver.groups.autoscaling.horizontalpodautoscalers.defaults import default_autoscaler_v1, default_autoscaler_v2
from apiserver.groups.autoscaling.horizontalpodautoscalers.validation import create, status_update, update
from apiserver.groups.columns import AGE, NAME, Column, Printer
from apiserver.groups.conversion import Conversion
from apiserver.groups.kind import ALL, BuiltinKind
from apiserver.groups.notices import stored
from apiserver.groups.strategy import Strategy, status_updating, updating


def _create_autoscaler(autoscaler: Obj) -> None:
    """Reset the status, whose required fields differ between the versions."""
    first = autoscaler["apiVersion"] == "autoscaling/v1"
    empty: Obj = {"currentReplicas": 0} if first else {"currentMetrics": None}
    autoscaler["status"] = empty | {"desiredReplicas": 0}


AUTOSCALER = Strategy(_create_autoscaler, updating(), status_updating(), has_status=True)

HORIZONTAL_POD_AUTOSCALER = BuiltinKind(
    "autoscaling",
    "HorizontalPodAutoscaler",
    ("hpa",),
    categories=ALL,
    version_defaults={"v1": default_autoscaler_v1, "v2": default_autoscaler_v2, "v2beta2": default_autoscaler_v2},
    strategy=AUTOSCALER,
    validator=Validator(create, update, status_update),
    conversions={"v1": Conversion(to_v2, from_v2)},
    printer=Printer(
        columns=(
            NAME,
            Column("Reference", f"{HPA}Spec#scaleTargetRef"),
            Column("Targets", f"{HPA}Spec#metrics"),
            Column("MinPods", f"{HPA}Spec#minReplicas"),
            Column("MaxPods", f"{HPA}Spec#maxReplicas"),
            Column("Replicas", f"{HPA}Status#currentReplicas"),
            AGE,
        ),
        cells=autoscaler_cells,
    ),
    notices=stored("HorizontalPodAutoscaler", "has no HorizontalPodAutoscaler controller", "scales nothing"),
)
