"""What a body says it is, beside what its path expects: which mismatch is told, and how (transformDecodeError)."""

import orjson

from apiserver.api import errors, field
from apiserver.api.errors import ApiError
from apiserver.api.json_syntax import type_name
from apiserver.api.meta import Obj, metadata
from apiserver.api.resources import Resource, ResourceTable

SCHEME = "pkg/api/legacyscheme/scheme.go:30"
"""Where upstream's kinds are registered, as its messages tell."""
_DEFINITIONS_SCHEME = "k8s.io/apiextensions-apiserver/pkg/apiserver/apiserver.go:55"
"""Where the kinds of upstream's extension server are registered, which serves definitions (1.33 to 1.36)."""


def check_kind(table: ResourceTable, resource: Resource, given: Obj, raw: bytes = b"") -> str:
    """The kind of a body that may be meant for a resource.

    Args:
        table: all that is served.
        resource: what the path names.
        given: the body; what it leaves out is the resource's, but custom ones leave nothing out.
        raw: the body as it came, as far as that is known, to be told.

    Raises:
        ApiError: 400, the body is something else; 422, it is of another custom kind.
    """
    kind, version = given.get("kind") or resource.kind, given.get("apiVersion") or resource.api_version
    if resource.custom:
        _check_custom(resource, given, raw)
    if kind != resource.kind or version != resource.api_version:
        raise _mismatch(table, resource, kind=kind, version=version)
    return resource.kind


def _check_custom(resource: Resource, given: Obj, raw: bytes) -> None:
    """Custom kinds are all alike to their server: it asks for a kind, and looks for the version first."""
    kind, version = given.get("kind"), given.get("apiVersion") or ""
    if not kind:
        body = (raw or orjson.dumps(given)).decode(errors="replace")
        summary = body if len(body) <= SUMMARY else f"{body[:SUMMARY]} ..."
        raise errors.bad_request(
            f"the object provided is unrecognized (must be of type {resource.kind}): {missing_kind(body)} ({summary})"
        )
    if not isinstance(kind, str) or not isinstance(version, str) or version.count("/") > 1:
        return
    if version != resource.api_version:
        raise _other_version(resource, version)
    if kind != resource.kind:
        raise other_type(resource, given)


SUMMARY = 30
"""How much of a body is told of it once more (rest.go's transformDecodeError)."""


def missing_kind(body: str) -> str:
    """What is said of a custom object without a kind (runtime.NewMissingKindErr)."""
    return f"Object 'Kind' is missing in '{body}'"


def other_type(resource: Resource, given: Obj) -> ApiError:
    """422: what is validated is of another kind or version (customresource/validator.go's ValidateTypeMeta)."""
    kind, version = given.get("kind") or "", given.get("apiVersion") or ""
    wrong = [
        field.invalid(name, is_value, f"must be {must}")
        for name, is_value, must in (("kind", kind, resource.kind), ("apiVersion", version, resource.api_version))
        if is_value != must
    ]
    group = str(version).rpartition("/")[0]
    return errors.invalid(group, str(kind), name=str(metadata(given).get("name") or ""), errors=wrong)


def _other_version(resource: Resource, version: str) -> ApiError:
    return errors.bad_request(
        f"the API version in the data ({version}) does not match the expected API version ({resource.api_version})"
    )


def _mismatch(table: ResourceTable, resource: Resource, *, kind: object, version: object) -> ApiError:
    unrecognized = f"the object provided is unrecognized (must be of type {resource.kind}): "
    for name, value in (("apiVersion", version), ("kind", kind)):
        if not isinstance(value, str):
            why = f"json: cannot unmarshal {type_name(value)} into Go struct field .{name} of type string"
            return errors.bad_request(f"{unrecognized}couldn't get version/kind; json parse error: {why}")
    assert isinstance(version, str)
    if version.count("/") > 1:
        return errors.bad_request(f"{unrecognized}unexpected GroupVersion string: {version}")
    short = version.rpartition("/")[2]
    if not any((row.api_version, row.kind) == (version, kind) for row in table):
        scheme = _DEFINITIONS_SCHEME if resource.group == "apiextensions.k8s.io" else SCHEME
        why = f'no kind "{kind}" is registered for version "{version}" in scheme "{scheme}"'
    elif kind == resource.kind:
        return _other_version(resource, version)
    else:
        package = resource.group.partition(".")[0] or "core"
        why = f"converting ({short}.{kind}) to ({package}.{resource.kind}): unknown conversion"
    return errors.bad_request(f'{kind} in version "{short}" cannot be handled as a {resource.kind}: {why}')
