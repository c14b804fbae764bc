"""Validation of containers' environment variables and of the fields they refer to (ValidateEnv, ValidateEnvFrom)."""

import re
from collections.abc import Collection

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj
from apiserver.api.validation import checks, names
from apiserver.api.validation.combinators import Check, FieldErrors, at, required, required_name, struct, text
from apiserver.api.validation.resource_lists import HUGE_PAGES, amount

_NO_SOURCE = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`"

_WITH_VALUE = "may not be specified when `value` is not empty"

_TWO_SOURCES = "may not have more than one field specified at a time"

_NO_REFERENCE = "must specify one of: `configMapRef` or `secretRef`"

_SUBSCRIPTED = re.compile(r"(metadata\.(?:annotations|labels))\['(.*)'\]")

_ENV_FIELDS = frozenset(
    {
        "metadata.name",
        "metadata.namespace",
        "metadata.uid",
        "spec.nodeName",
        "spec.serviceAccountName",
        "status.hostIP",
        "status.hostIPs",
        "status.podIP",
        "status.podIPs",
    }
)

_KNOWN_FIELDS = _ENV_FIELDS | {
    "metadata.annotations",
    "metadata.labels",
    "spec.restartPolicy",
    "spec.schedulerName",
    "spec.host",
    "status.phase",
}
"""All field paths that the downward API knows (ConvertDownwardAPIFieldLabel)."""

_RESOURCES = frozenset(
    f"{kind}.{name}" for kind in ("limits", "requests") for name in ("cpu", "memory", "ephemeral-storage")
)

_HUGE_PAGES = (f"limits.{HUGE_PAGES}", f"requests.{HUGE_PAGES}")

_SIZES = frozenset({"1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"})

_SIZE_WORDS = (
    "only divisor's values 1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei are supported with the {} resource"
)

_DIVISORS = {
    "cpu": (frozenset({"1m", "1"}), "only divisor's values 1m and 1 are supported with the cpu resource"),
    "memory": (_SIZES, _SIZE_WORDS.format("memory")),
    "ephemeral-storage": (_SIZES, _SIZE_WORDS.format("local ephemeral storage")),
    "hugepages": (_SIZES, _SIZE_WORDS.format("hugepages")),
}


def object_field(selector: Obj, allowed: Collection[str]) -> FieldErrors:
    """Return the errors of a fieldRef to one of the allowed fields or to a single label or annotation."""
    version, path = selector.get("apiVersion", "v1"), selector.get("fieldPath")
    if not version or not path:
        return (field.required("fieldPath" if version else "apiVersion"),)
    if version != "v1":
        detail = f"error converting fieldPath: unsupported pod version: {version}"
        return (field.invalid("fieldPath", path, detail),)
    if path in allowed:
        return ()
    if subscripted := _SUBSCRIPTED.fullmatch(path):
        map_path, name = subscripted.groups()
        name = name.lower() if map_path == "metadata.annotations" else name
        return checks.invalid_values("", name, names.qualified_name(name))
    return (_refused_field(path, allowed),)


def _refused_field(path: str, allowed: Collection[str]) -> FieldError:
    bare, bracket, _ = path.partition("['")
    if bracket and path.endswith("']") and bare in _KNOWN_FIELDS:
        return field.invalid("", bare, "does not support subscript")
    if path in _KNOWN_FIELDS:
        return field.not_supported("fieldPath", path, frozenset(allowed))
    return field.invalid("fieldPath", path, f"error converting fieldPath: field label not supported: {bare}")


def resource_field(selector: Obj, *, needs_container: bool) -> FieldErrors:
    """Return the errors of a resourceFieldRef; in volumes it must name a container."""
    errors: list[FieldError] = []
    resource = selector.get("resource") or ""
    if needs_container and not selector.get("containerName"):
        errors.append(field.required("containerName"))
    elif not resource:
        errors.append(field.required("resource"))
    elif resource not in _RESOURCES and not resource.startswith(_HUGE_PAGES):
        errors.append(field.not_supported("resource", resource, _RESOURCES))
    return [*errors, *_divisor(resource, str(selector.get("divisor") or "0"))]


def _divisor(resource: str, divisor: str) -> FieldErrors:
    name = resource.partition(".")[2]
    allowed, detail = _DIVISORS.get("hugepages" if name.startswith(HUGE_PAGES) else name, (None, ""))
    if allowed is None or divisor in allowed or amount(divisor) == 0:
        return ()
    return (field.invalid("divisor", resource, detail),)


_key_selector = struct(
    ("", lambda ref: checks.invalid_values("name", ref.get("name", ""), names.dns1123_subdomain(ref.get("name", "")))),
    required_name("key", names.config_map_key),
)

_SOURCES: dict[str, Check] = {
    "fieldRef": lambda ref: object_field(ref, _ENV_FIELDS),
    "resourceFieldRef": lambda ref: resource_field(ref, needs_container=False),
    "configMapKeyRef": _key_selector,
    "secretKeyRef": _key_selector,
    "fileKeyRef": struct(required("volumeName"), required("path"), required("key")),
}


def _value_from(variable: Obj) -> FieldErrors:
    source = variable.get("valueFrom")
    if source is None:
        return ()
    sources = [name for name in _SOURCES if source.get(name) is not None]
    errors = [error for name in sources for error in at(name, _SOURCES[name](source[name]))]
    detail = (
        _NO_SOURCE if not sources else _WITH_VALUE if variable.get("value") else _TWO_SOURCES if sources[1:] else ""
    )
    return at("valueFrom", [*errors, field.invalid("", "", detail)] if detail else errors)


def env(variables: list[Obj]) -> FieldErrors:
    """Return the errors of a container's env."""
    errors: list[FieldError] = []
    for index, variable in enumerate(variables):
        name = variable.get("name")
        messages = names.env_var_name(name) if name else ("",)
        if messages or "valueFrom" in variable:
            name_errors = checks.invalid_values("name", name, messages) if name else (field.required("name"),)
            errors += at(f"[{index}]", [*name_errors, *_value_from(variable)])
    return errors


def _prefixed_name(name: str) -> tuple[str, ...]:
    """Return the errors of a reference's name, which may end in a dash like a generateName."""
    return names.dns1123_subdomain(f"{name[:-2]}a" if len(name) > 1 and name[-1] == "-" else name)


_reference = struct(required_name("name", _prefixed_name))

_env_from = struct(
    ("prefix", lambda prefix: text(names.env_var_name)(prefix) if prefix else ()),
    ("configMapRef", _reference),
    ("secretRef", _reference),
)


def env_from(sources: list[Obj]) -> FieldErrors:
    """Return the errors of a container's envFrom; like upstream, a wrong number of sources is reported at the list."""
    errors: list[FieldError] = []
    for index, source in enumerate(sources):
        errors += at(f"[{index}]", _env_from(source))
        count = sum(source.get(name) is not None for name in ("configMapRef", "secretRef"))
        if count != 1:
            errors.append(field.invalid("", "", _TWO_SOURCES if count else _NO_REFERENCE))
    return errors
