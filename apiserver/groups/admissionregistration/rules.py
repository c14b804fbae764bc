"""Rules that webhook configurations, admission policies and their bindings share."""

from collections.abc import Iterator

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj
from apiserver.api.validation import checks, names

_SCOPES = frozenset({"*", "Cluster", "Namespaced"})

_OPERATIONS = frozenset({"*", "CONNECT", "CREATE", "DELETE", "UPDATE"})

FAILURE_POLICIES = frozenset({"Fail", "Ignore"})

MATCH_POLICIES = frozenset({"Equivalent", "Exact"})

_MOST_CONDITIONS, MOST_ANNOTATIONS = 64, 20


def operations_rule(rule: Obj) -> Iterator[FieldError]:
    """Return what is wrong with one rule: its operations, groups, versions, resources and scope."""
    operations, groups, versions = (rule.get(name) or [] for name in ("operations", "apiGroups", "apiVersions"))
    yield from _listed("operations", operations, "operations")
    yield from checks.each("operations", operations, lambda operation: checks.one_of("", operation, _OPERATIONS))
    yield from _listed("apiGroups", groups, "API groups")
    yield from _listed("apiVersions", versions, "API versions")
    yield from checks.each("apiVersions", versions, lambda version: checks.needed("", version))
    yield from checks.within("resources", _resources(rule.get("resources") or []))
    yield from checks.optional_one_of("scope", rule.get("scope"), _SCOPES)


def _listed(path: str, values: list[str], what: str) -> Iterator[FieldError]:
    yield from checks.needed(path, values)
    if len(values) > 1 and "*" in values:
        yield field.invalid(path, values, f"if '*' is present, must not specify other {what}")


def _resources(resources: list[str]) -> Iterator[FieldError]:
    yield from checks.needed("", resources)
    whole, everywhere = set(), set()  # x of "x/*" and y of "*/y", as far as they have come
    for index, resource in enumerate(resources):
        if not resource:
            yield field.required(f"[{index}]")
        name, slash, part = resource.partition("/")
        if not slash:
            continue
        if name in whole:
            words = f"if '{name}/*' is present, must not specify {resource}"
            yield field.invalid(f"[{index}]", resource, words)
        if part in everywhere:
            words = f"if '*/{part}' is present, must not specify {resource}"
            yield field.invalid(f"[{index}]", resource, words)
        whole |= {name} if part == "*" else set()
        everywhere |= {part} if name == "*" else set()
    if len(resources) > 1 and "*/*" in resources:
        yield field.invalid("", resources, "if '*/*' is present, must not specify other resources")
    if "*" in resources and any(resource != "*" and "/" not in resource for resource in resources):
        words = "if '*' is present, must not specify other resources without subresources"
        yield field.invalid("", resources, words)


def match_conditions(conditions: list[Obj] | tuple[()]) -> Iterator[FieldError]:
    """Return what is wrong with match conditions."""
    if len(conditions) > _MOST_CONDITIONS:
        yield field.too_many("matchConditions", len(conditions), _MOST_CONDITIONS)
    seen = set()
    for index, condition in enumerate(conditions):
        name, path = condition.get("name") or "", f"matchConditions[{index}]"
        yield from checks.needed(f"{path}.expression", (condition.get("expression") or "").strip())
        yield from checks.needed_name(f"{path}.name", name, names.qualified_name)
        if name and name in seen:
            yield field.duplicate(f"{path}.name", name)
        seen.add(name)


def match_resources(constraints: Obj) -> Iterator[FieldError]:
    """Return what is wrong with the constraints that match requests."""
    yield from checks.needed_one_of("matchPolicy", constraints.get("matchPolicy"), MATCH_POLICIES)
    for name in ("namespaceSelector", "objectSelector"):
        selector = constraints.get(name)
        if selector is None:
            yield field.required(name)
        yield from checks.label_selector(name, selector)
    for name in ("resourceRules", "excludeResourceRules"):
        yield from checks.each(name, constraints.get(name), _named_rule)


def _named_rule(rule: Obj) -> Iterator[FieldError]:
    listed = rule.get("resourceNames") or []
    for index, name in enumerate(listed):
        yield from checks.wrong(f"resourceNames[{index}]", name, names.path_segment(name))
        if name in listed[:index]:
            yield field.duplicate(f"resourceNames[{index}]", name)
    yield from operations_rule(rule)
