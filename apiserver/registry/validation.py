"""Validates objects on writes: metadata, then the rules of the kind, with upstream's messages in upstream's order."""

from collections.abc import Callable, Mapping

from apiserver.api.field import FieldError
from apiserver.api.meta import Obj
from apiserver.api.resources import Resource
from apiserver.api.validation.contract import Errors, Validator
from apiserver.api.validation.metadata import validate_metadata, validate_metadata_update
from apiserver.groups.kind import BuiltinKind
from apiserver.groups.kinds import ALL_KINDS
from apiserver.registry.finalizer_warnings import finalizer_warnings

Check = Callable[[Resource, Obj, Obj], list[FieldError]]
"""Validates an update: (resource, new, old) → errors."""


VALIDATORS: Mapping[tuple[str, str], Validator] = {
    key: kind.validator for key, kind in ALL_KINDS.items() if kind.validator is not None
}
"""(group, kind) → the validator of all but the metadata."""

SUBRESOURCE_VALIDATORS: Mapping[tuple[str, str, str], Callable[[Obj, Obj], Errors]] = {
    (*key, name): validator
    for key, kind in ALL_KINDS.items()
    for name, validator in kind.subresource_validators.items()
}
"""(group, kind, subresource) → the validator (new, old) of an update there, of all but the metadata."""


WARNINGS: Mapping[tuple[str, str], Callable[[Obj, Obj | None, int], tuple[str, ...]]] = {
    key: kind.warnings for key, kind in ALL_KINDS.items() if kind.warnings is not None
}
"""(group, kind) → the function for its warnings: (new, old or None, minor version of the release) → texts."""


def warnings_of(resource: Resource, new: Obj, old: Obj | None, release: str) -> tuple[str, ...]:
    """Return the warnings for the writer of an object; most kinds have none (WarningsOnCreate, -OnUpdate).

    Subresources have none: upstream's status strategies do not warn.

    Args:
        resource: the row.
        new: the object, decoded and defaulted.
        old: the object that it replaces, None at creation.
        release: the release, such as "1.34".
    """
    warn = finalizer_warnings if resource.custom else WARNINGS.get((resource.group, resource.kind))
    return warn(new, old, int(release.partition(".")[2])) if warn else ()


def _validator(kind: BuiltinKind, release: str) -> Validator | None:
    """Return the validator of a kind, None if it has none; some kinds check more in later releases."""
    if release and kind.release_validator is not None:
        return kind.release_validator(int(release.partition(".")[2]))
    return kind.validator


def validate_create(resource: Resource, obj: Obj, release: str = "") -> list[FieldError]:
    """Validate a new object, decoded, defaulted and named (rest.BeforeCreate); a release is "1.34"."""
    kind = ALL_KINDS.get((resource.group, resource.kind))
    if kind is None:
        return validate_metadata(resource, obj)
    errors = validate_metadata(resource, obj, kind.name_rule)
    validator = _validator(kind, release)
    if validator is not None:
        errors += validator.create(obj)
    return errors


def validate_update(resource: Resource, new: Obj, old: Obj, release: str = "") -> list[FieldError]:
    """Validate the replacement of the old object by the new one (rest.BeforeUpdate); a release is "1.34"."""
    errors = validate_metadata_update(resource, new, old)
    kind = ALL_KINDS.get((resource.group, resource.kind))
    validator = None if kind is None else _validator(kind, release)
    if validator is not None:
        errors += validator.update(new, old)
    return errors


def validate_status_update(resource: Resource, new: Obj, old: Obj) -> list[FieldError]:
    """Validate an update of the status subresource."""
    errors = validate_metadata_update(resource, new, old)
    validator = VALIDATORS.get((resource.group, resource.kind))
    if validator is not None:
        errors += validator.status_update(new, old)
    return errors


def validate_subresource_update(name: str) -> Check:
    """Return the validator of another subresource that is a part of its object, such as pods/resize."""

    def check(resource: Resource, new: Obj, old: Obj) -> list[FieldError]:
        errors = validate_metadata_update(resource, new, old)
        validator = SUBRESOURCE_VALIDATORS.get((resource.group, resource.kind, name))
        if validator is not None:
            errors += validator(new, old)
        return errors

    return check
