"""Specs of CloneSets and Advanced StatefulSets, which have much in common."""

import copy
from typing import Any

CLONES, OLD_CLONES = ("CloneSet", "v1beta1"), ("CloneSet", "v1alpha1")
STATEFUL, OLD_STATEFUL = ("StatefulSet", "v1beta1"), ("StatefulSet", "v1alpha1")
ALL = (CLONES, OLD_CLONES, STATEFUL, OLD_STATEFUL)
LABELS = {"app": "web"}
ORDER = {"orderPriority": [{"orderedKey": "rank"}]}


def pods(**spec: Any) -> dict[str, Any]:
    """A template of pods."""
    containers = [{"name": "web", "image": "web:1"}]
    return {"metadata": {"labels": dict(LABELS)}, "spec": {"containers": containers, **spec}}


GATED = pods(readinessGates=[{"conditionType": "InPlaceUpdateReady"}])


def made(**spec: Any) -> dict[str, Any]:
    """The spec of a set."""
    return copy.deepcopy({"replicas": 4, "selector": {"matchLabels": LABELS}, "template": pods()} | spec)


def rolling(**fields: Any) -> dict[str, Any]:
    """The spec of a set that is updated so."""
    return made(updateStrategy={"type": "RollingUpdate", "rollingUpdate": fields})


def updated(**strategy: Any) -> dict[str, Any]:
    """The spec of a set with such an updateStrategy."""
    return made(updateStrategy=strategy)
