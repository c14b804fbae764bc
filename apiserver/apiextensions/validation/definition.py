"""What a CustomResourceDefinition may say, and what an update may change of it.

The rules, their order and their words are those of apiextensions-apiserver's
pkg/apis/apiextensions/validation/validation.go. Paths are those of upstream's internal type (see internal.py).
"""

from collections.abc import Iterator

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj, name_of
from apiserver.api.validation import checks, names
from apiserver.api.validation.contract import Validator
from apiserver.apiextensions.crds.approval import ANNOTATION, INVALID, MISSING, approval_of, is_protected
from apiserver.apiextensions.structural.invariants import unsupported
from apiserver.apiextensions.validation import versions as parts
from apiserver.apiextensions.validation.conversion import NONE, conversion
from apiserver.apiextensions.validation.internal import internal, printed_versions
from apiserver.apiextensions.validation.schemas import has_defaults, validation
from apiserver.apiextensions.validation.strictness import Strictness, strictness_of_update

_SCOPES = ("Cluster", "Namespaced")
_NEEDED_NAMES = ("plural", "singular", "kind", "listKind")
_OF_NAMES = 'must be spec.names.plural+"."+spec.group'
_MIXED_CASE = "may have mixed case, but should otherwise match: "
_NO_PRESERVING = (
    "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
)
_NO_SCHEMA = "may only be set when `version.schema.openAPIV3Schema` is not included"  # upstream says it like this
_NO_SHARED_SCHEMA = "may only be set when validations.schema is included"
_STORED = (
    "missing from spec.versions; {0} was previously a storage version, and must remain in spec.versions until a "
    "storage migration ensures no data remains persisted in {0} and removes {0} from status.storedVersions"
)


def validator(release: int) -> Validator:
    """What a definition may say on a server of a minor release, such as 34; 0 is the newest."""

    def create(definition: Obj) -> Iterator[FieldError]:
        yield from _name(definition)
        yield from _whole(definition, None, Strictness(release=release))

    def update(new: Obj, old: Obj) -> Iterator[FieldError]:
        yield from _whole(new, old, strictness_of_update(new, old, release))

    return Validator(create, update, lambda new, _old: _accepted(new))


def _whole(definition: Obj, old: Obj | None, strict: Strictness) -> Iterator[FieldError]:
    spec = definition.get("spec") or {}
    yield from _spec(internal(spec), strict)
    if old is not None:
        yield from _kept(spec, old.get("spec") or {}, strict)
    yield from _accepted(definition)
    stored = (definition.get("status") or {}).get("storedVersions") or []
    yield from checks.within("status.storedVersions", _stored(stored, spec.get("versions") or []))
    yield from _approved(definition, old)
    if spec.get("preserveUnknownFields") and not strict.preserved:
        yield field.invalid("spec.preserveUnknownFields", value=True, detail=_NO_PRESERVING)


def _name(definition: Obj) -> Iterator[FieldError]:
    spec, meta = definition.get("spec") or {}, definition.get("metadata") or {}
    needed = f"{(spec.get('names') or {}).get('plural') or ''}.{spec.get('group') or ''}"
    if prefix := meta.get("generateName"):
        yield from () if prefix == needed else (field.invalid("metadata.generateName", prefix, _OF_NAMES),)
    if (name := name_of(definition)) and name != needed:
        yield field.invalid("metadata.name", name, _OF_NAMES)


def _spec(spec: Obj, strict: Strictness) -> Iterator[FieldError]:
    """What is wrong with an internal spec."""
    versions = spec.get("versions") or []
    yield from checks.within("spec.group", _group(spec.get("group") or ""))
    yield from checks.needed_one_of("spec.scope", spec.get("scope"), _SCOPES)
    yield from _schemas_needed(spec, strict)
    for index, version in enumerate(versions):
        yield from _version(version, f"spec.versions[{index}]", spec, strict)
    yield from _versions(spec.get("versions"))
    if versions and versions[0].get("name"):
        yield from _joined("spec.version", versions[0]["name"], names.dns1035_label)
    yield from checks.within("spec.names", _names(spec.get("names") or {}, needed=_NEEDED_NAMES))
    status = any(_has_status(each) for each in (spec, *versions))
    first = spec.get("version") or ""
    yield from validation("spec.validation", spec.get("validation"), strict, status=status, version=first)
    yield from checks.within("spec", _beside_schema(spec, "validation", strict.many_fields))
    yield from _conversion(spec, strict)


