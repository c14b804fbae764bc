"""ResourceClaimParameters and ResourceClassParameters (resource.k8s.io): validation and columns; of 1.30 alone."""

from collections.abc import Callable, Iterator

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj, name_of
from apiserver.api.validation import checks, names
from apiserver.api.validation.contract import Errors, same_on_update
from apiserver.cel.checker import check
from apiserver.cel.declarations import TYPES
from apiserver.cel.errors import CompileError
from apiserver.cel.literals import check_literals
from apiserver.cel.parsing import parse
from apiserver.cel.types import BOOL, INT, STRING, list_of, map_of
from apiserver.groups.cell_format import age
from apiserver.groups.cells import Cells, text_of
from apiserver.groups.columns import AGE, NAME, Column, Printer
from apiserver.groups.core.pods.volumes import csi_driver_name
from apiserver.groups.kind import BuiltinKind
from apiserver.groups.notices import NO_DEVICES, stored
from apiserver.groups.strategy import PLAIN

_TOO_DEEP = "ERROR: <input>:-1:0: max recursion depth exceeded"

_NO_MODEL = "exactly one structured model field must be set"

_ATTRIBUTES = {
    f"attributes.{name}": map_of(STRING, kind)
    for name, kind in {
        "quantity": TYPES["kubernetes.Quantity"],
        "bool": BOOL,
        "int": INT,
        "intslice": list_of(INT),
        "string": STRING,
        "stringslice": list_of(STRING),
        "version": TYPES["kubernetes.Semver"],
    }.items()
}
"""The variables of a selector: for each type the attributes of a device that have it (namedresources/cel)."""


def _class_parameters(parameters: Obj) -> Iterator[FieldError]:
    """Yield the errors of ResourceClassParameters (ValidateResourceClassParameters)."""
    yield from checks.prefix_errors("generatedFrom", parameters_reference(parameters.get("generatedFrom")))
    yield from _per_driver("filters", parameters.get("filters"), _model)
    yield from _per_driver("vendorParameters", parameters.get("vendorParameters"))


def _claim_parameters(parameters: Obj) -> Iterator[FieldError]:
    """Yield the errors of ResourceClaimParameters (ValidateResourceClaimParameters)."""
    yield from checks.prefix_errors("generatedFrom", parameters_reference(parameters.get("generatedFrom")))
    yield from _per_driver("driverRequests", parameters.get("driverRequests"), _requests)


def parameters_reference(reference: Obj | None) -> Iterator[FieldError]:
    """Yield the errors of a reference to parameters of any kind, which is optional (validateClassParameters)."""
    if reference is None:
        return
    yield from checks.required("kind", reference.get("kind"))
    yield from checks.required("name", reference.get("name"))
    yield from checks.optional_name("namespace", reference.get("namespace"), names.dns1123_label)


def _nothing(_entry: Obj) -> Errors:
    return ()


def _per_driver(path: str, entries: list[Obj] | None, rest: Callable[[Obj], Errors] = _nothing) -> Iterator[FieldError]:
    """Yield the errors of a list with one entry per driver; `rest` checks what else an entry has."""
    seen = set()
    for index, entry in enumerate(entries or ()):
        driver = entry.get("driverName") or ""
        yield from checks.prefix_errors(f"{path}[{index}].driverName", csi_driver_name(driver))
        if driver in seen:
            yield field.duplicate(f"{path}[{index}].driverName", driver)
        seen.add(driver)
        yield from checks.prefix_errors(f"{path}[{index}]", rest(entry))


def _requests(entry: Obj) -> Iterator[FieldError]:
    requests = entry.get("requests") or []
    yield from checks.each("requests", requests, _model)
    yield from checks.required("requests", requests, "empty entries with no requests are not allowed")


def _model(holder: Obj) -> Errors:
    """Return the errors of what selects devices; named resources are the only model that there is."""
    named = holder.get("namedResources")
    if named is None:
        return (field.required("", _NO_MODEL),)
    return checks.prefix_errors("namedResources.selector", _selector(named.get("selector") or ""))


def _selector(expression: str) -> checks.FieldErrors:
    """Return the errors of an expression in CEL that selects devices by their attributes (validateSelector)."""
    if not expression:
        return (field.required(""),)
    try:
        checked = check(parse(expression), _ATTRIBUTES, lambda _struct, _field: None)
        check_literals(checked)
    except CompileError as error:
        return (field.invalid("", expression, f"compilation failed: {error}"),)
    except RecursionError:  # upstream allows 250 levels
        return (field.invalid("", expression, f"compilation failed: {_TOO_DEEP}"),)
    return () if checked.result == BOOL else (field.invalid("", expression, "must evaluate to bool"),)


def _parameters_cells(obj: Obj) -> Cells:
    return [name_of(obj), _generated_from(obj.get("generatedFrom")), age(obj)]


def _generated_from(reference: object) -> str:
    if not isinstance(reference, dict):
        return ""
    return f"{text_of(reference, 'kind')}.{text_of(reference, 'apiGroup')} {text_of(reference, 'name')}"


def _printer(kind: str) -> Printer:
    generated_from = Column("GeneratedFrom", f"io.k8s.api.resource.v1alpha2.{kind}#generatedFrom")
    return Printer(columns=(NAME, generated_from, AGE), cells=_parameters_cells)


RESOURCE_CLAIM_PARAMETERS = BuiltinKind(
    "resource.k8s.io",
    "ResourceClaimParameters",
    plural="resourceclaimparameters",
    returns_deleted=True,
    strategy=PLAIN,
    validator=same_on_update(_claim_parameters),
    printer=_printer("ResourceClaimParameters"),
    notices=stored("ResourceClaimParameters", NO_DEVICES, "requests no device"),
)

RESOURCE_CLASS_PARAMETERS = BuiltinKind(
    "resource.k8s.io",
    "ResourceClassParameters",
    plural="resourceclassparameters",
    returns_deleted=True,
    strategy=PLAIN,
    validator=same_on_update(_class_parameters),
    printer=_printer("ResourceClassParameters"),
    notices=stored("ResourceClassParameters", NO_DEVICES, "filters no device"),
)
