"""Ingresses (networking.k8s.io): validation and columns."""

from collections.abc import Iterator

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj, name_of
from apiserver.api.validation import checks, names
from apiserver.api.validation.contract import Errors, Validator
from apiserver.groups.cell_format import age
from apiserver.groups.cells import NONE, Cells, mapping, mappings, text_of
from apiserver.groups.columns import AGE, NAME, Column, Printer
from apiserver.groups.core.services.columns import balancer_addresses
from apiserver.groups.kind import BuiltinKind
from apiserver.groups.strategy import Strategy, creation, status_updating, updating

_PATH_TYPES = frozenset({"Exact", "ImplementationSpecific", "Prefix"})

_CLASS_ANNOTATION = "kubernetes.io/ingress.class"

_NOT_IN_PATHS = ("//", "/./", "/../", "%2f", "%2F")

_NOT_AT_THE_END = ("/..", "/.")

_NOT_A_NAME = "must be a DNS name, not an IP address"


def _create(ingress: Obj) -> Iterator[FieldError]:
    spec = ingress.get("spec") or {}
    yield from checks.prefix_errors("spec", _spec(spec, lax=False))
    annotated = (ingress["metadata"].get("annotations") or {}).get(_CLASS_ANNOTATION)
    name = spec.get("ingressClassName")
    if None not in {annotated, name} and annotated != name:
        detail = "must match `ingressClassName` when both are specified"
        yield field.invalid(f"annotations.{_CLASS_ANNOTATION}", annotated, detail)


def _update(new: Obj, old: Obj) -> Errors:
    before = (old.get("spec") or {}).get("tls") or ()
    lax = any(names.dns1123_subdomain(secret) for tls in before if (secret := tls.get("secretName")))
    return checks.prefix_errors("spec", _spec(new.get("spec") or {}, lax=lax))


def _status_update(new: Obj, old: Obj) -> Errors:
    path = "status.loadBalancer.ingress"
    points, before = (((obj.get("status") or {}).get("loadBalancer") or {}).get("ingress") or () for obj in (new, old))
    known = frozenset(point.get("ip", "") for point in before)
    return checks.each(path, points, lambda point: _point(point, known))


def _point(point: Obj, known: frozenset[str]) -> Iterator[FieldError]:
    ip, host = point.get("ip"), point.get("hostname")
    if ip:
        yield from checks.address("ip", ip, known)
    if host:
        yield from checks.invalid_values("hostname", host, names.dns1123_subdomain(host))
        if checks.is_address(host):
            yield field.invalid("hostname", host, _NOT_A_NAME)


def _spec(spec: Obj, *, lax: bool) -> Iterator[FieldError]:
    rules, default, name = spec.get("rules"), spec.get("defaultBackend"), spec.get("ingressClassName")
    if not rules and default is None:
        yield field.invalid("", rules, "either `defaultBackend` or `rules` must be specified")
    if default is not None:
        yield from checks.prefix_errors("defaultBackend", _backend(default))
    yield from checks.each("rules", rules, _rule)
    for index, tls in enumerate(spec.get("tls") or ()):
        yield from checks.each_invalid(f"tls[{index}].hosts", tls.get("hosts"), _host)
        if not lax:
            yield from checks.optional_name(f"tls[{index}].secretName", tls.get("secretName"), names.dns1123_subdomain)
    if name is not None:
        yield from checks.invalid_values("ingressClassName", name, names.dns1123_subdomain(name))


def _host(host: str) -> names.Messages:
    return names.wildcard_dns1123_subdomain(host) if "*" in host else names.dns1123_subdomain(host)


def _rule(rule: Obj) -> Iterator[FieldError]:
    host, http = rule.get("host"), rule.get("http")
    if host:
        if checks.is_address(host):
            yield field.invalid("host", host, _NOT_A_NAME)
        yield from checks.invalid_values("host", host, _host(host))
    if http is not None:
        paths = http.get("paths")
        yield from checks.required("http.paths", paths)
        yield from checks.each("http.paths", paths, _path)


