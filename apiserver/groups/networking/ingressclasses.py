"""IngressClasses (networking.k8s.io): defaults, validation and columns."""

from collections.abc import Iterator

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj, name_of
from apiserver.api.validation import checks, names
from apiserver.api.validation.contract import Validator
from apiserver.groups.cell_format import age
from apiserver.groups.cells import NONE, Cells, mapping, text_of
from apiserver.groups.columns import AGE, NAME, NETWORKING, Column, Printer
from apiserver.groups.kind import BuiltinKind
from apiserver.groups.networking.ingresses import typed_reference
from apiserver.groups.strategy import COUNTED


def default_ingress_class(ingress_class: Obj) -> None:
    """Set the default scope of an IngressClass's parameters: the cluster."""
    parameters = ingress_class.setdefault("spec", {}).get("parameters")
    if parameters is not None and parameters.get("scope") is None:
        parameters["scope"] = "Cluster"


_SCOPES = frozenset({"Cluster", "Namespace"})

_MAX_CONTROLLER_LENGTH = 250


def _class(ingress_class: Obj) -> Iterator[FieldError]:
    spec = ingress_class.get("spec") or {}
    yield from checks.prefix_errors("spec.controller", _controller(spec.get("controller") or ""))
    parameters = spec.get("parameters")
    if parameters is not None:
        yield from checks.prefix_errors("spec.parameters", _class_parameters(parameters))


def _class_update(new: Obj, old: Obj) -> Iterator[FieldError]:
    controllers = [(obj.get("spec") or {}).get("controller") for obj in (new, old)]
    yield from checks.immutable("spec.controller", *controllers)
    yield from _class(new)


def _controller(controller: str) -> Iterator[FieldError]:
    if not controller:
        yield field.required("")
        return
    if len(controller) > _MAX_CONTROLLER_LENGTH:
        yield field.too_long("", _MAX_CONTROLLER_LENGTH)
    host, _, path = controller.partition("/")
    if not host or not path:
        yield field.invalid("", controller, 'must be a domain-prefixed path (such as "acme.io/foo")')
    else:
        yield from checks.invalid_values("", host, names.dns1123_subdomain(host))
        yield from checks.invalid_values("", path, names.http_path(path))


def _class_parameters(parameters: Obj) -> Iterator[FieldError]:
    yield from typed_reference(parameters)
    scope, namespace = parameters.get("scope"), parameters.get("namespace")
    if scope is None:
        yield field.required("scope")
        return
    yield from checks.one_of("scope", scope, _SCOPES)
    if scope == "Namespace":
        if namespace is None:
            yield field.required("namespace", "`parameters.scope` is set to 'Namespace'")
        else:
            yield from checks.invalid_values("namespace", namespace, names.dns1123_label(namespace))
    if scope == "Cluster" and namespace is not None:
        yield field.forbidden("namespace", "`parameters.scope` is set to 'Cluster'")


def _ingress_class(obj: Obj) -> Cells:
    spec = mapping(obj, "spec")
    parameters = spec.get("parameters")
    shown_parameters = _parameters_text(parameters) if isinstance(parameters, dict) else NONE
    return [name_of(obj), text_of(spec, "controller"), shown_parameters, age(obj)]


def _parameters_text(parameters: Obj) -> str:
    group = f".{text_of(parameters, 'apiGroup')}" if parameters.get("apiGroup") is not None else ""
    return f"{text_of(parameters, 'kind')}{group}/{text_of(parameters, 'name')}"


INGRESS_CLASS = BuiltinKind(
    "networking.k8s.io",
    "IngressClass",
    namespaced=False,
    default=default_ingress_class,
    strategy=COUNTED,
    validator=Validator(_class, _class_update),
    printer=Printer(
        columns=(
            NAME,
            Column("Controller", f"{NETWORKING}IngressClassSpec#controller"),
            Column("Parameters", f"{NETWORKING}IngressClassSpec#parameters"),
            AGE,
        ),
        cells=_ingress_class,
    ),
)
