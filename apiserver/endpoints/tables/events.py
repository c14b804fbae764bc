"""The row of an event, which reads alike from both of its groups."""

from dataclasses import dataclass

from apiserver.api.meta import Obj, name_of
from apiserver.endpoints.tables.columns import CORE, NAME, Column, Printer, Printers
from apiserver.endpoints.tables.fields import UNKNOWN, Cells, mapping, number, text
from apiserver.endpoints.tables.format import Since, since


@dataclass(frozen=True, slots=True)
class _Fields:
    """What a group calls the fields of an event that the other group names differently."""

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


def _first_known(*timestamps: object) -> Since | str:
    cells = (since(timestamp) for timestamp in timestamps)
    return next((cell for cell in cells if cell != UNKNOWN), UNKNOWN)


def _seen(event: Obj, fields: _Fields) -> tuple[Since | str, int]:
    """When the event was last seen, and how often: the series knows best."""
    series = event.get("series")
    if isinstance(series, dict):
        return since(series.get("lastObservedTime")), number(series, "count")
    last = _first_known(event.get(fields.last), event.get(fields.first), event.get("eventTime"))
    return last, number(event, fields.count) or 1


def _target(reference: Obj) -> str:
    kind, name = text(reference, "kind").lower(), text(reference, "name")
    return f"{kind}/{name}" if name else kind


def _source(event: Obj, fields: _Fields) -> str:
    source = mapping(event, fields.source)
    component = text(source, "component") or text(event, fields.controller)
    instance = text(source, "host") or text(event, "reportingInstance")
    return f"{component}, {instance}" if instance else component


def _cells(event: Obj, fields: _Fields) -> Cells:
    reference = mapping(event, fields.target)
    last, seen = _seen(event, fields)
    return [
        last,
        text(event, "type"),
        text(event, "reason"),
        _target(reference),
        text(reference, "fieldPath"),
        _source(event, fields),
        text(event, fields.message).strip(),
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

PRINTERS: Printers = {
    ("", "Event"): Printer(columns=_COLUMNS, cells=lambda event: _cells(event, _CORE)),
    ("events.k8s.io", "Event"): Printer(columns=_COLUMNS, cells=lambda event: _cells(event, _EVENTS)),
}
