"""What happened to an object, as controllers tell it, and as Events of both APIs write it."""

import re
import uuid
from dataclasses import dataclass, replace
from typing import Any

from apiserver.api.meta import Obj, metadata, name_of, namespace_of
from controller_manager.reconcile.contract import RecordEvent
from controller_manager.reconcile.times import micro_stamp, stamp

SCHEDULER = "default-scheduler"
"""The component that speaks events.k8s.io; all others speak the core API, as upstream's do."""

_ACTIONS = {"Scheduled": "Binding", "FailedScheduling": "Scheduling", "Preempted": "Preempting"}
"""What the scheduler was doing (pkg/scheduler: Eventf's action)."""
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
_LONGEST_NAME = 253
_LONGEST_NOTE = 1024
"""Bytes (k8s.io/kubernetes/pkg/apis/core/validation NoteLengthLimit)."""
_CUT = " ..."


@dataclass(frozen=True, slots=True)
class Occurrence:
    """Something that happened, once.

    Attributes:
        component: who says so.
        host: the node that says so.
        namespace: of the object; "" where it has none.
        nanos: when, in nanoseconds since 1970; no two of one recorder are the same.
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
    def subject(self) -> tuple[str, ...]:
        """Who says something of which object (getSpamKey)."""
        return (self.component, self.host, self.api_version, self.kind, self.namespace, self.name, self.uid)

    @property
    def similar(self) -> tuple[str, ...]:
        """What differs in its message alone (EventAggregatorByReasonFunc)."""
        return (*self.subject, self.type, self.reason)

    @property
    def same(self) -> tuple[str, ...]:
        """What differs in nothing but the time (getEventKey)."""
        return (*self.similar, self.field_path, self.message)

    @property
    def isomorphic(self) -> tuple[str, ...]:
        """What makes one series of events.k8s.io (tools/events getKey)."""
        return (*self.similar, self.field_path, self.resource_version)

    @property
    def seconds(self) -> float:
        """When, in seconds since 1970."""
        return self.nanos / 1e9

    @property
    def event_namespace(self) -> str:
        """Where its Event is: with the object, or in "default"."""
        return self.namespace or "default"

    @property
    def event_name(self) -> str:
        """The name of its Event (record/util GenerateEventName)."""
        name = f"{self.name}.{self.nanos:x}"
        return name if len(name) <= _LONGEST_NAME and _SUBDOMAIN.fullmatch(name) else str(uuid.uuid4())

    def combined(self) -> "Occurrence":
        """The one that stands for many like it (EventAggregatorByReasonMessageFunc)."""
        return replace(self, field_path="", message=f"(combined from similar events): {self.message}")


def occurrence(emit: RecordEvent, source: str, *, nanos: int) -> Occurrence:
    """What a plan tells.

    Args:
        emit: the plan's words.
        source: the component that says so if the words name none.
        nanos: when, in nanoseconds since 1970.
    """
    obj = emit.regarding
    meta = metadata(obj)
    return Occurrence(
        component=emit.component or source,
        host=emit.host,
        api_version=obj.get("apiVersion", ""),
        kind=obj.get("kind", ""),
        namespace=namespace_of(obj),
        name=name_of(obj),
        uid=meta.get("uid", ""),
        resource_version=meta.get("resourceVersion", ""),
        field_path=emit.field_path,
        type=emit.type,
        reason=emit.reason,
        message=emit.message,
        nanos=nanos,
    )


def core_event(said: Occurrence, *, name: str, count: int, first: int) -> Obj:
    """The Event of the core API.

    Args:
        said: what happened last.
        name: of the Event.
        count: how often it happened.
        first: when it happened first, in nanoseconds since 1970.
    """
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": said.event_namespace},
        "involvedObject": _reference(said),
        "reason": said.reason,
        "message": said.message,
        "source": _given(component=said.component, host=said.host),
        "firstTimestamp": stamp(first / 1e9),
        "lastTimestamp": stamp(said.seconds),
        "count": count,
        "type": said.type,
        "reportingComponent": said.component,
        "reportingInstance": said.host,
    }


def core_patch(said: Occurrence, *, count: int) -> Obj:
    """What changes in an Event of the core API that happened again (eventLogger.eventObserve)."""
    return {"count": count, "lastTimestamp": stamp(said.seconds), "message": said.message}


def new_event(said: Occurrence, *, name: str, instance: str, series: Obj | None = None) -> Obj:
    """The Event of events.k8s.io/v1.

    Args:
        said: what happened first.
        name: of the Event.
        instance: which process of the component says so.
        series: how often it happened, None for once.
    """
    return {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": said.event_namespace},
        "eventTime": micro_stamp(said.seconds),
        **({"series": series} if series else {}),
        "reportingController": said.component,
        "reportingInstance": instance,
        "action": _ACTIONS.get(said.reason, said.reason),
        "reason": said.reason,
        "regarding": _reference(said),
        "note": _note(said.message),
        "type": said.type,
    }


def _note(message: str) -> str:
    """The message, as much of it as a note takes (pkg/scheduler truncateMessage)."""
    encoded = message.encode(errors="replace")
    if len(encoded) <= _LONGEST_NOTE:
        return message
    return encoded[: _LONGEST_NOTE - len(_CUT)].decode(errors="ignore") + _CUT


def _reference(said: Occurrence) -> Obj:
    return _given(
        kind=said.kind,
        namespace=said.namespace,
        name=said.name,
        uid=said.uid,
        apiVersion=said.api_version,
        resourceVersion=said.resource_version,
        fieldPath=said.field_path,
    )


def _given(**values: Any) -> Obj:
    return {name: value for name, value in values.items() if value}
