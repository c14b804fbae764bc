"""Rows of the kinds that run pods: apps, and what guards or scales them."""

from typing import Any

from apiserver.api.meta import Obj, group_version, metadata, name_of
from apiserver.endpoints.tables.columns import AGE, CONTAINERS, CORE, IMAGES, META, NAME, Column, Printer, Printers
from apiserver.endpoints.tables.fields import NONE, Cells, mapping, mappings, number, text
from apiserver.endpoints.tables.format import age, labels_text, selector_requirements, selector_text

_APPS = "io.k8s.api.apps.v1."


def pod_spec_of(owner_spec: Obj) -> Obj:
    """The pods' spec in the spec of what makes them."""
    return mapping(mapping(owner_spec, "template"), "spec")


def container_cells(pod_spec: Obj) -> Cells:
    """The cells of the columns Containers and Images."""
    containers = mappings(pod_spec, "containers")
    return [",".join([text(c, key) for c in containers]) for key in ("name", "image")]


def _deployment(obj: Obj) -> Cells:
    spec, status = mapping(obj, "spec"), mapping(obj, "status")
    selector = selector_requirements(mapping(spec, "selector"))
    return [
        name_of(obj),
        f"{number(status, 'readyReplicas')}/{number(spec, 'replicas')}",
        number(status, "updatedReplicas"),
        number(status, "availableReplicas"),
        age(obj),
        *container_cells(pod_spec_of(spec)),
        "<invalid>" if selector is None else selector,
    ]


def _replica_counts(obj: Obj) -> Cells:
    status = mapping(obj, "status")
    return [number(mapping(obj, "spec"), "replicas"), number(status, "replicas"), number(status, "readyReplicas")]


def _replica_set(obj: Obj) -> Cells:
    spec = mapping(obj, "spec")
    containers = container_cells(pod_spec_of(spec))
    return [name_of(obj), *_replica_counts(obj), age(obj), *containers, selector_text(spec, "selector")]


def _replication_controller(obj: Obj) -> Cells:
    spec = mapping(obj, "spec")
    containers = container_cells(pod_spec_of(spec))
    return [name_of(obj), *_replica_counts(obj), age(obj), *containers, labels_text(mapping(spec, "selector"))]


def _stateful_set(obj: Obj) -> Cells:
    spec = mapping(obj, "spec")
    ready = f"{number(mapping(obj, 'status'), 'readyReplicas')}/{number(spec, 'replicas')}"
    return [name_of(obj), ready, age(obj), *container_cells(pod_spec_of(spec))]


_DAEMON_COUNTS = (
    ("Desired", "desiredNumberScheduled"),
    ("Current", "currentNumberScheduled"),
    ("Ready", "numberReady"),
    ("Up-to-date", "updatedNumberScheduled"),
    ("Available", "numberAvailable"),
)


def _daemon_set(obj: Obj) -> Cells:
    spec, status = mapping(obj, "spec"), mapping(obj, "status")
    pod_spec = pod_spec_of(spec)
    return [
        name_of(obj),
        *[number(status, field) for _, field in _DAEMON_COUNTS],
        labels_text(mapping(pod_spec, "nodeSelector")),
        age(obj),
        *container_cells(pod_spec),
        selector_text(spec, "selector"),
    ]


def _controller_revision(obj: Obj) -> Cells:
    owners = [owner for owner in mappings(metadata(obj), "ownerReferences") if owner.get("controller") is True]
    return [name_of(obj), _owner_text(owners[0]) if owners else NONE, number(obj, "revision"), age(obj)]


def _owner_text(owner: Obj) -> str:
    group, _ = group_version(text(owner, "apiVersion"))
    kind = f"{text(owner, 'kind')}.{group}" if group else text(owner, "kind")
    return f"{kind.lower()}/{text(owner, 'name')}" if kind else text(owner, "name")


def _pod_template(obj: Obj) -> Cells:
    template = mapping(obj, "template")
    labels = labels_text(mapping(metadata(template), "labels"))
    return [name_of(obj), *container_cells(mapping(template, "spec")), labels]


