"""The arguments of a verb besides the object: its target, and the options of reads, writes and deletes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

from apiserver.api.resources import Resource
from apiserver.api.selectors import FieldSelector, LabelSelector
from apiserver.api.user import User

_NOTHING: Mapping[str, Any] = MappingProxyType({})


class Target(NamedTuple):
    """The target of a request: a resource, and a namespace, name and subresource in it, each "" if not named."""

    resource: Resource
    namespace: str = ""
    name: str = ""
    subresource: str = ""


class WriteOptions(NamedTuple):
    """CreateOptions, UpdateOptions and PatchOptions.

    Attributes:
        user: the user who writes, for admission.
        dry_run: do everything but store.
        manager: the field manager, for managedFields.
        validation: "Strict", "Warn" or "Ignore" for unknown and duplicate fields.
        given: the options as the client gave them, for admission.
        force: let an apply take fields that others own.
    """

    user: User
    dry_run: bool = False
    manager: str = "unknown"
    validation: str = "Warn"
    given: Mapping[str, Any] = _NOTHING
    force: bool = False


@dataclass(frozen=True, slots=True)
class TokenLimits:
    """The limits of tokens of service accounts.

    Attributes:
        longest: the longest time in seconds that a token may be requested for, 0 for any.
        extend: give pods' tokens of an hour a whole year, for clients that do not read them again.
    """

    longest: float = 0.0
    extend: bool = True


@dataclass(frozen=True, slots=True)
class ListOptions:
    """ListOptions, checked. A selector that selects everything is None."""

    labels: LabelSelector | None = None
    fields: FieldSelector | None = None
    resource_version: str = ""
    match: str = ""
    limit: int = 0
    continue_token: str = ""


@dataclass(frozen=True, slots=True)
class DeleteOptions:
    """DeleteOptions, checked.

    Attributes:
        grace_period: seconds, None if the client leaves it to the object.
        orphan_dependents: the deprecated option, which also decides the status of the answer; None if unset.
        propagation: "Orphan", "Background", "Foreground", or "" if the client leaves it to the kind.
        uid, resource_version: preconditions, "" for none.
        given: the options as the client gave them, for admission.
    """

    user: User
    dry_run: bool = False
    grace_period: int | None = None
    orphan_dependents: bool | None = None
    propagation: str = ""
    uid: str = ""
    resource_version: str = ""
    given: Mapping[str, Any] = field(default_factory=dict)
