"""What objects may be by which parties register with the server: all that extend it, ask it or share it out.

APIServices stand here; webhooks and policies, certificate requests and flow control have files of their own.
"""

from collections.abc import Iterator

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj, name_of
from apiserver.api.validation import checks, names
from apiserver.api.validation.contract import same_on_update
from apiserver.registry.validation import admission_rules, certificates, flowcontrol

_MOST_GROUP_PRIORITY, _MOST_VERSION_PRIORITY = 20_000, 1000


def _api_service(service: Obj) -> Iterator[FieldError]:
    spec = service.get("spec") or {}
    group, version, backend = spec.get("group") or "", spec.get("version") or "", spec.get("service")
    name, expected = name_of(service), f"{version}.{group}"
    if name and name != expected and not names.path_segment(name):
        words = f'must be `spec.version+"."+spec.group`: "{expected}"'
        yield field.invalid("metadata.name", name, words)
    if not group and version != "v1":
        yield field.required("spec.group", "only v1 may have an empty group and it better be legacy kube")
    yield from checks.optional_name("spec.group", group, names.dns1123_subdomain)
    yield from checks.wrong("spec.version", version, names.dns1035_label(version))
    yield from _priority("groupPriorityMinimum", spec, _MOST_GROUP_PRIORITY)
    yield from _priority("versionPriority", spec, _MOST_VERSION_PRIORITY)
    yield from checks.within("spec", _local(spec) if backend is None else _remote(spec, backend))


def _priority(name: str, spec: Obj, most: int) -> Iterator[FieldError]:
    number = spec.get(name) or 0
    if not 0 < number <= most:
        yield field.invalid(f"spec.{name}", number, f"must be positive and less than {most}")


def _local(spec: Obj) -> Iterator[FieldError]:
    bundle = spec.get("caBundle") or ""
    if bundle:
        length = len(bundle) * 3 // 4 - bundle.count("=")
        yield field.invalid("caBundle", f"{length} bytes", "local APIServices may not have a caBundle")
    if spec.get("insecureSkipTLSVerify"):
        words = "local APIServices may not have insecureSkipTLSVerify"
        yield field.invalid("insecureSkipTLSVerify", value=True, detail=words)


def _remote(spec: Obj, backend: Obj) -> Iterator[FieldError]:
    yield from checks.needed("service.namespace", backend.get("namespace"))
    yield from checks.needed("service.name", backend.get("name"))
    port = backend.get("port", 443)
    if wrong := names.port_number(port):
        yield field.invalid("service.port", port, f"port is not valid: {', '.join(wrong)}")
    if spec.get("insecureSkipTLSVerify") and spec.get("caBundle"):
        words = "may not be true if caBundle is present"
        yield field.invalid("insecureSkipTLSVerify", value=True, detail=words)


VALIDATORS = (
    {("apiregistration.k8s.io", "APIService"): same_on_update(_api_service)}
    | admission_rules.VALIDATORS
    | certificates.VALIDATORS
    | flowcontrol.VALIDATORS
)
