"""managedFields: who set which field of an object last (apimachinery/pkg/util/managedfields).

An entry belongs to a manager, an operation, an apiVersion and a subresource. A write takes what it changes away from
all others and gives it to its manager; what it removes nobody owns any longer.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from apiserver.api.field import FieldError, invalid, too_long
from apiserver.api.managedfields.field_sets import MEMBER, FieldSet, difference, in_order, parse, union, without
from apiserver.api.managedfields.value_types import Changes, Struct
from apiserver.api.meta import Obj, metadata

MAX_UPDATE_MANAGERS = 10
"""Of Update entries so many are kept apart; the oldest are merged (DefaultMaxUpdateManagers)."""

ANCIENT = "ancient-changes"
"""The manager of entries that were merged."""

STATUS: FieldSet = {"f:status": MEMBER}
"""What writes to the main resource cannot change, for kinds that have a status."""

_MAX_MANAGER_BYTES = 128
_OPERATIONS = ("Apply", "Update")


@dataclass(frozen=True, slots=True, order=True)
class Owner:
    """Whose an entry is: two entries of the same owner are one (BuildManagerIdentifier).

    Attributes:
        manager: the name.
        operation: Update or Apply.
        api_version: the version in which the fields are named; of Apply entries it does not tell owners apart.
        subresource: the subresource that was written, "" for the main resource.
    """

    manager: str
    operation: str
    api_version: str
    subresource: str = ""


known_owner = lru_cache(maxsize=1024)(Owner)
"""The same as Owner, made once: few write, and often."""


class Owned(NamedTuple):
    """What an owner owns.

    Attributes:
        fields: the fields.
        time: when the owner last changed one, RFC 3339 in UTC; "" where a client left it out.
        api_version: the version in which the fields are named.
    """

    fields: FieldSet
    time: str
    api_version: str


Managed = dict[Owner, Owned]


@lru_cache(maxsize=1024)
def manager_name(field_manager: str, user_agent: str) -> str:
    """The manager of a write: the `fieldManager` parameter, else what stands in the User-Agent before the first "/".

    Characters that cannot be printed are left out, and no more than 128 bytes are taken (prefixFromUserAgent).
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
    """What is wrong with a manager's name (ValidateFieldManager)."""
    errors = [too_long(path, _MAX_MANAGER_BYTES)] if len(name.encode(errors="replace")) > _MAX_MANAGER_BYTES else []
    if name.isprintable():
        return errors
    return errors + [
        invalid(path, name, f"invalid character U+{ord(character):04X} (at position {position})")
        for position, character in _positions(name)
        if not character.isprintable()
    ]


def _positions(text: str) -> Iterable[tuple[int, str]]:
    """The characters with the positions of their first bytes."""
    position = 0
    for character in text:
        yield position, character
        position += len(character.encode(errors="replace"))


