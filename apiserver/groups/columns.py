"""The columns, rows and printer of a kind's Table, and the columns that many kinds share."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from apiserver.api.meta import Obj, name_of
from apiserver.groups.cell_format import AgeCell, age
from apiserver.groups.cells import Cells

META = "io.k8s.apimachinery.pkg.apis.meta.v1."
CORE = "io.k8s.api.core.v1."
APPS = "io.k8s.api.apps.v1."
BATCH = "io.k8s.api.batch.v1."
CERTIFICATES = "io.k8s.api.certificates.v1."
FLOW = "io.k8s.api.flowcontrol.v1."
NETWORKING = "io.k8s.api.networking.v1."
RESOURCE = "io.k8s.api.resource.v1."
STORAGE = "io.k8s.api.storage.v1."
"""The prefix of the names of a group's OpenAPI definitions, for each group with columns in several files."""


@dataclass(frozen=True, slots=True)
class Column:
    """One entry of a Table's columnDefinitions.

    Attributes:
        doc: its description, or "<definition>#<field>": the field's own documentation in the OpenAPI definitions.
        type, format: as in OpenAPI; the format "name" marks what kubectl -o name would print.
        priority: 0 is always shown, 1 only by kubectl -o wide.
    """

    name: str
    doc: str
    type: str = "string"
    format: str = ""
    priority: int = 0

    def definition(self, definitions: Mapping[str, Obj]) -> Obj:
        """Return the column as it is written on the wire."""
        return {
            "name": self.name,
            "type": self.type,
            "format": self.format,
            "description": _description(self.doc, definitions),
            "priority": self.priority,
        }


def _description(doc: str, definitions: Mapping[str, Obj]) -> str:
    definition, is_field, field = doc.partition("#")
    if not is_field:
        return doc
    properties: Obj = definitions.get(definition, {}).get("properties", {})
    description: str = properties.get(field, {}).get("description", "")
    return description


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row of a Table whose ages are not yet filled in.

    Attributes:
        cells: the cells; those that `moving` has an entry for are replaced.
        moving: (index, cell) of the cells that change with the time.
        conditions: the row's conditions; leave the field out of the response if there are none.
    """

    cells: Cells
    ages: tuple[tuple[int, AgeCell], ...]
    conditions: list[Obj]

    def cells_at(self, now: float) -> list[Any]:
        """Return the cells at a time (seconds since the epoch), ready for JSON."""
        cells = self.cells.copy()
        for index, cell in self.ages:
            cells[index] = cell.text_at(now)
        return cells


@dataclass(frozen=True, slots=True)
class Printer:
    """The columns of a kind's Table, and how an object becomes a row.

    Attributes:
        cells: object → cells in the order of the columns; cells that show an age are left as `cell_format.AgeCell`.
        conditions: object → the row's conditions, if the kind has any.
        order: object → the sort key of its row in a list, if rows are not in the order of the list.
    """

    columns: tuple[Column, ...]
    cells: Callable[[Obj], Cells]
    conditions: Callable[[Obj], list[Obj]] | None = None
    order: Callable[[Obj], tuple[int, str]] | None = None

    def column_definitions(self, definitions: Mapping[str, Obj]) -> list[Obj]:
        """Return the columnDefinitions.

        Args:
            definitions: OpenAPI definitions by name, from which the descriptions of fields come; may be empty.
        """
        return [column.definition(definitions) for column in self.columns]

    def row(self, obj: Obj) -> TableRow:
        """Return the row of an object, which is only read; callers may cache it until the object changes.

        Malformed or missing data never raises.
        """
        cells = self.cells(obj)
        moving = tuple([(index, cell) for index, cell in enumerate(cells) if type(cell) is AgeCell])
        return TableRow(cells, moving, self.conditions(obj) if self.conditions else [])


NAME = Column("Name", f"{META}ObjectMeta#name", format="name")

AGE = Column("Age", f"{META}ObjectMeta#creationTimestamp")

CREATED_AT = Column("Created At", f"{META}ObjectMeta#creationTimestamp", type="date")

CONTAINERS = Column("Containers", "Names of the containers in the pod template.", priority=1)

IMAGES = Column("Images", "Images of the containers in the pod template.", priority=1)


def _name_and_age(obj: Obj) -> Cells:
    return [name_of(obj), age(obj)]


NAME_AND_AGE = Printer(columns=(NAME, AGE), cells=_name_and_age)
