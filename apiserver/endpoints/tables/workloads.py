"""Rows of the kinds that run pods: apps, batch, and what guards or scales them."""

from typing import Any

from apiserver.api.meta import Obj, group_version, metadata, name_of
from apiserver.endpoints.tables.columns import AGE, CONTAINERS, CORE, IMAGES, META, NAME, Column, Printer, Printers
from apiserver.endpoints.tables.fields import (
    NONE,
    UNSET,
    Cells,
    count,
    has_condition,
    is_deleted,
    mapping,
    mappings,
    number,
    text,
)
from apiserver.endpoints.tables.format import (
    Since,
    age,
    epoch,
    human_duration,
    labels_text,
    selector_requirements,
    selector_text,
    since,
)

_APPS = "io.k8s.api.apps.v1."
_BATCH = "io.k8s.api.batch.v1."


def _pod_spec(owner_spec: Obj) -> Obj:
    return mapping(mapping(owner_spec, "template"), "spec")


def _container_cells(pod_spec: Obj) -> Cells:
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
        *_container_cells(_pod_spec(spec)),
        "<invalid>" if selector is None else selector,
    ]


def _replica_counts(obj: Obj) -> Cells:
    status = mapping(obj, "status")
    return [number(mapping(obj, "spec"), "replicas"), number(status, "replicas"), number(status, "readyReplicas")]


def _replica_set(obj: Obj) -> Cells:
    spec = mapping(obj, "spec")
    containers = _container_cells(_pod_spec(spec))
    return [name_of(obj), *_replica_counts(obj), age(obj), *containers, selector_text(spec, "selector")]


def _replication_controller(obj: Obj) -> Cells:
    spec = mapping(obj, "spec")
    containers = _container_cells(_pod_spec(spec))
    return [name_of(obj), *_replica_counts(obj), age(obj), *containers, labels_text(mapping(spec, "selector"))]


def _stateful_set(obj: Obj) -> Cells:
    spec = mapping(obj, "spec")
    ready = f"{number(mapping(obj, 'status'), 'readyReplicas')}/{number(spec, 'replicas')}"
    return [name_of(obj), ready, age(obj), *_container_cells(_pod_spec(spec))]


_DAEMON_COUNTS = (
    ("Desired", "desiredNumberScheduled"),
    ("Current", "currentNumberScheduled"),
    ("Ready", "numberReady"),
    ("Up-to-date", "updatedNumberScheduled"),
    ("Available", "numberAvailable"),
)


def _daemon_set(obj: Obj) -> Cells:
    spec, status = mapping(obj, "spec"), mapping(obj, "status")
    pod_spec = _pod_spec(spec)
    return [
        name_of(obj),
        *[number(status, field) for _, field in _DAEMON_COUNTS],
        labels_text(mapping(pod_spec, "nodeSelector")),
        age(obj),
        *_container_cells(pod_spec),
        selector_text(spec, "selector"),
    ]


def _controller_revision(obj: Obj) -> Cells:
    owners = [owner for owner in mappings(metadata(obj), "ownerReferences") if owner.get("controller") is True]
    return [name_of(obj), _owner_text(owners[0]) if owners else NONE, number(obj, "revision"), age(obj)]


def _owner_text(owner: Obj) -> str:
    group, _ = group_version(text(owner, "apiVersion"))
    kind = f"{text(owner, 'kind')}.{group}" if group else text(owner, "kind")
    return f"{kind.lower()}/{text(owner, 'name')}" if kind else text(owner, "name")


def _completions(spec: Obj, status: Obj) -> str:
    succeeded = number(status, "succeeded")
    if spec.get("completions") is not None:
        return f"{succeeded}/{number(spec, 'completions')}"
    parallelism = number(spec, "parallelism")
    return f"{succeeded}/1 of {parallelism}" if parallelism > 1 else f"{succeeded}/1"


def _job_duration(status: Obj) -> Since | str:
    start, end = epoch(status.get("startTime")), epoch(status.get("completionTime"))
    if start is None:
        return ""
    return Since(start) if end is None else human_duration(end - start)


def _job_status(job: Obj) -> str:
    status = mapping(job, "status")
    for condition in ("Complete", "Failed"):
        if has_condition(status, condition):
            return condition
    if is_deleted(job):
        return "Terminating"
    for condition in ("Suspended", "FailureTarget", "SuccessCriteriaMet"):
        if has_condition(status, condition):
            return condition
    return "Running"


def _job(obj: Obj) -> Cells:
    spec, status = mapping(obj, "spec"), mapping(obj, "status")
    return [
        name_of(obj),
        _job_status(obj),
        _completions(spec, status),
        _job_duration(status),
        age(obj),
        *_container_cells(_pod_spec(spec)),
        selector_text(spec, "selector"),
    ]


def _cron_job(obj: Obj) -> Cells:
    spec, status = mapping(obj, "spec"), mapping(obj, "status")
    last, suspend = status.get("lastScheduleTime"), spec.get("suspend")
    job_spec = mapping(mapping(spec, "jobTemplate"), "spec")
    return [
        name_of(obj),
        text(spec, "schedule"),
        text(spec, "timeZone", NONE),
        str(suspend) if isinstance(suspend, bool) else UNSET,
        count(status, "active"),
        NONE if last is None else since(last),
        age(obj),
        *_container_cells(_pod_spec(job_spec)),
        selector_text(job_spec, "selector"),
    ]


def _pod_template(obj: Obj) -> Cells:
    template = mapping(obj, "template")
    labels = labels_text(mapping(metadata(template), "labels"))
    return [name_of(obj), *_container_cells(mapping(template, "spec")), labels]


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


def _selector(definition: str) -> Column:
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
        _selector(f"{kind}Spec"),
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
            _selector(f"{_APPS}DeploymentSpec"),
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
            _selector(f"{_APPS}DaemonSetSpec"),
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
    ("batch", "Job"): Printer(
        columns=(
            NAME,
            Column("Status", "The state of the job, in one word."),
            Column("Completions", f"{_BATCH}JobStatus#succeeded"),
            Column("Duration", "How long the job has run, or ran until it was complete."),
            AGE,
            CONTAINERS,
            IMAGES,
            _selector(f"{_BATCH}JobSpec"),
        ),
        cells=_job,
    ),
    ("batch", "CronJob"): Printer(
        columns=(
            NAME,
            Column("Schedule", f"{_BATCH}CronJobSpec#schedule"),
            Column("Timezone", f"{_BATCH}CronJobSpec#timeZone"),
            Column("Suspend", f"{_BATCH}CronJobSpec#suspend", type="boolean"),
            Column("Active", f"{_BATCH}CronJobStatus#active", type="integer"),
            Column("Last Schedule", f"{_BATCH}CronJobStatus#lastScheduleTime"),
            AGE,
            CONTAINERS,
            IMAGES,
            _selector(f"{_BATCH}JobSpec"),
        ),
        cells=_cron_job,
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
