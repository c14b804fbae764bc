"""Validates objects on writes: metadata, then the rules of the kind, with upstream's messages in upstream's order."""

from collections.abc import Callable, Iterator, Mapping

from apiserver.api.field import FieldError
from apiserver.api.golang.strings import quoted
from apiserver.api.meta import Obj, metadata
from apiserver.api.resources import Resource
from apiserver.api.validation.contract import Errors, Validator
from apiserver.api.validation.metadata import validate_metadata, validate_metadata_update
from apiserver.api.validation.names import qualified_name
from apiserver.groups.kind import BuiltinKind
from apiserver.groups.kinds import ALL_KINDS

_OTHERS = "to avoid accidental conflicts with other finalizer writers"

SINCE, PATHS_SINCE = 29, 32
"""The minor releases that began to warn, and to mention the path that a domain lacks."""

_STANDARD = frozenset(("orphan", "foregroundDeletion", "kubernetes"))


def finalizer_warnings(new: Obj, old: Obj | None, minor: int) -> tuple[str, ...]:
    """Return the warnings for finalizers whose names others may choose too, in the order of their names.

    Rules and texts are those of apiextensions-apiserver's pkg/registry/customresource/validator.go; built-in kinds
    refuse such finalizers.

    Args:
        new: a custom object as it will be.
        old: the object as it was, None at creation; its finalizers are not warned about again.
        minor: the minor version of the release, such as 34.
    """
    added = metadata(new).get("finalizers")
    if not added or minor < SINCE:
        return ()
    known = (metadata(old).get("finalizers") or ()) if old is not None else ()
    names = sorted({*added}.difference(known))
    return tuple(
        f"metadata.finalizers: {quoted(name)}: {text}" for name in names for text in _finalizer_warning(name, minor)
    )


def _finalizer_warning(name: str, minor: int) -> Iterator[str]:
    yield from qualified_name(name)
    if "/" not in name and name not in _STANDARD:
        path = "including a path (/) " if "." in name and minor >= PATHS_SINCE else ""
        yield f"prefer a domain-qualified finalizer name {path}{_OTHERS}"


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
