"""What a body says it is, beside what its path expects: which mismatch is told, and how (transformDecodeError)."""

from collections.abc import Mapping

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
_DEFINITIONS = "apiextensions.k8s.io"
_OPTIONS = frozenset(("CreateOptions", "DeleteOptions", "GetOptions", "ListOptions", "PatchOptions", "UpdateOptions"))
"""What each version of each group has beside its own kinds."""
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
"""Versions that are served no more, and can be read all the same: a body of one is told that it is of another."""


def check_kind(table: ResourceTable, resource: Resource, given: Obj, source: bytes | None = None) -> str:
    """Return the kind of a body that may be meant for a resource.

    Args:
        table: all that is served.
        resource: what the path names.
        given: the body; what it leaves out is the resource's, but custom ones leave nothing out.
        source: the body as it was sent, for the message; None where it was made here.

    Raises:
        ApiError: 400, the body is something else; 422, it is of another custom kind.
    """
    kind, version = given.get("kind"), given.get("apiVersion")
    if not resource.custom:
        kind, version = kind or resource.kind, version or resource.api_version
    if kind == resource.kind and version == resource.api_version:
        return resource.kind
    sent = orjson.dumps(given) if source is None else source
    try:
        kind, version = _type_meta(given)
    except ValueError as error:
        raise unrecognized(resource.kind, str(error), sent) from error
    if resource.custom:
        raise _custom_mismatch(resource, given, sent)
    raise _mismatch(table, resource, kind=kind or resource.kind, version=version or resource.api_version)


def unrecognized(kind: str, why: str, source: bytes) -> ApiError:
    """Return the 400 for a body of which not even the kind is known (rest.go's transformDecodeError)."""
    told = f"the object provided is unrecognized (must be of type {kind}): {why} ({_summary(source)})"
    return errors.bad_request(told)


SUMMARY = 30
"""How many bytes of a body its summary has."""


def _summary(source: bytes) -> str:
    """Return the beginning of a body, as text where it looks like JSON, else in hex (rest.go's summarizeData)."""
    if not source:
        return "<empty>"
    cut, more = source[:SUMMARY], " ..." if len(source) > SUMMARY else ""
    return (cut.decode(errors="replace") if source[:1] == b"{" else cut.hex()) + more


NO_TYPE_META = "couldn't get version/kind; json parse error: "


def _type_meta(given: Obj) -> tuple[str, str]:
    """Return the kind and apiVersion that a body names, "" for what it leaves out (SimpleMetaFactory.Interpret).

    Raises:
        ValueError: they cannot be read.
    """
    kind, version = given.get("kind", ""), given.get("apiVersion", "")
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
"""Where upstream's options are registered, as its messages tell."""
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
"""Kinds that are registered beside DeleteOptions: of any version, or of META_VERSION alone."""


def check_options_kind(given: Obj) -> None:
    """Refuse a body of a DELETE that is of another kind than DeleteOptions, whose version does not matter.

    Raises:
        ApiError: 400.
    """
    try:
        kind, version = _type_meta(given)
    except ValueError as error:
        raise errors.bad_request(str(error)) from error
    version = version or META_VERSION
    if kind in ("", DELETE_OPTIONS):
        return
    if kind in _OF_EVERY_VERSION or (kind in _OF_META and version == META_VERSION):
        raise errors.bad_request(f"converting (v1.{kind}) to (v1.{DELETE_OPTIONS}): unknown conversion")
    raise errors.bad_request(f'no kind "{kind}" is registered for version "{version}" in scheme "{META_SCHEME}"')


def _custom_mismatch(resource: Resource, given: Obj, source: bytes) -> ApiError:
    """Custom kinds are all alike to their server: it asks for a kind, and looks for the version first."""
    if not given.get("kind"):
        return unrecognized(resource.kind, missing_kind(source.decode(errors="replace")), source)
    version = given.get("apiVersion") or ""
    return other_type(resource, given) if version == resource.api_version else _other_version(resource, version)


def missing_kind(body: str) -> str:
    """What is said of a custom object without a kind (runtime.NewMissingKindErr)."""
    return f"Object 'Kind' is missing in '{body}'"


HEAD = r'struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }'
"""The Go type by which upstream finds out what a body is."""


def unreadable_kind(value: object) -> str:
    """Return what is said of a JSON value that is no object, where its kind is looked for (json.Interpret)."""
    return f"{NO_TYPE_META}json: cannot unmarshal {type_name(value)} into Go value of type {HEAD}"


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


def _scheme_of(group: str) -> str:
    return _DEFINITIONS_SCHEME if group == _DEFINITIONS else SCHEME


def _is_registered(table: ResourceTable, resource: Resource, version: str, kind: str) -> bool:
    """Whether the scheme that a resource is read by knows a kind, be it of another version or a list."""
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
