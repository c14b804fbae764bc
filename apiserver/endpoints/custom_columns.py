"""The rows of custom kinds: the name, and what their definitions ask for (apiextensions-apiserver's tableconvertor).

A column takes the first value that its path finds. Where it finds none, or one that is not of the column's type, the
cell is null; columns of strings alone take everything, and show it as kubectl prints it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from apiserver.api.golang.values import go_json, go_text
from apiserver.api.jsonpath import JSONPath, JSONPathError, WalkError
from apiserver.api.meta import Obj, name_of
from apiserver.api.schema.times import canonical_time
from apiserver.groups.cell_format import Since, epoch
from apiserver.groups.cells import UNKNOWN, Cells
from apiserver.groups.columns import META, NAME, Column, Printer

Convert = Callable[[Any], Any]
"""A value that was found → the cell, None where it is of the wrong type."""

_NO_TIME = ("", "null")

_INT64 = range(-1 << 63, 1 << 63)


class _Asked(NamedTuple):
    """A column, and where its values lie."""

    column: Column
    path: str


@dataclass(frozen=True, slots=True)
class _Described(Column):
    """A column that its author described: whatever the text holds, it points to no definition."""

    def definition(self, definitions: Mapping[str, Obj]) -> Obj:
        """Return the column as it stands on the wire."""
        return Column.definition(self, definitions) | {"description": self.doc}


_AGE = _Asked(Column("Age", f"{META}ObjectMeta#creationTimestamp", type="date"), ".metadata.creationTimestamp")


def custom_printer(columns: Sequence[Obj]) -> Printer:
    """The printer of a custom kind in one version; behind a column whose path is no JSONPath no others are shown.

    Args:
        columns: the additionalPrinterColumns of the version; without any there is the age.
    """
    return _printer([_asked(column) for column in columns] or [_AGE])


def _asked(given: Obj) -> _Asked:
    path = given.get("jsonPath") or ""
    told = given.get("description") or f"Custom resource definition column (in JSONPath format): {path}"
    column = _Described(
        given.get("name") or "",
        told,
        type=given.get("type") or "",
        format=given.get("format") or "",
        priority=given.get("priority") or 0,
    )
    return _Asked(column, path)


def _printer(asked: Iterable[_Asked]) -> Printer:
    columns, readers = [NAME], []
    for column, path in asked:
        try:
            readers.append(_reader(JSONPath(f"{{{path}}}"), _CONVERT.get(column.type, _nothing)))
        except JSONPathError:
            break
        columns.append(column)

    def cells(obj: Obj) -> Cells:
        return [name_of(obj), *[read(obj) for read in readers]]

    return Printer(tuple(columns), cells)


def _reader(path: JSONPath, convert: Convert) -> Callable[[Obj], Any]:
    def read(obj: Obj) -> Any:
        try:
            found = path.find(obj)[0]
        except WalkError:
            return None
        return convert(found[0]) if found else None

    return read


def _string(value: Any) -> str:
    if value is None:
        return "<no value>"
    return go_json(value) if isinstance(value, dict | list) else go_text(value)


def _integer(value: Any) -> int | None:
    if type(value) is float:
        return int(value) if -(2.0**63) <= value < 2.0**63 else _INT64[0]  # what Go's conversion makes of the others
    return value if type(value) is int else None


def _number(value: Any) -> float | None:
    if type(value) is not float and type(value) is not int:
        return None
    number = float(value)
    return int(number) if number.is_integer() and int(number) in _INT64 else number  # Go writes no point here


def _boolean(value: Any) -> bool | None:
    return value if type(value) is bool else None


def _date(value: Any) -> Since | str | None:
    if type(value) is not str:
        return None
    if value in _NO_TIME:
        return UNKNOWN
    try:
        time = canonical_time(value)
    except ValueError:
        return "<invalid>"
    start = epoch(value) or epoch(time)  # whole seconds will do where Go reads what Python does not
    return UNKNOWN if start is None else Since(start)


def _nothing(_value: Any) -> None:
    return None


_CONVERT: Mapping[str, Convert] = {
    "boolean": _boolean,
    "date": _date,
    "integer": _integer,
    "number": _number,
    "string": _string,
}
"""Type of a column → what makes its cells."""

SCALE = _printer(
    [
        _Asked(_Described("Desired", "Number of desired replicas", type="integer"), ".spec.replicas"),
        _Asked(_Described("Available", "Number of actual replicas", type="integer"), ".status.replicas"),
        _AGE,
    ]
)
"""Of the Scale of a custom kind, which has no replicas at all where none are wanted (getScaleColumnsForVersion)."""
