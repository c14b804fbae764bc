"""ReplicationControllers (core): defaults, strategy, validation, field labels and columns."""

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj, labels_of, name_of
from apiserver.api.validation.combinators import at
from apiserver.groups.apps.replicasets import replica_set_status
from apiserver.groups.apps.workload_columns import container_cells, pod_spec_of, replica_columns, replica_counts
from apiserver.groups.apps.workload_defaults import default_labels, labels_in, spec_with
from apiserver.groups.apps.workload_validation import min_ready, replicas, workload_validator
from apiserver.groups.cell_format import age, labels_text
from apiserver.groups.cells import Cells, mapping
from apiserver.groups.columns import CORE, Printer
from apiserver.groups.core.pods.defaults import default_template
from apiserver.groups.core.pods.templates import mismatch, validate_always_restarts
from apiserver.groups.core.pods.validation import pod_template
from apiserver.groups.field_labels import Fields
from apiserver.groups.kind import ALL, BuiltinKind
from apiserver.groups.strategy import Strategy, creation, status_updating, updating


def default_replication_controller(controller: Obj) -> None:
    """Set the defaults of a ReplicationController; missing selector and labels are copied from its template."""
    spec = spec_with(controller, {"replicas": 1})
    template = spec.get("template")
    if template is None:
        return
    default_labels(controller, template)
    labels = labels_in(template)
    if labels and not spec.get("selector"):
        spec["selector"] = dict(labels)
    default_template(template)


REPLICATION_CONTROLLER_STRATEGY = Strategy(
    creation(status=lambda: {"replicas": 0}),
    updating("spec"),
    status_updating(),
    has_status=True,
    default_propagation="Orphan",
)


def _replication_controller_spec(spec: Obj) -> list[FieldError]:
    selector, template = spec.get("selector"), spec.get("template")
    errors = [*min_ready(spec)]
    if not selector:
        errors.append(field.required("selector"))
    errors += replicas(spec)
    if template is None:
        return [*errors, field.required("template")]
    if any(labels_of(template).get(name) != value for name, value in (selector or {}).items()):
        errors.append(mismatch(template))
    return [
        *errors,
        *at("template", pod_template(template)),
        *validate_always_restarts(template, "ReplicationController"),
    ]


def _replication_controller_fields(controller: Obj) -> Fields:
    return {"status.replicas": str((controller.get("status") or {}).get("replicas", 0))}


def _replication_controller_cells(obj: Obj) -> Cells:
    spec = mapping(obj, "spec")
    containers = container_cells(pod_spec_of(spec))
    return [name_of(obj), *replica_counts(obj), age(obj), *containers, labels_text(mapping(spec, "selector"))]


REPLICATION_CONTROLLER = BuiltinKind(
    "",
    "ReplicationController",
    ("rc",),
    categories=ALL,
    subresources=("scale",),
    fields=("status.replicas",),
    prefix="controllers",
    default=default_replication_controller,
    strategy=REPLICATION_CONTROLLER_STRATEGY,
    validator=workload_validator(_replication_controller_spec, replica_set_status, selector_is_immutable=False),
    field_labels=_replication_controller_fields,
    printer=Printer(columns=replica_columns(f"{CORE}ReplicationController"), cells=_replication_controller_cells),
)
