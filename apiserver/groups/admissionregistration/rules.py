"""Rules that webhook configurations, admission policies and their bindings share."""

from collections.abc import Callable, Iterator

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj
from apiserver.api.validation import checks, names

_SCOPES = frozenset({"*", "Cluster", "Namespaced"})

_OPERATIONS = frozenset({"*", "CONNECT", "CREATE", "DELETE", "UPDATE"})

FAILURE_POLICIES = frozenset({"Fail", "Ignore"})

MATCH_POLICIES = frozenset({"Equivalent", "Exact"})

_MAX_CONDITIONS, MAX_ANNOTATIONS = 64, 20


def operations_rule(rule: Obj) -> Iterator[FieldError]:
    """Return the errors of one rule: its operations, groups, versions, resources and scope."""
    operations, groups, versions = (rule.get(name) or [] for name in ("operations", "apiGroups", "apiVersions"))
    yield from _listed("operations", operations, "operations")
    yield from checks.each("operations", operations, lambda operation: checks.one_of("", operation, _OPERATIONS))
    yield from _listed("apiGroups", groups, "API groups")
    yield from _listed("apiVersions", versions, "API versions")
    yield from checks.each("apiVersions", versions, lambda version: checks.required("", version))
    yield from checks.prefix_errors("resources", _resources(rule.get("resources") or []))
    yield from checks.optional_one_of("scope", rule.get("scope"), _SCOPES)


def _listed(path: str, values: list[str], noun: str) -> Iterator[FieldError]:
    yield from checks.required(path, values)
    if len(values) > 1 and "*" in values:
        yield field.invalid(path, values, f"if '*' is present, must not specify other {noun}")


def _resources(resources: list[str]) -> Iterator[FieldError]:
    yield from checks.required("", resources)
    with_all_subresources, of_all_resources = set(), set()  # x of "x/*" and y of "*/y", among the resources so far
    for index, resource in enumerate(resources):
        if not resource:
            yield field.required(f"[{index}]")
        name, slash, subresource = resource.partition("/")
        if not slash:
            continue
        if name in with_all_subresources:
            detail = f"if '{name}/*' is present, must not specify {resource}"
            yield field.invalid(f"[{index}]", resource, detail)
        if subresource in of_all_resources:
            detail = f"if '*/{subresource}' is present, must not specify {resource}"
            yield field.invalid(f"[{index}]", resource, detail)
        with_all_subresources |= {name} if subresource == "*" else set()
        of_all_resources |= {subresource} if name == "*" else set()
    if len(resources) > 1 and "*/*" in resources:
        yield field.invalid("", resources, "if '*/*' is present, must not specify other resources")
    if "*" in resources and any(resource != "*" and "/" not in resource for resource in resources):
        detail = "if '*' is present, must not specify other resources without subresources"
        yield field.invalid("", resources, detail)


Compile = Callable[[str], str]
"""Returns why an expression cannot be used, "" if it can."""


def match_conditions(
    conditions: list[Obj] | tuple[()], compile_condition: Compile | None = None
) -> Iterator[FieldError]:
    """Return the errors of match conditions; their expressions are only compiled if there is a function for that."""
    if len(conditions) > _MAX_CONDITIONS:
        yield field.too_many("matchConditions", len(conditions), _MAX_CONDITIONS)
    seen = set()
    for index, condition in enumerate(conditions):
        name, path = condition.get("name") or "", f"matchConditions[{index}]"
        text = (condition.get("expression") or "").strip()
        yield from checks.required(f"{path}.expression", text)
        if text and compile_condition is not None and (problem := compile_condition(text)):
            yield field.invalid(f"{path}.expression", text, problem)
        yield from checks.required_name(f"{path}.name", name, names.qualified_name)
        if name and name in seen:
            yield field.duplicate(f"{path}.name", name)
        seen.add(name)


def match_resources(constraints: Obj) -> Iterator[FieldError]:
    """Return the errors of the constraints that match requests."""
    yield from checks.required_one_of("matchPolicy", constraints.get("matchPolicy"), MATCH_POLICIES)
    for name in ("namespaceSelector", "objectSelector"):
        selector = constraints.get(name)
        if selector is None:
            yield field.required(name)
        yield from checks.label_selector(name, selector)
    for name in ("resourceRules", "excludeResourceRules"):
        yield from checks.each(name, constraints.get(name), _named_rule)


def _named_rule(rule: Obj) -> Iterator[FieldError]:
    resource_names = rule.get("resourceNames") or []
    for index, name in enumerate(resource_names):
        yield from checks.invalid_values(f"resourceNames[{index}]", name, names.path_segment(name))
        if name in resource_names[:index]:
            yield field.duplicate(f"resourceNames[{index}]", name)
    yield from operations_rule(rule)
