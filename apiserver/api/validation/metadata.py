"""Validation of metadata, for all kinds (k8s.io/apimachinery/pkg/api/validation/objectmeta.go)."""

from collections.abc import Iterator, Mapping

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.managedfields.managed_fields import field_manager_errors
from apiserver.api.meta import Obj, group_version, metadata
from apiserver.api.resources import Resource
from apiserver.api.validation import checks, names
from apiserver.api.validation.combinators import labels
from apiserver.api.validation.names import Check, Messages

ANNOTATIONS_LIMIT = 256 * 1024
"""The most bytes of all keys and values of an object's annotations together."""

_OWNERS = "metadata.ownerReferences"
_PLAIN = frozenset({"apps/v1", "batch/v1", "v1"})
_STANDARD_FINALIZERS = frozenset({"kubernetes", "orphan", "foregroundDeletion"})
_IMMUTABLE = ("name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds")
_OPERATIONS = ("Apply", "Update")
MAX_SUBRESOURCE_BYTES = 256
_SHORT = 32
"""Names of no more printable characters need no further checks."""


def validate_metadata(resource: Resource, obj: Obj, name_rule: Check = names.dns1123_subdomain) -> list[FieldError]:
    """Return the errors of a new object's metadata: ValidateObjectMeta with the name rule of its kind."""
    meta = metadata(obj)
    errors = _names(meta, name_rule) + _common(meta, namespaced=resource.namespaced)
    return errors + _finalizer_standards(resource, meta) if "finalizers" in meta else errors


def validate_metadata_update(resource: Resource, new: Obj, old: Obj) -> list[FieldError]:
    """Return the errors of changed metadata.

    Upstream checks it in the generic registry and again for the kind (rest.validateCommonFields and ValidateXUpdate);
    both errors are among the causes, so each error occurs twice here, too.
    """
    meta, before = metadata(new), metadata(old)
    errors = _names(meta, names.path_segment) + _common(meta, namespaced=resource.namespaced)
    change = [*_changes(meta, before), *(_contents(meta) if errors else ())]
    return errors + change + change + _finalizer_standards(resource, meta) if change or "finalizers" in meta else errors


def validate_metadata_of_any_kind(meta: Obj) -> list[FieldError]:
    """Return the errors of the metadata of an embedded resource of unknown kind, which needs no name."""
    named = meta if meta.get("name") else meta | {"name": "unnamed"}
    return _names(named, names.path_segment) + _common(meta, namespaced=bool(meta.get("namespace")))


def _names(meta: Obj, rule: Check) -> list[FieldError]:
    errors: list[FieldError] = []
    if prefix := meta.get("generateName"):
        errors += checks.invalid_values("metadata.generateName", prefix, rule(_with_letter(prefix)))
    name = meta.get("name")
    if not name:
        errors.append(field.required("metadata.name", "name or generateName is required"))
    elif messages := rule(name):
        errors += checks.invalid_values("metadata.name", name, messages)
    return errors


def _with_letter(prefix: str) -> str:
    """Return the prefix with its last dash replaced by a letter, since more will follow it (maskTrailingDash)."""
    return f"{prefix[:-2]}a" if len(prefix) > 1 and prefix[-1] == "-" else prefix


def _common(meta: Obj, *, namespaced: bool) -> list[FieldError]:
    namespace = meta.get("namespace")
    errors: list[FieldError] = []
    if namespaced:
        messages: Messages = names.dns1123_label(namespace) if namespace else ()
        if not namespace:
            errors.append(field.required("metadata.namespace"))
        elif messages:
            errors += checks.invalid_values("metadata.namespace", namespace, messages)
    elif namespace:
        errors.append(field.forbidden("metadata.namespace", "not allowed on this type"))
    if (meta.get("generation") or 0) < 0:
        errors.append(field.invalid("metadata.generation", meta["generation"], checks.NEGATIVE))
    errors += _contents(meta, finalizers=True)
    return errors


def _contents(meta: Obj, *, finalizers: bool = False) -> list[FieldError]:
    """Return the errors of labels, annotations, owners, finalizers if requested, and managed fields."""
    errors: list[FieldError] = []
    if (pairs := meta.get("labels")) and (label_errors := labels(pairs)):
        errors += checks.prefix_errors("metadata.labels", label_errors)
    if pairs := meta.get("annotations"):
        errors += validate_annotations("metadata.annotations", pairs)
    if (owners := meta.get("ownerReferences")) and not (len(owners) == 1 and _is_plain(owners[0])):
        errors += _owners(owners)
    if finalizers and (finalizer_names := meta.get("finalizers")):
        errors += _finalizers(finalizer_names)
    if managed := meta.get("managedFields"):
        errors += _managed_fields(managed)
    return errors


def validate_annotations(path: str, pairs: Mapping[str, str]) -> list[FieldError]:
    """Return the errors of annotations at a path: malformed keys, in any case, and their total size."""
    errors: list[FieldError] = []
    for key in pairs:
        if messages := names.qualified_name(key.lower()):
            errors += checks.invalid_values(path, key, messages)
    if (
        sum(map(len, pairs)) + sum(map(len, pairs.values())) > ANNOTATIONS_LIMIT // 4
        and _bytes(pairs) > ANNOTATIONS_LIMIT
    ):
        errors.append(field.too_long(path, ANNOTATIONS_LIMIT))
    return errors


