"""The conditions of a definition: read, set and removed (apiextensions-apiserver/pkg/apihelpers/helpers.go)."""

from apiserver.api.meta import Obj


def condition(kind: str, status: str, reason: str, message: str) -> Obj:
    """Return a condition that has no time yet."""
    return {"type": kind, "status": status, "reason": reason, "message": message}


def find_condition(definition: Obj, kind: str) -> Obj | None:
    """Return the definition's condition of this type; None if it has none."""
    return next(
        (entry for entry in _conditions(definition) if entry.get("type") == kind),
        None,
    )


def is_condition_true(definition: Obj, kind: str) -> bool:
    """Return True if the definition has the condition, and it is true."""
    current = find_condition(definition, kind)
    return current is not None and current.get("status") == "True"


def is_equivalent(one: Obj | None, other: Obj | None) -> bool:
    """Return True if two conditions agree in everything but their times."""
    if one is None or other is None:
        return one is other
    return all((one.get(name) or "") == (other.get(name) or "") for name in ("type", "status", "reason", "message"))


def with_condition(definition: Obj, given: Obj, now: str) -> Obj:
    """Return the definition with a condition, which replaces the one of its type or is appended.

    Args:
        definition: it is not changed.
        given: the condition, without its time.
        now: the current time, in the format of objects; a condition whose status does not change keeps its time.
    """
    current = find_condition(definition, given["type"]) or {}
    since = current.get("lastTransitionTime") if current.get("status") == given["status"] else None
    timed = current | {
        "type": given["type"],
        "status": given["status"],
        "lastTransitionTime": since or now,
        "reason": given["reason"],
        "message": given["message"],
    }
    others = _conditions(definition)
    if current:
        return _with(definition, [timed if other is current else other for other in others])
    return _with(definition, [*others, timed])


def without_condition(definition: Obj, kind: str) -> Obj:
    """Return the definition without its condition of this type."""
    return _with(definition, [other for other in _conditions(definition) if other.get("type") != kind])


def _conditions(definition: Obj) -> list[Obj]:
    conditions: list[Obj] = (definition.get("status") or {}).get("conditions") or []
    return conditions


def _with(definition: Obj, conditions: list[Obj]) -> Obj:
    return definition | {"status": (definition.get("status") or {}) | {"conditions": conditions}}
