"""managedFields: who last set each field of an object (apimachinery/pkg/util/managedfields).

An entry belongs to a manager, an operation, an apiVersion and a subresource. A write moves the fields that it changes
from all other owners to its manager; fields that it removes have no owner any more.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from apiserver.api.field import FieldError, invalid, too_long
from apiserver.api.managedfields.field_sets import MEMBER, FieldSet, difference, in_order, parse, union
from apiserver.api.managedfields.value_types import Changes, Struct
from apiserver.api.managedfields.versions import Versions, changes_in
from apiserver.api.meta import Obj, metadata

MAX_UPDATE_MANAGERS = 10
"""The most Update entries of an object; beyond that the oldest are merged (DefaultMaxUpdateManagers)."""

ANCIENT_CHANGES = "ancient-changes"
"""The manager of merged entries."""

BEFORE_FIRST_APPLY = "before-first-apply"
"""The manager of what an object without owners has when it is first applied to (skipnonapplied.go)."""

_MAX_MANAGER_BYTES = 128
_OPERATIONS = ("Apply", "Update")


@dataclass(frozen=True, slots=True, order=True)
class ManagerIdentifier:
    """The owner of an entry; entries of the same owner are merged (BuildManagerIdentifier).

    Attributes:
        manager: the manager's name.
        operation: Update or Apply.
        api_version: the version that the fields are named in; "" for Apply entries, which it does not distinguish.
        subresource: the subresource that was written, "" for the main resource.
    """

    manager: str
    operation: str
    api_version: str
    subresource: str = ""


cached_identifier = lru_cache(maxsize=1024)(ManagerIdentifier)
"""A cached Owner: few owners write often."""


class VersionedSet(NamedTuple):
    """The fields of an owner.

    Attributes:
        fields: the set of fields.
        time: the time of the owner's last change, RFC 3339 in UTC; "" if a client left it out.
        api_version: the version that the fields are named in.
    """

    fields: FieldSet
    time: str
    api_version: str


Managed = dict[ManagerIdentifier, VersionedSet]


@lru_cache(maxsize=1024)
def manager_name(field_manager: str, user_agent: str) -> str:
    """Return the manager of a write: the `fieldManager` parameter, or the part of the User-Agent before the first "/".

    Unprintable characters are dropped, and the name is cut to 128 bytes (prefixFromUserAgent).
    """
    if field_manager:
        return field_manager
    name, size = [], 0
    for character in filter(str.isprintable, user_agent.partition("/")[0]):
        size += len(character.encode(errors="replace"))
        if size > _MAX_MANAGER_BYTES:
            break
        name.append(character)
    return "".join(name) or "unknown"


def field_manager_errors(name: str, path: str = "fieldManager") -> list[FieldError]:
    """Return the errors of a manager's name (ValidateFieldManager)."""
    errors = [too_long(path, _MAX_MANAGER_BYTES)] if len(name.encode(errors="replace")) > _MAX_MANAGER_BYTES else []
    if name.isprintable():
        return errors
    return errors + [
        invalid(path, name, f"invalid character U+{ord(character):04X} (at position {position})")
        for position, character in _positions(name)
        if not character.isprintable()
    ]


def _positions(text: str) -> Iterable[tuple[int, str]]:
    """Yield the characters with the positions of their first bytes."""
    position = 0
    for character in text:
        yield position, character
        position += len(character.encode(errors="replace"))


def decode(entries: Iterable[Obj]) -> Managed:
    """Return the entries by owner (DecodeManagedFields).

    Raises:
        ValueError: an entry is malformed; writes then continue as if there were no entries.
    """
    managed: Managed = {}
    for i, entry in enumerate(entries):
        operation, api_version = entry.get("operation"), entry.get("apiVersion")
        if operation not in _OPERATIONS:
            raise ValueError("operation must be `Apply` or `Update`")
        if not api_version:
            raise ValueError("apiVersion must not be empty")
        if entry.get("fieldsType") != "FieldsV1":
            raise ValueError(f"missing or invalid fieldsType in managed fields entry {i}")
        version = api_version if operation == "Update" else ""
        owner = ManagerIdentifier(entry.get("manager") or "", operation, version, entry.get("subresource") or "")
        managed[owner] = VersionedSet(parse(entry.get("fieldsV1") or {}), entry.get("time") or "", api_version)
    return managed


