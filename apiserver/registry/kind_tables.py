"""The tables of the built-in kinds by which verbs find conversions, defaults, selectable fields and notices.

A kind's file in `apiserver.groups` has its own part of them, such as what pkg/apis/*/*/defaults.go and `+default`
markers set. Defaults are set in place, on an object that the decoder has just made: nulls and empty optional values are
gone and quantities canonical.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial

from apiserver.api.golang.strings import quoted
from apiserver.api.meta import Obj
from apiserver.api.resources import Resource
from apiserver.groups.conversion import Conversion
from apiserver.groups.field_labels import Fields, at
from apiserver.groups.kind import Default
from apiserver.groups.kinds import ALL_KINDS
from apiserver.groups.notices import Notice

CONVERSIONS: Mapping[tuple[str, str, str], Conversion] = {
    (group, version, name): conversion
    for (group, name), kind in ALL_KINDS.items()
    for version, conversion in kind.version_conversions().items()
}
"""(group, served version, kind) → its conversion to and from the stored version, for versions that differ."""


def conversion_of(resource: Resource) -> Conversion | None:
    """Return the conversion between the version of a row and the stored one, None if their objects are alike."""
    candidate = CONVERSIONS.get((resource.group, resource.version, resource.kind))
    return None if candidate is None or resource.storage_version in candidate.alike else candidate


DEFAULTS: Mapping[tuple[str, str], Default] = {
    key: kind.default for key, kind in ALL_KINDS.items() if kind.default is not None
}
"""(group, kind) → the function that defaults an object in place, in every version; absent: no defaults."""

VERSION_DEFAULTS: Mapping[tuple[str, str, str], Default] = {
    (group, version, name): default
    for (group, name), kind in ALL_KINDS.items()
    for version, default in kind.version_defaults.items()
}
"""(group, version, kind) → the function of a kind whose versions differ."""

BESIDE_SPEC: Mapping[tuple[str, str], Default] = {
    key: kind.default_beside_spec for key, kind in ALL_KINDS.items() if kind.default_beside_spec is not None
}
"""(group, kind) → the function that sets defaults outside the spec, for objects whose spec has its defaults already."""


def set_defaults(group: str, version: str, kind: str, obj: Obj) -> None:
    """Set the defaults of a freshly decoded object in place; do nothing for a kind without defaults."""
    default = DEFAULTS.get((group, kind)) or VERSION_DEFAULTS.get((group, version, kind))
    if default is not None:
        default(obj)


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

    The fields and the message depend on the kind (upstream's AddFieldLabelConversionFunc); a kind without fields of its
    own takes metadata.namespace even if it is cluster-scoped (DefaultMetaV1FieldSelectorConversion), a custom kind
    only if it is namespaced (apiextensions-apiserver's conversion/converter.go).
    """
    if label == NAME or label in resource.fields:
        return ""
    kind = ALL_KINDS.get((resource.group, resource.kind))
    selects_namespace = resource.namespaced if kind is None else kind.selects_namespace
    if label == NAMESPACE and selects_namespace:
        return ""
    if kind is None:
        return f"field label not supported: {label}"
    if not kind.fields:
        return f'"{label}" is not a known field selector: only "{NAME}", "{NAMESPACE}"'
    return kind.unknown_field.format(label=label, quoted=quoted(label), version=resource.version)


def canonical_label(resource: Resource, label: str) -> str:
    """Return the field that a field selector on the resource means by a label."""
    kind = ALL_KINDS.get((resource.group, resource.kind))
    return label if kind is None else kind.field_aliases.get(label, label)


def notices_by_kind(rows: Iterable[Resource]) -> Iterator[Resource]:
    """Yield the rows, with their notices if their kind has some; all others are the same objects."""
    for row in rows:
        notices = NOTICES.get((row.group, row.kind))
        yield replace(row, notices=partial(_texts, notices)) if notices else row


def _texts(notices: tuple[Notice, ...], new: Obj, old: Obj | None) -> tuple[str, ...]:
    """Return the texts of the notices that concern a write."""
    return tuple([notice.text for notice in notices if notice.applies(new, old)])


NOTICES: Mapping[tuple[str, str], tuple[Notice, ...]] = {
    key: kind.notices for key, kind in ALL_KINDS.items() if kind.notices
}
"""(group, kind) → the notices for its writers."""
