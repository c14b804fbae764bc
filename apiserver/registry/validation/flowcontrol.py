"""What FlowSchemas and PriorityLevelConfigurations may be (pkg/apis/flowcontrol/validation)."""

from collections.abc import Iterator
from math import ceil, log2

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj, name_of
from apiserver.api.validation import checks, names
from apiserver.api.validation.contract import Errors, same_on_update

_GROUP = "flowcontrol.apiserver.k8s.io"
_MOST_PRECEDENCE, _MOST_QUEUES, _HASH_BITS = 10_000, 10_000_000, 60
_METHODS = frozenset({"ByNamespace", "ByUser"})
_VERBS = frozenset({"create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch"})
_SUBJECTS = {"ServiceAccount": "serviceAccount", "User": "user", "Group": "group"}
_LEVEL_TYPES = frozenset({"Exempt", "Limited"})
_RESPONSE_TYPES = frozenset({"Queue", "Reject"})
_NAMESPACES = "each member of this list must be '*' or a DNS-1123 label; "


def _schema(schema: Obj) -> Iterator[FieldError]:
    spec, path = schema.get("spec") or {}, "spec.matchingPrecedence"
    precedence = spec.get("matchingPrecedence") or 0
    if precedence <= 0:
        yield field.invalid(path, precedence, "must be a positive value")
    if precedence > _MOST_PRECEDENCE:
        yield field.invalid(path, precedence, f"must not be greater than {_MOST_PRECEDENCE}")
    if precedence == 1 and name_of(schema) != "exempt":
        yield field.invalid(path, precedence, "only the schema named 'exempt' may have matchingPrecedence 1")
    method = spec.get("distinguisherMethod")
    if method is not None and method.get("type") not in _METHODS:
        yield field.not_supported("spec.distinguisherMethod.type", {"Type": method.get("type", "")}, _METHODS)
    level = (spec.get("priorityLevelConfiguration") or {}).get("name")
    path = "spec.priorityLevelConfiguration.name"
    yield from checks.needed(path, level, "must reference a priority level")
    yield from checks.optional_name(path, level, names.dns1123_subdomain)
    yield from checks.each("spec.rules", spec.get("rules"), _rule)


def _rule(rule: Obj) -> Iterator[FieldError]:
    subjects, resources, paths = (rule.get(name) for name in ("subjects", "resourceRules", "nonResourceRules"))
    yield from checks.needed("subjects", subjects, "subjects must contain at least one value")
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
    meant = subject.get(expected)
    if meant is None:
        yield field.required(expected, f"{expected} is required when subject kind is '{kind}'")
    else:
        yield from checks.within(expected, _account(meant) if kind == "ServiceAccount" else _named(meant))
    for other, name in _SUBJECTS.items():
        if name != expected and subject.get(name) is not None:
            yield field.forbidden(name, f"{name} is forbidden when subject kind is not '{other}'")


def _named(subject: Obj) -> Errors:
    return checks.needed("name", subject.get("name"))


def _account(account: Obj) -> Iterator[FieldError]:
    name, namespace = account.get("name") or "", account.get("namespace")
    if name != "*":
        yield from checks.needed_name("name", name, names.dns1123_subdomain)
    yield from checks.needed("namespace", namespace, "must specify namespace for service account")
    yield from checks.optional_name("namespace", namespace, names.dns1123_label)


def _verbs(verbs: list[str]) -> Iterator[FieldError]:
    yield from _alone("verbs", verbs, "verbs", missing="verbs must contain at least one value")
    if verbs and "*" not in verbs and not _VERBS.issuperset(verbs):
        yield field.not_supported("verbs", verbs, _VERBS)


def _alone(path: str, values: list[str], what: str, *, missing: str) -> Iterator[FieldError]:
    """There are values, and "*" stands by itself."""
    yield from checks.needed(path, values, missing)
    if len(values) > 1 and "*" in values:
        yield field.invalid(path, values, f"if '*' is present, must not specify other {what}")


def _resource_rule(rule: Obj) -> Iterator[FieldError]:
    verbs, groups, resources, namespaces = (
        rule.get(name) or [] for name in ("verbs", "apiGroups", "resources", "namespaces")
    )
    yield from _verbs(verbs)
    words = "resource rules must supply at least one api group"
    yield from _alone("apiGroups", groups, "api groups", missing=words)
    words = "resource rules must supply at least one resource"
    yield from _alone("resources", resources, "resources", missing=words)
    if namespaces or not rule.get("clusterScope"):
        words = "resource rules that are not cluster scoped must supply at least one namespace"
        yield from _alone("namespaces", namespaces, "namespaces", missing=words)
    if "*" not in namespaces:
        for index, namespace in enumerate(namespaces):
            for message in names.dns1123_label(namespace):
                yield field.invalid(f"namespaces[{index}]", namespace, _NAMESPACES + message)


