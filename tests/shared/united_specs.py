"""Specs of UnitedDeployments."""

from typing import Any

from set_specs import LABELS, pods

STATEFUL, ADVANCED, CLONES, DEPLOYMENT = (
    "statefulSetTemplate",
    "advancedStatefulSetTemplate",
    "cloneSetTemplate",
    "deploymentTemplate",
)
ALL = (STATEFUL, ADVANCED, CLONES, DEPLOYMENT)
ADAPTIVE = {"type": "Adaptive"}
RESERVE = {"type": "Adaptive", "adaptive": {"reserveUnschedulablePods": True}}


def template(**spec: Any) -> dict[str, Any]:
    """A template of workloads."""
    return {"metadata": {"labels": dict(LABELS)}, "spec": {"template": pods()} | spec}


def subset(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name} | more


def united(
    *subsets: Any,  # tests of what is refused give what is no subset
    field: str = STATEFUL,
    strategy: dict[str, Any] | None = None,
    partitions: dict[str, Any] | None = None,
    **more: Any,
) -> dict[str, Any]:
    """The spec of a UnitedDeployment whose template is in a field."""
    topology = {"subsets": list(subsets or (subset("a"), subset("b")))}
    spec = {
        "replicas": 4,
        "selector": {"matchLabels": dict(LABELS)},
        "template": {field: template()},
        "topology": topology | ({"scheduleStrategy": strategy} if strategy else {}),
    }
    if partitions is not None:
        spec["updateStrategy"] = {"type": "Manual", "manualUpdate": {"partitions": partitions}}
    return spec | more
