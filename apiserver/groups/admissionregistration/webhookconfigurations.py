"""Mutating- and ValidatingWebhookConfigurations (group admissionregistration.k8s.io).

Defaults, strategy, validation and columns.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj, name_of
from apiserver.api.validation import checks, names
from apiserver.api.validation.contract import Errors, Validator
from apiserver.api.validation.webhooks import webhook_service, webhook_url
from apiserver.groups.admissionregistration.defaults import default_port
from apiserver.groups.admissionregistration.rules import (
    FAILURE_POLICIES,
    MATCH_POLICIES,
    Compile,
    match_conditions,
    operations_rule,
)
from apiserver.groups.cell_format import age
from apiserver.groups.cells import Cells, count
from apiserver.groups.columns import AGE, NAME, Column, Printer
from apiserver.groups.kind import API_EXTENSIONS, BuiltinKind
from apiserver.groups.strategy import Strategy, creation, unchanged, updating

_WEBHOOK: Mapping[str, Any] = {
    "failurePolicy": "Fail",
    "matchPolicy": "Equivalent",
    "timeoutSeconds": 10,
}


def default_validating_webhooks(configuration: Obj) -> None:
    """Set the defaults of each webhook of a validating configuration."""
    for webhook in configuration.get("webhooks") or ():
        _default_webhook(webhook)


def default_mutating_webhooks(configuration: Obj) -> None:
    """Set the defaults of each webhook of a mutating configuration; by default none is reinvoked."""
    for webhook in configuration.get("webhooks") or ():
        _default_webhook(webhook)
        webhook.setdefault("reinvocationPolicy", "Never")


def _default_constants(obj: Obj, constants: Mapping[str, Any]) -> None:
    for name, value in constants.items():
        obj.setdefault(name, value)


def _default_webhook(webhook: Obj) -> None:
    _default_constants(webhook, _WEBHOOK)
    webhook.setdefault("namespaceSelector", {})
    webhook.setdefault("objectSelector", {})
    for rule in webhook.get("rules") or ():
        rule.setdefault("scope", "*")
    default_port(webhook.get("clientConfig") or {})


_WEBHOOKS_STRATEGY = Strategy(
    creation(), updating("webhooks", status=False), unchanged, allow_unconditional_update=False
)

_NO_SIDE_EFFECTS = frozenset({"None", "NoneOnDryRun"})

_REINVOCATION = frozenset({"IfNeeded", "Never"})

_REVIEW_VERSIONS = ("v1", "v1beta1")


def _validator(release: int) -> Validator:
    """Return the validator of a release; expressions that an update keeps may use functions of later releases."""

    def create(configuration: Obj) -> Errors:
        return _validate_webhooks(configuration, partial(_condition_problem, release=release, preexisting=frozenset()))

    def update(new: Obj, old: Obj) -> Errors:
        if _all_conditions(new) == _all_conditions(old):
            return _validate_webhooks(new, None)  # ignoreMatchConditions
        texts = frozenset(each.get("expression") for conditions in _all_conditions(old) for each in conditions)
        return _validate_webhooks(new, partial(_condition_problem, release=release, preexisting=texts))

    return Validator(create, update)


def _all_conditions(configuration: Obj) -> list[list[Obj]]:
    return [hook.get("matchConditions") or [] for hook in configuration.get("webhooks") or ()]


def _condition_problem(text: str, *, release: int, preexisting: frozenset[str | None]) -> str:
    """Return why a match condition's expression cannot be used, "" if it can (validateMatchConditionsExpression)."""
    from apiserver.cel.environments import STORED_EXPRESSIONS, new_expressions_environment  # noqa: PLC0415 - 50 ms
    from apiserver.groups.admissionregistration.expressions import (  # noqa: PLC0415 - few webhooks have conditions
        ExpressionError,
        compile_expression,
    )

    is_new = release and text not in preexisting
    environment = new_expressions_environment(release) if is_new else STORED_EXPRESSIONS
    try:
        compile_expression(text, environment=environment)
    except ExpressionError as error:
        return str(error)
    return ""


