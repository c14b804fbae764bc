"""What is wrong with an object: field errors in upstream's words and order. Pure; a kind's rules are a row of a table.

`metadata` holds what all kinds share, `names` what strings must be; each other file holds the rules of some kinds and
exports them as VALIDATORS. A kind without a row has no rules beside its schema and its metadata.
"""

from collections.abc import Callable, Mapping

from apiserver.api.field import FieldError
from apiserver.api.meta import Obj
from apiserver.api.resources import Resource
from apiserver.api.validation.contract import Validator
from apiserver.api.validation.metadata import validate_metadata, validate_metadata_update
from apiserver.apiextensions.validation import definition
from apiserver.apiextensions.validation.warnings import definition_warnings
from apiserver.registry.validation import (
    autoscaling,
    config,
    daemon_sets,
    devices,
    events,
    jobs,
    limits,
    networking,
    nodes,
    pod_updates,
    policy,
    rbac,
    registration,
    services,
    stateful_sets,
    storage,
    workloads,
)
from apiserver.registry.validation.finalizer_warnings import finalizer_warnings
from apiserver.registry.validation.subresources import PART_VALIDATORS

__all__ = [
    "VALIDATORS",
    "Check",
    "Validator",
    "validate_create",
    "validate_part_update",
    "validate_status_update",
    "validate_update",
    "warnings_of",
]

Check = Callable[[Resource, Obj, Obj], list[FieldError]]
"""What is wrong with an update (resource, new, old)."""

VALIDATORS: Mapping[tuple[str, str], Validator] = (
    pod_updates.VALIDATORS
    | workloads.VALIDATORS
    | daemon_sets.VALIDATORS
    | stateful_sets.VALIDATORS
    | jobs.VALIDATORS
    | services.VALIDATORS
    | networking.VALIDATORS
    | rbac.VALIDATORS
    | registration.VALIDATORS
    | storage.VALIDATORS
    | config.VALIDATORS
    | limits.VALIDATORS
    | autoscaling.VALIDATORS
    | policy.VALIDATORS
    | nodes.VALIDATORS
    | events.VALIDATORS
    | devices.VALIDATORS
    | definition.VALIDATORS
)
"""(group, kind) → what is checked beside the metadata."""


WARNINGS: Mapping[tuple[str, str], Callable[[Obj, Obj | None, int], tuple[str, ...]]] = {
    ("apiextensions.k8s.io", "CustomResourceDefinition"): definition_warnings,
}
"""(group, kind) → what a writer is warned of: (new, old or None, minor version of the release) → texts."""


def warnings_of(resource: Resource, new: Obj, old: Obj | None, release: str) -> tuple[str, ...]:
    """What whoever makes or changes an object is warned of; most kinds warn of nothing (WarningsOnCreate, -OnUpdate).

    Not asked of subresources: the strategies of a status have no warnings.

    Args:
        resource: the row.
        new: the object, decoded and defaulted.
        old: what it replaces, None where it is new.
        release: such as "1.34".
    """
    warn = finalizer_warnings if resource.custom else WARNINGS.get((resource.group, resource.kind))
    return warn(new, old, int(release.partition(".")[2])) if warn else ()


def _validator(resource: Resource, release: str) -> Validator | None:
    """What is checked beside the metadata; of all kinds, definitions alone may say more in later releases."""
    if release and (resource.group, resource.kind) in definition.VALIDATORS:
        return definition.validator(int(release.partition(".")[2]))
    return VALIDATORS.get((resource.group, resource.kind))


def validate_create(resource: Resource, obj: Obj, release: str = "") -> list[FieldError]:
    """What is wrong with a new object, decoded, defaulted and named (rest.BeforeCreate); a release is "1.34"."""
    errors = validate_metadata(resource, obj)
    validator = _validator(resource, release)
    if validator is not None:
        errors += validator.create(obj)
    return errors


def validate_update(resource: Resource, new: Obj, old: Obj, release: str = "") -> list[FieldError]:
    """What is wrong with replacing the old object by the new one (rest.BeforeUpdate); a release is "1.34"."""
    errors = validate_metadata_update(resource, new, old)
    validator = _validator(resource, release)
    if validator is not None:
        errors += validator.update(new, old)
    return errors


def validate_status_update(resource: Resource, new: Obj, old: Obj) -> list[FieldError]:
    """The same at the status subresource."""
    errors = validate_metadata_update(resource, new, old)
    validator = VALIDATORS.get((resource.group, resource.kind))
    if validator is not None:
        errors += validator.status_update(new, old)
    return errors


def validate_part_update(name: str) -> Check:
    """The same at another subresource that is a part of its object, such as pods/resize."""

    def check(resource: Resource, new: Obj, old: Obj) -> list[FieldError]:
        errors = validate_metadata_update(resource, new, old)
        validator = PART_VALIDATORS.get((resource.group, resource.kind, name))
        if validator is not None:
            errors += validator(new, old)
        return errors

    return check
