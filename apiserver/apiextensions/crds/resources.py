"""The rows by which a definition's kind is served, one for each version (customresource_handler.go)."""

from apiserver.api.meta import Obj, api_version
from apiserver.api.resources import Resource, Subresource, version_rank
from apiserver.apiextensions.crds.conditions import holds
from apiserver.apiextensions.crds.names import ESTABLISHED, NAMES_ACCEPTED
from apiserver.apiextensions.crds.termination import TERMINATING

VERBS = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
"""What a custom resource can do, in the order in which discovery tells it."""
WHILE_TERMINATING = ("delete", "deletecollection", "get", "list", "watch")
"""What discovery tells while objects of its kind are being deleted; changes are still taken, so that they can go."""

_PART_VERBS = ("get", "patch", "update")


def is_served(definition: Obj) -> bool:
    """Are requests for its kind answered? They are once its names are accepted; discovery waits for Established."""
    return holds(definition, NAMES_ACCEPTED) or holds(definition, ESTABLISHED)


def told_verbs(definition: Obj) -> tuple[str, ...]:
    """What discovery says that can be done with its kind; nothing where it does not tell of the kind.

    It goes by conditions alone (customresource_discovery_controller.go): other finalizers may keep a definition that is
    emptied, and then all verbs are told again.
    """
    if not holds(definition, ESTABLISHED):
        return ()
    return WHILE_TERMINATING if holds(definition, TERMINATING) else VERBS


def rows_of(definition: Obj) -> list[Resource]:
    """A row for each version that is served, in the order of the definition; none before names were accepted.

    Names are those that were accepted, even where the definition asks for others by now.
    """
    names = (definition.get("status") or {}).get("acceptedNames") or {}
    versions = definition["spec"].get("versions") or ()
    if not names.get("plural") or not names.get("kind"):
        return []
    return [_row(definition["spec"], version, names) for version in versions if version.get("served")]


def storage_row(definition: Obj) -> Resource | None:
    """The row of the version that objects are stored in, served or not; None before names were accepted."""
    names = (definition.get("status") or {}).get("acceptedNames") or {}
    if not names.get("plural") or not names.get("kind"):
        return None
    stored = storage_version(definition)
    return _row(definition["spec"], next(v for v in definition["spec"]["versions"] if v["name"] == stored), names)


def definition_name(group: str, version: str, kind: str) -> str:
    """The kind's name among the OpenAPI definitions: "com.example.v1.Widget" (kube-openapi's ToRESTFriendlyName)."""
    return ".".join((*reversed(group.split(".")), version, kind))


def storage_version(definition: Obj) -> str:
    """The version that objects of its kind are stored in."""
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
        kept_fields=tuple(sorted({field for each in spec["versions"] for field in _fields(each)})),
        deprecation=_deprecation(spec, version),
        custom=True,
        subresources=_parts(group, version, names["kind"]),
    )


def _fields(version: Obj) -> tuple[str, ...]:
    return tuple(field["jsonPath"].removeprefix(".") for field in version.get("selectableFields") or ())


def _parts(group: str, version: Obj, kind: str) -> dict[str, Subresource]:
    given = version.get("subresources") or {}
    parts = {}
    if given.get("status") is not None:
        parts["status"] = Subresource("status", _PART_VERBS, kind, group, version["name"])
    if given.get("scale") is not None:
        parts["scale"] = Subresource("scale", _PART_VERBS, "Scale", "autoscaling", "v1")
    return parts


def _deprecation(spec: Obj, version: Obj) -> str:
    """What clients of a deprecated version are told: the definition's own words, or where to go from here."""
    if not version.get("deprecated"):
        return ""
    warning: str | None = version.get("deprecationWarning")
    if warning is not None:
        return warning
    kind, here = spec["names"]["kind"], version["name"]
    better = [
        each["name"]
        for each in spec["versions"]
        if each.get("served") and not each.get("deprecated") and _preference(each["name"]) > _preference(here)
    ]
    words = f"{api_version(spec['group'], here)} {kind} is deprecated"
    return f"{words}; use {api_version(spec['group'], max(better, key=_preference))} {kind}" if better else words


def _preference(version: str) -> tuple[tuple[int, int, int], tuple[int, ...]]:
    """A sort key as apimachinery's CompareKubeAwareVersionStrings has it: of two other names the earlier is better."""
    return version_rank(version), (*(-ord(letter) for letter in version), 0)
