"""The rules of a role by what they are for, so that a request finds its own (rbac/v1 evaluation helpers)."""

from collections.abc import Sequence
from typing import NamedTuple

from apiserver.api.meta import Obj
from apiserver.groups.rbac.coverage import ALL
from apiserver.registry.authorizer import AuthorizationRequest

ResourceKeys = tuple[tuple[str, str], ...]
"""The groups and resources that a rule may name to concern a request."""


def resource_keys(request: AuthorizationRequest) -> ResourceKeys:
    """Return what a rule may name to concern a request: its resource, `*`, and `*/subresource`.

    For deployments/scale of apps:

        (apps, deployments/scale)  (*, deployments/scale)  (apps, *)  (*, *)  (apps, */scale)  (*, */scale)
    """
    group, resource, subresource = request.group, request.resource, request.subresource
    if not subresource:
        return (group, resource), (ALL, resource), (group, ALL), (ALL, ALL)
    resource, any_resource = f"{resource}/{subresource}", f"*/{subresource}"
    same = (group, resource), (ALL, resource), (group, ALL), (ALL, ALL)
    return (*same, (group, any_resource), (ALL, any_resource))


class _ResourceRule(NamedTuple):
    """A rule's verbs, and the names of the objects that it is limited to; empty for all."""

    verbs: frozenset[str]
    names: frozenset[str]


class _PathRule(NamedTuple):
    """A rule's verbs, paths, and prefixes of paths."""

    verbs: frozenset[str]
    paths: frozenset[str]
    prefixes: tuple[str, ...]


class RoleRules:
    """The rules of one role.

    Attributes:
        rules: the same rules as the role has them.
    """

    __slots__ = ("_by_resource", "_paths", "rules")

    def __init__(self, rules: Sequence[Obj]) -> None:
        self.rules = rules
        self._paths: list[_PathRule] = []
        self._by_resource: dict[tuple[str, str], list[_ResourceRule]] = {}
        for rule in rules:
            self._add(rule)

    def allow_resource(self, request: AuthorizationRequest, keys: ResourceKeys) -> bool:
        """Return whether a rule allows a request for a resource."""
        by_resource, verb, name = self._by_resource, request.verb, request.name
        for key in keys:
            for verbs, names in by_resource.get(key, ()):
                if (verb in verbs or ALL in verbs) and (not names or name in names):
                    return True
        return False

    def allow_path(self, verb: str, path: str) -> bool:
        """Return whether a rule allows a request for a path."""
        return any(
            (verb in rule.verbs or ALL in rule.verbs) and (path in rule.paths or path.startswith(rule.prefixes))
            for rule in self._paths
        )

    def _add(self, rule: Obj) -> None:
        verbs = frozenset(rule.get("verbs") or ())
        resource_rule = _ResourceRule(verbs, frozenset(rule.get("resourceNames") or ()))
        for group in rule.get("apiGroups") or ():
            for resource in rule.get("resources") or ():
                self._by_resource.setdefault((group, resource), []).append(resource_rule)
        urls = rule.get("nonResourceURLs") or ()
        if urls:
            prefixes = tuple(url.rstrip(ALL) for url in urls if url.endswith(ALL))
            self._paths.append(_PathRule(verbs, frozenset(urls), prefixes))