def encode(managed: Managed) -> list[Obj]:
    """Return the entries in their wire format and order: Apply before Update, then by time (encodeManagedFields)."""
    ranked = sorted(managed.items(), key=lambda entry: _rank(*entry))
    return [_entry(owner, owned.fields, owned.time, owned.api_version) for owner, owned in ranked]


def _rank(owner: ManagerIdentifier, owned: VersionedSet) -> tuple[str, ...]:
    return owner.operation, owned.time, owner.manager, owned.api_version, owner.subresource


def _entry(owner: ManagerIdentifier, fields: FieldSet, time: str, api_version: str) -> Obj:
    entry: Obj = {"manager": owner.manager, "operation": owner.operation, "apiVersion": api_version}
    if time:
        entry["time"] = time
    entry["fieldsType"] = "FieldsV1"
    entry["fieldsV1"] = fields
    if owner.subresource:
        entry["subresource"] = owner.subresource
    return entry


def entries_after_create(
    obj: Obj, kind: Struct, *, owner: ManagerIdentifier, time: str, known: FieldSet = MEMBER
) -> list[Obj]:
    """Return the managedFields of an object that is being created (FieldManager.Update against an empty object).

    Args:
        obj: the object with its defaults, before the server sets its own fields.
        kind: the type of the object.
        owner: the owner of the write.
        time: now, RFC 3339 in UTC, whole seconds.
        known: sets, by label, of top-level fields that `obj` is passed without.
    """
    fields = kind.created_field_set(obj)
    if known:
        fields = fields | known
    sent = metadata(obj).get("managedFields")
    managed = _decode_sent(sent) if sent else {}
    if not managed:
        return [_entry(owner, fields, time, owner.api_version)] if fields else []
    changes = Changes()
    changes.changed = fields
    return encode(_after_write(managed, changes, owner=owner, time=time))


def entries_after_update(
    old: Obj, new: Obj, kind: Struct, *, owner: ManagerIdentifier, time: str, versions: Versions | None = None
) -> list[Obj]:
    """Return the managedFields of an object after an update or a patch (FieldManager.Update).

    Args:
        old: the stored object.
        new: the new object with its defaults. Its managedFields are those that the client sent: an empty list or
            a list of one empty entry stops the tracking, others replace those of the old object if they are well-formed
            and the write is to the main resource.
        kind: the object's kind.
        owner: who writes.
        time: now, RFC 3339 in UTC, whole seconds.
        versions: the versions of the kind, None if there is only one.

    Returns:
        The entries; the old object's own list if no owner's fields changed.

    Raises:
        TypedValueError: an owner's fields are those of another version, to which one of the objects does not convert.
    """
    stored: list[Obj] = metadata(old).get("managedFields") or []
    sent = stored if owner.subresource else metadata(new).get("managedFields")
    if sent in ([], [{}]):
        return []  # without entries nothing is tracked until the next apply
    sent_entries = _decode_sent(sent) if sent and sent != stored else {}
    if not (sent_entries or stored):
        return []
    changes = kind.changes(old, new)
    if not (sent_entries or changes.changed or changes.removed):
        return stored
    managed = sent_entries or decode_stored(stored)
    if versions is not None:
        managed = _after_change_in_others(managed, old, new, versions, written=owner.api_version)
    return encode(_after_write(managed, changes, owner=owner, time=time))


def _after_change_in_others(managed: Managed, old: Obj, new: Obj, versions: Versions, *, written: str) -> Managed:
    """Return the entries after a change, as far as it is seen in other versions than the written one.

    Entries of versions that no longer exist are gone.
    """
    remaining: Managed = {}
    changes_of: dict[str, Changes | None] = {}
    for owner, owned in managed.items():
        version = owned.api_version
        if version == written:
            remaining[owner] = owned
            continue
        if version not in changes_of:
            changes_of[version] = changes_in(versions, version, old, new)
        if (changes := changes_of[version]) is not None:
            fields = difference(owned.fields, union(changes.changed, changes.removed))
            if fields:
                remaining[owner] = owned._replace(fields=fields)
    return remaining


