"""Validation of a pod's DNS configuration, host aliases and host network ports."""

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj
from apiserver.api.validation import checks, names
from apiserver.api.validation.combinators import FieldErrors

_MAX_NAMESERVERS = 3

_MAX_SEARCHES = 32

_MAX_SEARCH_CHARACTERS = 2048


def dns(spec: Obj) -> FieldErrors:
    """Return the errors of spec.dnsConfig together with spec.dnsPolicy (validatePodDNSConfig)."""
    config, is_none = spec.get("dnsConfig"), spec.get("dnsPolicy") == "None"
    if config is None:
        detail = "must provide `dnsConfig` when `dnsPolicy` is None"
        return (field.required("dnsConfig", detail),) if is_none else ()
    if is_none and not config.get("nameservers"):
        detail = "must provide at least one DNS nameserver when `dnsPolicy` is None"
        return (field.required("dnsConfig.nameservers", detail),)
    errors = [*_nameservers(config.get("nameservers") or []), *_searches(config.get("searches") or [])]
    for index, option in enumerate(config.get("options") or ()):
        if not option.get("name"):
            errors.append(field.required(f"options[{index}]", "must not be empty"))
    return list(checks.prefix_errors("dnsConfig", errors))


def _nameservers(servers: list[str]) -> list[FieldError]:
    errors: list[FieldError] = []
    if len(servers) > _MAX_NAMESERVERS:
        detail = f"must not have more than {_MAX_NAMESERVERS} nameservers"
        errors.append(field.invalid("nameservers", servers, detail))
    return [*errors, *checks.each_invalid("nameservers", servers, names.ip)]


def _searches(searches: list[str]) -> list[FieldError]:
    errors: list[FieldError] = []
    if len(searches) > _MAX_SEARCHES:
        detail = f"must not have more than {_MAX_SEARCHES} search paths"
        errors.append(field.invalid("searches", searches, detail))
    if len(" ".join(searches)) > _MAX_SEARCH_CHARACTERS:
        detail = f"must not have more than {_MAX_SEARCH_CHARACTERS} characters (including spaces) in the search list"
        errors.append(field.invalid("searches", searches, detail))
    for index, search in enumerate(searches):
        if search != ".":
            bare = search.removesuffix(".")
            errors += checks.invalid_values(f"searches[{index}]", bare, names.dns1123_subdomain_with_underscore(bare))
    return errors


def host_aliases(aliases: list[Obj]) -> FieldErrors:
    """Return the errors of spec.hostAliases (ValidateHostAliases)."""
    errors: list[FieldError] = []
    for index, alias in enumerate(aliases):
        address = alias.get("ip", "")
        errors += checks.invalid_values(f"[{index}].ip", address, names.ip(address))
        errors += checks.each_invalid(f"[{index}].hostnames", alias.get("hostnames"), names.dns1123_subdomain)
    return errors


def host_network(spec: Obj, *, pod: bool) -> FieldErrors:
    """Return the errors of hostPorts in the host's network; templates may omit them (validatePodHostNetworkDeps)."""
    if not spec.get("hostNetwork"):
        return ()
    detail = "must match `containerPort` when `hostNetwork` is true"
    return [
        field.invalid(f"containers[{index}].ports[{port_index}].hostPort", port.get("hostPort", 0), detail)
        for index, container in enumerate(spec.get("containers") or ())
        for port_index, port in enumerate(container.get("ports") or ())
        if (pod or port.get("hostPort")) and port.get("hostPort", 0) != port.get("containerPort")
    ]
