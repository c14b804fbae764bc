"""Defaults that webhook configurations, admission policies and their bindings share."""

from apiserver.api.meta import Obj

WEBHOOK_PORT = 443


def default_port(parent: Obj) -> None:
    """Set the default port of the Service that a webhook or an aggregated API is reached through."""
    service = parent.get("service")
    if service is not None:
        service.setdefault("port", WEBHOOK_PORT)


def default_match(match: Obj | None) -> None:
    """Set the defaults of the rules and selectors that match requests."""
    if match is None:
        return
    match.setdefault("matchPolicy", "Equivalent")
    match.setdefault("namespaceSelector", {})
    match.setdefault("objectSelector", {})
    for rule in (*(match.get("resourceRules") or ()), *(match.get("excludeResourceRules") or ())):
        rule.setdefault("scope", "*")
