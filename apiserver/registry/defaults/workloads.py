"""Workloads: controllers of pods, their templates and how they roll out (apps, batch, replication controllers)."""

from collections.abc import Mapping
from typing import Any

from apiserver.api.meta import Obj
from apiserver.registry.defaults.pods import default_template
from apiserver.registry.defaults.storage import default_claim

REVISION_HISTORY = 10
PROGRESS_SECONDS = 600
BACKOFF_LIMIT = 6
NO_BACKOFF_LIMIT = 2**31 - 1
"""Of a job that limits the retries of each index instead."""

_STATEFUL_SET: Mapping[str, Any] = {
    "podManagementPolicy": "OrderedReady",
    "replicas": 1,
    "revisionHistoryLimit": REVISION_HISTORY,
}
_DEPLOYMENT: Mapping[str, Any] = {
    "progressDeadlineSeconds": PROGRESS_SECONDS,
    "replicas": 1,
    "revisionHistoryLimit": REVISION_HISTORY,
}
_CRON_JOB: Mapping[str, Any] = {
    "concurrencyPolicy": "Allow",
    "failedJobsHistoryLimit": 1,
    "successfulJobsHistoryLimit": 3,
    "suspend": False,
}


def default_deployment(deployment: Obj) -> None:
    """Defaults a deployment: one replica, rolled a quarter at a time."""
    spec = _spec_with(deployment, _DEPLOYMENT)
    _default_rolling(spec.setdefault("strategy", {}), {"maxSurge": "25%", "maxUnavailable": "25%"})
    default_template(spec.setdefault("template", {}))


def default_replica_set(replica_set: Obj) -> None:
    """Defaults a replica set."""
    spec = _spec_with(replica_set, {"replicas": 1})
    default_template(spec.setdefault("template", {}))


def default_daemon_set(daemon_set: Obj) -> None:
    """Defaults a daemon set: one node after the other."""
    spec = _spec_with(daemon_set, {"revisionHistoryLimit": REVISION_HISTORY})
    _default_rolling(spec.setdefault("updateStrategy", {}), {"maxSurge": 0, "maxUnavailable": 1})
    default_template(spec.setdefault("template", {}))


def default_stateful_set(stateful_set: Obj) -> None:
    """Defaults a stateful set; its claim templates are claims, with apiVersion and kind spelled out (conversion)."""
    spec = _spec_with(stateful_set, _STATEFUL_SET)
    _default_stateful_strategy(spec.setdefault("updateStrategy", {}))
    retention = spec.setdefault("persistentVolumeClaimRetentionPolicy", {})
    retention.setdefault("whenDeleted", "Retain")
    retention.setdefault("whenScaled", "Retain")
    default_template(spec.setdefault("template", {}))
    for claim in spec.get("volumeClaimTemplates") or ():
        claim["apiVersion"] = "v1"
        claim["kind"] = "PersistentVolumeClaim"
        default_claim(claim)


def default_replication_controller(controller: Obj) -> None:
    """Defaults a replication controller: selector and labels are its template's where it has none."""
    spec = _spec_with(controller, {"replicas": 1})
    template = spec.get("template")
    if template is None:
        return
    _default_labels(controller, template)
    labels = _labels(template)
    if labels and not spec.get("selector"):
        spec["selector"] = dict(labels)
    default_template(template)


def default_job(job: Obj) -> None:
    """Defaults a job: one pod once, six retries (batch/v1 SetDefaults_Job)."""
    spec = job.setdefault("spec", {})
    if "completions" not in spec and "parallelism" not in spec:
        spec["completions"] = 1
    spec.setdefault("parallelism", 1)
    spec.setdefault("backoffLimit", NO_BACKOFF_LIMIT if "backoffLimitPerIndex" in spec else BACKOFF_LIMIT)
    spec.setdefault("completionMode", "NonIndexed")
    spec.setdefault("suspend", False)
    spec.setdefault("manualSelector", False)
    spec.setdefault("podReplacementPolicy", "Failed" if "podFailurePolicy" in spec else "TerminatingOrFailed")
    _default_job_spec(spec)
    _default_labels(job, spec["template"])


def default_cron_job(cron_job: Obj) -> None:
    """Defaults a cron job; of the job it makes only what lies below, since the job itself is defaulted when made."""
    spec = _spec_with(cron_job, _CRON_JOB)
    _default_job_spec(spec.setdefault("jobTemplate", {}).setdefault("spec", {}))


def default_pod_template(holder: Obj) -> None:
    """Defaults a PodTemplate object."""
    default_template(holder.setdefault("template", {}))


def _default_job_spec(spec: Obj) -> None:
    for rule in spec.get("podFailurePolicy", {}).get("rules") or ():
        for pattern in rule.get("onPodConditions") or ():
            pattern["status"] = pattern.get("status") or "True"
    default_template(spec.setdefault("template", {}))


def _spec_with(obj: Obj, constants: Mapping[str, Any]) -> Obj:
    spec: Obj = obj.setdefault("spec", {})
    for name, value in constants.items():
        spec.setdefault(name, value)
    return spec


def _default_rolling(strategy: Obj, rolling: Mapping[str, Any]) -> None:
    """A strategy is RollingUpdate, and that has bounds."""
    if strategy.setdefault("type", "RollingUpdate") == "RollingUpdate":
        bounds = strategy.setdefault("rollingUpdate", {})
        for name, value in rolling.items():
            bounds.setdefault(name, value)


def _default_stateful_strategy(strategy: Obj) -> None:
    """The whole set rolls; a spelled-out RollingUpdate without bounds stays without (apps/v1)."""
    if "type" not in strategy:
        strategy["type"] = "RollingUpdate"
        strategy.setdefault("rollingUpdate", {})
    if strategy["type"] == "RollingUpdate" and "rollingUpdate" in strategy:
        strategy["rollingUpdate"].setdefault("partition", 0)


def _default_labels(obj: Obj, template: Obj) -> None:
    """The template's labels are those of an object that has none."""
    labels = _labels(template)
    meta = obj.setdefault("metadata", {})
    if labels and not meta.get("labels"):
        meta["labels"] = dict(labels)


def _labels(template: Obj) -> dict[str, str] | None:
    return (template.get("metadata") or {}).get("labels")