def _int_or_string(value: Any) -> str:
    return "N/A" if value is None else str(value)


def _pod_disruption_budget(obj: Obj) -> Cells:
    spec = mapping(obj, "spec")
    bounds = [_int_or_string(spec.get(bound)) for bound in ("minAvailable", "maxUnavailable")]
    return [name_of(obj), *bounds, number(mapping(obj, "status"), "disruptionsAllowed"), age(obj)]


def _scale(obj: Obj) -> Cells:
    return [
        name_of(obj),
        number(mapping(obj, "spec"), "replicas"),
        number(mapping(obj, "status"), "replicas"),
        age(obj),
    ]


def selector_column(definition: str) -> Column:
    """The column Selector of a kind, told by the definition of its spec."""
    return Column("Selector", f"{definition}#selector", priority=1)


def _replica_columns(kind: str) -> tuple[Column, ...]:
    """The columns of a kind that holds a number of pods: ReplicaSet and ReplicationController."""
    return (
        NAME,
        Column("Desired", f"{kind}Spec#replicas", type="integer"),
        Column("Current", f"{kind}Status#replicas", type="integer"),
        Column("Ready", f"{kind}Status#readyReplicas", type="integer"),
        AGE,
        CONTAINERS,
        IMAGES,
        selector_column(f"{kind}Spec"),
    )


_READY_PODS = Column("Ready", "How many pods are ready, of how many are wanted.")

PRINTERS: Printers = {
    ("apps", "Deployment"): Printer(
        columns=(
            NAME,
            _READY_PODS,
            Column("Up-to-date", f"{_APPS}DeploymentStatus#updatedReplicas"),
            Column("Available", f"{_APPS}DeploymentStatus#availableReplicas"),
            AGE,
            CONTAINERS,
            IMAGES,
            selector_column(f"{_APPS}DeploymentSpec"),
        ),
        cells=_deployment,
    ),
    ("apps", "ReplicaSet"): Printer(columns=_replica_columns(f"{_APPS}ReplicaSet"), cells=_replica_set),
    ("", "ReplicationController"): Printer(
        columns=_replica_columns(f"{CORE}ReplicationController"), cells=_replication_controller
    ),
    ("apps", "StatefulSet"): Printer(columns=(NAME, _READY_PODS, AGE, CONTAINERS, IMAGES), cells=_stateful_set),
    ("apps", "DaemonSet"): Printer(
        columns=(
            NAME,
            *(Column(name, f"{_APPS}DaemonSetStatus#{field}", type="integer") for name, field in _DAEMON_COUNTS),
            Column("Node Selector", f"{CORE}PodSpec#nodeSelector"),
            AGE,
            CONTAINERS,
            IMAGES,
            selector_column(f"{_APPS}DaemonSetSpec"),
        ),
        cells=_daemon_set,
    ),
    ("apps", "ControllerRevision"): Printer(
        columns=(
            NAME,
            Column("Controller", "What the revision is a revision of."),
            Column("Revision", f"{_APPS}ControllerRevision#revision"),
            AGE,
        ),
        cells=_controller_revision,
    ),
    ("", "PodTemplate"): Printer(
        columns=(
            NAME,
            Column("Containers", CONTAINERS.doc),
            Column("Images", IMAGES.doc),
            Column("Pod Labels", "Labels of the pod template."),
        ),
        cells=_pod_template,
    ),
    ("policy", "PodDisruptionBudget"): Printer(
        columns=(
            NAME,
            Column("Min Available", "How many pods must stay available."),
            Column("Max Unavailable", "How many pods may be unavailable."),
            Column("Allowed Disruptions", "How many pods may be disrupted right now.", type="integer"),
            AGE,
        ),
        cells=_pod_disruption_budget,
    ),
    ("autoscaling", "Scale"): Printer(
        columns=(
            Column("Name", f"{META}ObjectMeta#name"),
            Column("Desired", "io.k8s.api.autoscaling.v1.ScaleSpec#replicas", type="integer"),
            Column("Available", "io.k8s.api.autoscaling.v1.ScaleStatus#replicas", type="integer"),
            AGE,
        ),
        cells=_scale,
    ),
}