def _group(group: str) -> checks.Found:
    if not group:
        return (field.required(""),)
    if wrong := names.dns1123_subdomain(group):
        return (field.invalid("", group, ",".join(wrong)),)
    return () if "." in group else (field.invalid("", group, "should be a domain with at least one dot"),)


def _schemas_needed(spec: Obj, strict: Strictness) -> Iterator[FieldError]:
    """Every version has a schema, or at least every one that is served where that was so before."""
    shared, preserves = (spec.get("validation") or {}).get("openAPIV3Schema"), spec.get("preserveUnknownFields")
    for index, version in enumerate(spec.get("versions") or ()):
        if shared is None and (version.get("schema") or {}).get("openAPIV3Schema") is None:
            path = f"spec.versions[{index}].schema.openAPIV3Schema"
            if strict.schemas:
                yield field.required(path)
            elif not preserves and version.get("served"):
                yield field.required(path, "because otherwise all fields are pruned")
    if preserves and has_defaults(spec):
        words = "must be false in order to use defaults in the schema"
        yield field.invalid("spec.preserveUnknownFields", value=True, detail=words)


def _version(version: Obj, path: str, spec: Obj, strict: Strictness) -> Iterator[FieldError]:
    """What is wrong with what a version of an internal spec has of its own."""
    yield from _joined(f"{path}.name", version.get("name") or "", names.dns1035_label)
    for problem in parts.deprecation_problems(version):
        yield field.invalid(f"{path}.deprecationWarning", version["deprecationWarning"], problem)
    status = _has_status(version) or _has_status(spec)
    name = version.get("name") or ""
    yield from validation(f"{path}.schema", version.get("schema"), strict, status=status, version=name)
    yield from checks.within(path, _beside_schema(version, "schema", strict.many_fields, name=name))


def _beside_schema(
    holder: Obj, schema_name: str, many_fields: frozenset[str], *, name: str = ""
) -> Iterator[FieldError]:
    """What is wrong with subresources, columns and selectable fields.

    Args:
        holder: a version of an internal spec, or the spec itself.
        schema_name: where it has its schema.
        many_fields: who may have too many selectable fields.
        name: of the version, "" for the spec.
    """
    yield from checks.within("subresources", parts.subresources(holder.get("subresources")))
    yield from checks.each("additionalPrinterColumns", holder.get("additionalPrinterColumns"), parts.column)
    fields, schema = holder.get("selectableFields"), (holder.get(schema_name) or {}).get("openAPIV3Schema")
    if not fields:
        return
    if schema is None:
        yield field.invalid("selectableFields", "", _NO_SCHEMA if name else _NO_SHARED_SCHEMA)
        return
    if why := unsupported(schema):
        yield field.invalid("schema.openAPIV3Schema", "", why)
        return
    found = parts.selectable_fields(fields, schema, too_many=name in many_fields)
    yield from checks.within("selectableFields", found)


def _has_status(holder: Obj) -> bool:
    return (holder.get("subresources") or {}).get("status") is not None


def _versions(given: list[Obj] | None) -> Iterator[FieldError]:
    """Versions have names of their own, and one is that of storage."""
    versions = given or []
    called = [version.get("name") for version in versions]
    if len({*called}) != len(called):
        yield field.invalid("spec.versions", printed_versions(given), "must contain unique version names")
    if sum(bool(version.get("storage")) for version in versions) != 1:
        words = "must have exactly one version marked as storage version"
        yield field.invalid("spec.versions", printed_versions(given), words)


