"""Tables: the columns of every kind, and an object's row of cells, as pkg/printers/internalversion prints them.

A row is compiled once per revision and rendered with the current time in each answer, so a caller caches rows by
(key, revision). A kind's file in `apiserver.groups` has its printer; kinds without one show their name and creation
time; `custom_columns` makes the printers of custom kinds. The caller writes the Table itself: includeObject and the
list's metadata.
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
    """Return the printer of a built-in kind.

    Args:
        group: the API group, "" for the core group.
        kind: the kind, whatever its version.
    """
    built_in = ALL_KINDS.get((group, kind))
    return built_in.printer if built_in is not None and built_in.printer is not None else _DEFAULT


class Tables:
    """The printers of one server's kinds; those of custom kinds are made on first use.

    Args:
        definitions: OpenAPI definitions by name.
        custom: the additionalPrinterColumns of a custom kind in the version of a row, None for a built-in kind.
    """

    def __init__(self, definitions: Mapping[str, Obj], custom: Callable[[Resource], Sequence[Obj] | None]) -> None:
        self._definitions = definitions
        self._columns_of = custom
        self._made: dict[tuple[str, str, str], Printer] = {}

    def invalidate(self) -> None:
        """Drop all printers: the columns of a custom kind may have changed."""
        self._made.clear()

    def printer(self, resource: Resource) -> Printer:
        """Return the printer for the objects of a resource."""
        key = (resource.group, resource.version, resource.plural)
        printer = self._made.get(key)
        if printer is None:
            columns = self._columns_of(resource)
            built_in = printer_of(resource.group, resource.kind)
            printer = self._made[key] = built_in if columns is None else custom_printer(columns)
        return printer

    def computed(self, resource: Resource, obj: Obj) -> Printer:
        """Return the printer for an object computed for a resource; the Scale of a custom kind has its own printer."""
        group, _version = group_version(obj["apiVersion"])
        if (group, obj["kind"]) == ("autoscaling", "Scale") and self._columns_of(resource) is not None:
            return SCALE
        return printer_of(group, obj["kind"])

    def column_definitions(self, printer: Printer) -> list[Obj]:
        """Return the columnDefinitions of a printer."""
        return printer.column_definitions(self._definitions)
