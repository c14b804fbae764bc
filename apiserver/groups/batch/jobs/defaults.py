"""Defaults of Jobs, and of the templates of CronJobs."""

from apiserver.api.meta import Obj
from apiserver.groups.apps.workload_defaults import default_labels
from apiserver.groups.core.pods.defaults import default_template

BACKOFF_LIMIT = 6

NO_BACKOFF_LIMIT = 2**31 - 1
"""The backoffLimit of a Job that limits the retries of each index instead."""


def default_job(job: Obj) -> None:
    """Set the defaults of a Job: one pod once, six retries (batch/v1 SetDefaults_Job)."""
    spec = job.setdefault("spec", {})
    if "completions" not in spec and "parallelism" not in spec:
        spec["completions"] = 1
    spec.setdefault("parallelism", 1)
    spec.setdefault("backoffLimit", NO_BACKOFF_LIMIT if "backoffLimitPerIndex" in spec else BACKOFF_LIMIT)
    spec.setdefault("completionMode", "NonIndexed")
    spec.setdefault("suspend", False)
    spec.setdefault("manualSelector", False)
    spec.setdefault("podReplacementPolicy", "Failed" if "podFailurePolicy" in spec else "TerminatingOrFailed")
    default_job_spec(spec)
    default_labels(job, spec["template"])


def default_job_spec(spec: Obj) -> None:
    """Set the defaults of a Job's spec, or of a CronJob's jobTemplate."""
    for rule in spec.get("podFailurePolicy", {}).get("rules") or ():
        for pattern in rule.get("onPodConditions") or ():
            pattern["status"] = pattern.get("status") or "True"
    default_template(spec.setdefault("template", {}))
