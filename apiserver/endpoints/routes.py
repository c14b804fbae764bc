"""Paths: one split, one look into the table of resources, and what a path means is bound (apiserver's RequestInfo)."""

import re
from typing import NamedTuple
from urllib.parse import unquote

from apiserver.api import errors
from apiserver.api.resources import Resource, ResourceTable
from apiserver.registry.options import Target

NAMESPACE_PARTS = frozenset(("status", "finalize"))
"""What may follow /namespaces/NAME and is a subresource of it, not a resource in it."""


class Route(NamedTuple):
    """What a resource path means.

    Attributes:
        target: the resource, namespace, name and subresource.
        rest: what follows the subresource (only proxies have that).
        watch: the deprecated /watch/ prefix was there.
    """

    target: Target
    rest: str = ""
    watch: bool = False


_BAD_ESCAPE = re.compile("%(?![0-9A-Fa-f]{2})")


def well_escaped(path: str) -> bool:
    """Return whether every percent sign of a raw path begins an escape (net/url refuses the others)."""
    return _BAD_ESCAPE.search(path) is None


class Router:
    """Paths → routes."""

    def __init__(self, table: ResourceTable) -> None:
        self._table = table

    def route(self, path: str) -> Route | None:
        """What the raw (still escaped) path means; None where it names no resource that is served.

        Raises:
            ApiError: 400 for a name that no object can have.
        """
        parts = unquote(path.removeprefix("/").removesuffix("/")).split("/")
        match parts:
            case ["api", version, *rest]:
                group = ""
            case ["apis", group, version, *rest]:
                pass
            case _:
                return None
        watch = bool(rest) and rest[0] == "watch"
        found = self._place(group, version, rest[1:] if watch else rest)
        if found is None or not watch:
            return found
        if found.target.subresource and not found.target.resource.custom:  # those cannot be watched
            return None
        return Route(found.target, found.rest, watch=True)

    def _place(self, group: str, version: str, parts: list[str]) -> Route | None:
        namespace = ""
        if len(parts) > 2 and parts[0] == "namespaces" and not (len(parts) == 3 and parts[2] in NAMESPACE_PARTS):
            namespace, parts = parts[1], parts[2:]
            if not namespace:
                raise errors.bad_request("Namespace parameter required.")
            in_namespace = True
        else:
            in_namespace = False
        if not parts:
            return None
        resource = self._table.find(group, version, parts[0])
        if resource is None or resource.namespaced < in_namespace:
            return None
        return _bind(resource, namespace, parts[1:], in_namespace=in_namespace)


def _bind(resource: Resource, namespace: str, parts: list[str], *, in_namespace: bool) -> Route | None:
    if not parts:
        return Route(Target(resource, namespace))
    if resource.namespaced and not in_namespace:
        return None
    name, *below = parts
    _check_name(name)
    if not name:
        return None
    if not below:
        return Route(Target(resource, namespace, name))
    subresource, *rest = below
    if subresource not in resource.subresources and resource.custom:
        raise errors.not_found(resource.group, resource.plural, name)
    if subresource not in resource.subresources or (rest and subresource != "proxy" and not resource.custom):
        return None
    return Route(Target(resource, namespace, name, subresource), "/".join(rest))


def _check_name(name: str) -> None:
    """Refuse what cannot be a path segment (apimachinery's IsValidPathSegmentName)."""
    if name in (".", ".."):
        why = f"may not be '{name}'"
    elif "%" in name:
        why = "may not contain '%'"
    else:
        return
    raise errors.bad_request(f'Name parameter invalid: "{name}": {why}')