def _names(given: Obj, *, needed: tuple[str, ...] = ()) -> Iterator[FieldError]:
    """What is wrong with the names that a definition asks for, or has.

    Args:
        given: the names.
        needed: those that must be there.
    """
    for what in needed:
        yield from checks.needed(what, given.get(what))
    kind, list_kind = given.get("kind") or "", given.get("listKind") or ""
    for what in ("plural", "singular"):
        if given.get(what):
            yield from _joined(what, given[what], names.dns1035_label)
    for what, name in (("kind", kind), ("listKind", list_kind)):
        if name and (wrong := names.dns1035_label(name.lower())):
            yield field.invalid(what, name, _MIXED_CASE + ",".join(wrong))
    for index, name in enumerate(given.get("shortNames") or ()):
        yield from _joined(f"shortNames[{index}]", name, names.dns1035_label)
    if kind and kind == list_kind:
        yield field.invalid("listKind", list_kind, "kind and listKind may not be the same")
    for index, name in enumerate(given.get("categories") or ()):
        yield from _joined(f"categories[{index}]", name, names.dns1035_label)


def _joined(path: str, value: str, check: names.Check) -> checks.Found:
    """One error with all that is wrong with a name."""
    wrong = check(value)
    return (field.invalid(path, value, ",".join(wrong)),) if wrong else ()


def _conversion(spec: Obj, strict: Strictness) -> Iterator[FieldError]:
    given = spec.get("conversion")
    if given is None:
        return
    strategy = given.get("strategy") or ""
    if strategy != NONE and spec.get("preserveUnknownFields"):
        words = "must be None if spec.preserveUnknownFields is true"
        yield field.invalid("spec.conversion.strategy", strategy, words)
    yield from checks.within("spec.conversion", conversion(given, strict))


def _kept(new: Obj, old: Obj, strict: Strictness) -> Iterator[FieldError]:
    """What an update leaves as it is: what makes the name, and once it is established, what is stored by."""
    now, before = new.get("names") or {}, old.get("names") or {}
    if strict.immutable_names:
        yield from checks.immutable("spec.scope", new.get("scope"), old.get("scope"))
        yield from checks.immutable("spec.names.kind", now.get("kind"), before.get("kind"))
    yield from checks.immutable("spec.group", new.get("group"), old.get("group"))
    yield from checks.immutable("spec.names.plural", now.get("plural"), before.get("plural"))


def _accepted(definition: Obj) -> Iterator[FieldError]:
    accepted = (definition.get("status") or {}).get("acceptedNames") or {}
    return checks.within("status.acceptedNames", _names(accepted))


def _stored(stored: list[str], versions: list[Obj]) -> Iterator[FieldError]:
    """Versions that objects are stored in are there: the one they are written in, and those they were written in."""
    if not stored:
        yield field.invalid("", None, "must have at least one stored version")
        return
    called = [version.get("name") for version in versions]
    for name, version in zip(called, versions, strict=True):
        if version.get("storage") and name not in stored:
            yield field.invalid("", stored, f"must have the storage version {name}")
    for index, name in enumerate(stored):
        if name not in called and name not in stored[index + 1 :]:
            yield field.invalid(f"[{index}]", name, _STORED.format(name))


def _approved(definition: Obj, old: Obj | None) -> Iterator[FieldError]:
    """In Kubernetes' own groups a definition tells of its approval; one that did so wrongly may go on to."""
    if not is_protected((definition.get("spec") or {}).get("group") or ""):
        return
    approval, path = approval_of(definition), f"metadata.annotations[{ANNOTATION}]"
    if old is not None and approval_of(old).state == approval.state:
        return
    if approval.state == MISSING:
        yield field.required(path, approval.reason)
    elif approval.state == INVALID:
        yield field.invalid(path, definition["metadata"]["annotations"][ANNOTATION], approval.reason)


VALIDATORS = {("apiextensions.k8s.io", "CustomResourceDefinition"): validator(0)}
