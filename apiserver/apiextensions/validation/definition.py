"""Validation of a CustomResourceDefinition and of its updates.

The rules, their order and their messages are those of apiextensions-apiserver's
pkg/apis/apiextensions/validation/validation.go. Paths are those of upstream's internal type (see internal.py).
"""

from collections.abc import Iterator

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj, name_of
from apiserver.api.validation import checks, names
from apiserver.api.validation.contract import Validator
from apiserver.api.validation.webhooks import webhook_service, webhook_url
from apiserver.apiextensions.crds.approval import ANNOTATION, INVALID, MISSING, approval_of, is_protected
from apiserver.apiextensions.crds.ca_bundles import ca_bundle_problem
from apiserver.apiextensions.structural.invariants import unsupported
from apiserver.apiextensions.validation import versions as parts
from apiserver.apiextensions.validation.internal import internal, printed_versions
from apiserver.apiextensions.validation.schemas import has_defaults, validation
from apiserver.apiextensions.validation.strictness import REVIEW_VERSIONS, Strictness, strictness_of_update

NONE, WEBHOOK = "None", "Webhook"

_NO_WEBHOOK = "should not be set when strategy is not set to Webhook"
_CLIENT = "webhookClientConfig"


def conversion(conversion_spec: Obj, strict: Strictness) -> Iterator[FieldError]:
    """Yield the errors of a conversion; paths within its webhook are those of upstream's internal type."""
    strategy, webhook = conversion_spec.get("strategy") or "", conversion_spec.get("webhook") or {}
    client, versions = webhook.get("clientConfig"), webhook.get("conversionReviewVersions") or []
    yield from checks.required_one_of("strategy", strategy, (NONE, WEBHOOK))
    if strategy == WEBHOOK:
        yield from (
            _client(client, strict)
            if client is not None
            else (field.required(_CLIENT, "required when strategy is set to Webhook"),)
        )
        yield from checks.prefix_errors("conversionReviewVersions", _review_versions(versions, strict))
        return
    if client is not None:
        yield field.forbidden(_CLIENT, _NO_WEBHOOK)
    if versions:
        yield field.forbidden("conversionReviewVersions", _NO_WEBHOOK)


def _client(client: Obj, strict: Strictness) -> Iterator[FieldError]:
    url, service, bundle = client.get("url"), client.get("service"), client.get("caBundle") or ""
    if (url is None) == (service is None):
        yield field.required(_CLIENT, "exactly one of url or service is required")
    elif url is not None:
        yield from checks.prefix_errors(_CLIENT, webhook_url(url))
    elif service is not None:
        swapped = service | {"name": service.get("namespace"), "namespace": service.get("name")}  # as upstream does
        yield from checks.prefix_errors(f"{_CLIENT}.service", webhook_service(swapped))
    if strict.ca_bundle and (problem := ca_bundle_problem(bundle)):
        yield field.invalid(f"{_CLIENT}.caBundle", bundle, problem)


def _review_versions(versions: list[str], strict: Strictness) -> Iterator[FieldError]:
    if not versions:
        yield field.required("")
        return
    for index, version in enumerate(versions):
        if version in versions[:index]:
            yield field.invalid(f"[{index}]", version, "duplicate version")
        else:
            yield from checks.invalid_values(f"[{index}]", version, names.dns1035_label(version))
    if strict.review_versions and not REVIEW_VERSIONS.intersection(versions):
        yield field.invalid("", versions, f"must include at least one of {', '.join(sorted(REVIEW_VERSIONS))}")


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
    """Return the validator of definitions for a server of a minor release, such as 34; 0 is the newest."""

    def create(definition: Obj) -> Iterator[FieldError]:
        yield from _name(definition)
        yield from _validate(definition, None, Strictness(release=release))

    def update(new: Obj, old: Obj) -> Iterator[FieldError]:
        yield from _validate(new, old, strictness_of_update(new, old, release))

    return Validator(create, update, lambda new, _old: _accepted(new))


