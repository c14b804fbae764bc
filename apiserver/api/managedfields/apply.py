"""Server-side apply: an object's live state, a configuration and the owners of fields become a new state.

This is structured-merge-diff's Updater.Apply (merge/update.go) with what surrounds it in
apimachinery/pkg/util/managedfields/internal: the configuration is merged into the live object, what its manager applied
before and no longer does is removed unless somebody else owns it, and others' fields that change are conflicts.

    one applies {"data": {"a": 1, "b": 2}}, two applies {"data": {"b": 2}}     b is shared
    one applies {"data": {}}                                                   a goes, b stays: two owns it
    one applies {"data": {"b": 3}}                                             a conflict with two, unless forced
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from apiserver.api.managedfields.field_sets import (
    ALL_FIELDS,
    MEMBER,
    FieldFilter,
    FieldSet,
    difference,
    intersection,
    union,
)
from apiserver.api.managedfields.managed_fields import Managed, ManagerIdentifier, VersionedSet
from apiserver.api.managedfields.typed_validation import TypedValueError
from apiserver.api.managedfields.typed_values import merge, reconcile, remove, strip, to_field_set, with_named_fields
from apiserver.api.managedfields.value_types import Changes, Struct
from apiserver.api.managedfields.versions import Versions
from apiserver.api.meta import Obj


class ConflictsError(Exception):
    """Fields that a configuration changes belong to others (merge.Conflicts).

    Attributes:
        fields: the fields in conflict, by owner.
    """

    def __init__(self, fields: Mapping[ManagerIdentifier, FieldSet]) -> None:
        super().__init__("the configuration changes fields of others")
        self.fields = fields


class ApplyError(ValueError):
    """The object cannot be converted to a version that has owners; the message is upstream's."""


class Configuration(NamedTuple):
    """The configuration that a manager applies.

    Attributes:
        obj: the object with the fields that it wants to own.
        owner: the identifier of its entry.
        api_version: the version of the object.
        force: take fields in conflict from their owners.
        settable: the fields that this write can set, all but the status for example (a strategy's reset fields).
    """

    obj: Obj
    owner: ManagerIdentifier
    api_version: str
    force: bool = False
    settable: FieldFilter = ALL_FIELDS


class Applied(NamedTuple):
    """The outcome of an apply.

    Attributes:
        obj: the new object before defaulting; the live object itself if nothing changes.
        managed: the owners of its fields; the applying manager has the time of its last change.
    """

    obj: Obj
    managed: Managed


def apply(live: Obj, managed: Managed, config: Configuration, versions: Versions) -> Applied:
    """Apply a configuration to a live object in the same version.

    Raises:
        ConflictsError: fields of others would change, and force is not set.
        ApplyError: the object cannot be converted to a version that is in managedFields.
    """
    return _Apply(live, managed, config, versions).run()


