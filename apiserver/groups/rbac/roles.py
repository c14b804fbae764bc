"""ClusterRoles and Roles (rbac.authorization.k8s.io): validation."""

from collections.abc import Iterator

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj
from apiserver.api.validation import checks, names
from apiserver.api.validation.contract import Errors, same_on_update
from apiserver.groups.kind import BuiltinKind
from apiserver.groups.strategy import PLAIN


def _role(role: Obj) -> Errors:
    return checks.each("rules", role.get("rules"), _namespaced_rule)


def _cluster_role(role: Obj) -> Iterator[FieldError]:
    yield from checks.each("rules", role.get("rules"), _rule)
    aggregation = role.get("aggregationRule")
    if aggregation is not None:
        selectors = aggregation.get("clusterRoleSelectors")
        detail = "at least one clusterRoleSelector required if aggregationRule is non-nil"
        yield from checks.required("aggregationRule.clusterRoleSelectors", selectors, detail)
        yield from checks.each("aggregationRule.clusterRoleSelectors", selectors, _selector)


def _selector(selector: Obj) -> Errors:
    return checks.label_selector("", selector)


def _namespaced_rule(rule: Obj) -> Iterator[FieldError]:
    yield from checks.required("verbs", rule.get("verbs"), "verbs must contain at least one value")
    urls = rule.get("nonResourceURLs")
    if urls:
        yield field.invalid("nonResourceURLs", urls, "namespaced rules cannot apply to non-resource URLs")
    yield from _resources_or_urls(rule)


def _rule(rule: Obj) -> Iterator[FieldError]:
    yield from checks.required("verbs", rule.get("verbs"), "verbs must contain at least one value")
    yield from _resources_or_urls(rule)


def _resources_or_urls(rule: Obj) -> Iterator[FieldError]:
    """Yield an error unless a rule names either resources or nonResourceURLs, not both."""
    groups, resources, urls = rule.get("apiGroups"), rule.get("resources"), rule.get("nonResourceURLs")
    if urls:
        if groups or resources or rule.get("resourceNames"):
            detail = "rules cannot apply to both regular resources and non-resource URLs"
            yield field.invalid("nonResourceURLs", urls, detail)
        return
    yield from checks.required("apiGroups", groups, "resource rules must supply at least one api group")
    yield from checks.required("resources", resources, "resource rules must supply at least one resource")


CLUSTER_ROLE = BuiltinKind(
    "rbac.authorization.k8s.io",
    "ClusterRole",
    namespaced=False,
    creates_on_update=True,
    strategy=PLAIN,
    validator=same_on_update(_cluster_role),
    name_rule=names.path_segment,
)

ROLE = BuiltinKind(
    "rbac.authorization.k8s.io",
    "Role",
    creates_on_update=True,
    strategy=PLAIN,
    validator=same_on_update(_role),
    name_rule=names.path_segment,
)
