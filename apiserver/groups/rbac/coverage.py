"""Which rules cover others: what a user may pass on, and what a bootstrap role lacks (component-helpers auth/rbac)."""

from collections.abc import Iterable

from apiserver.api.meta import Obj

ALL = "*"


def uncovered(rules: Iterable[Obj], *, owned: Iterable[Obj]) -> list[Obj]:
    """Return the parts of rules that owned rules do not cover (component-helpers' validation.Covers).

    Each part has one verb, and one resource or path. Owned rules cover a part that is in one of them.
    """
    owned_rules = [_OwnedRule(rule) for rule in owned]
    parts = [part for rule in rules for part in _parts(rule)]
    return [part for part in parts if not any(rule.covers(part) for rule in owned_rules)]


def _parts(rule: Obj) -> Iterable[Obj]:
    """Yield the parts of a rule, in upstream's order (BreakdownRule)."""
    verbs = rule.get("verbs") or ()
    for group in rule.get("apiGroups") or ():
        for resource in rule.get("resources") or ():
            for verb in verbs:
                part = {"apiGroups": [group], "resources": [resource], "verbs": [verb]}
                names = rule.get("resourceNames") or ()
                yield from ({**part, "resourceNames": [name]} for name in names) if names else (part,)
    for url in rule.get("nonResourceURLs") or ():
        yield from ({"nonResourceURLs": [url], "verbs": [verb]} for verb in verbs)


class _OwnedRule:
    """A rule that its owner may pass on."""

    __slots__ = ("_groups", "_names", "_prefixes", "_resources", "_urls", "_verbs")

    def __init__(self, rule: Obj) -> None:
        self._verbs = frozenset(rule.get("verbs") or ())
        self._groups = frozenset(rule.get("apiGroups") or ())
        self._resources = frozenset(rule.get("resources") or ())
        self._names = frozenset(rule.get("resourceNames") or ())
        self._urls = frozenset(rule.get("nonResourceURLs") or ())
        self._prefixes = tuple(url.rstrip(ALL) for url in self._urls if url.endswith(ALL))

    def covers(self, part: Obj) -> bool:
        """Return whether the rule includes a part (ruleCovers)."""
        if ALL not in self._verbs and part["verbs"][0] not in self._verbs:
            return False
        if url := (part.get("nonResourceURLs") or [""])[0]:
            return not self._names and (url in self._urls or url.startswith(self._prefixes))
        group, resource = part["apiGroups"][0], part["resources"][0]
        if self._names and not self._names.issuperset(part.get("resourceNames") or ("",)):
            return False
        return (ALL in self._groups or group in self._groups) and self._has_resource(resource)

    def _has_resource(self, resource: str) -> bool:
        if ALL in self._resources or resource in self._resources:
            return True
        _, slash, subresource = resource.partition("/")
        return bool(slash) and f"*/{subresource}" in self._resources


def compact(parts: Iterable[Obj]) -> list[Obj]:
    """Return parts of rules with those for the same resource as one (CompactRules)."""
    others = []
    by_resource: dict[tuple[str, str], Obj] = {}
    for part in parts:
        if "resourceNames" in part or "nonResourceURLs" in part:
            others.append(part)
            continue
        merged = by_resource.setdefault((part["apiGroups"][0], part["resources"][0]), {**part, "verbs": []})
        merged["verbs"].extend(part["verbs"])
    return [*others, *by_resource.values()]
