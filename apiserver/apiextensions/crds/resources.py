"""The resources by which a definition's kind is served, one for each version (customresource_handler.go)."""

from apiserver.api.meta import Obj, api_version
from apiserver.api.resources import Resource, Subresource, version_rank
from apiserver.apiextensions.crds.conditions import is_condition_true
from apiserver.apiextensions.crds.names import ESTABLISHED, NAMES_ACCEPTED
from apiserver.apiextensions.crds.termination import TERMINATING

VERBS = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
"""The verbs of a custom resource, in discovery's order."""
WHILE_TERMINATING = ("delete", "deletecollection", "get", "list", "watch")
"""The verbs in discovery while the objects are being deleted; updates still work, so that finalizers can be removed."""

_PART_VERBS = ("get", "patch", "update")


def is_served(definition: Obj) -> bool:
    """Return True if requests for its kind are answered: from accepted names on; discovery waits for Established."""
    return is_condition_true(definition, NAMES_ACCEPTED) or is_condition_true(definition, ESTABLISHED)


def discovery_verbs(definition: Obj) -> tuple[str, ...]:
    """Return the verbs of its kind in discovery; none if discovery does not list the kind.

    They depend on the conditions alone (customresource_discovery_controller.go): other finalizers may keep a definition
    that is emptied, and then all verbs are listed again.
    """
    if not is_condition_true(definition, ESTABLISHED):
        return ()
    return WHILE_TERMINATING if is_condition_true(definition, TERMINATING) else VERBS


def served_resources(definition: Obj) -> list[Resource]:
    """Return a resource for each served version, in the order of the definition; none before names were accepted.

    The names are the accepted ones, even if the definition asks for others by now.
    """
    names = (definition.get("status") or {}).get("acceptedNames") or {}
    versions = definition["spec"].get("versions") or ()
    if not names.get("plural") or not names.get("kind"):
        return []
    return [_row(definition["spec"], version, names) for version in versions if version.get("served")]


def storage_resource(definition: Obj) -> Resource | None:
    """Return the resource of the storage version, served or not; None before names were accepted."""
    names = (definition.get("status") or {}).get("acceptedNames") or {}
    if not names.get("plural") or not names.get("kind"):
        return None
    stored = storage_version(definition)
    return _row(definition["spec"], next(v for v in definition["spec"]["versions"] if v["name"] == stored), names)


def definition_name(group: str, version: str, kind: str) -> str:
    """Return the kind's name in OpenAPI definitions: "com.example.v1.Widget" (kube-openapi's ToRESTFriendlyName)."""
    return ".".join((*reversed(group.split(".")), version, kind))


def storage_version(definition: Obj) -> str:
    """Return the storage version; "" if no version is marked as such."""
    versions = definition["spec"].get("versions") or ()
    return next((version["name"] for version in versions if version.get("storage")), "")


def _row(spec: Obj, version: Obj, names: Obj) -> Resource:
    group, name = spec["group"], version["name"]
    return Resource(
        group=group,
        version=name,
        kind=names["kind"],
        list_kind=names.get("listKind") or "",
        plural=names["plural"],
        singular=names.get("singular") or "",
        namespaced=spec.get("scope") == "Namespaced",
        definition=definition_name(group, name, names["kind"]),
        storage_group=group,
        storage_version=storage_version({"spec": spec}),
        storage_prefix=f"{group}/{names['plural']}",
        verbs=VERBS,
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        fields=_fields(version),
        kept_fields=tuple(sorted({field for other in spec["versions"] for field in _fields(other)})),
        deprecation=_deprecation(spec, version),
        custom=True,
        subresources=_parts(group, version, names["kind"]),
    )


def _fields(version: Obj) -> tuple[str, ...]:
    return tuple(field["jsonPath"].removeprefix(".") for field in version.get("selectableFields") or ())


def _parts(group: str, version: Obj, kind: str) -> dict[str, Subresource]:
    declared = version.get("subresources") or {}
    subresources = {}
    if declared.get("status") is not None:
        subresources["status"] = Subresource("status", _PART_VERBS, kind, group, version["name"])
    if declared.get("scale") is not None:
        subresources["scale"] = Subresource("scale", _PART_VERBS, "Scale", "autoscaling", "v1")
    return subresources


def _deprecation(spec: Obj, version: Obj) -> str:
    """Return the warning to clients of a deprecated version: the definition's own, or which version to use instead."""
    if not version.get("deprecated"):
        return ""
    warning: str | None = version.get("deprecationWarning")
    if warning is not None:
        return warning
    kind, current = spec["names"]["kind"], version["name"]
    better = [
        other["name"]
        for other in spec["versions"]
        if other.get("served") and not other.get("deprecated") and _preference(other["name"]) > _preference(current)
    ]
    text = f"{api_version(spec['group'], current)} {kind} is deprecated"
    return f"{text}; use {api_version(spec['group'], max(better, key=_preference))} {kind}" if better else text


def _preference(version: str) -> tuple[tuple[int, int, int], tuple[int, ...]]:
    """Return a sort key like apimachinery's CompareKubeAwareVersionStrings; of two other names the earlier wins."""
    return version_rank(version), (*(-ord(letter) for letter in version), 0)
