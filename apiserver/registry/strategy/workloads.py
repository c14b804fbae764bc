"""Workloads: when their generation moves, and what jobs and daemon sets write into themselves."""

from apiserver.api.meta import Obj
from apiserver.registry.strategy.contract import Strategy, creation, keep, move_generation, status_updating, updating

TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"
UID_LABEL = "batch.kubernetes.io/controller-uid"
_LEGACY_UID_LABEL = "controller-uid"
_NAME_LABELS = ("batch.kubernetes.io/job-name", "job-name")


def _update_deployment(new: Obj, old: Obj) -> None:
    """A deployment's annotations are copied to its replica sets, so that they count as desired state."""
    keep(new, old, "status")
    annotations = new["metadata"].get("annotations") or {}
    if new["spec"] != old["spec"] or annotations != (old["metadata"].get("annotations") or {}):
        move_generation(new, old)


def _create_daemon_set(daemon_set: Obj) -> None:
    daemon_set["status"] = {
        "currentNumberScheduled": 0,
        "desiredNumberScheduled": 0,
        "numberMisscheduled": 0,
        "numberReady": 0,
    }
    daemon_set["metadata"]["generation"] = 1
    _set_template_generation(daemon_set, max(_template_generation(daemon_set), 1))


def _update_daemon_set(new: Obj, old: Obj) -> None:
    """The generation of the template is the server's, and moves with the template."""
    keep(new, old, "status")
    moved = new["spec"].get("template") != old["spec"].get("template")
    _set_template_generation(new, _template_generation(old) + moved)
    if new["spec"] != old["spec"]:
        move_generation(new, old)


def _update_daemon_set_status(new: Obj, old: Obj) -> None:
    keep(new, old, "spec")
    _set_template_generation(new, _template_generation(old))


def _template_generation(daemon_set: Obj) -> int:
    """The number in the annotation that stands for spec.templateGeneration, 0 where there is none (conversion)."""
    written = (daemon_set["metadata"].get("annotations") or {}).get(TEMPLATE_GENERATION, "")
    return int(written) if written.isascii() and written.isdecimal() else 0


def _set_template_generation(daemon_set: Obj, generation: int) -> None:
    meta = daemon_set["metadata"]
    meta["annotations"] = (meta.get("annotations") or {}) | {TEMPLATE_GENERATION: str(generation)}


def _create_job(job: Obj) -> None:
    """A job selects its own pods by its uid, unless it says by which labels it finds them."""
    job["status"] = {}
    job["metadata"]["generation"] = 1
    if not job["spec"].get("manualSelector"):
        _generate_selector(job)


def _generate_selector(job: Obj) -> None:
    spec, meta = job["spec"], job["metadata"]
    name, uid = meta.get("name", ""), meta["uid"]
    template = spec.setdefault("template", {}).setdefault("metadata", {})
    template["labels"] = labels = dict(template.get("labels") or {})
    for label, value in (*((label, name) for label in _NAME_LABELS), (_LEGACY_UID_LABEL, uid), (UID_LABEL, uid)):
        labels.setdefault(label, value)
    selector = spec.setdefault("selector", {})
    selector["matchLabels"] = {UID_LABEL: uid} | (selector.get("matchLabels") or {})
    if not meta.get("labels"):
        meta["labels"] = dict(labels)


def _create_autoscaler(autoscaler: Obj) -> None:
    """The versions' statuses are not alike."""
    first = autoscaler["apiVersion"] == "autoscaling/v1"
    empty: Obj = {"currentReplicas": 0} if first else {"currentMetrics": None}
    autoscaler["status"] = empty | {"desiredReplicas": 0}


AUTOSCALER = Strategy(_create_autoscaler, updating(), status_updating(), has_status=True)
CRON_JOB = Strategy(creation(status=dict), updating("spec"), status_updating(), has_status=True)
DAEMON_SET = Strategy(_create_daemon_set, _update_daemon_set, _update_daemon_set_status, has_status=True)
DEPLOYMENT = Strategy(creation(status=dict), _update_deployment, status_updating("labels"), has_status=True)
JOB = Strategy(
    _create_job, updating("spec"), status_updating(), has_status=True, default_propagation="Orphan", uses_name=True
)
REPLICA_SET = Strategy(creation(status=lambda: {"replicas": 0}), updating("spec"), status_updating(), has_status=True)
REPLICATION_CONTROLLER = Strategy(
    creation(status=lambda: {"replicas": 0}),
    updating("spec"),
    status_updating(),
    has_status=True,
    default_propagation="Orphan",
)
STATEFUL_SET = Strategy(
    creation(status=lambda: {"availableReplicas": 0, "replicas": 0}),
    updating("spec"),
    status_updating(),
    has_status=True,
)