def _path(path: Obj) -> Iterator[FieldError]:
    kind, text = path.get("pathType"), path.get("path") or ""
    if kind is None:
        yield field.required("pathType", "pathType must be specified")
        return
    if kind not in _PATH_TYPES:
        yield field.not_supported("pathType", kind, _PATH_TYPES)
    elif not text.startswith("/") and (text or kind != "ImplementationSpecific"):
        yield field.invalid("path", text, "must be an absolute path")
    if kind in {"Exact", "Prefix"}:
        for part in _NOT_IN_PATHS:
            if part in text:
                yield field.invalid("path", text, f"must not contain '{part}'")
        for end in _NOT_AT_THE_END:
            if text.endswith(end):
                yield field.invalid("path", text, f"cannot end with '{end}'")
    yield from checks.prefix_errors("backend", _backend(path.get("backend") or {}))


def _backend(backend: Obj) -> Iterator[FieldError]:
    service, resource = backend.get("service"), backend.get("resource")
    if service is not None and resource is not None:
        yield field.invalid("", "", "cannot set both resource and service backends")
    elif resource is not None:
        yield from checks.prefix_errors("resource", typed_reference(resource))
    elif service is not None:
        yield from checks.required_name("service.name", service.get("name"), names.dns1035_label)
        yield from _backend_port(service.get("port") or {})
    else:
        yield field.invalid("", "", "resource or service backend is required")


def _backend_port(port: Obj) -> Errors:
    name, number = port.get("name"), port.get("number")
    if name and number:
        return (field.invalid("", "", "cannot set both port name & port number"),)
    if name:
        return checks.invalid_values("service.port.name", name, names.port_name(name))
    if number:
        return checks.port("service.port.number", number)
    return (field.required("", "port name or number is required"),)


def typed_reference(reference: Obj) -> Iterator[FieldError]:
    """Yield the errors of a core TypedLocalObjectReference: an optional group, a kind and a name."""
    group = reference.get("apiGroup")
    if group is not None:
        yield from checks.invalid_values("apiGroup", group, names.dns1123_subdomain(group))
    yield from checks.required_name("kind", reference.get("kind"), names.path_segment)
    yield from checks.required_name("name", reference.get("name"), names.path_segment)


_MAX_HOSTS = 3


def _ingress_hosts(rules: list[Obj]) -> str:
    """Return the first three hosts; the rest is counted in rules, and only if a rule follows the third host."""
    hosts = [(position, host) for position, rule in enumerate(rules) if (host := text_of(rule, "host"))][:_MAX_HOSTS]
    text = ",".join([host for _, host in hosts])
    if len(hosts) == _MAX_HOSTS and hosts[-1][0] < len(rules) - 1:
        return f"{text} + {len(rules) - _MAX_HOSTS} more..."
    return text or "*"


def _ingress(obj: Obj) -> Cells:
    spec = mapping(obj, "spec")
    return [
        name_of(obj),
        text_of(spec, "ingressClassName", NONE),
        _ingress_hosts(mappings(spec, "rules")),
        ",".join(balancer_addresses(obj)),
        "80, 443" if spec.get("tls") else "80",
        age(obj),
    ]


INGRESS = BuiltinKind(
    "networking.k8s.io",
    "Ingress",
    ("ing",),
    prefix="ingress",
    strategy=Strategy(
        creation(status=lambda: {"loadBalancer": {}}), updating("spec"), status_updating(), has_status=True
    ),
    validator=Validator(_create, _update, _status_update),
    printer=Printer(
        columns=(
            NAME,
            Column("Class", "The IngressClass that implements the ingress."),
            Column("Hosts", "The hosts that the ingress has rules for."),
            Column("Address", "The addresses of the load balancer."),
            Column("Ports", "The ports that the ingress opens."),
            AGE,
        ),
        cells=_ingress,
    ),
)