def entries_after_scale(
    stored: list[Obj], replicas: FieldSet, *, gone: bool, owner: ManagerIdentifier, time: str
) -> list[Obj]:
    """Return the managedFields of an object of a built-in kind after a write of its scale (managedfields.ScaleHandler).

    Args:
        stored: its managedFields before.
        replicas: the set of the one field that was written.
        gone: whether the field is now 0, which a Scale omits, so that it has no owner.
        owner: the owner of the write.
        time: now, RFC 3339 in UTC, whole seconds.
    """
    if not stored:
        return []
    changes = Changes()
    if gone:
        changes.removed = replicas
    else:
        changes.changed = replicas
    return encode(_after_write(decode_stored(stored), changes, owner=owner, time=time))


def entries_without_replicas(stored: list[Obj], replicas: Mapping[str, FieldSet | None]) -> list[Obj]:
    """Return the managedFields of a custom object after a write of its scale: the replicas lose their owner.

    Upstream cannot convert a Scale to a custom object, so it records no owner (UpdateNoErrors).

    Args:
        stored: its managedFields before.
        replicas: apiVersion of its kind → the set of the field that its Scale has as replicas, None if it has no Scale.
    """
    kept: list[Obj] = []
    for entry in stored:
        if entry["apiVersion"] in replicas:
            replicas_set = replicas[entry["apiVersion"]]
            fields = difference(entry["fieldsV1"], replicas_set) if replicas_set else entry["fieldsV1"]
            kept += [entry | {"fieldsV1": fields}] if fields else []
    return kept


def decode_stored(entries: Iterable[Obj]) -> Managed:
    """Return the entries of a stored object by owner; unlike those of a client they are known to be well-formed."""
    return {
        cached_identifier(
            entry["manager"],
            entry["operation"],
            entry["apiVersion"] if entry["operation"] == "Update" else "",
            entry.get("subresource", ""),
        ): VersionedSet(entry["fieldsV1"], entry.get("time", ""), entry["apiVersion"])
        for entry in entries
    }


def _decode_sent(entries: Any) -> Managed:
    try:
        return decode(entries)
    except ValueError:
        return {}


def _after_write(managed: Managed, changes: Changes, *, owner: ManagerIdentifier, time: str) -> Managed:
    """Return the entries after a write: changed fields belong to the owner, removed ones to nobody."""
    affected = union(changes.changed, changes.removed)
    remaining: Managed = {}
    for other, owned in managed.items():
        if other.api_version not in ("", owner.api_version):
            remaining[other] = owned
        elif fields := difference(owned.fields, affected):
            remaining[other] = VersionedSet(fields, owned.time, owned.api_version)
    if changes.changed:
        before, written_fields = remaining.get(owner), in_order(changes.changed)
        fields = union(before.fields, written_fields) if before else written_fields
        remaining[owner] = VersionedSet(fields, time, owner.api_version)
    return _cap_managers(remaining)


def _cap_managers(managed: Managed) -> Managed:
    """Return at most ten Update entries: the oldest are merged, per apiVersion (capmanagers.go)."""
    surplus = sum(owner.operation == "Update" for owner in managed) - MAX_UPDATE_MANAGERS
    if surplus <= 0:
        return managed
    updates = [owner for owner in managed if owner.operation == "Update"]
    firsts: dict[str, ManagerIdentifier] = {}
    for owner in sorted(updates, key=lambda owner: (managed[owner].time, owner)):
        if surplus <= 0:
            break
        first = firsts.setdefault(owner.api_version, owner)
        if first is owner:
            continue
        bucket = ManagerIdentifier(ANCIENT_CHANGES, "Update", owner.api_version)
        merged = managed[bucket] if bucket in managed else managed.pop(first)
        newer = managed.pop(owner)
        managed[bucket] = VersionedSet(union(newer.fields, merged.fields), newer.time, owner.api_version)
        surplus -= 1
    return managed
