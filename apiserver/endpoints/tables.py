"""Tables: the columns of every kind, and an object's row of cells, as pkg/printers/internalversion prints them.

A row is compiled once per revision and then told the time at each answer, so a caller caches rows by (key, revision).
A kind's file in `apiserver.groups` has its printer; kinds without one show their name and when they were created;
`custom_columns` makes the printers of custom kinds. What wraps the rows (the Table itself, includeObject, the list's
metadata) is the caller's.
"""

from collections.abc import Callable, Mapping, Sequence

from apiserver.api.meta import Obj, group_version, metadata, name_of
from apiserver.api.resources import Resource
from apiserver.endpoints.custom_columns import SCALE, custom_printer
from apiserver.groups.cells import Cells, text_of
from apiserver.groups.columns import CREATED_AT, NAME, Printer
from apiserver.groups.kinds import ALL_KINDS


def _name_and_creation(obj: Obj) -> Cells:
    return [name_of(obj), text_of(metadata(obj), "creationTimestamp", "0001-01-01T00:00:00Z")]


_DEFAULT = Printer(columns=(NAME, CREATED_AT), cells=_name_and_creation)


def printer_of(group: str, kind: str) -> Printer:
    """How a built-in kind looks.

    Args:
        group: the API group, "" for the core group.
        kind: the kind; of its versions any will do.
    """
    built_in = ALL_KINDS.get((group, kind))
    return built_in.printer if built_in is not None and built_in.printer is not None else _DEFAULT


class Tables:
    """How the kinds of one server look, custom ones among them, whose printers are made when they are first needed.

    Args:
        definitions: OpenAPI definitions by name.
        custom: the additionalPrinterColumns of a custom kind in the version of a row, None for a built-in kind.
    """

    def __init__(self, definitions: Mapping[str, Obj], custom: Callable[[Resource], Sequence[Obj] | None]) -> None:
        self._definitions = definitions
        self._columns_of = custom
        self._made: dict[tuple[str, str, str], Printer] = {}

    def invalidate(self) -> None:
        """Forget all printers: the columns of a custom kind may have changed."""
        self._made.clear()

    def printer(self, resource: Resource) -> Printer:
        """How the objects of a resource look."""
        place = (resource.group, resource.version, resource.plural)
        printer = self._made.get(place)
        if printer is None:
            columns = self._columns_of(resource)
            built_in = printer_of(resource.group, resource.kind)
            printer = self._made[place] = built_in if columns is None else custom_printer(columns)
        return printer

    def computed(self, resource: Resource, obj: Obj) -> Printer:
        """How an object looks that was computed for a resource; custom kinds show a Scale in a way of their own."""
        group, _version = group_version(obj["apiVersion"])
        if (group, obj["kind"]) == ("autoscaling", "Scale") and self._columns_of(resource) is not None:
            return SCALE
        return printer_of(group, obj["kind"])

    def defined(self, printer: Printer) -> list[Obj]:
        """Return the columnDefinitions of a printer."""
        return printer.defined(self._definitions)
