"""ReplicaSets (apps): defaults, strategy, validation and columns."""

from apiserver.api.field import FieldError
from apiserver.api.meta import Obj, name_of
from apiserver.groups.apps.workload_columns import container_cells, pod_spec_of, replica_columns, replica_counts
from apiserver.groups.apps.workload_defaults import spec_with
from apiserver.groups.apps.workload_validation import min_ready, replicas, status_update, workload_validator
from apiserver.groups.cell_format import age, selector_text
from apiserver.groups.cells import Cells, mapping
from apiserver.groups.columns import APPS, Printer
from apiserver.groups.core.pods.defaults import default_template
from apiserver.groups.core.pods.templates import required_selector, selected_template
from apiserver.groups.kind import ALL, BuiltinKind
from apiserver.groups.strategy import Strategy, creation, status_updating, updating


def default_replica_set(replica_set: Obj) -> None:
    """Set the defaults of a ReplicaSet."""
    spec = spec_with(replica_set, {"replicas": 1})
    default_template(spec.setdefault("template", {}))


REPLICA_SET_STRATEGY = Strategy(
    creation(status=lambda: {"replicas": 0}), updating("spec"), status_updating(), has_status=True
)


def _replica_set_spec(spec: Obj) -> list[FieldError]:
    errors = [*replicas(spec), *min_ready(spec)]
    errors += required_selector(spec.get("selector"), "deployment")
    return errors + selected_template(spec, malformed="invalid label selector", owner="ReplicaSet")


replica_set_status = status_update(
    "replicas",
    "fullyLabeledReplicas",
    "readyReplicas",
    "availableReplicas",
    "observedGeneration",
    within=("fullyLabeledReplicas", "readyReplicas", "availableReplicas"),
    unready="cannot be greater than readyReplicas",
)


def _replica_set(obj: Obj) -> Cells:
    spec = mapping(obj, "spec")
    containers = container_cells(pod_spec_of(spec))
    return [name_of(obj), *replica_counts(obj), age(obj), *containers, selector_text(spec, "selector")]


REPLICA_SET = BuiltinKind(
    "apps",
    "ReplicaSet",
    ("rs",),
    categories=ALL,
    subresources=("scale",),
    default=default_replica_set,
    strategy=REPLICA_SET_STRATEGY,
    validator=workload_validator(_replica_set_spec, replica_set_status, selector_is_immutable=True),
    printer=Printer(columns=replica_columns(f"{APPS}ReplicaSet"), cells=_replica_set),
)
