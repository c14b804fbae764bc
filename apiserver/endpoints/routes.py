"""Parses resource paths by the table of resources (apiserver's RequestInfo)."""

import re
from typing import NamedTuple
from urllib.parse import unquote

from apiserver.api import errors
from apiserver.api.resources import Resource, ResourceTable
from apiserver.registry.options import Target

NAMESPACE_PARTS = frozenset(("status", "finalize"))
"""Names that after /namespaces/NAME are subresources of the namespace, not resources in it."""


class Route(NamedTuple):
    """A parsed resource path.

    Attributes:
        target: the resource, namespace, name and subresource.
        rest: the path after the subresource (only for proxies).
        watch: whether the path has the deprecated prefix /watch/.
    """

    target: Target
    proxy_path: str = ""
    watch: bool = False


_BAD_ESCAPE = re.compile("%(?![0-9A-Fa-f]{2})")


def well_escaped(path: str) -> bool:
    """Return whether every percent sign of a raw path begins an escape (net/url refuses the others)."""
    return _BAD_ESCAPE.search(path) is None


class Router:
    """Finds the routes of paths."""

    def __init__(self, table: ResourceTable) -> None:
        self._table = table

    def route(self, path: str) -> Route | None:
        """Return the route of a raw (still escaped) path, None if it names no served resource.

        Raises:
            ApiError: 400 for an invalid name.
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
        route = self._resource_route(group, version, rest[1:] if watch else rest)
        if route is None or not watch:
            return route
        if route.target.subresource and not route.target.resource.custom:  # those cannot be watched
            return None
        return Route(route.target, route.proxy_path, watch=True)

    def _resource_route(self, group: str, version: str, parts: list[str]) -> Route | None:
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
        return _object_route(resource, namespace, parts[1:], in_namespace=in_namespace)


def _object_route(resource: Resource, namespace: str, parts: list[str], *, in_namespace: bool) -> Route | None:
    if not parts:
        return Route(Target(resource, namespace))
    if resource.namespaced and not in_namespace:
        return None
    name, *after_name = parts
    _check_name(name)
    if not name:
        return None
    if not after_name:
        return Route(Target(resource, namespace, name))
    subresource, *rest = after_name
    if subresource not in resource.subresources and resource.custom:
        raise errors.not_found(resource.group, resource.plural, name)
    if subresource not in resource.subresources or (rest and subresource != "proxy" and not resource.custom):
        return None
    return Route(Target(resource, namespace, name, subresource), "/".join(rest))


def _check_name(name: str) -> None:
    """Refuse a name that cannot be a path segment (apimachinery's IsValidPathSegmentName)."""
    if name in (".", ".."):
        why = f"may not be '{name}'"
    elif "%" in name:
        why = "may not contain '%'"
    else:
        return
    raise errors.bad_request(f'Name parameter invalid: "{name}": {why}')
