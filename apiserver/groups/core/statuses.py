"""Statuses (core): columns."""

from apiserver.api.meta import Obj
from apiserver.groups.cells import Cells, text_of
from apiserver.groups.columns import META, Column, Printer
from apiserver.groups.kind import BuiltinKind


def _status(obj: Obj) -> Cells:
    return [text_of(obj, "status"), text_of(obj, "reason"), text_of(obj, "message")]


STATUS = BuiltinKind(
    "",
    "Status",
    printer=Printer(
        columns=tuple(Column(field.capitalize(), f"{META}Status#{field}") for field in ("status", "reason", "message")),
        cells=_status,
    ),
)