def _path_rule(rule: Obj) -> Iterator[FieldError]:
    urls = rule.get("nonResourceURLs") or []
    yield from _verbs(rule.get("verbs") or [])
    words = "nonResourceURLs must contain at least one value"
    yield from _alone("nonResourceURLs", urls, "non-resource URLs", missing=words)
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
    return next((words for broken, words in rules if broken), "")


def _level(level: Obj) -> Iterator[FieldError]:
    spec = level.get("spec") or {}
    kind, limited, exempt = spec.get("type") or "", spec.get("limited"), spec.get("exempt")
    if (name_of(level) == "exempt") != (kind == "Exempt"):
        yield field.invalid("spec.type", kind, "type must be 'Exempt' if and only if name is 'exempt'")
    if kind == "Exempt":
        if limited is not None:
            yield field.forbidden("spec.limited", "must be nil if the type is not Limited")
        yield from checks.within("spec.exempt", _shares(exempt or {}))
    elif kind == "Limited":
        if exempt is not None:
            yield field.forbidden("spec.exempt", "must be nil if the type is Limited")
        if limited is None:
            yield field.required("spec.limited", "must not be empty when type is Limited")
        else:
            yield from checks.within("spec.limited", _limited(limited))
    else:
        yield field.not_supported("spec.type", kind, _LEVEL_TYPES)


def _shares(level: Obj) -> Iterator[FieldError]:
    shares, lendable = level.get("nominalConcurrencyShares"), level.get("lendablePercent")
    if shares is not None and shares < 0:
        yield field.invalid("nominalConcurrencyShares", shares, "must be a non-negative integer")
    if lendable is not None and not 0 <= lendable <= 100:
        yield field.invalid("lendablePercent", lendable, "must be between 0 and 100, inclusive")


def _limited(limited: Obj) -> Iterator[FieldError]:
    yield from _shares(limited)
    yield from checks.within("limitResponse", _response(limited.get("limitResponse") or {}))
    borrowing = limited.get("borrowingLimitPercent")
    if borrowing is not None and borrowing < 0:
        yield field.invalid("borrowingLimitPercent", borrowing, "if specified, must be a non-negative integer")


def _response(response: Obj) -> Iterator[FieldError]:
    kind, queuing = response.get("type") or "", response.get("queuing")
    yield from checks.one_of("type", kind, _RESPONSE_TYPES)
    if kind == "Queue" and queuing is not None:
        yield from checks.within("queuing", _queuing(queuing))
    elif kind == "Queue":
        yield field.required("queuing", "must not be empty if limited.limitResponse.type is Limited")
    elif kind == "Reject" and queuing is not None:
        yield field.forbidden("queuing", "must be nil if limited.limitResponse.type is not Limited")


def _queuing(queuing: Obj) -> Iterator[FieldError]:
    length, queues, hand = (queuing.get(name) or 0 for name in ("queueLengthLimit", "queues", "handSize"))
    for name, number in (("queueLengthLimit", length), ("queues", queues)):
        if number <= 0:
            yield field.invalid(name, number, "must be positive")
    if queues > _MOST_QUEUES:
        yield field.invalid("queues", queues, f"must not be greater than {_MOST_QUEUES}")
    if hand <= 0:
        yield field.invalid("handSize", hand, "must be positive")
    elif hand > queues:
        yield field.invalid("handSize", hand, f"should not be greater than queues ({queues})")
    elif _entropy(queues, hand) > _HASH_BITS:
        words = f"required entropy bits of deckSize {queues} and handSize {hand} should not be greater than"
        yield field.invalid("handSize", hand, f"{words} {_HASH_BITS}")


def _entropy(queues: int, hand: int) -> int:
    """Bits that dealing a hand of queues takes (shufflesharding.RequiredEntropyBits)."""
    most = min(hand, _HASH_BITS * 2)  # that many queues take more bits than there are, however few they are
    return ceil(sum(log2(queues - dealt) for dealt in range(most) if queues - dealt > 1))


VALIDATORS = {
    (_GROUP, "FlowSchema"): same_on_update(_schema),
    (_GROUP, "PriorityLevelConfiguration"): same_on_update(_level),
}
