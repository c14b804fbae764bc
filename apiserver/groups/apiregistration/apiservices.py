"""APIServices (apiregistration.k8s.io): defaults, strategy, validation and columns."""

from collections.abc import Iterator

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj, name_of
from apiserver.api.validation import checks, names
from apiserver.api.validation.contract import same_on_update
from apiserver.groups.admissionregistration.defaults import default_port
from apiserver.groups.cell_format import age
from apiserver.groups.cells import Cells, condition_of, mapping, text_of
from apiserver.groups.columns import AGE, NAME, Column, Printer
from apiserver.groups.kind import API_EXTENSIONS, BuiltinKind
from apiserver.groups.notices import specifies, stored
from apiserver.groups.strategy import Strategy, status_updating, updating


def default_api_service(service: Obj) -> None:
    """Set the default port of the Service behind an aggregated API."""
    default_port(service.get("spec") or {})


def _create_api_service(service: Obj) -> None:
    """Reset the status; an API that this server serves itself is available from the start."""
    service["status"] = {}
    if "service" not in service["spec"]:
        available = {
            "type": "Available",
            "status": "True",
            "reason": "Local",
            "message": "Local APIServices are always available",
            "lastTransitionTime": service["metadata"].get("creationTimestamp"),
        }
        service["status"] = {"conditions": [available]}


API_SERVICE_STRATEGY = Strategy(
    _create_api_service,
    updating(),
    status_updating("labels", "annotations", "finalizers", "ownerReferences"),
    has_status=True,
    allow_unconditional_update=False,
)

_MAX_GROUP_PRIORITY, _MAX_VERSION_PRIORITY = 20_000, 1000


def _validate_api_service(service: Obj) -> Iterator[FieldError]:
    spec = service.get("spec") or {}
    group, version, backend = spec.get("group") or "", spec.get("version") or "", spec.get("service")
    name, expected = name_of(service), f"{version}.{group}"
    if name and name != expected and not names.path_segment(name):
        detail = f'must be `spec.version+"."+spec.group`: "{expected}"'
        yield field.invalid("metadata.name", name, detail)
    if not group and version != "v1":
        yield field.required("spec.group", "only v1 may have an empty group and it better be legacy kube")
    yield from checks.optional_name("spec.group", group, names.dns1123_subdomain)
    yield from checks.invalid_values("spec.version", version, names.dns1035_label(version))
    yield from _priority("groupPriorityMinimum", spec, _MAX_GROUP_PRIORITY)
    yield from _priority("versionPriority", spec, _MAX_VERSION_PRIORITY)
    yield from checks.prefix_errors("spec", _local(spec) if backend is None else _remote(spec, backend))


def _priority(name: str, spec: Obj, maximum: int) -> Iterator[FieldError]:
    number = spec.get(name) or 0
    if not 0 < number <= maximum:
        yield field.invalid(f"spec.{name}", number, f"must be positive and less than {maximum}")


def _local(spec: Obj) -> Iterator[FieldError]:
    bundle = spec.get("caBundle") or ""
    if bundle:
        length = len(bundle) * 3 // 4 - bundle.count("=")
        yield field.invalid("caBundle", f"{length} bytes", "local APIServices may not have a caBundle")
    if spec.get("insecureSkipTLSVerify"):
        detail = "local APIServices may not have insecureSkipTLSVerify"
        yield field.invalid("insecureSkipTLSVerify", value=True, detail=detail)


def _remote(spec: Obj, backend: Obj) -> Iterator[FieldError]:
    yield from checks.required("service.namespace", backend.get("namespace"))
    yield from checks.required("service.name", backend.get("name"))
    port = backend.get("port", 443)
    if messages := names.port_number(port):
        yield field.invalid("service.port", port, f"port is not valid: {', '.join(messages)}")
    if spec.get("insecureSkipTLSVerify") and spec.get("caBundle"):
        detail = "may not be true if caBundle is present"
        yield field.invalid("insecureSkipTLSVerify", value=True, detail=detail)


def _api_service_cells(obj: Obj) -> Cells:
    service = mapping(obj, "spec").get("service")
    backend = f"{text_of(service, 'namespace')}/{text_of(service, 'name')}" if isinstance(service, dict) else "Local"
    return [name_of(obj), backend, _availability(mapping(obj, "status")), age(obj)]


def _availability(status: Obj) -> str:
    available = condition_of(status, "Available") or {"status": "Unknown"}
    state, reason = text_of(available, "status"), text_of(available, "reason")
    return f"{state} ({reason})" if reason and state != "True" else state


API_SERVICE = BuiltinKind(
    "apiregistration.k8s.io",
    "APIService",
    namespaced=False,
    categories=API_EXTENSIONS,
    prefix="apiregistration.k8s.io/apiservices",
    default=default_api_service,
    strategy=API_SERVICE_STRATEGY,
    validator=same_on_update(_validate_api_service),
    printer=Printer(
        columns=(
            NAME,
            Column("Service", "The service that serves the API, or Local."),
            Column("Available", "Whether the API is served."),
            AGE,
        ),
        cells=_api_service_cells,
    ),
    name_rule=names.path_segment,
    notices=stored(
        "APIService",
        "has no aggregation layer",
        "requests for its group are not passed on",
        "with `spec.service`",
        specifies("service"),
    ),
)
