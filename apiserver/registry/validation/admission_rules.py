"""What admission webhooks and policies may register for (pkg/apis/admissionregistration/validation).

Expressions are looked at for presence only: nothing here compiles CEL.
"""

from collections.abc import Iterator

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj
from apiserver.api.validation import checks, names
from apiserver.api.validation.contract import Errors, same_on_update
from apiserver.api.validation.webhooks import webhook_service, webhook_url

_GROUP = "admissionregistration.k8s.io"
_SCOPES = frozenset({"*", "Cluster", "Namespaced"})
_OPERATIONS = frozenset({"*", "CONNECT", "CREATE", "DELETE", "UPDATE"})
_FAILURE_POLICIES = frozenset({"Fail", "Ignore"})
_MATCH_POLICIES = frozenset({"Equivalent", "Exact"})
_NO_SIDE_EFFECTS = frozenset({"None", "NoneOnDryRun"})
_REINVOCATION = frozenset({"IfNeeded", "Never"})
_REVIEW_VERSIONS = ("v1", "v1beta1")
_REASONS = frozenset({"Forbidden", "Invalid", "RequestEntityTooLarge"})
_ACTIONS = frozenset({"Audit", "Deny", "Warn"})
_MOST_CONDITIONS, _MOST_ANNOTATIONS = 64, 20
_NO_ITEMS = "validations or auditAnnotations must contain at least one item"
_BOTH_ACTIONS = (
    "must not contain both Deny and Warn (repeating the same validation failure information in the API response and "
    "headers serves no purpose)"
)


def _webhooks(configuration: Obj) -> Iterator[FieldError]:
    hooks, seen = configuration.get("webhooks") or (), set()
    for index, hook in enumerate(hooks):
        name = hook.get("name") or ""
        yield from checks.within(f"webhooks[{index}]", _webhook(hook, name))
        if name and name in seen:
            yield field.duplicate(f"webhooks[{index}].name", name)
        seen.add(name)


def _webhook(hook: Obj, name: str) -> Iterator[FieldError]:
    yield from _hook_name(name)
    yield from checks.each("rules", hook.get("rules"), _rule)
    yield from checks.optional_one_of("failurePolicy", hook.get("failurePolicy"), _FAILURE_POLICIES)
    yield from checks.optional_one_of("matchPolicy", hook.get("matchPolicy"), _MATCH_POLICIES)
    effects, seconds = hook.get("sideEffects"), hook.get("timeoutSeconds")
    if effects is None:
        yield field.required("sideEffects", f"must specify one of {', '.join(sorted(_NO_SIDE_EFFECTS))}")
    yield from checks.optional_one_of("sideEffects", effects, _NO_SIDE_EFFECTS)
    if seconds is not None and not 1 <= seconds <= 30:
        yield field.invalid("timeoutSeconds", seconds, "the timeout value must be between 1 and 30 seconds")
    for selector in ("namespaceSelector", "objectSelector"):
        yield from checks.label_selector(selector, hook.get(selector))
    yield from checks.optional_one_of("reinvocationPolicy", hook.get("reinvocationPolicy"), _REINVOCATION)
    yield from checks.within("clientConfig", _client(hook.get("clientConfig") or {}))
    yield from _conditions(hook.get("matchConditions") or ())
    yield from checks.within("admissionReviewVersions", _review_versions(hook.get("admissionReviewVersions") or []))


def _hook_name(name: str) -> checks.Found:
    if not name:
        return (field.required("name"),)
    if wrong := names.dns1123_subdomain(name):
        return (field.invalid("name", name, ",".join(wrong)),)
    if name.count(".") < 2:
        words = "should be a domain with at least three segments separated by dots"
        return (field.invalid("name", name, words),)
    return ()


def _review_versions(versions: list[str]) -> Iterator[FieldError]:
    told = ", ".join(_REVIEW_VERSIONS)
    if not versions:
        yield field.required("", f"must specify one of {told}")
        return
    for index, version in enumerate(versions):
        if version in versions[:index]:
            yield field.invalid(f"[{index}]", version, "duplicate version")
        else:
            yield from checks.wrong(f"[{index}]", version, names.dns1035_label(version))
    if not set(_REVIEW_VERSIONS).intersection(versions):
        yield field.invalid("", versions, f"must include at least one of {told}")


def _rule(rule: Obj) -> Iterator[FieldError]:
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


def _client(client: Obj) -> Errors:
    url, service = client.get("url"), client.get("service")
    if url is not None and service is None:
        return webhook_url(url)
    if service is not None and url is None:
        return checks.within("service", webhook_service(service))
    return (field.required("", "exactly one of url or service is required"),)


def _conditions(conditions: list[Obj] | tuple[()]) -> Iterator[FieldError]:
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


def _policy(policy: Obj) -> Iterator[FieldError]:
    spec = policy.get("spec") or {}
    yield from checks.within("spec", _policy_basics(spec))
    validations, annotations = spec.get("validations") or (), spec.get("auditAnnotations") or ()
    if not validations and not annotations:
        yield field.required("spec.validations", _NO_ITEMS)
        yield field.required("spec.auditAnnotations", _NO_ITEMS)
    yield from checks.each("spec.validations", validations, _validation)
    yield from checks.within("spec", _audit_annotations(annotations))


