"""What is wrong with an object: field errors in upstream's words and order. Pure; a kind's rules are a row of a table.

`metadata` holds what all kinds share, `names` what strings must be; each other file holds the rules of some kinds and
exports them as VALIDATORS. A kind without a row has no rules beside its schema and its metadata.
"""

from collections.abc import Mapping

from apiserver.api.field import FieldError
from apiserver.api.meta import Obj
from apiserver.api.resources import Resource
from apiserver.registry.validation import (
    autoscaling,
    config,
    daemon_sets,
    events,
    jobs,
    limits,
    networking,
    nodes,
    pod_updates,
    policy,
    rbac,
    services,
    stateful_sets,
    storage,
    workloads,
)
from apiserver.registry.validation.contract import Validator
from apiserver.registry.validation.metadata import validate_metadata, validate_metadata_update

__all__ = ["VALIDATORS", "Validator", "validate_create", "validate_status_update", "validate_update"]

VALIDATORS: Mapping[tuple[str, str], Validator] = (
    pod_updates.VALIDATORS
    | workloads.VALIDATORS
    | daemon_sets.VALIDATORS
    | stateful_sets.VALIDATORS
    | jobs.VALIDATORS
    | services.VALIDATORS
    | networking.VALIDATORS
    | rbac.VALIDATORS
    | storage.VALIDATORS
    | config.VALIDATORS
    | limits.VALIDATORS
    | autoscaling.VALIDATORS
    | policy.VALIDATORS
    | nodes.VALIDATORS
    | events.VALIDATORS
)
"""(group, kind) → what is checked beside the metadata."""


def validate_create(resource: Resource, obj: Obj) -> list[FieldError]:
    """What is wrong with a new object, decoded, defaulted and named (rest.BeforeCreate)."""
    errors = validate_metadata(resource, obj)
    validator = VALIDATORS.get((resource.group, resource.kind))
    if validator is not None:
        errors += validator.create(obj)
    return errors


def validate_update(resource: Resource, new: Obj, old: Obj) -> list[FieldError]:
    """What is wrong with replacing the old object by the new one (rest.BeforeUpdate)."""
    errors = validate_metadata_update(resource, new, old)
    validator = VALIDATORS.get((resource.group, resource.kind))
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
