"""Tables: the columns of every kind, and an object's row of cells, as pkg/printers/internalversion prints them.

Pure: no HTTP, no clock. A row is compiled once per revision and then told the time at each answer, so a caller caches
`compile_row(...)` by (key, revision). A kind is a row of its file's PRINTERS; the group's files say which columns it
has and how its cells are computed. Kinds without a printer show their name and when they were created.
What wraps the rows (the Table itself, includeObject, the list's metadata) is the caller's; so are custom columns.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

from apiserver.api.meta import Obj, metadata, name_of
from apiserver.endpoints.tables import (
    admission,
    autoscaling,
    cluster,
    devices,
    events,
    jobs,
    pods,
    rbac,
    scheduling,
    services,
    storage,
    workloads,
)
from apiserver.endpoints.tables.columns import CREATED_AT, NAME, Printer, Printers
from apiserver.endpoints.tables.fields import Cells, text
from apiserver.endpoints.tables.format import Since

_GROUPS = (admission, autoscaling, cluster, devices, events, jobs, pods, rbac, scheduling, services, storage, workloads)
_PRINTERS: Printers = dict(chain.from_iterable(group.PRINTERS.items() for group in _GROUPS))


def _name_and_creation(obj: Obj) -> Cells:
    return [name_of(obj), text(metadata(obj), "creationTimestamp", "0001-01-01T00:00:00Z")]


_DEFAULT = Printer(columns=(NAME, CREATED_AT), cells=_name_and_creation)


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a Table, but for the time.

    Attributes:
        cells: the cells; where `moving` has an entry, the one here means nothing.
        moving: (index, cell) of the cells that change with the time.
        conditions: the row's conditions; leave the field out of the answer where there are none.
    """

    cells: Cells
    moving: tuple[tuple[int, Since], ...]
    conditions: list[Obj]

    def at(self, now: float) -> list[Any]:
        """The cells as they read at a time (seconds since the epoch), ready for JSON."""
        cells = self.cells.copy()
        for index, cell in self.moving:
            cells[index] = cell.at(now)
        return cells


def columns(group: str, kind: str, *, definitions: Mapping[str, Obj]) -> list[Obj]:
    """The columnDefinitions of a kind.

    Args:
        group: the API group, "" for the core group.
        kind: the kind; the version does not matter.
        definitions: OpenAPI definitions by name, from which the descriptions of fields come; may be empty.
    """
    return [column.definition(definitions) for column in _PRINTERS.get((group, kind), _DEFAULT).columns]


def compile_row(group: str, kind: str, *, obj: Obj) -> Row:
    """The row of an object, to be cached for as long as the object stays as it is; odd or missing data never raises.

    Args:
        group: the API group, "" for the core group.
        kind: the kind; of the versions of a kind any will do.
        obj: the object, which is only read.
    """
    printer = _PRINTERS.get((group, kind), _DEFAULT)
    cells = printer.cells(obj)
    moving = tuple([(index, cell) for index, cell in enumerate(cells) if type(cell) is Since])
    return Row(cells, moving, printer.conditions(obj) if printer.conditions else [])


def row_order(group: str, kind: str) -> Callable[[Obj], Any] | None:
    """By what the objects of a list are sorted for its rows; None for most, whose rows stand as the list has them."""
    return _PRINTERS.get((group, kind), _DEFAULT).order