def _bytes(pairs: Mapping[str, str]) -> int:
    return sum(len(text.encode(errors="replace")) for pair in pairs.items() for text in pair)


def _is_plain(owner: Obj) -> bool:
    """Return whether an owner reference is as controllers write it, so that it needs no checks."""
    return bool(
        owner.get("kind", "Event") != "Event"
        and owner.get("name")
        and owner.get("uid")
        and owner.get("apiVersion") in _PLAIN
    )


def _owners(owners: list[Obj]) -> Iterator[FieldError]:
    """Yield the errors of owner references; their paths have no index (ValidateOwnerReferences)."""
    controller = ""
    for owner in owners:
        yield from checks.prefix_errors(_OWNERS, _owner(owner))
        if owner.get("controller"):
            name = f"{owner.get('kind', '')}/{owner.get('name', '')}"
            if controller:
                yield field.invalid(
                    _OWNERS,
                    owners,
                    "Only one reference can have Controller set to true. "
                    f'Found "true" in references for {controller} and {name}',
                )
            controller = controller or name


def _owner(owner: Obj) -> Iterator[FieldError]:
    api_version = owner.get("apiVersion") or ""
    if api_version.count("/") > 1 or not group_version(api_version)[1]:
        yield field.invalid("apiVersion", api_version, "version must not be empty")
    for name in ("kind", "name", "uid"):
        if not owner.get(name):
            yield field.invalid(name, "", "must not be empty")
    if (api_version, owner.get("kind")) == ("v1", "Event"):
        yield field.invalid("", owner, "/v1, Kind=Event is disallowed from being an owner")


def _finalizers(finalizers: list[str]) -> Iterator[FieldError]:
    for name in finalizers:
        yield from checks.invalid_values("metadata.finalizers", name, names.qualified_name(name))
    if "orphan" in finalizers and "foregroundDeletion" in finalizers:
        message = "finalizer orphan and foregroundDeletion cannot be both set"
        yield field.invalid("metadata.finalizers", finalizers, message)


def _finalizer_standards(resource: Resource, meta: Obj) -> list[FieldError]:
    """Return the errors of finalizers without a slash, which must be Kubernetes' own; custom resources are exempt.

    Source: validateKubeFinalizerName.
    """
    if not resource.definition.startswith("io.k8s.api."):
        return []
    message = "name is neither a standard finalizer name nor is it fully qualified"
    return [
        field.invalid(f"metadata.finalizers[{index}]", name, message)
        for index, name in enumerate(meta.get("finalizers") or ())
        if "/" not in name and name not in _STANDARD_FINALIZERS
    ]


def _managed_fields(entries: list[Obj]) -> list[FieldError]:
    errors: list[FieldError] = []
    for index, entry in enumerate(entries):
        if entry.get("operation") not in _OPERATIONS or entry.get("fieldsType", "FieldsV1") != "FieldsV1":
            errors += checks.prefix_errors(f"metadata.managedFields[{index}]", _managed_entry(entry))
        manager = entry.get("manager") or ""
        if len(manager) > _SHORT or not manager.isprintable():
            errors += field_manager_errors(manager, f"metadata.managedFields[{index}].manager")
        if len(entry.get("subresource") or "") > _SHORT and len(entry["subresource"].encode()) > MAX_SUBRESOURCE_BYTES:
            errors.append(field.too_long(f"metadata.managedFields[{index}].subresource", MAX_SUBRESOURCE_BYTES))
    return errors


def _managed_entry(entry: Obj) -> Iterator[FieldError]:
    operation = entry.get("operation")
    if not operation:
        yield field.required("operation", "must not be empty")
    elif operation not in _OPERATIONS:
        yield field.not_supported("operation", operation, _OPERATIONS)
    if entry.get("fieldsType", "FieldsV1") != "FieldsV1":
        yield field.invalid("fieldsType", entry["fieldsType"], "must be `FieldsV1`")


def _changes(new: Obj, old: Obj) -> Iterator[FieldError]:
    if old.get("deletionTimestamp") and (finalizers := new.get("finalizers")):
        yield from _added_finalizers(finalizers, old.get("finalizers") or [])
    generation = new.get("generation") or 0
    if generation < (old.get("generation") or 0):
        yield field.invalid("metadata.generation", generation, "must not be decremented")
    for name in _IMMUTABLE:
        if new.get(name) != old.get(name) and (new.get(name) or old.get(name)):
            yield field.invalid(f"metadata.{name}", new.get(name), checks.IMMUTABLE)


def _added_finalizers(new: list[str], old: list[str]) -> Iterator[FieldError]:
    if added := sorted({*new} - {*old}):
        names_text = ", ".join(map(field.show, added))
        message = "no new finalizers can be added if the object is being deleted, found new finalizers []string{%s}"
        yield field.forbidden("metadata.finalizers", message % names_text)
