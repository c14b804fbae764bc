"""The requests that a webhook or a policy is for: rules, selectors, and equivalent versions of a resource.

Source: k8s.io/apiserver/pkg/admission/plugin/webhook/predicates, and ShouldCallHook of ../generic/webhook.go.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from apiserver.admission.latest import Reader, get_synced
from apiserver.api import errors
from apiserver.api.meta import Obj
from apiserver.api.resources import Resource, ResourceTable
from apiserver.api.selectors import LabelSelector, SelectorError, label_selector_of
from apiserver.registry.admission import Attributes

EVERY = "*"
_NAMESPACES = ("", "v1", "namespaces")


def request_namespace(attributes: Attributes) -> str:
    """Return the namespace of a request as admission names it: that of a Namespace is its own name."""
    target = attributes.target
    if target.resource.plural == "namespaces" and not target.resource.group:
        return request_name(attributes)
    return target.namespace


def request_name(attributes: Attributes) -> str:
    """Return the name of a request's object, "" if it is yet to be generated."""
    if attributes.target.name or attributes.obj is None:
        return attributes.target.name
    meta = attributes.obj.get("metadata") or {}
    return "" if meta.get("generateName") else meta.get("name") or ""


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: a request matches if each of its parts does (rules.Matcher).

    Attributes:
        operations, groups, versions: what they may be; "*" for any.
        resources: names and subresources, each may be "*".
        scope: "Cluster", "Namespaced" or "*".
        names: names of objects, none for all; only policies have them.
    """

    operations: frozenset[str]
    groups: frozenset[str]
    versions: frozenset[str]
    resources: tuple[tuple[str, str], ...]
    scope: str = EVERY
    names: frozenset[str] = frozenset()

    @classmethod
    def of(cls, rule: Obj) -> "Rule":
        """Return the rule of a configuration."""
        operations, groups, versions, names = (
            frozenset(rule.get(name) or ()) for name in ("operations", "apiGroups", "apiVersions", "resourceNames")
        )
        resources = tuple((name, sub) for name, _, sub in (each.partition("/") for each in rule.get("resources") or ()))
        return cls(operations, groups, versions, resources, rule.get("scope") or EVERY, names)

    def matches(self, attributes: Attributes, resource: Resource) -> bool:
        """Return whether the rule is for a request, as if it were one for this resource."""
        return (
            _has(self.operations, attributes.operation)
            and _has(self.groups, resource.group)
            and _has(self.versions, resource.version)
            and self._matches_resource(resource.plural, attributes.target.subresource)
            and self._matches_scope(attributes, resource)
            and (not self.names or request_name(attributes) in self.names)
        )

    def _matches_resource(self, plural: str, subresource: str) -> bool:
        return any(name in (EVERY, plural) and sub in (EVERY, subresource) for name, sub in self.resources)

    def _matches_scope(self, attributes: Attributes, resource: Resource) -> bool:
        if self.scope == EVERY:
            return True
        is_namespace = (resource.group, resource.version, resource.plural) == _NAMESPACES
        is_cluster_scoped = is_namespace or not attributes.target.namespace
        return is_cluster_scoped is (self.scope == "Cluster")


def _has(values: frozenset[str], value: str) -> bool:
    return value in values or EVERY in values


@dataclass(frozen=True, slots=True)
class MatchCriteria:
    """The requests that a webhook or a policy is for.

    Attributes:
        rules: one of them has to match; None for every resource, as of a binding without rules.
        excluded: none of them may match; only policies have them.
        is_equivalent: whether rules also match equivalent resources: the same objects in other versions.
    """

    rules: tuple[Rule, ...] | None
    excluded: tuple[Rule, ...]
    is_equivalent: bool
    namespace_selector: LabelSelector
    object_selector: LabelSelector

    @classmethod
    def of(cls, constraints: Obj, *, rules: str = "resourceRules") -> "MatchCriteria":
        """Return the criteria of a webhook (whose rules are its `rules`) or of a policy's matchConstraints."""
        given = constraints.get(rules)
        return cls(
            None if not given and rules == "resourceRules" else tuple(map(Rule.of, given or ())),
            tuple(map(Rule.of, constraints.get("excludeResourceRules") or ())),
            constraints.get("matchPolicy") != "Exact",
            _selector(constraints.get("namespaceSelector")),
            _selector(constraints.get("objectSelector")),
        )


def _selector(selector: Obj | None) -> LabelSelector:
    try:
        return label_selector_of(selector or {})
    except SelectorError:  # one that an older release has stored
        return LabelSelector(nothing=True)


class Matcher:
    """Matches requests with criteria.

    Args:
        store: has the namespaces.
        table: the resources that are served.
    """

    def __init__(self, store: Reader, table: ResourceTable) -> None:
        self._store = store
        self._table = table

    async def match(self, criteria: MatchCriteria, attributes: Attributes) -> Resource | None:
        """Return the resource in whose version the object is to be shown, None if the criteria are not for the request.

        Raises:
            ApiError: 404, the request's namespace does not exist.
        """
        resource = self._matched_resource(criteria, attributes)
        if resource is None or not self._matches_object(criteria.object_selector, attributes):
            return None
        return resource if await self._matches_namespace(criteria.namespace_selector, attributes) else None

    def _matched_resource(self, criteria: MatchCriteria, attributes: Attributes) -> Resource | None:
        """Return the request's resource if a rule is for it, or the first equivalent that a rule is for."""
        if criteria.excluded and self._first_match(criteria.excluded, criteria, attributes) is not None:
            return None
        if criteria.rules is None:
            return attributes.target.resource
        return self._first_match(criteria.rules, criteria, attributes)

    def _first_match(self, rules: tuple[Rule, ...], criteria: MatchCriteria, attributes: Attributes) -> Resource | None:
        target = attributes.target
        if any(rule.matches(attributes, target.resource) for rule in rules):
            return target.resource
        if not criteria.is_equivalent:
            return None
        equivalents = self._table.equivalents(target.resource, target.subresource)
        return next((each for rule in rules for each in equivalents if rule.matches(attributes, each)), None)

    def _matches_object(self, selector: LabelSelector, attributes: Attributes) -> bool:
        """Return whether the object is selected, as it will be or as it was (object.Matcher)."""
        if selector.empty:
            return True
        objects = (each for each in (attributes.obj, attributes.old) if each is not None)
        return any(selector.matches(_labels(each)) for each in objects)

    async def _matches_namespace(self, selector: LabelSelector, attributes: Attributes) -> bool:
        """Return whether the namespace is selected; what lies in none is not exempt (namespace.Matcher)."""
        target = attributes.target
        is_namespace = target.resource.plural == "namespaces"
        if selector.empty or (not target.namespace and not is_namespace):
            return True
        if is_namespace and not target.subresource and attributes.obj is not None:
            return selector.matches(_labels(attributes.obj))
        name = request_namespace(attributes)
        namespace = await get_synced(self._store, f"/registry/namespaces/{name}")
        if namespace is None:
            raise errors.not_found("", "namespaces", name)
        return selector.matches(namespace.index_attrs.labels)


def _labels(obj: Obj) -> Mapping[str, str]:
    return (obj.get("metadata") or {}).get("labels") or {}
