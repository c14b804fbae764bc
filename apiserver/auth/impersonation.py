"""Impersonation: the Impersonate-* headers of users who may act as others (apiserver's filters/impersonation).

Up to Kubernetes 1.35 whoever may `impersonate` a user may act as that user. From 1.36 on there are modes besides, which
are tried first: a mode is for one kind of users, and allows to act as them for some verbs alone.

    Impersonate-User: bob     legacy mode: the verb impersonate on users, named bob
                              user-info: impersonate-on:user-info:list on what is listed, and
                                         impersonate:user-info on users of authentication.k8s.io, named bob
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from urllib.parse import unquote

from multidict import CIMultiDictProxy

from apiserver.api import errors
from apiserver.api import field as field_errors
from apiserver.api.errors import ApiError
from apiserver.api.field import FieldError
from apiserver.api.golang.strings import quoted
from apiserver.api.user import ANONYMOUS, AUTHENTICATED, UNAUTHENTICATED, User
from apiserver.api.validation import names
from apiserver.auth.authorization import PRIVILEGED_GROUP
from apiserver.auth.tokens import GROUP, PREFIX
from apiserver.registry.authorizer import AuthorizationRequest, Authorizer, Decision, aggregate, forbidden

USER, GROUPS, UID = "Impersonate-User", "Impersonate-Group", "Impersonate-Uid"
EXTRA = "impersonate-extra-"
API_GROUP = "authentication.k8s.io"
NODE_PREFIX, NODES_GROUP = "system:node:", "system:nodes"
NODE_NAME = "authentication.kubernetes.io/node-name"
ASSOCIATED_KEYS = "authentication.kubernetes.io/associated-node-keys"
MANY = 4
"""From so many groups or extra values on, a mode first asks once for all of them (manyAuthorizationChecksInLoop)."""
ASSOCIATED_NODE, ARBITRARY_NODE = "associated-node", "arbitrary-node"
SERVICE_ACCOUNT, USER_INFO = "serviceaccount", "user-info"
LEGACY = ""
"""The mode in which the verb is `impersonate` alone."""


@dataclass(frozen=True, slots=True)
class RequestedUser:
    """The user that a request is to act as, as its headers name it."""

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def is_name_alone(self) -> bool:
        """True if nothing but a name is requested."""
        return not (self.uid or self.groups or self.extra)


def asks_to_impersonate(headers: CIMultiDictProxy[str]) -> bool:
    """Return whether any header may be an Impersonate-* header."""
    return "impersonate-" in "\n".join(headers).lower()


class Impersonation:
    """Decides who may act as which user."""

    def __init__(self, authorizer: Authorizer, *, has_modes: bool) -> None:
        """Store the settings.

        Args:
            authorizer: decides on each part of the requested user.
            has_modes: whether the release has constrained impersonation.
        """
        self._authorizer = authorizer
        self._has_modes = has_modes

    async def user_of(self, request: AuthorizationRequest, headers: CIMultiDictProxy[str]) -> User:
        """Return the user that a request acts as: the impersonated one, or its sender.

        Raises:
            ApiError: 400, there are groups, a uid or extra fields, but no user name; 403, the sender may not do that.
        """
        requested = self._requested_user(headers)
        if requested is None:
            return request.user
        first_error: ApiError | None = None
        for mode in self._modes_for(requested, request.user):
            try:
                await self._check(mode, requested, request)
            except ApiError as error:
                first_error = first_error or error
            else:
                return _acting_user(mode, requested)
        assert first_error is not None, "the legacy mode is for all users"
        raise first_error

    def _requested_user(self, headers: CIMultiDictProxy[str]) -> RequestedUser | None:
        """Return the user that headers name, None if they name nobody; empty ones count as absent."""
        groups = tuple(map(_text, headers.getall(GROUPS, ())))
        requested = RequestedUser(_text(headers.get(USER, "")), _text(headers.get(UID, "")), groups, _extra(headers))
        if requested.name:
            return requested
        if requested.is_name_alone:
            return None
        if self._has_modes:
            raise errors.bad_request(f"requested {_go_user(requested)} without impersonating a user name")
        raise errors.bad_request(f"requested [{' '.join(_go_references(requested))}] without impersonating a user")

    def _modes_for(self, requested: RequestedUser, sender: User) -> Iterator[str]:
        """Yield the modes that are for the requested user, in the order in which they are tried."""
        if self._has_modes:
            node, account = _node_name(requested.name), _account(requested.name)
            if node and requested.is_name_alone:
                if _account(sender.name) and sender.extra.get(NODE_NAME) == (node,):
                    yield ASSOCIATED_NODE
                yield ARBITRARY_NODE
            elif account and requested.is_name_alone:
                yield SERVICE_ACCOUNT
            elif not node and not account:
                yield USER_INFO
        yield LEGACY

    async def _check(self, mode: str, requested: RequestedUser, request: AuthorizationRequest) -> None:
        """Check that a request may act as the requested user in a mode.

        Raises:
            ApiError: 403.
        """
        sender = request.user
        if mode == ASSOCIATED_NODE:  # whichever node it is: what names it is left out
            sender = replace(sender, extra={ASSOCIATED_KEYS: tuple(sorted(sender.extra))})
        if mode:
            verb = f"impersonate-on:{mode}:{request.verb}"
            await self._authorize(request._replace(user=sender, verb=verb))
        await self._authorize(_name_request(mode, requested.name, sender))
        verb = _verb(mode)
        uids = [AuthorizationRequest(sender, verb, "", API_GROUP, "uids", name=requested.uid)] if requested.uid else []
        group = AuthorizationRequest(sender, verb, "", API_GROUP if mode else "", "groups")
        if mode:
            for asked in uids:
                await self._authorize(asked)
            _refuse_groups(group, requested)
            await self._check_all(group, [group._replace(name=name) for name in requested.groups])
            await self._check_extra(mode, requested, sender)
            return
        requests = [group._replace(name=name) for name in requested.groups]
        extra = _extra_requests(mode, requested, sender)
        for asked in [*uids, *requests, *extra] if self._has_modes else [*requests, *extra, *uids]:
            await self._authorize(asked)

    async def _check_extra(self, mode: str, requested: RequestedUser, sender: User) -> None:
        asked = AuthorizationRequest(sender, _verb(mode), "", API_GROUP, "userextras")
        if problem := _extra_problem(requested.extra):
            raise forbidden(asked, Decision(explain=lambda: problem))
        requests = _extra_requests(mode, requested, sender)
        is_large = len(requested.extra) >= MANY
        await self._check_all(asked._replace(subresource="*"), requests, is_large=is_large)

    async def _check_all(
        self, every: AuthorizationRequest, requests: list[AuthorizationRequest], *, is_large: bool = False
    ) -> None:
        """Check the requests, if there are many first the one for all of them."""
        if len(requests) >= MANY or is_large:
            decision = await self._authorizer.authorize(every._replace(name="*"))
            if decision.allowed:
                return
        for request in requests:
            await self._authorize(request)

    async def _authorize(self, request: AuthorizationRequest) -> None:
        """Check one request; an authorizer that failed refuses it (checkAuthorization)."""
        decision = await self._authorizer.authorize(request)
        if not decision.allowed:
            reason = ": ".join(filter(None, (decision.error, decision.reason)))
            raise forbidden(request, Decision(explain=lambda: reason))


def _verb(mode: str) -> str:
    return f"impersonate:{mode}" if mode else "impersonate"


def _name_request(mode: str, name: str, sender: User) -> AuthorizationRequest:
    """Return the request for the requested name: of a node only in the modes for nodes (authorizeUsername)."""
    asked = AuthorizationRequest(sender, _verb(mode), "", API_GROUP if mode else "", "users", name=name)
    if account := _account(name):
        return asked._replace(resource="serviceaccounts", namespace=account[0], name=account[1])
    if mode == ASSOCIATED_NODE:
        return asked._replace(resource="nodes", name="*")
    return asked._replace(resource="nodes", name=_node_name(name)) if mode == ARBITRARY_NODE else asked


def _refuse_groups(asked: AuthorizationRequest, requested: RequestedUser) -> None:
    """Refuse groups that nobody may have by a mode (authorizeGroups)."""
    if "" in requested.groups:
        raise forbidden(asked, Decision(explain=lambda: "impersonating the empty string group is not allowed"))
    if PRIVILEGED_GROUP in requested.groups:
        reason = f"impersonating the {PRIVILEGED_GROUP} group is not allowed"
        raise forbidden(asked._replace(name=PRIVILEGED_GROUP), Decision(explain=lambda: reason))


def _extra_problem(extra: Mapping[str, tuple[str, ...]]) -> str:
    """Return the reason why no mode allows these extra fields, "" if there is none (validateExtra)."""
    for key, values in extra.items():
        if not key:
            return "impersonating the empty string key in extra is not allowed"
        if problems := [str(problem) for problem in _key_problems(key)]:
            return f"impersonating an invalid key in extra is not allowed: {aggregate(problems)}"
        if "" in values:
            return "impersonating the empty string value in extra is not allowed"
    return ""


def _key_problems(key: str) -> Iterator[FieldError]:
    """Yield what is wrong with the key of an extra field (IsDomainPrefixedPath)."""
    domain, _, path = key.partition("/")
    if not domain or not path:
        yield field_errors.invalid("extra.key", key, 'must be a domain-prefixed path (such as "acme.io/foo")')
        return
    for message in names.dns1123_subdomain(domain):
        yield field_errors.invalid("extra.key", domain, message)


def _extra_requests(mode: str, requested: RequestedUser, sender: User) -> list[AuthorizationRequest]:
    asked = AuthorizationRequest(sender, _verb(mode), "", API_GROUP, "userextras")
    return [asked._replace(subresource=key, name=value) for key in requested.extra for value in requested.extra[key]]


def _acting_user(mode: str, requested: RequestedUser) -> User:
    """Return the user that the request acts as, with the groups that all of its kind have."""
    groups, account = requested.groups, _account(requested.name)
    if account and not groups:
        groups = (GROUP, f"{GROUP}:{account[0]}")
    elif mode in (ASSOCIATED_NODE, ARBITRARY_NODE):
        groups = (NODES_GROUP,)
    if requested.name == ANONYMOUS.name:
        more = UNAUTHENTICATED
    else:
        more = AUTHENTICATED if UNAUTHENTICATED not in groups else UNAUTHENTICATED
    return User(requested.name, requested.uid, groups if more in groups else (*groups, more), dict(requested.extra))


def _account(name: str) -> tuple[str, str] | None:
    """Return namespace and name of the service account that a user is, None if it is none (SplitUsername)."""
    namespace, colon, account = name.removeprefix(PREFIX).partition(":")
    if not name.startswith(PREFIX) or not colon:
        return None
    is_valid = not [*names.dns1123_label(namespace), *names.dns1123_subdomain(account)]
    return (namespace, account) if is_valid else None


def _node_name(name: str) -> str:
    """Return the name of the node that a user is, "" if it is none (isNodeUsername)."""
    node = name.removeprefix(NODE_PREFIX)
    return node if name.startswith(NODE_PREFIX) and not [*names.dns1123_subdomain(node)] else ""


def _extra(headers: CIMultiDictProxy[str]) -> dict[str, tuple[str, ...]]:
    extra: dict[str, tuple[str, ...]] = {}
    for name, value in headers.items():
        if name.lower().startswith(EXTRA):
            key = unquote(name.lower().removeprefix(EXTRA))
            extra[key] = (*extra.get(key, ()), _text(value))
    return extra


def _text(value: str) -> str:
    """Return a header's text for JSON: bytes that are not UTF-8 are replaced, as in Go."""
    return value if value.isascii() else value.encode(errors="surrogateescape").decode(errors="replace")


