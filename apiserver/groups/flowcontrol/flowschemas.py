"""FlowSchemas (flowcontrol.apiserver.k8s.io): defaults, validation and columns."""

from collections.abc import Iterator

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj, name_of
from apiserver.api.validation import checks, names
from apiserver.api.validation.contract import Errors, same_on_update
from apiserver.groups.cell_format import age
from apiserver.groups.cells import NONE, Cells, condition_of, mapping, number_of, text_of
from apiserver.groups.columns import AGE, FLOW, NAME, Column, Printer
from apiserver.groups.kind import BuiltinKind
from apiserver.groups.notices import NO_FAIRNESS, stored
from apiserver.groups.strategy import COUNTED_STATUS


def default_flow_schema(schema: Obj) -> None:
    """Set the default precedence of a FlowSchema."""
    spec = schema.setdefault("spec", {})
    spec["matchingPrecedence"] = spec.get("matchingPrecedence") or 1000


_MAX_PRECEDENCE, MOST_QUEUES, HASH_BITS = 10_000, 10_000_000, 60

_METHODS = frozenset({"ByNamespace", "ByUser"})

_VERBS = frozenset({"create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch"})

_SUBJECTS = {"ServiceAccount": "serviceAccount", "User": "user", "Group": "group"}

_NAMESPACES = "each member of this list must be '*' or a DNS-1123 label; "


def _schema(schema: Obj) -> Iterator[FieldError]:
    spec, path = schema.get("spec") or {}, "spec.matchingPrecedence"
    precedence = spec.get("matchingPrecedence") or 0
    if precedence <= 0:
        yield field.invalid(path, precedence, "must be a positive value")
    if precedence > _MAX_PRECEDENCE:
        yield field.invalid(path, precedence, f"must not be greater than {_MAX_PRECEDENCE}")
    if precedence == 1 and name_of(schema) != "exempt":
        yield field.invalid(path, precedence, "only the schema named 'exempt' may have matchingPrecedence 1")
    method = spec.get("distinguisherMethod")
    if method is not None and method.get("type") not in _METHODS:
        yield field.not_supported("spec.distinguisherMethod.type", {"Type": method.get("type", "")}, _METHODS)
    level = (spec.get("priorityLevelConfiguration") or {}).get("name")
    path = "spec.priorityLevelConfiguration.name"
    yield from checks.required(path, level, "must reference a priority level")
    yield from checks.optional_name(path, level, names.dns1123_subdomain)
    yield from checks.each("spec.rules", spec.get("rules"), _rule)


def _rule(rule: Obj) -> Iterator[FieldError]:
    subjects, resources, paths = (rule.get(name) for name in ("subjects", "resourceRules", "nonResourceRules"))
    yield from checks.required("subjects", subjects, "subjects must contain at least one value")
    yield from checks.each("subjects", subjects, _subject)
    if not resources and not paths:
        yield field.required("", "at least one of resourceRules and nonResourceRules has to be non-empty")
    yield from checks.each("resourceRules", resources, _resource_rule)
    yield from checks.each("nonResourceRules", paths, _path_rule)


def _subject(subject: Obj) -> Iterator[FieldError]:
    kind = subject.get("kind") or ""
    expected = _SUBJECTS.get(kind)
    if expected is None:
        yield field.not_supported("kind", kind, _SUBJECTS.keys())
        return
    member = subject.get(expected)
    if member is None:
        yield field.required(expected, f"{expected} is required when subject kind is '{kind}'")
    else:
        yield from checks.prefix_errors(
            expected, _account(member) if kind == "ServiceAccount" else _subject_name(member)
        )
    for other, name in _SUBJECTS.items():
        if name != expected and subject.get(name) is not None:
            yield field.forbidden(name, f"{name} is forbidden when subject kind is not '{other}'")


def _subject_name(subject: Obj) -> Errors:
    return checks.required("name", subject.get("name"))


def _account(account: Obj) -> Iterator[FieldError]:
    name, namespace = account.get("name") or "", account.get("namespace")
    if name != "*":
        yield from checks.required_name("name", name, names.dns1123_subdomain)
    yield from checks.required("namespace", namespace, "must specify namespace for service account")
    yield from checks.optional_name("namespace", namespace, names.dns1123_label)


