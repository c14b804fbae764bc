"""Events (core and events.k8s.io): validation, conversion, field labels and columns."""

from collections.abc import Iterator
from dataclasses import dataclass

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj, name_of, namespace_of
from apiserver.api.validation import checks, names
from apiserver.api.validation.contract import Validator, same_on_update
from apiserver.groups.cell_format import AgeCell, since
from apiserver.groups.cells import UNKNOWN, Cells, mapping, number_of, text_of
from apiserver.groups.columns import CORE, NAME, Column, Printer
from apiserver.groups.conversion import Conversion, rename_fields
from apiserver.groups.field_labels import Fields
from apiserver.groups.kind import BuiltinKind
from apiserver.groups.strategy import PLAIN

_LIMITS = {"reportingInstance": 128, "action": 128, "reason": 128, "message": 1024}

_OTHER_NAMES = {  # the core group's field → its name in events.k8s.io
    "involvedObject": "regarding",
    "message": "note",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
    "reportingComponent": "reportingController",
}

_FIXED = (
    ("involvedObject", "involvedObject"),
    ("reason", "reason"),
    ("message", "message"),
    ("source", "source"),
    ("firstTimestamp", "firstTimestamp"),
    ("lastTimestamp", "lastTimestamp"),
    ("count", "count"),
    ("reason", "reason"),
    ("type", "type"),
    ("eventTime", "eventTime"),
    ("action", "action"),
    ("related", "related"),
    ("reportingComponent", "reportingController"),
    ("reportingInstance", "reportingInstance"),
)

_UNSET = ("firstTimestamp", "lastTimestamp", "count", "source")

_TYPES = frozenset({"Normal", "Warning"})

_OTHER_NAMESPACE = "does not match event.namespace"


def _value(event: Obj, name: str) -> object:
    """Return the value of a field by its name in the core group; the event may be of either group."""
    return event.get(name) or event.get(_OTHER_NAMES.get(name, name))


def _core_event(event: Obj) -> Iterator[FieldError]:
    namespace, involved = namespace_of(event), _value(event, "involvedObject")
    involved_namespace = involved.get("namespace") or "" if isinstance(involved, dict) else ""
    if event.get("eventTime"):
        matches = bool(involved_namespace) or namespace in {"default", "kube-system"}
    else:
        matches = namespace == involved_namespace if involved_namespace else namespace in {"", "default"}
    if not matches:
        yield field.invalid("involvedObject.namespace", involved_namespace, _OTHER_NAMESPACE)
    if event.get("eventTime"):
        yield from _new_style(event)
    yield from checks.invalid_values("namespace", namespace, names.dns1123_subdomain(namespace))


def _new_style(event: Obj) -> Iterator[FieldError]:
    controller = str(_value(event, "reportingComponent") or "")
    yield from checks.required("reportingController", controller)
    yield from checks.invalid_values("reportingController", controller, names.qualified_name(controller))
    for name, limit in _LIMITS.items():
        text = str(_value(event, name) or "")
        if not text and name != "message":
            yield field.required(name)
        if len(text.encode()) > limit:
            yield field.invalid(name, "", f"can have at most {limit} characters")


def _new_event(event: Obj) -> Iterator[FieldError]:
    yield from _core_event(event)
    yield from _series(event)
    yield from checks.required("eventTime", event.get("eventTime"))
    kind = event.get("type") or ""
    if kind not in _TYPES:
        yield field.invalid("type", "", f"has invalid value: {kind}")
    for name in _UNSET:
        if _value(event, name):
            yield field.invalid(name, "", "needs to be unset")


def _series(event: Obj) -> Iterator[FieldError]:
    series = event.get("series")
    if series is not None:
        if (series.get("count") or 0) < 2:
            yield field.invalid("series.count", "", "should be at least 2")
        yield from checks.required("series.lastObservedTime", series.get("lastObservedTime"))


def _new_event_update(new: Obj, old: Obj) -> Iterator[FieldError]:
    yield from _core_event(new)
    if new.get("series") != old.get("series"):
        yield from _series(new)
    for name, path in _FIXED:
        yield from checks.immutable(path, _value(new, name), _value(old, name))


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
    return _CORE_ALWAYS | rename_fields(obj, _EVENT_NAMES)


def _event_from_core(obj: Obj) -> Obj:
    return rename_fields(_without(obj, ("reportingComponent", "reportingInstance")), _CORE_NAMES)


def _without(obj: Obj, optional: tuple[str, ...]) -> Obj:
    return {k: v for k, v in obj.items() if v not in ("", None) or k not in optional}


_OBJECT = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")

_INVOLVED = tuple((part, f"involvedObject.{part}", f"regarding.{part}") for part in _OBJECT)


