"""Tables: the columns of every kind, and an object's row of cells, as pkg/printers/internalversion prints them.

Pure: no HTTP, no clock. A row is compiled once per revision and then told the time at each answer, so a caller caches
rows by (key, revision). A kind is a row of its file's PRINTERS; the group's files say which columns it has and how its
cells are computed. Kinds without a printer show their name and when they were created; `custom` makes the printers of
custom kinds. What wraps the rows (the Table itself, includeObject, the list's metadata) is the caller's.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import chain

from apiserver.api.meta import Obj, group_version, metadata, name_of
from apiserver.api.resources import Resource
from apiserver.endpoints.tables import (
    admission,
    autoscaling,
    cluster,
    custom,
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
from apiserver.endpoints.tables.columns import CREATED_AT, NAME, Printer, Printers, Row
from apiserver.endpoints.tables.fields import Cells, text

__all__ = ["Printer", "Row", "Tables", "printer_of"]

_GROUPS = (admission, autoscaling, cluster, devices, events, jobs, pods, rbac, scheduling, services, storage, workloads)
_PRINTERS: Printers = dict(chain.from_iterable(group.PRINTERS.items() for group in _GROUPS))


def _name_and_creation(obj: Obj) -> Cells:
    return [name_of(obj), text(metadata(obj), "creationTimestamp", "0001-01-01T00:00:00Z")]


_DEFAULT = Printer(columns=(NAME, CREATED_AT), cells=_name_and_creation)


def printer_of(group: str, kind: str) -> Printer:
    """How a built-in kind looks.

    Args:
        group: the API group, "" for the core group.
        kind: the kind; of its versions any will do.
    """
    return _PRINTERS.get((group, kind), _DEFAULT)


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
            printer = self._made[place] = built_in if columns is None else custom.printer_of(columns)
        return printer

    def computed(self, resource: Resource, obj: Obj) -> Printer:
        """How an object looks that was computed for a resource; custom kinds show a Scale in a way of their own."""
        group, _version = group_version(obj["apiVersion"])
        if (group, obj["kind"]) == ("autoscaling", "Scale") and self._columns_of(resource) is not None:
            return custom.SCALE
        return printer_of(group, obj["kind"])

    def defined(self, printer: Printer) -> list[Obj]:
        """The columnDefinitions of a printer."""
        return printer.defined(self._definitions)
