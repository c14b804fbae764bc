"""The Table columns of custom kinds: name and additionalPrinterColumns (apiextensions-apiserver's tableconvertor).

A column shows the first value that its path finds. If there is none, or it is not of the column's type, the cell is
null; only string columns take values of every type, and show them as kubectl prints them.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from apiserver.api.golang.values import go_json, go_text
from apiserver.api.jsonpath import JSONPath, JSONPathError, WalkError
from apiserver.api.meta import Obj, name_of
from apiserver.api.schema.times import canonical_time
from apiserver.groups.cell_format import AgeCell, epoch
from apiserver.groups.cells import UNKNOWN, Cells
from apiserver.groups.columns import META, NAME, Column, Printer

Convert = Callable[[Any], Any]
"""Returns the cell for a value, None if the value is of the wrong type."""

_NO_TIME = ("", "null")

_INT64 = range(-1 << 63, 1 << 63)


class _ColumnSpec(NamedTuple):
    """A column and the JSONPath of its values."""

    column: Column
    path: str


@dataclass(frozen=True, slots=True)
class _DescribedColumn(Column):
    """A column described by the author of the definition: its text is never a reference to an OpenAPI definition."""

    def definition(self, definitions: Mapping[str, Obj]) -> Obj:
        """Return the columnDefinition."""
        return Column.definition(self, definitions) | {"description": self.doc}


_AGE = _ColumnSpec(Column("Age", f"{META}ObjectMeta#creationTimestamp", type="date"), ".metadata.creationTimestamp")


def custom_printer(columns: Sequence[Obj]) -> Printer:
    """Return the printer of a custom kind in one version; a column with an invalid JSONPath ends the columns.

    Args:
        columns: the additionalPrinterColumns of the version; if there are none, the age is shown.
    """
    return _printer([_spec(column) for column in columns] or [_AGE])


def _spec(definition: Obj) -> _ColumnSpec:
    path = definition.get("jsonPath") or ""
    description = definition.get("description") or f"Custom resource definition column (in JSONPath format): {path}"
    column = _DescribedColumn(
        definition.get("name") or "",
        description,
        type=definition.get("type") or "",
        format=definition.get("format") or "",
        priority=definition.get("priority") or 0,
    )
    return _ColumnSpec(column, path)


def _printer(specs: Iterable[_ColumnSpec]) -> Printer:
    columns, readers = [NAME], []
    for column, path in specs:
        try:
            readers.append(_reader(JSONPath(f"{{{path}}}"), _CONVERT.get(column.type, _null)))
        except JSONPathError:
            break
        columns.append(column)

    def cells(obj: Obj) -> Cells:
        return [name_of(obj), *[read(obj) for read in readers]]

    return Printer(tuple(columns), cells)


def _reader(path: JSONPath, convert: Convert) -> Callable[[Obj], Any]:
    def read(obj: Obj) -> Any:
        try:
            values = path.find(obj)[0]
        except WalkError:
            return None
        return convert(values[0]) if values else None

    return read


def _string(value: Any) -> str:
    if value is None:
        return "<no value>"
    return go_json(value) if isinstance(value, dict | list) else go_text(value)


def _integer(value: Any) -> int | None:
    if type(value) is float:
        return int(value) if -(2.0**63) <= value < 2.0**63 else _INT64[0]  # Go converts all others to this
    return value if type(value) is int else None


def _number(value: Any) -> float | None:
    if type(value) is not float and type(value) is not int:
        return None
    number = float(value)
    return (
        int(number) if number.is_integer() and int(number) in _INT64 else number
    )  # Go writes such numbers without a decimal point


def _boolean(value: Any) -> bool | None:
    return value if type(value) is bool else None


def _date(value: Any) -> AgeCell | str | None:
    if type(value) is not str:
        return None
    if value in _NO_TIME:
        return UNKNOWN
    try:
        time = canonical_time(value)
    except ValueError:
        return "<invalid>"
    start = epoch(value) or epoch(time)  # whole seconds, if Go reads a text that Python does not
    return UNKNOWN if start is None else AgeCell(start)


def _null(_value: Any) -> None:
    return None


_CONVERT: Mapping[str, Convert] = {
    "boolean": _boolean,
    "date": _date,
    "integer": _integer,
    "number": _number,
    "string": _string,
}
"""Type of a column → the function for its cells."""

SCALE = _printer(
    [
        _ColumnSpec(_DescribedColumn("Desired", "Number of desired replicas", type="integer"), ".spec.replicas"),
        _ColumnSpec(_DescribedColumn("Available", "Number of actual replicas", type="integer"), ".status.replicas"),
        _AGE,
    ]
)
"""The printer for the Scale of a custom kind, which has no replicas if none are desired (getScaleColumnsForVersion)."""
