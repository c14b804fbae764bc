"""PodSchedulingContexts (resource.k8s.io), which 1.26 called PodSchedulings: validation and columns; until 1.31."""

from collections.abc import Iterator

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj, name_of
from apiserver.api.validation import checks, names
from apiserver.api.validation.contract import Errors, Validator
from apiserver.groups.cell_format import age
from apiserver.groups.cells import Cells, mapping, text_of
from apiserver.groups.columns import AGE, NAME, Column, Printer
from apiserver.groups.kind import BuiltinKind
from apiserver.groups.notices import NO_DEVICES, stored
from apiserver.groups.strategy import GUARDED_STATUS

_MAX_NODES = 128


def _context(context: Obj) -> Iterator[FieldError]:
    """Yield the errors of a PodSchedulingContext (ValidatePodSchedulingContexts)."""
    yield from checks.prefix_errors(
        "spec.potentialNodes", _nodes((context.get("spec") or {}).get("potentialNodes") or [])
    )


def _context_update(new: Obj, _old: Obj) -> Errors:
    """Return the errors twice, as upstream's strategy checks the new object and then the change, which has it again."""
    return [*_context(new), *_context(new)]


def _status_update(new: Obj, _old: Obj) -> Iterator[FieldError]:
    """Yield the errors of a status; that its list is called "claims" in them is upstream's."""
    seen = set()
    for index, claim in enumerate((new.get("status") or {}).get("resourceClaims") or ()):
        path, name = f"status.claims[{index}]", claim.get("name") or ""
        yield from checks.prefix_errors(f"{path}.unsuitableNodes", _nodes(claim.get("unsuitableNodes") or []))
        if name in seen:
            yield field.duplicate(path, name)
        seen.add(name)


def _nodes(nodes: list[str]) -> Iterator[FieldError]:
    """Yield the errors of a list of distinct names of nodes (validateSet)."""
    yield from checks.each_invalid("", nodes, names.dns1123_subdomain)
    if len(nodes) > _MAX_NODES:
        yield field.too_many("", len(nodes), _MAX_NODES)
    for index, node in enumerate(nodes):
        if node in nodes[:index]:
            yield field.duplicate(f"[{index}]", node)


def _context_cells(obj: Obj) -> Cells:
    return [name_of(obj), text_of(mapping(obj, "spec"), "selectedNode"), age(obj)]


def _printer(spec: str) -> Printer:
    selected_node = Column("SelectedNode", f"io.k8s.api.resource.{spec}#selectedNode")
    return Printer(columns=(NAME, selected_node, AGE), cells=_context_cells)


_VALIDATOR = Validator(_context, _context_update, _status_update)

POD_SCHEDULING = BuiltinKind(
    "resource.k8s.io",
    "PodScheduling",
    returns_deleted=True,
    strategy=GUARDED_STATUS,
    validator=_VALIDATOR,
    printer=_printer("v1alpha1.PodSchedulingSpec"),
    notices=stored("PodScheduling", NO_DEVICES, "nobody answers it"),
)

POD_SCHEDULING_CONTEXT = BuiltinKind(
    "resource.k8s.io",
    "PodSchedulingContext",
    returns_deleted=True,
    strategy=GUARDED_STATUS,
    validator=_VALIDATOR,
    printer=_printer("v1alpha3.PodSchedulingContextSpec"),
    notices=stored("PodSchedulingContext", NO_DEVICES, "nobody answers it"),
)
