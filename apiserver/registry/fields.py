"""The selectable fields of objects: name → text, for field selectors (ToSelectableFields upstream)."""

from collections.abc import Callable, Mapping

from apiserver.api.meta import Obj
from apiserver.api.resources import Resource
from apiserver.groups.field_labels import Fields, at
from apiserver.groups.kinds import ALL_KINDS

NAME, NAMESPACE = "metadata.name", "metadata.namespace"


FIELDS: Mapping[tuple[str, str], Callable[[Obj], Fields]] = {
    key: kind.field_labels for key, kind in ALL_KINDS.items() if kind.field_labels is not None
}
"""(group, kind) → the fields of an object besides its name and namespace; other built-in kinds have none."""


def selectable_fields(resource: Resource, obj: Obj) -> Fields:
    """Return the fields that a selector on the resource may name, metadata.name and metadata.namespace among them.

    A custom kind declares its own (spec.versions[*].selectableFields), paths of plain values. Selectors of all versions
    match these values, whichever version an object is written in.
    """
    extract = FIELDS.get((resource.group, resource.kind))
    fields = extract(obj) if extract is not None else at(obj, resource.kept_fields or resource.fields)
    meta = obj["metadata"]
    fields[NAME] = meta.get("name", "")
    fields[NAMESPACE] = meta.get("namespace", "")
    return fields


def label_problem(resource: Resource, label: str) -> str:
    """Return why a field selector on the resource may not name a field, "" if it may.

    The message depends on the kind (the ConvertFieldLabel functions upstream). Only cluster-scoped custom kinds refuse
    metadata.namespace (apiextensions-apiserver's conversion/converter.go).
    """
    places = (NAME, NAMESPACE) if resource.namespaced or not resource.custom else (NAME,)
    if label in places or label in resource.fields:
        return ""
    if resource.fields or resource.custom:
        return f"field label not supported: {label}"
    return f'"{label}" is not a known field selector: only "{NAME}", "{NAMESPACE}"'
