"""What extends the server: webhooks, admission policies, aggregated APIs, definitions, flow control and devices."""

from collections.abc import Mapping
from typing import Any

from apiserver.api.meta import Obj

WEBHOOK_PORT = 443

_WEBHOOK: Mapping[str, Any] = {
    "failurePolicy": "Fail",
    "matchPolicy": "Equivalent",
    "timeoutSeconds": 10,
}
_QUEUES: Mapping[str, Any] = {"handSize": 8, "queueLengthLimit": 50, "queues": 64}


def default_validating_webhooks(configuration: Obj) -> None:
    """Defaults each webhook of a configuration."""
    for webhook in configuration.get("webhooks") or ():
        _default_webhook(webhook)


def default_mutating_webhooks(configuration: Obj) -> None:
    """Defaults each webhook of a configuration; none is called again after others have changed the object."""
    for webhook in configuration.get("webhooks") or ():
        _default_webhook(webhook)
        webhook.setdefault("reinvocationPolicy", "Never")


def default_admission_policy(policy: Obj) -> None:
    """Defaults a validating or mutating admission policy."""
    spec = policy.setdefault("spec", {})
    spec.setdefault("failurePolicy", "Fail")
    _default_match(spec.get("matchConstraints"))


def default_admission_policy_binding(binding: Obj) -> None:
    """Defaults what a binding of an admission policy matches."""
    _default_match((binding.get("spec") or {}).get("matchResources"))


def default_api_service(service: Obj) -> None:
    """Defaults the port of the service behind an aggregated API."""
    _default_port(service.get("spec") or {})


def default_definition(definition: Obj) -> None:
    """Defaults a custom resource definition: names from its kind, no conversion, the storage version stored."""
    spec = definition.setdefault("spec", {})
    names = spec.setdefault("names", {})
    kind = names.get("kind", "")
    if kind:
        names.setdefault("singular", kind.lower())
        names.setdefault("listKind", f"{kind}List")
    conversion = spec.setdefault("conversion", {"strategy": "None"})
    _default_port((conversion.get("webhook") or {}).get("clientConfig") or {})
    _default_stored_versions(definition.setdefault("status", {}), spec)


def default_pod_certificate_request(request: Obj) -> None:
    """Defaults how long a pod's certificate may last: a day."""
    request.setdefault("spec", {}).setdefault("maxExpirationSeconds", 86400)


def default_flow_schema(schema: Obj) -> None:
    """Defaults a flow schema's precedence."""
    spec = schema.setdefault("spec", {})
    spec["matchingPrecedence"] = spec.get("matchingPrecedence") or 1000


def default_priority_level(level: Obj) -> None:
    """Defaults a priority level: 30 shares and 64 queues where it is limited, no shares where it is exempt."""
    spec = level.setdefault("spec", {})
    if "exempt" in spec:
        spec["exempt"].setdefault("nominalConcurrencyShares", 0)
        spec["exempt"].setdefault("lendablePercent", 0)
    if "limited" in spec:
        _default_limited(spec["limited"])


def default_resource_claim(claim: Obj) -> None:
    """Defaults the devices that a claim asks for: one of each."""
    _default_requests(claim.get("spec") or {})
    for result in _allocated(claim):
        _default_tolerations(result)


def default_resource_claim_template(template: Obj) -> None:
    """Defaults the claim in a template."""
    _default_requests((template.get("spec") or {}).get("spec") or {})


def _default_stored_versions(status: Obj, spec: Obj) -> None:
    stored = [version["name"] for version in spec.get("versions") or () if version.get("storage")]
    if stored and not status.get("storedVersions"):
        status["storedVersions"] = stored[:1]


def _default_limited(limited: Obj) -> None:
    given = ("nominalConcurrencyShares", "assuredConcurrencyShares")  # the latter is what v1beta2 calls them
    if all(limited.get(name) is None for name in given):
        limited["nominalConcurrencyShares"] = 30
    limited.setdefault("lendablePercent", 0)
    queuing = (limited.get("limitResponse") or {}).get("queuing")
    if queuing is not None:
        queuing.update((name, value) for name, value in _QUEUES.items() if not queuing.get(name))


def _default_constants(obj: Obj, constants: Mapping[str, Any]) -> None:
    for name, value in constants.items():
        obj.setdefault(name, value)


def _default_webhook(webhook: Obj) -> None:
    _default_constants(webhook, _WEBHOOK)
    webhook.setdefault("namespaceSelector", {})
    webhook.setdefault("objectSelector", {})
    for rule in webhook.get("rules") or ():
        rule.setdefault("scope", "*")
    _default_port(webhook.get("clientConfig") or {})


def _default_port(holder: Obj) -> None:
    service = holder.get("service")
    if service is not None:
        service.setdefault("port", WEBHOOK_PORT)


def _default_match(match: Obj | None) -> None:
    if match is None:
        return
    match.setdefault("matchPolicy", "Equivalent")
    match.setdefault("namespaceSelector", {})
    match.setdefault("objectSelector", {})
    for rule in (*(match.get("resourceRules") or ()), *(match.get("excludeResourceRules") or ())):
        rule.setdefault("scope", "*")


def _default_requests(spec: Obj) -> None:
    for request in (spec.get("devices") or {}).get("requests") or ():
        alternatives = request.get("firstAvailable") or ()
        for wanted in (request["exactly"], *alternatives) if "exactly" in request else alternatives:
            if wanted.setdefault("allocationMode", "ExactCount") == "ExactCount":
                wanted.setdefault("count", 1)
            _default_tolerations(wanted)


def _allocated(claim: Obj) -> list[Obj]:
    allocation = (claim.get("status") or {}).get("allocation") or {}
    return (allocation.get("devices") or {}).get("results") or []


def _default_tolerations(holder: Obj) -> None:
    for toleration in holder.get("tolerations") or ():
        toleration.setdefault("operator", "Equal")
