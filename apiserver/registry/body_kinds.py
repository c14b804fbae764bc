"""What a body says it is, beside what its path expects: which mismatch is told, and how (transformDecodeError)."""

from apiserver.api import errors, field
from apiserver.api.errors import ApiError
from apiserver.api.json_syntax import type_name
from apiserver.api.meta import Obj, metadata
from apiserver.api.resources import Resource, ResourceTable

SCHEME = "pkg/api/legacyscheme/scheme.go:30"
"""Where upstream's kinds are registered, as its messages tell."""


def check_kind(table: ResourceTable, resource: Resource, given: Obj) -> str:
    """The kind of a body that may be meant for a resource.

    Args:
        table: all that is served.
        resource: what the path names.
        given: the body; what it leaves out is the resource's.

    Raises:
        ApiError: 400, the body is something else; 422, it is of another custom kind.
    """
    kind, version = given.get("kind") or resource.kind, given.get("apiVersion") or resource.api_version
    if resource.custom and isinstance(kind, str) and kind != resource.kind and version == resource.api_version:
        raise _other_kind(resource, given, kind)
    if kind != resource.kind or version != resource.api_version:
        raise _mismatch(table, resource, kind=kind, version=version)
    return resource.kind


def _other_kind(resource: Resource, given: Obj, kind: str) -> ApiError:
    """Custom kinds are all alike to their server, which finds this when it validates the object."""
    wrong = [field.invalid("kind", kind, f"must be {resource.kind}")]
    return errors.invalid(resource.group, kind, name=str(metadata(given).get("name") or ""), errors=wrong)


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
        why = f'no kind "{kind}" is registered for version "{version}" in scheme "{SCHEME}"'
    elif kind == resource.kind:
        return errors.bad_request(
            f"the API version in the data ({version}) does not match the expected API version ({resource.api_version})"
        )
    else:
        package = resource.group.partition(".")[0] or "core"
        why = f"converting ({short}.{kind}) to ({package}.{resource.kind}): unknown conversion"
    return errors.bad_request(f'{kind} in version "{short}" cannot be handled as a {resource.kind}: {why}')