@dataclass(frozen=True, slots=True)
class _Apply:
    """One apply."""

    live: Obj
    managed: Managed
    config: Configuration
    versions: Versions

    def run(self) -> Applied:
        config, kind = self.config, self._kind(self.config.api_version)
        named = config.settable(to_field_set(kind, config.obj))
        own = VersionedSet(strip(kind, named), "", config.api_version)
        owners = self._of_present_versions(own)
        merged: Obj = merge(kind, self.live, config.obj)
        if last := owners.get(config.owner):
            own = own._replace(time=last.time)
        # while it is pruned, fields without owner such as the name belong to the applier, so that they stay
        owners[config.owner] = own._replace(fields=named)
        new = self._prune(merged, owners, last, own) if last else merged
        if new is not self.live and new != self.live:
            owners = self._take_over(new, owners)
        else:
            new = self.live
        owners[config.owner] = own
        return Applied(new, {owner: owned for owner, owned in owners.items() if owned.fields})

    def _kind(self, api_version: str) -> Struct:
        kind = self.versions.kind(api_version)
        assert kind is not None, "the versions of entries that are left exist"
        return kind

    def _of_present_versions(self, own: VersionedSet) -> Managed:
        """Return the entries without those of versions that no longer exist.

        Args:
            own: what the applier will own; an equal set is as the schema has it.

        Raises:
            ApplyError: the live object cannot be converted to one of them (reconcileManagedFieldsWithSchemaChanges).
        """
        present: Managed = {}
        for owner, owned in self.managed.items():
            if owned.api_version == own.api_version and owned.fields == own.fields:
                present[owner] = owned
                continue
            try:
                kind = self.versions.kind(owned.api_version)
            except TypedValueError as error:
                raise ApplyError(str(error)) from error
            if kind is None:
                continue
            self._converted(self.live, owned.api_version, "")
            fields = reconcile(kind, owned.fields)
            present[owner] = owned if fields is owned.fields else owned._replace(fields=fields)
        return present

    def _converted(self, obj: Obj, api_version: str, failed: str) -> Obj:
        if obj["apiVersion"] == api_version:
            return obj
        try:
            return self.versions.convert(obj, api_version)
        except TypedValueError as error:
            raise ApplyError(f"{failed}{error}") from error

    def _take_over(self, new: Obj, owners: Managed) -> Managed:
        """Return the owners after changes: a changed field is the applier's alone, a removed one nobody's."""
        changes_of: dict[str, Changes] = {}
        conflicts: dict[ManagerIdentifier, FieldSet] = {}
        kept: Managed = {}
        for owner, owned in owners.items():
            if owner == self.config.owner:
                kept[owner] = owned
                continue
            changes = changes_of.get(owned.api_version)
            if changes is None:
                changes = changes_of[owned.api_version] = self._changes(new, owned.api_version)
            if conflict := intersection(owned.fields, changes.changed):
                conflicts[owner] = conflict
            kept[owner] = owned._replace(fields=difference(owned.fields, union(changes.changed, changes.removed)))
        if conflicts and not self.config.force:
            raise ConflictsError(conflicts)
        return kept

    def _changes(self, new: Obj, api_version: str) -> Changes:
        """Return the differences between the live and the new object in a version."""
        live = self._converted(self.live, api_version, "failed to convert old object: ")
        new = self._converted(new, api_version, "failed to convert new object: ")
        changes = self._kind(api_version).changes(live, new)
        if api_version == self.config.api_version:
            changes.changed = self.config.settable(changes.changed)
            changes.removed = self.config.settable(changes.removed)
        return changes

    def _prune(self, merged: Obj, owners: Managed, last: VersionedSet, own: VersionedSet) -> Obj:
        """Remove what the manager applied last time, no longer applies, and nobody else owns (Updater.prune)."""
        version = last.api_version
        if version == own.api_version and (last.fields == own.fields or not difference(last.fields, own.fields)):
            return merged
        failed = "failed to prune fields: "
        converted = self._converted(
            merged, version, f"{failed}failed to convert merged object to last applied version: "
        )
        kind = self._kind(version)
        last_set = with_named_fields(kind, strip(kind, last.fields))  # a client may have put the name into its set
        pruned: Obj = remove(kind, converted, last_set)
        pruned = self._add_back_owned(converted, pruned, owners)
        pruned = self._converted(pruned, version, f"{failed}failed add back dangling items: ")
        gone = difference(
            with_named_fields(kind, to_field_set(kind, converted)), with_named_fields(kind, to_field_set(kind, pruned))
        )
        pruned = remove(kind, converted, intersection(gone, last_set))
        return self._converted(pruned, self.config.api_version, failed)

    def _add_back_owned(self, merged: Obj, pruned: Obj, owners: Managed) -> Obj:
        """Add back what was removed but has an owner, in each version that owners have (addBackOwnedItems)."""
        owned_in: dict[str, FieldSet] = {}
        for owned in sorted(owners.values(), key=lambda owned: owned.api_version != merged["apiVersion"]):
            owned_in[owned.api_version] = union(owned_in.get(owned.api_version, MEMBER), owned.fields)
        failed = "failed to prune fields: failed add back owned items: failed to convert "
        for version, fields in owned_in.items():
            merged = self._converted(merged, version, f"{failed}merged object at version {version}: ")
            pruned = self._converted(pruned, version, f"{failed}pruned object at version {version}: ")
            kind = self._kind(version)
            kept = union(with_named_fields(kind, to_field_set(kind, pruned)), with_named_fields(kind, fields))
            pruned = remove(kind, merged, difference(with_named_fields(kind, to_field_set(kind, merged)), kept))
        return pruned
