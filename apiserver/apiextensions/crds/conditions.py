"""The conditions of a definition: found, set and taken away (apiextensions-apiserver/pkg/apihelpers/helpers.go)."""

from apiserver.api.meta import Obj


def condition(kind: str, status: str, reason: str, message: str) -> Obj:
    """A condition that has no time yet."""
    return {"type": kind, "status": status, "reason": reason, "message": message}


def found(definition: Obj, kind: str) -> Obj | None:
    """The definition's condition of this type."""
    return next((each for each in _conditions(definition) if each.get("type") == kind), None)


def holds(definition: Obj, kind: str) -> bool:
    """Is the condition there, and true?"""
    known = found(definition, kind)
    return known is not None and known.get("status") == "True"


def same(one: Obj | None, other: Obj | None) -> bool:
    """Do both say the same, whenever they came about?"""
    if one is None or other is None:
        return one is other
    return all((one.get(part) or "") == (other.get(part) or "") for part in ("type", "status", "reason", "message"))


def with_condition(definition: Obj, given: Obj, now: str) -> Obj:
    """The definition with a condition, in the place of one of its type or behind all others.

    Args:
        definition: stays as it is.
        given: the condition, without its time.
        now: the time, as objects have it; an old condition of the same status keeps its own.
    """
    before = found(definition, given["type"]) or {}
    since = before.get("lastTransitionTime") if before.get("status") == given["status"] else None
    timed = before | {
        "type": given["type"],
        "status": given["status"],
        "lastTransitionTime": since or now,
        "reason": given["reason"],
        "message": given["message"],
    }
    others = _conditions(definition)
    if before:
        return _with(definition, [timed if each is before else each for each in others])
    return _with(definition, [*others, timed])


def without_condition(definition: Obj, kind: str) -> Obj:
    """The definition without its condition of this type."""
    return _with(definition, [each for each in _conditions(definition) if each.get("type") != kind])


def _conditions(definition: Obj) -> list[Obj]:
    conditions: list[Obj] = (definition.get("status") or {}).get("conditions") or []
    return conditions


def _with(definition: Obj, conditions: list[Obj]) -> Obj:
    return definition | {"status": (definition.get("status") or {}) | {"conditions": conditions}}
