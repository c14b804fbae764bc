"""Conversions between the versions of a kind that are not alike: Events of both groups, HorizontalPodAutoscalers.

All other versions of a kind that the newest releases serve have the same fields and differ in apiVersion alone.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from apiserver.api.meta import Obj
from apiserver.registry import autoscaler_conversion


@dataclass(frozen=True, slots=True)
class Conversion:
    """The two ways between a served version and the stored one."""

    to_storage: Callable[[Obj], Obj]
    from_storage: Callable[[Obj], Obj]


def _renamed(obj: Obj, names: Mapping[str, str]) -> Obj:
    return {names.get(key, key): value for key, value in obj.items()}


_EVENT_NAMES = {  # events.k8s.io/v1 → core/v1 (pkg/apis/events/v1/conversion.go)
    "regarding": "involvedObject",
    "note": "message",
    "reportingController": "reportingComponent",
    "deprecatedSource": "source",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
}
_CORE_NAMES = {core: new for new, core in _EVENT_NAMES.items()}
_CORE_ALWAYS: Obj = {
    "involvedObject": {},
    "source": {},
    "firstTimestamp": None,
    "lastTimestamp": None,
    "eventTime": None,
    "reportingComponent": "",
    "reportingInstance": "",
}


def _event_to_core(obj: Obj) -> Obj:
    return _CORE_ALWAYS | _renamed(obj, _EVENT_NAMES)


def _event_from_core(obj: Obj) -> Obj:
    return _renamed(_without(obj, ("reportingComponent", "reportingInstance")), _CORE_NAMES)


def _without(obj: Obj, optional: tuple[str, ...]) -> Obj:
    return {k: v for k, v in obj.items() if v not in ("", None) or k not in optional}


CONVERSIONS: Mapping[tuple[str, str, str], Conversion] = {
    ("events.k8s.io", "v1", "Event"): Conversion(_event_to_core, _event_from_core),
    ("autoscaling", "v1", "HorizontalPodAutoscaler"): Conversion(
        autoscaler_conversion.to_v2, autoscaler_conversion.from_v2
    ),
}
"""(group, served version, kind) → its conversion to and from the stored version, for versions that are not alike."""