def _event(event: Obj) -> Fields:
    """Return the field labels of an event under the names of both groups, since both read what either writes."""
    involved = event.get("involvedObject") or event.get("regarding") or {}
    source = event.get("source") or event.get("deprecatedSource") or {}
    controller = event.get("reportingComponent") or event.get("reportingController") or ""
    fields = {
        "reason": event.get("reason", ""),
        "reportingComponent": controller,
        "reportingController": controller,
        "source": source.get("component") or controller,
        "type": event.get("type", ""),
    }
    for part, core, new in _INVOLVED:
        fields[core] = fields[new] = involved.get(part, "")
    return fields


@dataclass(frozen=True, slots=True)
class _Fields:
    """The names that one group gives to the event fields that the other group names differently."""

    target: str
    source: str
    controller: str
    message: str
    first: str
    last: str
    count: str


_CORE = _Fields(
    target="involvedObject",
    source="source",
    controller="reportingComponent",
    message="message",
    first="firstTimestamp",
    last="lastTimestamp",
    count="count",
)

_EVENTS = _Fields(
    target="regarding",
    source="deprecatedSource",
    controller="reportingController",
    message="note",
    first="deprecatedFirstTimestamp",
    last="deprecatedLastTimestamp",
    count="deprecatedCount",
)


def _first_known(*timestamps: object) -> AgeCell | str:
    cells = (since(timestamp) for timestamp in timestamps)
    return next((cell for cell in cells if cell != UNKNOWN), UNKNOWN)


def _last_seen(event: Obj, fields: _Fields) -> tuple[AgeCell | str, int]:
    """Return when the event was last seen and how often; its series, if any, takes precedence."""
    series = event.get("series")
    if isinstance(series, dict):
        return since(series.get("lastObservedTime")), number_of(series, "count")
    last = _first_known(event.get(fields.last), event.get(fields.first), event.get("eventTime"))
    return last, number_of(event, fields.count) or 1


def _target(reference: Obj) -> str:
    kind, name = text_of(reference, "kind").lower(), text_of(reference, "name")
    return f"{kind}/{name}" if name else kind


def _source(event: Obj, fields: _Fields) -> str:
    source = mapping(event, fields.source)
    component = text_of(source, "component") or text_of(event, fields.controller)
    instance = text_of(source, "host") or text_of(event, "reportingInstance")
    return f"{component}, {instance}" if instance else component


def _cells(event: Obj, fields: _Fields) -> Cells:
    reference = mapping(event, fields.target)
    last, seen = _last_seen(event, fields)
    return [
        last,
        text_of(event, "type"),
        text_of(event, "reason"),
        _target(reference),
        text_of(reference, "fieldPath"),
        _source(event, fields),
        text_of(event, fields.message).strip(),
        _first_known(event.get(fields.first), event.get("eventTime")),
        seen,
        name_of(event),
    ]


_COLUMNS = (
    Column("Last Seen", f"{CORE}Event#lastTimestamp"),
    Column("Type", f"{CORE}Event#type"),
    Column("Reason", f"{CORE}Event#reason"),
    Column("Object", f"{CORE}Event#involvedObject"),
    Column("Subobject", f"{CORE}ObjectReference#fieldPath", priority=1),
    Column("Source", f"{CORE}Event#source", priority=1),
    Column("Message", f"{CORE}Event#message"),
    Column("First Seen", f"{CORE}Event#firstTimestamp", priority=1),
    Column("Count", f"{CORE}Event#count", priority=1),
    Column("Name", NAME.doc, format="name", priority=1),
)

EVENT_FIELDS = (*(f"involvedObject.{part}" for part in _OBJECT), "reason", "reportingComponent", "source", "type")
NEW_EVENT_FIELDS = (*(f"regarding.{part}" for part in _OBJECT), "reason", "reportingController", "type")

EVENT = BuiltinKind(
    "",
    "Event",
    ("ev",),
    fields=EVENT_FIELDS,
    creates_on_update=True,
    strategy=PLAIN,
    validator=same_on_update(_core_event),
    field_labels=_event,
    printer=Printer(columns=_COLUMNS, cells=lambda event: _cells(event, _CORE)),
)

EVENT_OF_EVENTS = BuiltinKind(
    "events.k8s.io",
    "Event",
    ("ev",),
    fields=NEW_EVENT_FIELDS,
    creates_on_update=True,
    strategy=PLAIN,
    validator=Validator(_new_event, _new_event_update),
    field_labels=_event,
    conversions={"v1": Conversion(_event_to_core, _event_from_core)},
    printer=Printer(columns=_COLUMNS, cells=lambda event: _cells(event, _EVENTS)),
)
