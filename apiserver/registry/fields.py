"""What field selectors can see of an object: its selectable fields by name, as text (ToSelectableFields upstream)."""

from collections.abc import Callable, Mapping

from apiserver.api.meta import Obj
from apiserver.api.resources import Resource
from apiserver.groups.field_labels import Fields, at
from apiserver.groups.kinds import ALL_KINDS

NAME, NAMESPACE = "metadata.name", "metadata.namespace"


FIELDS: Mapping[tuple[str, str], Callable[[Obj], Fields]] = {
    key: kind.field_labels for key, kind in ALL_KINDS.items() if kind.field_labels is not None
}
"""(group, kind) → the fields of an object beside its name and namespace; other built-in kinds have none."""


def selectable_fields(resource: Resource, obj: Obj) -> Fields:
    """Return the fields that a selector on the resource may name, metadata.name and metadata.namespace among them.

    A custom kind declares its own (spec.versions[*].selectableFields), which are paths of plain values. Whichever
    version an object is written in, selectors of all versions decide by what is kept of it.
    """
    extract = FIELDS.get((resource.group, resource.kind))
    fields = extract(obj) if extract is not None else at(obj, resource.kept_fields or resource.fields)
    meta = obj["metadata"]
    fields[NAME] = meta.get("name", "")
    fields[NAMESPACE] = meta.get("namespace", "")
    return fields


def label_problem(resource: Resource, label: str) -> str:
    """Why a field selector on the resource may not name a field, "" where it may.

    Kinds tell this in words of their own (the ConvertFieldLabel functions upstream); that of custom kinds is the only
    one that does not know the namespace of what has none (apiextensions-apiserver's conversion/converter.go).
    """
    places = (NAME, NAMESPACE) if resource.namespaced or not resource.custom else (NAME,)
    if label in places or label in resource.fields:
        return ""
    if resource.fields or resource.custom:
        return f"field label not supported: {label}"
    return f'"{label}" is not a known field selector: only "{NAME}", "{NAMESPACE}"'
