"""The arguments of a verb besides the object: its target, and the options of reads, writes and deletes."""

from dataclasses import dataclass
from typing import NamedTuple

from apiserver.api.resources import Resource
from apiserver.api.selectors import FieldSelector, LabelSelector
from apiserver.api.user import User


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
    """

    user: User
    dry_run: bool = False
    manager: str = "unknown"
    validation: str = "Warn"


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
        propagation: "Orphan", "Background", "Foreground", or "" if the client leaves it to the kind.
        uid, resource_version: preconditions, "" for none.
    """

    user: User
    dry_run: bool = False
    grace_period: int | None = None
    propagation: str = ""
    uid: str = ""
    resource_version: str = ""