def decode(entries: Iterable[Obj]) -> Managed:
    """The entries by owner (DecodeManagedFields).

    Raises:
        ValueError: an entry is malformed; writes then go on as if there were none.
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
        owner = Owner(entry.get("manager") or "", operation, version, entry.get("subresource") or "")
        managed[owner] = Owned(parse(entry.get("fieldsV1") or {}), entry.get("time") or "", api_version)
    return managed


def encode(managed: Managed) -> list[Obj]:
    """The entries as they stand in an object: Apply before Update, then by time (encodeManagedFields)."""
    ranked = sorted(managed.items(), key=lambda entry: _rank(*entry))
    return [_entry(owner, owned.fields, owned.time, owned.api_version) for owner, owned in ranked]


def _rank(owner: Owner, owned: Owned) -> tuple[str, ...]:
    return owner.operation, owned.time, owner.manager, owned.api_version, owner.subresource


def _entry(owner: Owner, fields: FieldSet, time: str, api_version: str) -> Obj:
    entry: Obj = {"manager": owner.manager, "operation": owner.operation, "apiVersion": api_version}
    if time:
        entry["time"] = time
    entry["fieldsType"] = "FieldsV1"
    entry["fieldsV1"] = fields
    if owner.subresource:
        entry["subresource"] = owner.subresource
    return entry


def created(obj: Obj, kind: Struct, *, owner: Owner, time: str, known: FieldSet = MEMBER) -> list[Obj]:
    """The managedFields of an object that is being created (FieldManager.Update against an empty object).

    Args:
        obj: the object with its defaults, before the server fills in what is its own.
        kind: the object's kind.
        owner: who writes.
        time: now, RFC 3339 in UTC, whole seconds.
        known: sets of top-level fields that the object is given without, by label.
    """
    fields = kind.created(obj)
    if known:
        fields = fields | known
    sent = metadata(obj).get("managedFields")
    managed = _decoded(sent) if sent else {}
    if not managed:
        return [_entry(owner, fields, time, owner.api_version)] if fields else []
    changes = Changes()
    changes.changed = fields
    return encode(_taken(managed, changes, owner=owner, time=time))


def updated(old: Obj, new: Obj, kind: Struct, *, owner: Owner, time: str, ignored: FieldSet = MEMBER) -> list[Obj]:
    """The managedFields of an object after an update or a patch (FieldManager.Update).

    Args:
        old: the object as it is stored.
        new: the object as it is to be, with its defaults. Its managedFields are what the client sent: an empty list or
            a list of one empty entry stops the tracking, others replace those of the old object if they are well-formed
            and the write is to the main resource.
        kind: the object's kind.
        owner: who writes.
        time: now, RFC 3339 in UTC, whole seconds.
        ignored: what this write cannot change, such as STATUS.

    Returns:
        The entries; the old object's own list where the write changed nobody's fields.
    """
    stored: list[Obj] = metadata(old).get("managedFields") or []
    sent = stored if owner.subresource else metadata(new).get("managedFields")
    if sent in ([], [{}]):
        return []  # without entries nothing is tracked until somebody applies
    theirs = _decoded(sent) if sent and sent != stored else {}
    if not (theirs or stored):
        return []
    changes = kind.changes(old, new)
    if not (theirs or changes.changed or changes.removed):
        return stored
    changes.changed, changes.removed = without(changes.changed, ignored), without(changes.removed, ignored)
    return encode(_taken(theirs or _stored(stored), changes, owner=owner, time=time))


def scaled(stored: list[Obj], replicas: FieldSet, *, gone: bool, owner: Owner, time: str) -> list[Obj]:
    """Return the managedFields of an object of a built-in kind after a write of its scale (managedfields.ScaleHandler).

    Args:
        stored: its managedFields before.
        replicas: the set of the one field that was written.
        gone: whether that is 0 now, which a Scale leaves out, so that nobody owns it.
        owner: who writes.
        time: now, RFC 3339 in UTC, whole seconds.
    """
    if not stored:
        return []
    changes = Changes()
    if gone:
        changes.removed = replicas
    else:
        changes.changed = replicas
    return encode(_taken(_stored(stored), changes, owner=owner, time=time))


def disowned(stored: list[Obj], replicas: Mapping[str, FieldSet | None]) -> list[Obj]:
    """Return the managedFields of a custom object after its scale was written: nobody owns the replicas any longer.

    The manager of custom objects cannot convert a Scale, so that upstream gives it no owner (UpdateNoErrors).

    Args:
        stored: its managedFields before.
        replicas: of each apiVersion of its kind, the set of the field that a Scale tells of, None if there is none.
    """
    kept: list[Obj] = []
    for entry in stored:
        if entry["apiVersion"] in replicas:
            taken = replicas[entry["apiVersion"]]
            fields = difference(entry["fieldsV1"], taken) if taken else entry["fieldsV1"]
            kept += [entry | {"fieldsV1": fields}] if fields else []
    return kept


def _stored(entries: Iterable[Obj]) -> Managed:
    """The entries by owner, without the doubts that one must have of a client's."""
    return {
        known_owner(
            entry["manager"],
            entry["operation"],
            entry["apiVersion"] if entry["operation"] == "Update" else "",
            entry.get("subresource", ""),
        ): Owned(entry["fieldsV1"], entry.get("time", ""), entry["apiVersion"])
        for entry in entries
    }


def _decoded(entries: Any) -> Managed:
    try:
        return decode(entries)
    except ValueError:
        return {}


def _taken(managed: Managed, changes: Changes, *, owner: Owner, time: str) -> Managed:
    """The entries after a write: what it changed is the owner's, what it removed is nobody's."""
    gone = union(changes.changed, changes.removed)
    left: Managed = {}
    for other, owned in managed.items():
        if fields := difference(owned.fields, gone):
            left[other] = Owned(fields, owned.time, owned.api_version)
    if changes.changed:
        before, mine = left.get(owner), in_order(changes.changed)
        fields = union(before.fields, mine) if before else mine
        left[owner] = Owned(fields, time, owner.api_version)
    return _capped(left)


def _capped(managed: Managed) -> Managed:
    """At most ten Update entries: of each apiVersion the oldest are merged (capmanagers.go)."""
    surplus = sum(owner.operation == "Update" for owner in managed) - MAX_UPDATE_MANAGERS
    if surplus <= 0:
        return managed
    updates = [owner for owner in managed if owner.operation == "Update"]
    firsts: dict[str, Owner] = {}
    for owner in sorted(updates, key=lambda owner: (managed[owner].time, owner)):
        if surplus <= 0:
            break
        first = firsts.setdefault(owner.api_version, owner)
        if first is owner:
            continue
        bucket = Owner(ANCIENT, "Update", owner.api_version)
        merged = managed[bucket] if bucket in managed else managed.pop(first)
        late = managed.pop(owner)
        managed[bucket] = Owned(union(late.fields, merged.fields), late.time, owner.api_version)
        surplus -= 1
    return managed