def _validate_webhooks(configuration: Obj, compile_condition: Compile | None) -> Iterator[FieldError]:
    hooks, seen = configuration.get("webhooks") or (), set()
    for index, hook in enumerate(hooks):
        name = hook.get("name") or ""
        yield from checks.prefix_errors(f"webhooks[{index}]", _webhook(hook, name, compile_condition))
        if name and name in seen:
            yield field.duplicate(f"webhooks[{index}].name", name)
        seen.add(name)


def _webhook(hook: Obj, name: str, compile_condition: Compile | None) -> Iterator[FieldError]:
    yield from _hook_name(name)
    yield from checks.each("rules", hook.get("rules"), operations_rule)
    yield from checks.optional_one_of("failurePolicy", hook.get("failurePolicy"), FAILURE_POLICIES)
    yield from checks.optional_one_of("matchPolicy", hook.get("matchPolicy"), MATCH_POLICIES)
    effects, seconds = hook.get("sideEffects"), hook.get("timeoutSeconds")
    if effects is None:
        yield field.required("sideEffects", f"must specify one of {', '.join(sorted(_NO_SIDE_EFFECTS))}")
    yield from checks.optional_one_of("sideEffects", effects, _NO_SIDE_EFFECTS)
    if seconds is not None and not 1 <= seconds <= 30:
        yield field.invalid("timeoutSeconds", seconds, "the timeout value must be between 1 and 30 seconds")
    for selector in ("namespaceSelector", "objectSelector"):
        yield from checks.label_selector(selector, hook.get(selector))
    yield from checks.optional_one_of("reinvocationPolicy", hook.get("reinvocationPolicy"), _REINVOCATION)
    yield from checks.prefix_errors("clientConfig", _client(hook.get("clientConfig") or {}))
    yield from match_conditions(hook.get("matchConditions") or (), compile_condition)
    yield from checks.prefix_errors(
        "admissionReviewVersions", _review_versions(hook.get("admissionReviewVersions") or [])
    )


def _hook_name(name: str) -> checks.FieldErrors:
    if not name:
        return (field.required("name"),)
    if messages := names.dns1123_subdomain(name):
        return (field.invalid("name", name, ",".join(messages)),)
    if name.count(".") < 2:
        detail = "should be a domain with at least three segments separated by dots"
        return (field.invalid("name", name, detail),)
    return ()


def _review_versions(versions: list[str]) -> Iterator[FieldError]:
    supported = ", ".join(_REVIEW_VERSIONS)
    if not versions:
        yield field.required("", f"must specify one of {supported}")
        return
    for index, version in enumerate(versions):
        if version in versions[:index]:
            yield field.invalid(f"[{index}]", version, "duplicate version")
        else:
            yield from checks.invalid_values(f"[{index}]", version, names.dns1035_label(version))
    if not set(_REVIEW_VERSIONS).intersection(versions):
        yield field.invalid("", versions, f"must include at least one of {supported}")


def _client(client: Obj) -> Errors:
    url, service = client.get("url"), client.get("service")
    if url is not None and service is None:
        return webhook_url(url)
    if service is not None and url is None:
        return checks.prefix_errors("service", webhook_service(service))
    return (field.required("", "exactly one of url or service is required"),)


def _webhooks_cells(obj: Obj) -> Cells:
    return [name_of(obj), count(obj, "webhooks"), age(obj)]


_WEBHOOKS_COLUMNS = Printer(
    columns=(NAME, Column("Webhooks", "How many webhooks there are.", type="integer"), AGE), cells=_webhooks_cells
)

MUTATING_WEBHOOK_CONFIGURATION = BuiltinKind(
    "admissionregistration.k8s.io",
    "MutatingWebhookConfiguration",
    namespaced=False,
    categories=API_EXTENSIONS,
    default=default_mutating_webhooks,
    strategy=_WEBHOOKS_STRATEGY,
    validator=_validator(0),
    release_validator=_validator,
    printer=_WEBHOOKS_COLUMNS,
)

VALIDATING_WEBHOOK_CONFIGURATION = BuiltinKind(
    "admissionregistration.k8s.io",
    "ValidatingWebhookConfiguration",
    namespaced=False,
    categories=API_EXTENSIONS,
    default=default_validating_webhooks,
    strategy=_WEBHOOKS_STRATEGY,
    validator=_validator(0),
    release_validator=_validator,
    printer=_WEBHOOKS_COLUMNS,
)