def _policy_basics(spec: Obj) -> Iterator[FieldError]:
    """What validating and mutating policies share."""
    yield from checks.needed_one_of("failurePolicy", spec.get("failurePolicy"), _FAILURE_POLICIES)
    kind, constraints = spec.get("paramKind"), spec.get("matchConstraints")
    if kind is not None:
        yield from checks.within("paramKind", _param_kind(kind))
    if constraints is None:
        yield field.required("matchConstraints")
    else:
        yield from checks.within("matchConstraints", _match(constraints))
        yield from checks.needed("matchConstraints.resourceRules", constraints.get("resourceRules"))
    yield from _conditions(spec.get("matchConditions") or ())
    yield from checks.each("variables", spec.get("variables"), _variable)


def _param_kind(kind: Obj) -> Iterator[FieldError]:
    version, name = kind.get("apiVersion") or "", kind.get("kind") or ""
    yield from checks.needed("apiVersion", version)
    if version.count("/") > 1:
        yield field.invalid("apiVersion", version, f"unexpected GroupVersion string: {version}")
    elif version:
        group, _, short = version.rpartition("/")
        if group and (wrong := names.dns1123_subdomain(group)):
            yield field.invalid("apiVersion", group, ",".join(wrong))
        if not short:
            yield field.invalid("apiVersion", version, "version must be specified")
        elif wrong := names.dns1035_label(short):
            yield field.invalid("apiVersion", short, ",".join(wrong))
    if not name:
        yield field.required("kind")
    elif wrong := names.dns1035_label(name.lower()):
        words = "may have mixed case, but should otherwise match: "
        yield field.invalid("kind", name, words + ",".join(wrong))


def _match(constraints: Obj) -> Iterator[FieldError]:
    yield from checks.needed_one_of("matchPolicy", constraints.get("matchPolicy"), _MATCH_POLICIES)
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
    yield from _rule(rule)


def _variable(variable: Obj) -> Iterator[FieldError]:
    name = variable.get("name") or ""
    if not name.strip():
        yield field.required("name", "name is not specified")
    elif names.c_identifier(name):
        yield field.invalid("name", name, "name is not a valid CEL identifier")
    yield from checks.needed("expression", (variable.get("expression") or "").strip(), "expression is not specified")


def _validation(validation: Obj) -> Iterator[FieldError]:
    expression, message = validation.get("expression") or "", validation.get("message") or ""
    computed = validation.get("messageExpression") or ""
    yield from checks.needed("expression", expression.strip(), "expression is not specified")
    if computed and not computed.strip():
        yield field.invalid("messageExpression", computed, "must be non-empty if specified")
    if message and not message.strip():
        yield field.invalid("message", message, "message must be non-empty if specified")
    elif "\n" in message.strip():
        yield field.invalid("message", message, "message must not contain line breaks")
    yield from checks.optional_one_of("reason", validation.get("reason"), _REASONS)


def _audit_annotations(annotations: list[Obj] | tuple[()]) -> Iterator[FieldError]:
    if len(annotations) > _MOST_ANNOTATIONS:
        words = f"must not have more than {_MOST_ANNOTATIONS} auditAnnotations"
        yield field.invalid("auditAnnotations", annotations, words)
    seen = set()
    for index, annotation in enumerate(annotations):
        key, path = annotation.get("key") or "", f"auditAnnotations[{index}]"
        if not key.strip():
            yield field.required(f"{path}.key", "key is not specified")
        value = (annotation.get("valueExpression") or "").strip()
        yield from checks.needed(f"{path}.valueExpression", value, "valueExpression is not specified")
        if key in seen:
            yield field.duplicate(f"{path}.key", key)
        seen.add(key)


def _policy_binding(binding: Obj) -> Iterator[FieldError]:
    spec = binding.get("spec") or {}
    yield from _binding_basics(spec)
    actions = spec.get("validationActions") or []
    for index, action in enumerate(actions):
        yield from checks.one_of(f"spec.validationActions[{index}]", action, _ACTIONS)
        if action in actions[:index]:
            yield field.duplicate(f"spec.validationActions[{index}]", action)
    if {"Deny", "Warn"} <= set(actions):
        yield field.invalid("spec.validationActions", actions, _BOTH_ACTIONS)
    yield from checks.needed("spec.validationActions", actions, "at least one validation action is required")


def _binding_basics(spec: Obj) -> Iterator[FieldError]:
    yield from checks.needed_name("spec.policyName", spec.get("policyName"), names.dns1123_subdomain)
    reference, match = spec.get("paramRef"), spec.get("matchResources")
    if reference is not None:
        name, selector = reference.get("name"), reference.get("selector")
        if bool(name) == (selector is not None):
            words = "one of name or selector must be specified"
            yield (
                field.required("spec.paramRef.name", words)
                if not name
                else field.forbidden("spec.paramRef.name", "name and selector are mutually exclusive")
            )
        if reference.get("parameterNotFoundAction") is None:
            yield field.required("spec.paramRef.parameterNotFoundAction")
    if match is not None:
        yield from checks.within("spec.matchResources", _match(match))


def _mutating_policy(policy: Obj) -> Errors:
    return checks.within("spec", _policy_basics(policy.get("spec") or {}))


def _mutating_policy_binding(binding: Obj) -> Errors:
    return _binding_basics(binding.get("spec") or {})


VALIDATORS = {
    (_GROUP, "MutatingWebhookConfiguration"): same_on_update(_webhooks),
    (_GROUP, "ValidatingWebhookConfiguration"): same_on_update(_webhooks),
    (_GROUP, "ValidatingAdmissionPolicy"): same_on_update(_policy),
    (_GROUP, "ValidatingAdmissionPolicyBinding"): same_on_update(_policy_binding),
    (_GROUP, "MutatingAdmissionPolicy"): same_on_update(_mutating_policy),
    (_GROUP, "MutatingAdmissionPolicyBinding"): same_on_update(_mutating_policy_binding),
}
