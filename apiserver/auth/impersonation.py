"""Impersonation: the Impersonate-* headers of users who may act as others (apiserver's filters/impersonation.go)."""

from collections.abc import Mapping
from urllib.parse import unquote

from multidict import CIMultiDictProxy

from apiserver.api import errors
from apiserver.api.schema import quoted
from apiserver.api.user import ANONYMOUS, AUTHENTICATED, UNAUTHENTICATED, User
from apiserver.auth.authorization import is_anonymous
from apiserver.auth.tokens import GROUP, PREFIX
from apiserver.registry.authorizer import AuthorizationRequest, Authorizer, forbidden

USER, GROUPS, UID = "Impersonate-User", "Impersonate-Group", "Impersonate-Uid"
EXTRA = "impersonate-extra-"


def asks_to_impersonate(headers: CIMultiDictProxy[str]) -> bool:
    """Return whether any header may be an Impersonate-* header."""
    return "impersonate-" in "\n".join(headers).lower()


async def impersonated_user(user: User, headers: CIMultiDictProxy[str], authorizer: Authorizer) -> User:
    """Return the user that a request acts as: the impersonated one, or its sender.

    Args:
        user: the sender of the request.
        headers: its headers.
        authorizer: decides whether the sender may impersonate.

    Raises:
        ApiError: 400, there are groups, a uid or extra fields, but no user name; 401, the sender is anonymous; 403, the
            sender may not impersonate.
    """
    name, uid, extra = _text(headers.get(USER, "")), _text(headers.get(UID, "")), _extra(headers)
    groups = tuple(map(_text, headers.getall(GROUPS, ())))
    if not (name or uid or groups or extra):  # empty headers count as absent
        return user
    if is_anonymous(user):
        raise errors.unauthorized()
    if not name:
        fields = f"Name:{quoted('')}, UID:{quoted(uid)}, Groups:{_go_list(groups)}, Extra:{_go_map(extra)}"
        user_info = f"&user.DefaultInfo{{{fields}}}"
        raise errors.bad_request(f"requested {user_info} without impersonating a user name")
    account = _account(name)
    requests = [AuthorizationRequest(user, "impersonate", "", "", *account)]
    requests += [AuthorizationRequest(user, "impersonate", "", "", "groups", "", "", group) for group in groups]
    auth_group = "authentication.k8s.io"
    requests += [AuthorizationRequest(user, "impersonate", "", auth_group, "uids", "", "", uid)] if uid else []
    requests += [
        AuthorizationRequest(user, "impersonate", "", auth_group, "userextras", key, "", v)
        for key in extra
        for v in extra[key]
    ]
    for request in requests:
        decision = await authorizer.authorize(request)
        if not decision.allowed:
            raise forbidden(request, decision)
    namespace = account[2]
    all_groups = groups or ((GROUP, f"{GROUP}:{namespace}") if namespace else ())
    return User(name, uid, (*all_groups, *_authentication_group(name, all_groups)), extra)


def _account(name: str) -> tuple[str, str, str, str]:
    """Return resource, subresource, namespace and name of the user to impersonate."""
    namespace, _, account = name.removeprefix(PREFIX).partition(":")
    if name.startswith(PREFIX) and namespace and account:
        return "serviceaccounts", "", namespace, account
    return "users", "", "", name


def _authentication_group(name: str, groups: tuple[str, ...]) -> tuple[str, ...]:
    """Return the group for authenticated or unauthenticated users, unless the groups have one of them already."""
    if AUTHENTICATED in groups or UNAUTHENTICATED in groups:
        return ()
    return (UNAUTHENTICATED if name == ANONYMOUS.name else AUTHENTICATED,)


def _extra(headers: CIMultiDictProxy[str]) -> dict[str, tuple[str, ...]]:
    extra: dict[str, tuple[str, ...]] = {}
    for name, value in headers.items():
        if name.lower().startswith(EXTRA):
            key = unquote(name.lower().removeprefix(EXTRA))
            extra[key] = (*extra.get(key, ()), _text(value))
    return extra


def _go_list(texts: tuple[str, ...]) -> str:
    """Return texts as Go's %#v prints a slice of them."""
    return f"[]string{{{', '.join(map(quoted, texts))}}}" if texts else "[]string(nil)"


def _go_map(values: Mapping[str, tuple[str, ...]]) -> str:
    """Return lists of texts by name as Go's %#v prints them."""
    if not values:
        return "map[string][]string(nil)"
    return f"map[string][]string{{{', '.join(f'{quoted(key)}:{_go_list(values[key])}' for key in sorted(values))}}}"


def _text(value: str) -> str:
    """Return a header's text for JSON: bytes that are not UTF-8 are replaced, as in Go."""
    return value if value.isascii() else value.encode(errors="surrogateescape").decode(errors="replace")