def _validate(definition: Obj, old: Obj | None, strict: Strictness) -> Iterator[FieldError]:
    spec = definition.get("spec") or {}
    yield from _spec(internal(spec), strict)
    if old is not None:
        yield from _validate_unchanged(spec, old.get("spec") or {}, strict)
    yield from _accepted(definition)
    stored = (definition.get("status") or {}).get("storedVersions") or []
    yield from checks.prefix_errors("status.storedVersions", _stored(stored, spec.get("versions") or []))
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
    """Yield the errors of an internal spec."""
    versions = spec.get("versions") or []
    yield from checks.prefix_errors("spec.group", _group(spec.get("group") or ""))
    yield from checks.required_one_of("spec.scope", spec.get("scope"), _SCOPES)
    yield from _schemas_needed(spec, strict)
    for index, version in enumerate(versions):
        yield from _version(version, f"spec.versions[{index}]", spec, strict)
    yield from _versions(spec.get("versions"))
    if versions and versions[0].get("name"):
        yield from _joined_error("spec.version", versions[0]["name"], names.dns1035_label)
    yield from checks.prefix_errors("spec.names", _names(spec.get("names") or {}, needed=_NEEDED_NAMES))
    status = any(_has_status(holder) for holder in (spec, *versions))
    first = spec.get("version") or ""
    yield from validation("spec.validation", spec.get("validation"), strict, status=status, version=first)
    yield from checks.prefix_errors("spec", _beside_schema(spec, "validation", strict.many_fields))
    yield from _conversion(spec, strict)


def _group(group: str) -> checks.FieldErrors:
    if not group:
        return (field.required(""),)
    if problems := names.dns1123_subdomain(group):
        return (field.invalid("", group, ",".join(problems)),)
    return () if "." in group else (field.invalid("", group, "should be a domain with at least one dot"),)


def _schemas_needed(spec: Obj, strict: Strictness) -> Iterator[FieldError]:
    """Require a schema of every version; an update may require it of served versions only."""
    shared, preserves = (spec.get("validation") or {}).get("openAPIV3Schema"), spec.get("preserveUnknownFields")
    for index, version in enumerate(spec.get("versions") or ()):
        if shared is None and (version.get("schema") or {}).get("openAPIV3Schema") is None:
            path = f"spec.versions[{index}].schema.openAPIV3Schema"
            if strict.schemas:
                yield field.required(path)
            elif not preserves and version.get("served"):
                yield field.required(path, "because otherwise all fields are pruned")
    if preserves and has_defaults(spec):
        message = "must be false in order to use defaults in the schema"
        yield field.invalid("spec.preserveUnknownFields", value=True, detail=message)


def _version(version: Obj, path: str, spec: Obj, strict: Strictness) -> Iterator[FieldError]:
    """Yield the errors of a version of an internal spec, except for names that are not unique."""
    yield from _joined_error(f"{path}.name", version.get("name") or "", names.dns1035_label)
    for problem in parts.deprecation_problems(version):
        yield field.invalid(f"{path}.deprecationWarning", version["deprecationWarning"], problem)
    status = _has_status(version) or _has_status(spec)
    name = version.get("name") or ""
    yield from validation(f"{path}.schema", version.get("schema"), strict, status=status, version=name)
    yield from checks.prefix_errors(path, _beside_schema(version, "schema", strict.many_fields, name=name))


def _beside_schema(
    holder: Obj, schema_name: str, many_fields: frozenset[str], *, name: str = ""
) -> Iterator[FieldError]:
    """Yield the errors of subresources, columns and selectable fields.

    Args:
        holder: a version of an internal spec, or the spec itself.
        schema_name: the name of its schema's field.
        many_fields: the versions that may have too many selectable fields.
        name: the name of the version, "" for the spec.
    """
    yield from checks.prefix_errors("subresources", parts.subresources(holder.get("subresources")))
    yield from checks.each("additionalPrinterColumns", holder.get("additionalPrinterColumns"), parts.column)
    fields, schema = holder.get("selectableFields"), (holder.get(schema_name) or {}).get("openAPIV3Schema")
    if not fields:
        return
    if schema is None:
        yield field.invalid("selectableFields", "", _NO_SCHEMA if name else _NO_SHARED_SCHEMA)
        return
    if reason := unsupported(schema):
        yield field.invalid("schema.openAPIV3Schema", "", reason)
        return
    errors = parts.selectable_fields(fields, schema, too_many=name in many_fields)
    yield from checks.prefix_errors("selectableFields", errors)


def _has_status(holder: Obj) -> bool:
    return (holder.get("subresources") or {}).get("status") is not None


