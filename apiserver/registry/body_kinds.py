"""Compares the kind and apiVersion of a body with what its path expects; words mismatches (transformDecodeError)."""

from collections.abc import Mapping

import orjson

from apiserver.api import errors, field
from apiserver.api.errors import ApiError
from apiserver.api.json_syntax import type_name
from apiserver.api.meta import Obj, metadata
from apiserver.api.resources import Resource, ResourceTable

SCHEME = "pkg/api/legacyscheme/scheme.go:30"
"""The source line that registers upstream's kinds, as its messages have it."""
_DEFINITIONS_SCHEME = "k8s.io/apiextensions-apiserver/pkg/apiserver/apiserver.go:55"
"""The same for upstream's extension server, which serves CustomResourceDefinitions (1.33 to 1.36)."""
_DEFINITIONS = "apiextensions.k8s.io"
_OPTIONS = frozenset(("CreateOptions", "DeleteOptions", "GetOptions", "ListOptions", "PatchOptions", "UpdateOptions"))
"""The kinds that every version of every group has besides its own."""
_RETIRED: Mapping[str, tuple[str, ...]] = {
    "extensions/v1beta1": ("DaemonSet", "Deployment", "Ingress", "NetworkPolicy", "ReplicaSet", "Scale"),
    "apps/v1beta1": ("ControllerRevision", "Deployment", "Scale", "StatefulSet"),
    "apps/v1beta2": ("ControllerRevision", "DaemonSet", "Deployment", "ReplicaSet", "Scale", "StatefulSet"),
    "batch/v1beta1": ("CronJob",),
    "policy/v1beta1": ("Eviction", "PodDisruptionBudget"),
    "networking.k8s.io/v1beta1": ("IPAddress", "Ingress", "IngressClass", "ServiceCIDR"),
    "rbac.authorization.k8s.io/v1beta1": ("ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"),
    "rbac.authorization.k8s.io/v1alpha1": ("ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"),
    "scheduling.k8s.io/v1beta1": ("PriorityClass",),
    "scheduling.k8s.io/v1alpha1": ("PriorityClass",),
    "discovery.k8s.io/v1beta1": ("EndpointSlice",),
    "events.k8s.io/v1beta1": ("Event",),
    "node.k8s.io/v1beta1": ("RuntimeClass",),
    "admissionregistration.k8s.io/v1beta1": ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"),
    f"{_DEFINITIONS}/v1beta1": ("ConversionReview", "CustomResourceDefinition"),
}
"""Versions that are no longer served but still decode: the error for such a body names both versions."""


def check_kind(table: ResourceTable, resource: Resource, body: Obj, source: bytes | None = None) -> str:
    """Return the kind that a body names, if it is the resource's.

    Args:
        table: all that is served.
        resource: the resource that the path names.
        body: the body; a kind or apiVersion that it omits is the resource's, but custom objects must have both.
        source: the body as it was sent, for the message; None if the server made it itself.

    Raises:
        ApiError: 400, the body is of another kind or version; 422, it is of another custom kind.
    """
    kind, version = body.get("kind"), body.get("apiVersion")
    if not resource.custom:
        kind, version = kind or resource.kind, version or resource.api_version
    if kind == resource.kind and version == resource.api_version:
        return resource.kind
    sent = orjson.dumps(body) if source is None else source
    try:
        kind, version = _type_meta(body)
    except ValueError as error:
        raise unrecognized(resource.kind, str(error), sent) from error
    if resource.custom:
        raise _custom_mismatch(resource, body, sent)
    raise _mismatch(table, resource, kind=kind or resource.kind, version=version or resource.api_version)


def unrecognized(kind: str, why: str, source: bytes) -> ApiError:
    """Return the 400 for a body whose kind cannot be read (rest.go's transformDecodeError)."""
    message = f"the object provided is unrecognized (must be of type {kind}): {why} ({_summary(source)})"
    return errors.bad_request(message)


SUMMARY = 30
"""The number of bytes of a body that its summary shows."""


def _summary(source: bytes) -> str:
    """Return the beginning of a body, as text if it looks like JSON, else in hex (rest.go's summarizeData)."""
    if not source:
        return "<empty>"
    cut, more = source[:SUMMARY], " ..." if len(source) > SUMMARY else ""
    return (cut.decode(errors="replace") if source[:1] == b"{" else cut.hex()) + more


NO_TYPE_META = "couldn't get version/kind; json parse error: "


def _type_meta(body: Obj) -> tuple[str, str]:
    """Return the kind and apiVersion that a body names, "" for an absent one (SimpleMetaFactory.Interpret).

    Raises:
        ValueError: they cannot be read.
    """
    kind, version = body.get("kind", ""), body.get("apiVersion", "")
    kind, version = "" if kind is None else kind, "" if version is None else version
    for name, value in (("apiVersion", version), ("kind", kind)):
        if not isinstance(value, str):
            why = f"json: cannot unmarshal {type_name(value)} into Go struct field .{name} of type string"
            raise ValueError(f"{NO_TYPE_META}{why}")  # noqa: TRY004 - it is the client's value
    if version.count("/") > 1:
        raise ValueError(f"unexpected GroupVersion string: {version}")
    return kind, version