def _verbs(verbs: list[str]) -> Iterator[FieldError]:
    yield from _star_or_values("verbs", verbs, "verbs", missing="verbs must contain at least one value")
    if verbs and "*" not in verbs and not _VERBS.issuperset(verbs):
        yield field.not_supported("verbs", verbs, _VERBS)


def _star_or_values(path: str, values: list[str], noun: str, *, missing: str) -> Iterator[FieldError]:
    """Yield an error if there are no values, or if "*" is not the only one."""
    yield from checks.required(path, values, missing)
    if len(values) > 1 and "*" in values:
        yield field.invalid(path, values, f"if '*' is present, must not specify other {noun}")


def _resource_rule(rule: Obj) -> Iterator[FieldError]:
    verbs, groups, resources, namespaces = (
        rule.get(name) or [] for name in ("verbs", "apiGroups", "resources", "namespaces")
    )
    yield from _verbs(verbs)
    missing = "resource rules must supply at least one api group"
    yield from _star_or_values("apiGroups", groups, "api groups", missing=missing)
    missing = "resource rules must supply at least one resource"
    yield from _star_or_values("resources", resources, "resources", missing=missing)
    if namespaces or not rule.get("clusterScope"):
        missing = "resource rules that are not cluster scoped must supply at least one namespace"
        yield from _star_or_values("namespaces", namespaces, "namespaces", missing=missing)
    if "*" not in namespaces:
        for index, namespace in enumerate(namespaces):
            for message in names.dns1123_label(namespace):
                yield field.invalid(f"namespaces[{index}]", namespace, _NAMESPACES + message)


def _path_rule(rule: Obj) -> Iterator[FieldError]:
    urls = rule.get("nonResourceURLs") or []
    yield from _verbs(rule.get("verbs") or [])
    missing = "nonResourceURLs must contain at least one value"
    yield from _star_or_values("nonResourceURLs", urls, "non-resource URLs", missing=missing)
    if "*" not in urls:
        for index, url in enumerate(urls):
            if problem := _url_problem(url):
                yield field.invalid(f"nonResourceURLs[{index}]", url, problem)


def _url_problem(url: str) -> str:
    stars = url.count("*")
    rules = (
        (not url, "must not be empty"),
        (not url.startswith("/"), "must start with slash"),
        (" " in url, "must not contain white-space"),
        ("//" in url, "must not contain double slash"),
        (stars > 1 or (stars == 1 and not url.endswith("/*")), "wildcard can only do suffix matching"),
    )
    return next((message for broken, message in rules if broken), "")


def _flow_schema(obj: Obj) -> Cells:
    spec = mapping(obj, "spec")
    method, dangling = spec.get("distinguisherMethod"), condition_of(mapping(obj, "status"), "Dangling")
    return [
        name_of(obj),
        text_of(mapping(spec, "priorityLevelConfiguration"), "name"),
        number_of(spec, "matchingPrecedence"),
        text_of(method, "type") if isinstance(method, dict) else NONE,
        age(obj),
        "?" if dangling is None else text_of(dangling, "status"),
    ]


def _flow_schema_order(obj: Obj) -> tuple[int, str]:
    """Return the sort key of a FlowSchema: requests are matched against FlowSchemas in this order."""
    return number_of(mapping(obj, "spec"), "matchingPrecedence"), name_of(obj)


FLOW_SCHEMA = BuiltinKind(
    "flowcontrol.apiserver.k8s.io",
    "FlowSchema",
    namespaced=False,
    default=default_flow_schema,
    strategy=COUNTED_STATUS,
    validator=same_on_update(_schema),
    printer=Printer(
        columns=(
            NAME,
            Column("PriorityLevel", f"{FLOW}PriorityLevelConfigurationReference#name"),
            Column("MatchingPrecedence", f"{FLOW}FlowSchemaSpec#matchingPrecedence"),
            Column("DistinguisherMethod", f"{FLOW}FlowSchemaSpec#distinguisherMethod"),
            AGE,
            Column("MissingPL", "Whether the priority level is missing."),
        ),
        cells=_flow_schema,
        order=_flow_schema_order,
    ),
    notices=stored("FlowSchema", NO_FAIRNESS, "no request is queued or refused by it"),
)
