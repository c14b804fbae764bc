"""Validation of configMap, secret, downwardAPI and projected volumes: keys, modes, fields, tokens, trust bundles."""

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj
from apiserver.api.validation.combinators import FieldErrors, at, items, label_selector, required, struct
from apiserver.api.validation.paths import local
from apiserver.groups.core.pods.env import object_field, resource_field

_MODE_WORDS = "must be a number between 0 and 0777 (octal), both inclusive"

_DUPLICATE_PATHS = "conflicting duplicate paths"

_VOLUME_FIELDS = frozenset(
    {"metadata.name", "metadata.namespace", "metadata.labels", "metadata.annotations", "metadata.uid"}
)


def mode(value: int) -> FieldErrors:
    """Return the errors of a file's mode."""
    return () if 0 <= value <= 0o777 else (field.invalid("", value, _MODE_WORDS),)


def _local_path(obj: Obj) -> FieldErrors:
    path = obj.get("path") or ""
    return at("path", local(path)) if path else (field.required("path"),)


_key_to_path = struct(required("key"), ("", _local_path), ("mode", mode))

keys = items(_key_to_path)
"""A check of the keys that a volume projects, and of their paths."""


def _downward_file(file: Obj) -> FieldErrors:
    errors = [*_local_path(file)]
    by_field, by_resource = file.get("fieldRef"), file.get("resourceFieldRef")
    if by_field is not None:
        errors += at("fieldRef", object_field(by_field, _VOLUME_FIELDS))
        if by_resource is not None:
            detail = "fieldRef and resourceFieldRef can not be specified simultaneously"
            errors.append(field.invalid("", "resource", detail))
    elif by_resource is not None:
        errors += at("resourceFieldRef", resource_field(by_resource, needs_container=True))
    else:
        errors.append(field.required("", "one of fieldRef and resourceFieldRef is required"))
    return [*errors, *_file_mode(file)]


_file_mode = struct(("mode", mode))


def downward(source: Obj) -> FieldErrors:
    """Return the errors of a downwardAPI volume; like upstream, errors of its files are reported at the volume."""
    files = [error for file in source.get("items") or () for error in _downward_file(file)]
    return [*_default_mode(source), *files]


_default_mode = struct(("defaultMode", mode))


def _token(source: Obj) -> FieldErrors:
    seconds = source.get("expirationSeconds", 3600)
    if seconds < 600:
        return (field.invalid("expirationSeconds", seconds, "may not specify a duration less than 10 minutes"),)
    if seconds > 1 << 32:
        detail = "may not specify a duration larger than 2^32 seconds"
        return (field.invalid("expirationSeconds", seconds, detail),)
    return ()


def _trust_bundle(source: Obj) -> FieldErrors:
    name, signer = source.get("name"), source.get("signerName")
    errors: list[FieldError] = []
    if name is not None and signer is not None:
        errors.append(field.invalid("", source, "only one of name and signerName may be used"))
    elif name is not None:
        errors += [] if name else [field.required("name", "must be a valid object name")]
        if (selector := source.get("labelSelector")) is not None:
            detail = "labelSelector must be unset if name is specified"
            errors.append(field.invalid("labelSelector", selector, detail))
    elif signer is not None:
        errors += [] if signer else [field.required("signerName", "must be a valid signer name")]
        errors += _bundle_selector(source)
    else:
        errors.append(field.required("", "either name or signerName must be specified"))
    return [*errors, *_local_path(source)]


_bundle_selector = struct(("labelSelector", label_selector))

_projected_keys = struct(required("name"), ("items", keys))


def projected(source: Obj) -> FieldErrors:
    """Return the errors of a projected volume (validateProjectedVolumeSource)."""
    taken: set[str] = set()
    errors = [*_default_mode(source)]
    for index, projection in enumerate(source.get("sources") or ()):
        errors += _projection(projection, f"sources[{index}]", taken)
    return errors


def _projection(projection: Obj, path: str, taken: set[str]) -> list[FieldError]:
    errors: list[FieldError] = []
    for name in ("secret", "configMap"):
        if (source := projection.get(name)) is not None:
            errors += at(f"{path}.{name}", _projected_keys(source))
            errors += _duplicate_paths(
                [item.get("path") for item in source.get("items") or ()], source.get("name"), taken
            )
    for file in (projection.get("downwardAPI") or {}).get("items") or ():
        errors += at(f"{path}.downwardAPI", _downward_file(file))
        errors += _duplicate_paths([file.get("path")], file.get("path"), taken)
    if (source := projection.get("serviceAccountToken")) is not None:
        errors += [*at(f"{path}.serviceAccountToken", _token(source)), *_local_path(source)]
    if (source := projection.get("clusterTrustBundle")) is not None:
        errors += at(f"{path}.clusterTrustBundle", _trust_bundle(source))
        errors += _duplicate_paths([source.get("path")], source.get("path"), taken)
    if sum(source is not None for source in projection.values()) > 1:
        errors.append(field.forbidden(path, "may not specify more than 1 volume type per source"))
    return errors


def _duplicate_paths(paths: list[str | None], value: str | None, taken: set[str]) -> list[FieldError]:
    errors: list[FieldError] = []
    for path in filter(None, paths):
        if path in taken:
            errors.append(field.invalid("", value, _DUPLICATE_PATHS))
        taken.add(path)
    return errors
