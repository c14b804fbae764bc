"""What Roles and bindings may be, and that a binding's role stays (pkg/apis/rbac/validation)."""

from collections.abc import Iterator

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj
from apiserver.api.validation import checks, names
from apiserver.api.validation.contract import Errors, Validator, same_on_update

GROUP = "rbac.authorization.k8s.io"
_SUBJECTS = {"ServiceAccount": "", "User": GROUP, "Group": GROUP}  # kind → the group that its subjects are in


def _role(role: Obj) -> Errors:
    return checks.each("rules", role.get("rules"), _namespaced_rule)


def _cluster_role(role: Obj) -> Iterator[FieldError]:
    yield from checks.each("rules", role.get("rules"), _rule)
    aggregation = role.get("aggregationRule")
    if aggregation is not None:
        selectors = aggregation.get("clusterRoleSelectors")
        words = "at least one clusterRoleSelector required if aggregationRule is non-nil"
        yield from checks.needed("aggregationRule.clusterRoleSelectors", selectors, words)
        yield from checks.each("aggregationRule.clusterRoleSelectors", selectors, _selector)


def _selector(selector: Obj) -> Errors:
    return checks.label_selector("", selector)


def _namespaced_rule(rule: Obj) -> Iterator[FieldError]:
    yield from checks.needed("verbs", rule.get("verbs"), "verbs must contain at least one value")
    urls = rule.get("nonResourceURLs")
    if urls:
        yield field.invalid("nonResourceURLs", urls, "namespaced rules cannot apply to non-resource URLs")
    yield from _reach(rule)


def _rule(rule: Obj) -> Iterator[FieldError]:
    yield from checks.needed("verbs", rule.get("verbs"), "verbs must contain at least one value")
    yield from _reach(rule)


def _reach(rule: Obj) -> Iterator[FieldError]:
    """Either resources, or paths that are none."""
    groups, resources, urls = rule.get("apiGroups"), rule.get("resources"), rule.get("nonResourceURLs")
    if urls:
        if groups or resources or rule.get("resourceNames"):
            words = "rules cannot apply to both regular resources and non-resource URLs"
            yield field.invalid("nonResourceURLs", urls, words)
        return
    yield from checks.needed("apiGroups", groups, "resource rules must supply at least one api group")
    yield from checks.needed("resources", resources, "resource rules must supply at least one resource")


def _role_binding(binding: Obj) -> Iterator[FieldError]:
    yield from checks.within("roleRef", _role_ref(binding.get("roleRef") or {}, ("Role", "ClusterRole")))
    yield from checks.each("subjects", binding.get("subjects"), _subject)


def _cluster_role_binding(binding: Obj) -> Iterator[FieldError]:
    yield from checks.within("roleRef", _role_ref(binding.get("roleRef") or {}, ("ClusterRole",)))
    yield from checks.each("subjects", binding.get("subjects"), _cluster_subject)


def _role_ref(ref: Obj, kinds: tuple[str, ...]) -> Iterator[FieldError]:
    yield from checks.one_of("apiGroup", ref.get("apiGroup", ""), (GROUP,))
    yield from checks.one_of("kind", ref.get("kind", ""), kinds)
    yield from checks.needed_name("name", ref.get("name"), names.path_segment)


def _subject(subject: Obj) -> Iterator[FieldError]:
    name, kind = subject.get("name"), subject.get("kind", "")
    yield from checks.needed("name", name)
    group = _SUBJECTS.get(kind)
    if group is None:
        yield field.not_supported("kind", kind, tuple(_SUBJECTS))
        return
    if kind == "ServiceAccount":
        yield from checks.optional_name("name", name, names.dns1123_subdomain)
    yield from checks.one_of("apiGroup", subject.get("apiGroup", ""), (group,))


def _cluster_subject(subject: Obj) -> Iterator[FieldError]:
    yield from _subject(subject)
    if subject.get("kind") == "ServiceAccount":
        yield from checks.needed("namespace", subject.get("namespace"))


def _ref_stays(new: Obj, old: Obj) -> Errors:
    ref = new.get("roleRef") or {}
    if ref == (old.get("roleRef") or {}):
        return ()
    shown = {"APIGroup": ref.get("apiGroup", ""), "Kind": ref.get("kind", ""), "Name": ref.get("name", "")}
    return (field.invalid("roleRef", shown, "cannot change roleRef"),)


VALIDATORS = {
    (GROUP, "Role"): same_on_update(_role),
    (GROUP, "ClusterRole"): same_on_update(_cluster_role),
    (GROUP, "RoleBinding"): Validator(_role_binding, lambda new, old: (*_role_binding(new), *_ref_stays(new, old))),
    (GROUP, "ClusterRoleBinding"): Validator(
        _cluster_role_binding, lambda new, old: (*_cluster_role_binding(new), *_ref_stays(new, old))
    ),
}
