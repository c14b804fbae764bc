"""Defaults that the kinds of workloads share."""

from collections.abc import Mapping
from typing import Any

from apiserver.api.meta import Obj

REVISION_HISTORY = 10


def spec_with(obj: Obj, constants: Mapping[str, Any]) -> Obj:
    """Set constants where the spec has no value, and return the spec."""
    spec: Obj = obj.setdefault("spec", {})
    for name, value in constants.items():
        spec.setdefault(name, value)
    return spec


def default_rolling(strategy: Obj, defaults: Mapping[str, Any]) -> None:
    """Default the strategy to RollingUpdate, and its rollingUpdate to the given bounds."""
    if strategy.setdefault("type", "RollingUpdate") == "RollingUpdate":
        bounds = strategy.setdefault("rollingUpdate", {})
        for name, value in defaults.items():
            bounds.setdefault(name, value)


def default_labels(obj: Obj, template: Obj) -> None:
    """Copy the template's labels to an object that has no labels."""
    labels = labels_in(template)
    meta = obj.setdefault("metadata", {})
    if labels and not meta.get("labels"):
        meta["labels"] = dict(labels)


def labels_in(template: Obj) -> dict[str, str] | None:
    """Return the labels of a pod template, or None if it has none."""
    return (template.get("metadata") or {}).get("labels")