def _versions(declared: list[Obj] | None) -> Iterator[FieldError]:
    """Require unique names of versions, and exactly one storage version."""
    versions = declared or []
    version_names = [version.get("name") for version in versions]
    if len({*version_names}) != len(version_names):
        yield field.invalid("spec.versions", printed_versions(declared), "must contain unique version names")
    if sum(bool(version.get("storage")) for version in versions) != 1:
        message = "must have exactly one version marked as storage version"
        yield field.invalid("spec.versions", printed_versions(declared), message)


def _names(requested: Obj, *, needed: tuple[str, ...] = ()) -> Iterator[FieldError]:
    """Yield the errors of the names that a definition asks for, or has.

    Args:
        requested: the names.
        needed: the names that are required.
    """
    for name_field in needed:
        yield from checks.required(name_field, requested.get(name_field))
    kind, list_kind = requested.get("kind") or "", requested.get("listKind") or ""
    for name_field in ("plural", "singular"):
        if requested.get(name_field):
            yield from _joined_error(name_field, requested[name_field], names.dns1035_label)
    for name_field, name in (("kind", kind), ("listKind", list_kind)):
        if name and (problems := names.dns1035_label(name.lower())):
            yield field.invalid(name_field, name, _MIXED_CASE + ",".join(problems))
    for index, name in enumerate(requested.get("shortNames") or ()):
        yield from _joined_error(f"shortNames[{index}]", name, names.dns1035_label)
    if kind and kind == list_kind:
        yield field.invalid("listKind", list_kind, "kind and listKind may not be the same")
    for index, name in enumerate(requested.get("categories") or ()):
        yield from _joined_error(f"categories[{index}]", name, names.dns1035_label)


def _joined_error(path: str, value: str, check: names.Check) -> checks.FieldErrors:
    """Return one error with all problems of a name."""
    problems = check(value)
    return (field.invalid(path, value, ",".join(problems)),) if problems else ()


def _conversion(spec: Obj, strict: Strictness) -> Iterator[FieldError]:
    declared = spec.get("conversion")
    if declared is None:
        return
    strategy = declared.get("strategy") or ""
    if strategy != NONE and spec.get("preserveUnknownFields"):
        message = "must be None if spec.preserveUnknownFields is true"
        yield field.invalid("spec.conversion.strategy", strategy, message)
    yield from checks.prefix_errors("spec.conversion", conversion(declared, strict))


def _validate_unchanged(new: Obj, old: Obj, strict: Strictness) -> Iterator[FieldError]:
    """Refuse changes of immutable fields: the group and the plural, and once established also scope and kind."""
    new_names, old_names = new.get("names") or {}, old.get("names") or {}
    if strict.immutable_names:
        yield from checks.immutable("spec.scope", new.get("scope"), old.get("scope"))
        yield from checks.immutable("spec.names.kind", new_names.get("kind"), old_names.get("kind"))
    yield from checks.immutable("spec.group", new.get("group"), old.get("group"))
    yield from checks.immutable("spec.names.plural", new_names.get("plural"), old_names.get("plural"))


def _accepted(definition: Obj) -> Iterator[FieldError]:
    accepted = (definition.get("status") or {}).get("acceptedNames") or {}
    return checks.prefix_errors("status.acceptedNames", _names(accepted))


def _stored(stored: list[str], versions: list[Obj]) -> Iterator[FieldError]:
    """Require that all storage versions exist: the current one, and those in which objects may still be stored."""
    if not stored:
        yield field.invalid("", None, "must have at least one stored version")
        return
    version_names = [version.get("name") for version in versions]
    for name, version in zip(version_names, versions, strict=True):
        if version.get("storage") and name not in stored:
            yield field.invalid("", stored, f"must have the storage version {name}")
    for index, name in enumerate(stored):
        if name not in version_names and name not in stored[index + 1 :]:
            yield field.invalid(f"[{index}]", name, _STORED.format(name))


def _approved(definition: Obj, old: Obj | None) -> Iterator[FieldError]:
    """Require an approval in Kubernetes' own groups; an update may keep an invalid one."""
    if not is_protected((definition.get("spec") or {}).get("group") or ""):
        return
    approval, path = approval_of(definition), f"metadata.annotations[{ANNOTATION}]"
    if old is not None and approval_of(old).state == approval.state:
        return
    if approval.state == MISSING:
        yield field.required(path, approval.reason)
    elif approval.state == INVALID:
        yield field.invalid(path, definition["metadata"]["annotations"][ANNOTATION], approval.reason)
