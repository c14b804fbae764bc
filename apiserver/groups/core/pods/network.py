"""How a pod finds others by name, and ports that it takes from its host."""

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj
from apiserver.api.validation import checks, names
from apiserver.api.validation.combinators import Found

_NAMESERVERS = 3

_SEARCHES = 32

_SEARCH_CHARACTERS = 2048


def dns(spec: Obj) -> Found:
    """A check of spec.dnsConfig beside spec.dnsPolicy (validatePodDNSConfig)."""
    config, none = spec.get("dnsConfig"), spec.get("dnsPolicy") == "None"
    if config is None:
        told = "must provide `dnsConfig` when `dnsPolicy` is None"
        return (field.required("dnsConfig", told),) if none else ()
    if none and not config.get("nameservers"):
        told = "must provide at least one DNS nameserver when `dnsPolicy` is None"
        return (field.required("dnsConfig.nameservers", told),)
    errors = [*_nameservers(config.get("nameservers") or []), *_searches(config.get("searches") or [])]
    for index, option in enumerate(config.get("options") or ()):
        if not option.get("name"):
            errors.append(field.required(f"options[{index}]", "must not be empty"))
    return list(checks.within("dnsConfig", errors))


def _nameservers(servers: list[str]) -> list[FieldError]:
    errors: list[FieldError] = []
    if len(servers) > _NAMESERVERS:
        told = f"must not have more than {_NAMESERVERS} nameservers"
        errors.append(field.invalid("nameservers", servers, told))
    return [*errors, *checks.each_wrong("nameservers", servers, names.ip)]


def _searches(searches: list[str]) -> list[FieldError]:
    errors: list[FieldError] = []
    if len(searches) > _SEARCHES:
        told = f"must not have more than {_SEARCHES} search paths"
        errors.append(field.invalid("searches", searches, told))
    if len(" ".join(searches)) > _SEARCH_CHARACTERS:
        told = f"must not have more than {_SEARCH_CHARACTERS} characters (including spaces) in the search list"
        errors.append(field.invalid("searches", searches, told))
    for index, search in enumerate(searches):
        if search != ".":
            bare = search.removesuffix(".")
            errors += checks.wrong(f"searches[{index}]", bare, names.dns1123_subdomain_with_underscore(bare))
    return errors


def host_aliases(aliases: list[Obj]) -> Found:
    """A check of spec.hostAliases (ValidateHostAliases)."""
    errors: list[FieldError] = []
    for index, alias in enumerate(aliases):
        address = alias.get("ip", "")
        errors += checks.wrong(f"[{index}].ip", address, names.ip(address))
        errors += checks.each_wrong(f"[{index}].hostnames", alias.get("hostnames"), names.dns1123_subdomain)
    return errors


def host_network(spec: Obj, *, pod: bool) -> Found:
    """In the host's network a port is the host's; only templates may leave it out (validatePodHostNetworkDeps)."""
    if not spec.get("hostNetwork"):
        return ()
    told = "must match `containerPort` when `hostNetwork` is true"
    return [
        field.invalid(f"containers[{index}].ports[{place}].hostPort", port.get("hostPort", 0), told)
        for index, container in enumerate(spec.get("containers") or ())
        for place, port in enumerate(container.get("ports") or ())
        if (pod or port.get("hostPort")) and port.get("hostPort", 0) != port.get("containerPort")
    ]