def _go_user(requested: RequestedUser) -> str:
    """Return the requested user as Go's %#v prints it (user.DefaultInfo)."""
    fields = f"Name:{quoted('')}, UID:{quoted(requested.uid)}, Groups:{_go_list(requested.groups)}"
    return f"&user.DefaultInfo{{{fields}, Extra:{_go_map(requested.extra)}}}"


def _go_references(requested: RequestedUser) -> Iterator[str]:
    """Yield the parts of the requested user as Go's %v prints them (v1.ObjectReference)."""
    for group in requested.groups:
        yield f"{{Group  {group}    }}"
    for key, values in requested.extra.items():
        for value in values:
            yield f"{{UserExtra  {value}  {API_GROUP}/v1  {key}}}"
    if requested.uid:
        yield f"{{UID  {requested.uid}  {API_GROUP}/v1  }}"


def _go_list(texts: tuple[str, ...]) -> str:
    """Return texts as Go's %#v prints a slice of them."""
    return f"[]string{{{', '.join(map(quoted, texts))}}}" if texts else "[]string(nil)"


def _go_map(values: Mapping[str, tuple[str, ...]]) -> str:
    """Return lists of texts by name as Go's %#v prints them."""
    if not values:
        return "map[string][]string(nil)"
    return f"map[string][]string{{{', '.join(f'{quoted(key)}:{_go_list(values[key])}' for key in sorted(values))}}}"
