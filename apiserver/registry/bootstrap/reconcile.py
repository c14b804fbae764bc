"""Completes bootstrap roles and bindings that exist, and keeps what users have added (auth/rbac/reconciliation)."""

from apiserver.api.meta import Obj
from apiserver.groups.rbac.coverage import uncovered

AUTO_UPDATE = "rbac.authorization.kubernetes.io/autoupdate"
"""The annotation that is "false" on objects that their users want to keep as they are."""


def reconciled(existing: Obj, expected: Obj) -> Obj:
    """Return a role or binding with the rules, subjects, labels and annotations that it lacks.

    Args:
        existing: the stored object.
        expected: the bootstrap object; a binding of another role has to be made again, as its roleRef cannot change.
    """
    meta = existing["metadata"]
    if (meta.get("annotations") or {}).get(AUTO_UPDATE) == "false":
        return existing
    new = existing | {"metadata": dict(meta)}
    for name in ("annotations", "labels"):
        new["metadata"][name] = (expected["metadata"].get(name) or {}) | (meta.get(name) or {})
    if "roleRef" in expected:
        _add_missing(new, "subjects", _missing_subjects(existing, expected))
        return new
    if not (existing.get("aggregationRule") and expected.get("aggregationRule")):
        _add_missing(new, "rules", _missing_rules(existing, expected))
    selectors = _selectors(existing)
    missing = [selector for selector in _selectors(expected) if selector not in selectors]
    if missing:
        new["aggregationRule"] = {"clusterRoleSelectors": [*selectors, *missing]}
    return new


def binds_another_role(existing: Obj, expected: Obj) -> bool:
    """Return whether a binding has to be made again: it is not protected, and names another role."""
    annotations = existing["metadata"].get("annotations") or {}
    return existing.get("roleRef") != expected.get("roleRef") and annotations.get(AUTO_UPDATE) != "false"


def _add_missing(obj: Obj, name: str, missing: list[Obj]) -> None:
    if missing:
        obj[name] = [*(obj.get(name) or ()), *missing]


def _missing_rules(existing: Obj, expected: Obj) -> list[Obj]:
    owned, rules = existing.get("rules") or [], expected.get("rules") or []
    return [] if owned == rules else uncovered(rules, owned=owned)


def _missing_subjects(existing: Obj, expected: Obj) -> list[Obj]:
    subjects = existing.get("subjects") or []
    return [subject for subject in expected.get("subjects") or [] if subject not in subjects]


def _selectors(role: Obj) -> list[Obj]:
    return list((role.get("aggregationRule") or {}).get("clusterRoleSelectors") or ())
