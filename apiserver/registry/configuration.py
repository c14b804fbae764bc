"""An applied configuration: checked, and applied to an object, with upstream's errors (managedfields.FieldManager)."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from apiserver.api import errors
from apiserver.api.errors import ApiError
from apiserver.api.golang.strings import quoted
from apiserver.api.managedfields.apply import Applied, ApplyError, Configuration, ConflictsError, apply
from apiserver.api.managedfields.field_paths import paths
from apiserver.api.managedfields.field_sets import FieldFilter, FieldSet
from apiserver.api.managedfields.last_applied import KUBECTL, conflicts_left, last_applied, with_last_applied
from apiserver.api.managedfields.managed_fields import (
    BEFORE_FIRST_APPLY,
    Managed,
    ManagerIdentifier,
    VersionedSet,
    decode_stored,
    encode,
)
from apiserver.api.managedfields.typed_validation import TypedValueError, check_types
from apiserver.api.managedfields.value_types import Struct
from apiserver.api.managedfields.versions import Versions
from apiserver.api.meta import Obj, api_version, group_version, metadata, name_of, namespace_of
from apiserver.registry.options import Target, WriteOptions


class AppliedObject(NamedTuple):
    """The outcome of an apply.

    Attributes:
        obj: the new object before defaulting; the live object itself if nothing changes.
        entries: its managedFields.
    """

    obj: Obj
    entries: list[Obj]


class Applier(NamedTuple):
    """Whoever applies, and to which kind of object.

    Attributes:
        target: the object or subresource that is applied to.
        options: who applies and how.
        versions: the versions of the kind of object.
        settable: the fields that the write can set.
        now: the time of the apply.
    """

    target: Target
    options: WriteOptions
    versions: Versions
    settable: FieldFilter
    now: str

    def apply(self, live: Obj, config: Any) -> AppliedObject:
        """Apply a configuration to a live object; one that is yet to be created has no UID.

        Raises:
            ApiError: 400 and 500, the configuration is not of this kind; 409, it conflicts with others.
        """
        check_kind(live, config)
        version = live["apiVersion"]
        kind = self.versions.kind(version)
        assert kind is not None, "requests are for versions that are served"
        managed = decode_stored(metadata(live).get("managedFields") or ())
        if not managed and metadata(live).get("uid"):
            managed = self._before_first_apply(live, kind)
        _check_fields(kind, config)
        owner = ManagerIdentifier(self.options.manager, "Apply", "", self.target.subresource)
        request = Configuration(config, owner, version, self.options.force, self.settable)
        applied = self._apply(live, managed, request, kind)
        obj, owned = applied.obj, applied.managed.get(owner)
        if owned is not None and obj is not live:
            applied.managed[owner] = owned._replace(time=self.now)
        if self.options.manager == KUBECTL and last_applied(obj):
            obj = with_last_applied(obj, config)
        return AppliedObject(obj, encode(applied.managed))

    def _before_first_apply(self, live: Obj, kind: Struct) -> Managed:
        """Return one entry for all that an object without owners has (skipnonapplied.go)."""
        fields = self.settable(kind.created_field_set(live))
        owner = ManagerIdentifier(BEFORE_FIRST_APPLY, "Update", live["apiVersion"], self.target.subresource)
        return {owner: VersionedSet(fields, self.now, live["apiVersion"])} if fields else {}

    def _apply(self, live: Obj, managed: Managed, request: Configuration, kind: Struct) -> Applied:
        try:
            return apply(live, managed, request, self.versions)
        except ApplyError as error:
            raise ApiError(500, "", str(error)) from error
        except ConflictsError as conflicts:
            if self.options.manager != KUBECTL or not last_applied(live):
                raise conflict_error(conflicts.fields) from conflicts
            if left := conflicts_left(live, kind, conflicts.fields):
                raise conflict_error(left) from conflicts
            return self._apply(live, managed, request._replace(force=True), kind)


def check_kind(live: Obj, config: Any) -> None:
    """Refuse a configuration of another kind or version, or with managedFields (versionCheckManager).

    Raises:
        ApiError: 400.
    """
    expected = (live["apiVersion"], live["kind"])
    if (config.get("apiVersion"), config.get("kind")) != expected:
        raise errors.bad_request(f"invalid object type: {_kind_text(config)}")
    if isinstance(metadata(config).get("managedFields"), list):
        raise errors.bad_request("metadata.managedFields must be nil")


def _check_fields(kind: Struct, config: Obj) -> None:
    """Refuse a configuration whose values do not fit their types.

    Raises:
        ApiError: 500, as upstream answers.
    """
    try:
        check_types(kind, config)
    except TypedValueError as error:
        who = f"{_text(namespace_of(config))}/{_text(name_of(config))}; {_kind_text(config)}"
        raise ApiError(500, "", f"failed to create typed patch object ({who}): {error}") from error


def _kind_text(config: Obj) -> str:
    """Return a configuration's kind as messages have it: "apps/v1, Kind=Deployment"."""
    version, kind = _text(config.get("apiVersion")), _text(config.get("kind"))
    if version.count("/") > 1:
        return "/, Kind="
    return f"{'/'.join(group_version(version))}, Kind={kind}"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def conflict_error(conflicts: Mapping[ManagerIdentifier, FieldSet]) -> ApiError:
    """Return the 409 for fields that belong to others (managedfields.NewConflictError)."""
    by_owner = {_owner_text(owner): list(paths(conflicts[owner])) for owner in sorted(conflicts, key=_owner_rank)}
    causes = [
        {"reason": "FieldManagerConflict", "message": f"conflict with {owner}", "field": path}
        for owner, owner_paths in by_owner.items()
        for path in owner_paths
    ]
    if len(causes) == 1:
        message = f"Apply failed with 1 conflict: {causes[0]['message']}: {causes[0]['field']}"
    else:
        lists = ("\n- ".join((f"conflicts with {owner}:", *owner_paths)) for owner, owner_paths in by_owner.items())
        message = f"Apply failed with {len(causes)} conflicts: {chr(10).join(lists)}"
    return ApiError(409, "Conflict", message, details={"causes": causes})


def _owner_rank(owner: ManagerIdentifier) -> tuple[str, ...]:
    return owner.manager, owner.operation, owner.api_version, owner.subresource


def _owner_text(owner: ManagerIdentifier) -> str:
    """Return an owner as messages name it (printManager)."""
    text = quoted(owner.manager)
    if owner.subresource:
        text += f" with subresource {quoted(owner.subresource)}"
    return f"{text} using {owner.api_version}" if owner.operation == "Update" else text


def new_object(target: Target) -> Obj:
    """Return the live object of an apply that creates it."""
    resource = target.resource
    version = api_version(resource.group, resource.version)
    return {"kind": resource.kind, "apiVersion": version, "metadata": {}}