DELETE_OPTIONS = "DeleteOptions"
META_SCHEME = "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme/register.go:27"
"""The source line that registers upstream's options, as its messages have it."""
META_VERSION = "meta.k8s.io/v1"
_OF_EVERY_VERSION = frozenset(
    ("CreateOptions", "UpdateOptions", "Status", "APIVersions", "APIGroupList", "APIGroup", "APIResourceList")
)
_OF_META = frozenset(
    (
        "GetOptions",
        "ListOptions",
        "PartialObjectMetadata",
        "PartialObjectMetadataList",
        "PatchOptions",
        "Table",
        "TableOptions",
        "WatchEvent",
    )
)
"""Kinds that are registered besides DeleteOptions: of any version, or of META_VERSION alone."""


def check_options_kind(body: Obj) -> None:
    """Refuse the body of a DELETE unless its kind is DeleteOptions, of any version.

    Raises:
        ApiError: 400.
    """
    try:
        kind, version = _type_meta(body)
    except ValueError as error:
        raise errors.bad_request(str(error)) from error
    version = version or META_VERSION
    if kind in ("", DELETE_OPTIONS):
        return
    if kind in _OF_EVERY_VERSION or (kind in _OF_META and version == META_VERSION):
        raise errors.bad_request(f"converting (v1.{kind}) to (v1.{DELETE_OPTIONS}): unknown conversion")
    raise errors.bad_request(f'no kind "{kind}" is registered for version "{version}" in scheme "{META_SCHEME}"')


def _custom_mismatch(resource: Resource, body: Obj, source: bytes) -> ApiError:
    """Return the error for a custom object of another kind or version; upstream compares the version first."""
    if not body.get("kind"):
        return unrecognized(resource.kind, missing_kind(source.decode(errors="replace")), source)
    version = body.get("apiVersion") or ""
    return other_type(resource, body) if version == resource.api_version else _other_version(resource, version)


def missing_kind(body: str) -> str:
    """Return the message for a custom object without a kind (runtime.NewMissingKindErr)."""
    return f"Object 'Kind' is missing in '{body}'"


HEAD = r'struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }'
"""The Go type into which upstream decodes a body's kind and apiVersion."""


def unreadable_kind(value: object) -> str:
    """Return the message for a JSON body that is not an object, so that it has no kind (json.Interpret)."""
    return f"{NO_TYPE_META}json: cannot unmarshal {type_name(value)} into Go value of type {HEAD}"


def other_type(resource: Resource, obj: Obj) -> ApiError:
    """Return the 422 for an object of another kind or version (customresource/validator.go's ValidateTypeMeta)."""
    kind, version = obj.get("kind") or "", obj.get("apiVersion") or ""
    mismatches = [
        field.invalid(name, is_value, f"must be {must}")
        for name, is_value, must in (("kind", kind, resource.kind), ("apiVersion", version, resource.api_version))
        if is_value != must
    ]
    group = str(version).rpartition("/")[0]
    return errors.invalid(group, str(kind), name=str(metadata(obj).get("name") or ""), errors=mismatches)


def _other_version(resource: Resource, version: str) -> ApiError:
    return errors.bad_request(
        f"the API version in the data ({version}) does not match the expected API version ({resource.api_version})"
    )


def _scheme_of(group: str) -> str:
    return _DEFINITIONS_SCHEME if group == _DEFINITIONS else SCHEME


def _is_registered(table: ResourceTable, resource: Resource, version: str, kind: str) -> bool:
    """Return whether the scheme that decodes a resource also has a kind, or its list kind, in a version."""
    if _scheme_of(version.rpartition("/")[0]) != _scheme_of(resource.group):
        return False
    if kind.removesuffix("List") in _RETIRED.get(version, ()):
        return True
    rows = (row for row in table if not row.custom and row.api_version == version)
    return any(kind in _OPTIONS or kind in (row.kind, row.list_kind) for row in rows)


def _mismatch(table: ResourceTable, resource: Resource, *, kind: str, version: str) -> ApiError:
    short = version.rpartition("/")[2]
    if not _is_registered(table, resource, version, kind):
        why = f'no kind "{kind}" is registered for version "{version}" in scheme "{_scheme_of(resource.group)}"'
    elif kind == resource.kind:
        return _other_version(resource, version)
    else:
        package = resource.group.partition(".")[0] or "core"
        why = f"converting ({short}.{kind}) to ({package}.{resource.kind}): unknown conversion"
    return errors.bad_request(f'{kind} in version "{short}" cannot be handled as a {resource.kind}: {why}')
