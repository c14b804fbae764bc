"""Validation of a pod's scheduling fields: node selectors, affinity, tolerations, topology spread and gates."""

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj
from apiserver.api.validation import checks, names
from apiserver.api.validation.combinators import (
    Check,
    FieldErrors,
    at,
    cached,
    items,
    label_selector,
    named,
    one_of,
    struct,
    text,
)

_WEIGHT = "must be in the range 1-100"

_EMPTY_KEY = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'

EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
"""The effects of taints, which tolerations name as well."""

_IN = frozenset({"In", "NotIn"})

_EXISTS = frozenset({"Exists", "DoesNotExist"})

_COMPARED = frozenset({"Gt", "Lt"})


def _operator_values(requirement: Obj) -> list[FieldError]:
    operator, values = requirement.get("operator", ""), requirement.get("values") or ()
    if operator in _IN:
        return [] if values else [field.required("values", "must be specified when `operator` is 'In' or 'NotIn'")]
    if operator in _EXISTS:
        detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
        return [field.forbidden("values", detail)] if values else []
    if operator in _COMPARED:
        detail = "must be specified single value when `operator` is 'Lt' or 'Gt'"
        return [] if len(values) == 1 else [field.required("values", detail)]
    return [field.invalid("operator", operator, "not a valid selector operator")]


def _node_labels(requirement: Obj) -> FieldErrors:
    name = requirement.get("key", "")
    return [*_operator_values(requirement), *checks.invalid_values("key", name, names.qualified_name(name))]


def _strict_node_labels(requirement: Obj) -> FieldErrors:
    values = checks.each_invalid("values", requirement.get("values"), names.label_value)
    return [*_node_labels(requirement), *values]


def _node_fields(requirement: Obj) -> FieldErrors:
    operator, values = requirement.get("operator", ""), requirement.get("values") or ()
    errors: list[FieldError] = []
    if operator not in _IN:
        errors.append(field.invalid("operator", operator, "not a valid selector operator"))
    elif len(values) != 1:
        detail = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        errors.append(field.required("values", detail))
    if (name := requirement.get("key", "")) != "metadata.name":
        return [*errors, field.invalid("key", name, "not a valid field selector key")]
    return [*errors, *checks.each_invalid("values", values, names.dns1123_subdomain)]


def _node_term(requirement: Check) -> Check:
    return struct(("matchExpressions", items(requirement)), ("matchFields", items(_node_fields)))


lenient_node_term = _node_term(_node_labels)
"""A check of a node selector term whose values need not be valid label values (ValidateNodeSelectorTerm)."""

_TERMS = struct(("nodeSelectorTerms", items(_node_term(_strict_node_labels))))


def node_selector(selector: Obj) -> FieldErrors:
    """Return the errors of a node selector (ValidateNodeSelector)."""
    if not selector.get("nodeSelectorTerms"):
        return (field.required("nodeSelectorTerms", "must have at least one node selector term"),)
    return _TERMS(selector)


def _weight(term: Obj) -> FieldErrors:
    weight = term.get("weight", 0)
    return () if 0 < weight <= 100 else (field.invalid("weight", weight, _WEIGHT),)


def _label_keys(term: Obj) -> FieldErrors:
    """Return the errors of the label keys of a term (validateMatchLabelKeysAndMismatchLabelKeys)."""
    selector, matched, mismatched = (
        term.get(name) for name in ("labelSelector", "matchLabelKeys", "mismatchLabelKeys")
    )
    errors: list[FieldError] = []
    for name, keys in (("matchLabelKeys", matched), ("mismatchLabelKeys", mismatched)):
        if keys and selector is None:
            errors.append(field.forbidden(name, "must not be specified when labelSelector is not set"))
        elif keys:
            errors += checks.each_invalid(name, keys, names.qualified_name)
    detail = "exists in both matchLabelKeys and mismatchLabelKeys"
    repeated = [(i, name) for i, name in enumerate(matched or ()) if name in (mismatched or ())]
    return errors + [field.invalid(f"matchLabelKeys[{i}]", name, detail) for i, name in repeated]


def _namespaces(term: Obj) -> FieldErrors:
    return [
        e
        for name in term.get("namespaces") or ()
        for e in checks.invalid_values("namespace", name, names.dns1123_label(name))
    ]


def _topology_key(term: Obj) -> FieldErrors:
    name = term.get("topologyKey", "")
    missing = () if name else (field.required("topologyKey", "can not be empty"),)
    return (*missing, *checks.invalid_values("topologyKey", name, names.qualified_name(name)))


_pod_term = struct(
    ("labelSelector", label_selector),
    ("namespaceSelector", label_selector),
    ("", _namespaces),
    ("", _label_keys),
    ("", _topology_key),
)


def _weighted_pod_term(term: Obj) -> FieldErrors:
    return [*_weight(term), *at("podAffinityTerm", _pod_term(term.get("podAffinityTerm") or {}))]


_preferred_term = struct(("", _weight), ("preference", lenient_node_term))

_pod_affinity = struct(
    ("requiredDuringSchedulingIgnoredDuringExecution", items(_pod_term)),
    ("preferredDuringSchedulingIgnoredDuringExecution", items(_weighted_pod_term)),
)

_node_affinity = struct(
    ("requiredDuringSchedulingIgnoredDuringExecution", node_selector),
    ("preferredDuringSchedulingIgnoredDuringExecution", items(_preferred_term)),
)

affinity = cached(
    struct(("nodeAffinity", _node_affinity), ("podAffinity", _pod_affinity), ("podAntiAffinity", _pod_affinity))
)
"""A check of spec.affinity (validateAffinity)."""


