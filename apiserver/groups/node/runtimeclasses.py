"""RuntimeClasses (node.k8s.io): defaults, validation and columns."""

from collections.abc import Iterator

from apiserver.api.field import FieldError
from apiserver.api.meta import Obj, name_of
from apiserver.api.validation import checks, combinators, names
from apiserver.api.validation.contract import Errors, Validator
from apiserver.api.validation.resource_lists import container_resource_name, resource_amount
from apiserver.groups.cell_format import age
from apiserver.groups.cells import Cells, text_of
from apiserver.groups.columns import AGE, NAME, Column, Printer
from apiserver.groups.core.pods.scheduling import tolerations
from apiserver.groups.kind import BuiltinKind
from apiserver.groups.quantities import round_up_to_milli
from apiserver.groups.strategy import PINNED


def default_runtime_class(runtime_class: Obj) -> None:
    """Round a RuntimeClass's overhead up to thousandths."""
    round_up_to_milli((runtime_class.get("overhead") or {}).get("podFixed"))


def _validate_runtime_class(runtime_class: Obj) -> Iterator[FieldError]:
    handler = runtime_class.get("handler") or ""
    yield from checks.invalid_values("handler", handler, names.dns1123_label(handler))
    overhead = (runtime_class.get("overhead") or {}).get("podFixed") or {}
    for name, text in overhead.items():
        errors = (*container_resource_name(name), *resource_amount(name, text))
        yield from checks.prefix_errors(f"overhead.limits[{name}]", errors)
    scheduling = runtime_class.get("scheduling") or {}
    yield from checks.labels("scheduling.nodeSelector", scheduling.get("nodeSelector"))
    yield from combinators.at("scheduling.tolerations", tolerations(scheduling.get("tolerations") or ()))


def _runtime_class_update(new: Obj, old: Obj) -> Errors:
    return checks.immutable("handler", new.get("handler"), old.get("handler"))


def _runtime_class_cells(obj: Obj) -> Cells:
    return [name_of(obj), text_of(obj, "handler"), age(obj)]


RUNTIME_CLASS = BuiltinKind(
    "node.k8s.io",
    "RuntimeClass",
    namespaced=False,
    creates_on_update=True,
    default=default_runtime_class,
    strategy=PINNED,
    validator=Validator(_validate_runtime_class, _runtime_class_update),
    printer=Printer(
        columns=(NAME, Column("Handler", "io.k8s.api.node.v1.RuntimeClass#handler"), AGE), cells=_runtime_class_cells
    ),
)
