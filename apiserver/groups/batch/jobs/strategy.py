"""The strategy of Jobs."""

from apiserver.api.meta import Obj
from apiserver.groups.strategy import Strategy, status_updating, updating

UID_LABEL = "batch.kubernetes.io/controller-uid"

LEGACY_UID_LABEL = "controller-uid"

NAME_LABEL, LEGACY_NAME_LABEL = "batch.kubernetes.io/job-name", "job-name"


def _create_job(job: Obj) -> None:
    """Reset the status; unless manualSelector is set, make the Job select its own pods by its UID."""
    job["status"] = {}
    job["metadata"]["generation"] = 1
    if not job["spec"].get("manualSelector"):
        _generate_selector(job)


def _generate_selector(job: Obj) -> None:
    spec, meta = job["spec"], job["metadata"]
    name, uid = meta.get("name", ""), meta["uid"]
    template = spec.setdefault("template", {}).setdefault("metadata", {})
    template["labels"] = labels = dict(template.get("labels") or {})
    for label in (NAME_LABEL, LEGACY_NAME_LABEL):
        labels.setdefault(label, name)
    for label in (LEGACY_UID_LABEL, UID_LABEL):
        labels.setdefault(label, uid)
    selector = spec.setdefault("selector", {})
    selector["matchLabels"] = {UID_LABEL: uid} | (selector.get("matchLabels") or {})
    if not meta.get("labels"):
        meta["labels"] = dict(labels)


JOB_STRATEGY = Strategy(
    _create_job, updating("spec"), status_updating(), has_status=True, default_propagation="Orphan", uses_name=True
)