def _toleration_value(toleration: Obj) -> FieldErrors:
    operator, value = toleration.get("operator") or "Equal", toleration.get("value") or ""
    if operator == "Equal":
        messages = names.label_value(value)
        return (field.invalid("operator", value, ";".join(messages)),) if messages else ()
    if operator == "Exists":
        detail = "value must be empty when `operator` is 'Exists'"
        return (field.invalid("operator", value, detail),) if value else ()
    return (field.not_supported("operator", operator, ("Equal", "Exists")),)


def _toleration_key(toleration: Obj) -> FieldErrors:
    operator = toleration.get("operator") or ""
    if toleration.get("key") or operator == "Exists":
        return ()
    return (field.invalid("operator", operator, _EMPTY_KEY),)


def _toleration_seconds(toleration: Obj) -> FieldErrors:
    effect = toleration.get("effect") or ""
    if toleration.get("tolerationSeconds") is None or effect == "NoExecute":
        return ()
    return (field.invalid("effect", effect, "effect must be 'NoExecute' when `tolerationSeconds` is set"),)


_effect = one_of(*EFFECTS)

_toleration = struct(
    ("key", named(names.qualified_name)),
    ("", _toleration_key),
    ("", _toleration_seconds),
    ("", _toleration_value),
    ("effect", lambda effect: _effect(effect) if effect else ()),
)

tolerations = cached(items(_toleration))
"""A check of spec.tolerations (ValidateTolerations)."""


def _repeated_constraints(constraints: list[Obj]) -> dict[int, str]:
    """Return the "{topologyKey, whenUnsatisfiable}" of each constraint whose pair recurs later, by index."""
    pairs = [f"{{{c.get('topologyKey', '')}, {c.get('whenUnsatisfiable', '')}}}" for c in constraints]
    last = {pair: i for i, pair in enumerate(pairs)}
    return {i: pair for i, pair in enumerate(pairs) if last[pair] > i}


def _min_domains(constraint: Obj) -> FieldErrors:
    domains, action = constraint.get("minDomains"), constraint.get("whenUnsatisfiable", "")
    if domains is None:
        return ()
    errors = [field.invalid("minDomains", domains, checks.NOT_POSITIVE)] if domains <= 0 else []
    if action != "DoNotSchedule":
        detail = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
        errors.append(field.invalid("minDomains", domains, detail))
    return errors


def _spread_label_keys(constraint: Obj) -> FieldErrors:
    selector, keys = constraint.get("labelSelector"), constraint.get("matchLabelKeys")
    if not keys:
        return ()
    errors: list[FieldError] = []
    if selector is None:
        errors.append(field.forbidden("matchLabelKeys", "must not be specified when labelSelector is not set"))
    selector = selector or {}
    expressions = [e for e in selector.get("matchExpressions") or () if not _is_merged(e)]
    selected_keys = {*(selector.get("matchLabels") or ()), *(e.get("key") for e in expressions)}
    for index, name in enumerate(keys):
        path = f"matchLabelKeys[{index}]"
        errors += checks.invalid_values(path, name, names.qualified_name(name))
        if name in selected_keys:
            errors.append(field.invalid(path, name, "exists in both matchLabelKeys and labelSelector"))
    return errors


def _is_merged(expression: Obj) -> bool:
    """Return whether the strategy made the expression from a label key: it has one value, the pod's own."""
    return expression.get("operator") == "In" and len(expression.get("values") or ()) == 1


_node_policy = one_of("Honor", "Ignore")

_action = one_of("DoNotSchedule", "ScheduleAnyway")


def _spread_basics(constraint: Obj) -> FieldErrors:
    skew = constraint.get("maxSkew", 0)
    errors = [] if skew > 0 else [field.invalid("maxSkew", skew, checks.NOT_POSITIVE)]
    if not constraint.get("topologyKey"):
        errors.append(field.required("topologyKey", "can not be empty"))
    return [*errors, *at("whenUnsatisfiable", _action(constraint.get("whenUnsatisfiable", "")))]


_spread_rest = struct(
    ("", _min_domains),
    ("nodeAffinityPolicy", _node_policy),
    ("nodeTaintsPolicy", _node_policy),
    ("", _spread_label_keys),
    ("labelSelector", label_selector),
)


def topology_spread(constraints: list[Obj]) -> FieldErrors:
    """Return the errors of spec.topologySpreadConstraints (validateTopologySpreadConstraints)."""
    repeated = _repeated_constraints(constraints)
    errors: list[FieldError] = []
    for index, constraint in enumerate(constraints):
        constraint_errors = [*_spread_basics(constraint)]
        if index in repeated:
            constraint_errors.append(field.duplicate("{topologyKey, whenUnsatisfiable}", repeated[index]))
        errors += at(f"[{index}]", [*constraint_errors, *_spread_rest(constraint)])
    return errors


readiness_gates = items(struct(("conditionType", text(names.qualified_name))))
"""A check of spec.readinessGates."""


def scheduling_gates(gates: list[Obj]) -> FieldErrors:
    """Return the errors of spec.schedulingGates: malformed or repeated names."""
    seen: set[str] = set()
    errors: list[FieldError] = []
    for index, gate in enumerate(gates):
        name = gate.get("name", "")
        errors += checks.invalid_values(f"[{index}]", name, names.qualified_name(name))
        if name in seen:
            errors.append(field.duplicate(f"[{index}]", name))
        seen.add(name)
    return errors
