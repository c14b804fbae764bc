"""An occurrence that a controller reports, and the Events of both APIs for it."""

import re
import uuid
from dataclasses import dataclass, replace
from typing import Any

from apiserver.api.meta import Obj, metadata, name_of, namespace_of
from controller_manager.reconcile.contract import RecordEvent
from controller_manager.reconcile.times import format_micro_time, format_time

SCHEDULER = "default-scheduler"
"""The component that uses events.k8s.io; all others use the core API, as upstream."""

_ACTIONS = {"Scheduled": "Binding", "FailedScheduling": "Scheduling", "Preempted": "Preempting"}
"""The `action` of the scheduler's Events, by reason (pkg/scheduler: Eventf's action)."""
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
_MAX_NAME_LENGTH = 253
_MAX_NOTE_LENGTH = 1024
"""Bytes (k8s.io/kubernetes/pkg/apis/core/validation NoteLengthLimit)."""
_ELLIPSIS = " ..."


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A single occurrence to report.

    Attributes:
        component: the reporting component.
        host: the reporting node.
        namespace: the object's namespace, or "" if it is cluster-scoped.
        nanos: the time in nanoseconds since 1970; unique within a recorder.
    """

    component: str
    host: str
    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str
    resource_version: str
    field_path: str
    type: str
    reason: str
    message: str
    nanos: int

    @property
    def spam_key(self) -> tuple[str, ...]:
        """The key of a reporter and an object (getSpamKey)."""
        return (self.component, self.host, self.api_version, self.kind, self.namespace, self.name, self.uid)

    @property
    def aggregate_key(self) -> tuple[str, ...]:
        """The key shared by occurrences that differ only in their messages (EventAggregatorByReasonFunc)."""
        return (*self.spam_key, self.type, self.reason)

    @property
    def event_key(self) -> tuple[str, ...]:
        """The key shared by occurrences that differ only in their times (getEventKey)."""
        return (*self.aggregate_key, self.field_path, self.message)

    @property
    def series_key(self) -> tuple[str, ...]:
        """The key of a series in events.k8s.io (tools/events getKey)."""
        return (*self.aggregate_key, self.field_path, self.resource_version)

    @property
    def seconds(self) -> float:
        """The time in seconds since 1970."""
        return self.nanos / 1e9

    @property
    def event_namespace(self) -> str:
        """The namespace of its Event: the object's, or "default"."""
        return self.namespace or "default"

    @property
    def event_name(self) -> str:
        """The name of its Event (record/util GenerateEventName)."""
        name = f"{self.name}.{self.nanos:x}"
        return name if len(name) <= _MAX_NAME_LENGTH and _SUBDOMAIN.fullmatch(name) else str(uuid.uuid4())

    def combined(self) -> "Occurrence":
        """Return the occurrence that stands for many similar ones (EventAggregatorByReasonMessageFunc)."""
        return replace(self, field_path="", message=f"(combined from similar events): {self.message}")


def new_occurrence(event: RecordEvent, source: str, *, nanos: int) -> Occurrence:
    """Return the occurrence for a RecordEvent action.

    Args:
        event: the plan's action.
        source: the reporting component if `event` names none.
        nanos: the time in nanoseconds since 1970.
    """
    obj = event.regarding
    meta = metadata(obj)
    return Occurrence(
        component=event.component or source,
        host=event.host,
        api_version=obj.get("apiVersion", ""),
        kind=obj.get("kind", ""),
        namespace=namespace_of(obj),
        name=name_of(obj),
        uid=meta.get("uid", ""),
        resource_version=meta.get("resourceVersion", ""),
        field_path=event.field_path,
        type=event.type,
        reason=event.reason,
        message=event.message,
        nanos=nanos,
    )


def core_event(occurred: Occurrence, *, name: str, count: int, first: int) -> Obj:
    """Return the Event of the core API.

    Args:
        occurred: the last occurrence.
        name: the Event's name.
        count: the number of occurrences.
        first: the time of the first, in nanoseconds since 1970.
    """
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": occurred.event_namespace},
        "involvedObject": _reference(occurred),
        "reason": occurred.reason,
        "message": occurred.message,
        "source": _non_empty(component=occurred.component, host=occurred.host),
        "firstTimestamp": format_time(first / 1e9),
        "lastTimestamp": format_time(occurred.seconds),
        "count": count,
        "type": occurred.type,
        "reportingComponent": occurred.component,
        "reportingInstance": occurred.host,
    }


def core_patch(occurred: Occurrence, *, count: int) -> Obj:
    """Return the patch of a core Event that occurred again (eventLogger.eventObserve)."""
    return {"count": count, "lastTimestamp": format_time(occurred.seconds), "message": occurred.message}


def new_event(occurred: Occurrence, *, name: str, instance: str, series: Obj | None = None) -> Obj:
    """Return the Event of events.k8s.io/v1.

    Args:
        occurred: the first occurrence.
        name: the Event's name.
        instance: the reporting process of the component.
        series: the count and the last time, or None for a single occurrence.
    """
    return {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": occurred.event_namespace},
        "eventTime": format_micro_time(occurred.seconds),
        **({"series": series} if series else {}),
        "reportingController": occurred.component,
        "reportingInstance": instance,
        "action": _ACTIONS.get(occurred.reason, occurred.reason),
        "reason": occurred.reason,
        "regarding": _reference(occurred),
        "note": _note(occurred.message),
        "type": occurred.type,
    }


def _note(message: str) -> str:
    """Return the message, truncated to the length of a note (pkg/scheduler truncateMessage)."""
    encoded = message.encode(errors="replace")
    if len(encoded) <= _MAX_NOTE_LENGTH:
        return message
    return encoded[: _MAX_NOTE_LENGTH - len(_ELLIPSIS)].decode(errors="ignore") + _ELLIPSIS


def _reference(occurred: Occurrence) -> Obj:
    return _non_empty(
        kind=occurred.kind,
        namespace=occurred.namespace,
        name=occurred.name,
        uid=occurred.uid,
        apiVersion=occurred.api_version,
        resourceVersion=occurred.resource_version,
        fieldPath=occurred.field_path,
    )


def _non_empty(**values: Any) -> Obj:
    return {name: value for name, value in values.items() if value}
