"""The RBAC authorizer: whoever has a binding to a role may do what its rules say (plugin/pkg/auth/authorizer/rbac)."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple, Protocol

import orjson

from apiserver.api.golang.strings import quoted
from apiserver.api.meta import Obj
from apiserver.api.user import User
from apiserver.auth.rbac_bindings import Binding, BindingIndex, BindingStore
from apiserver.auth.rbac_rules import RoleRules, resource_keys
from apiserver.registry.authorizer import AuthorizationRequest, Decision, SubjectRules, aggregate
from apiserver.registry.storage import map_store_errors
from etcd.store import KeyValue

GROUP = "rbac.authorization.k8s.io"


class PolicyStore(BindingStore, Protocol):
    """The part of a store that the authorizer uses."""

    @property
    def is_shared(self) -> bool:
        """True if other processes may write to the same keys."""
        ...

    def get(self, key: str) -> KeyValue | None:
        """Return the newest state of a key that this server knows."""
        ...

    async def sync_read(self) -> None:
        """Make later reads return at least what any server has written before this call."""
        ...


class UserRules(NamedTuple):
    """The rules of a user in a namespace, and why some may be missing."""

    rules: list[Obj]
    problems: list[str]


class RBAC:
    """Decides by the Roles, ClusterRoles and bindings of a store.

    Bindings are found in an index. Roles are read from the store for each request; what is made of one is kept with its
    revision, so it is never that of an older state.
    """

    def __init__(self, store: PolicyStore) -> None:
        self._store = store
        self._bindings = BindingIndex(store)
        self._roles: dict[str, tuple[int, RoleRules]] = {}

    async def authorize(self, request: AuthorizationRequest) -> Decision:
        """Return that a request is allowed, or no opinion.

        Before a refusal the writes of other servers to the same etcd are awaited: one of them may allow the request.
        """
        decision = self._decide(request)
        if not decision.allowed and self._store.is_shared:
            with map_store_errors():
                await self._store.sync_read()
            decision = self._decide(request)
        return decision

    def rules_for(self, user: User, namespace: str) -> SubjectRules:
        """Return the rules of all roles that a user has in a namespace."""
        rules, problems = self.user_rules(user, namespace)
        resource_rules, path_rules = [], []
        for rule in rules:
            if rule.get("resources"):
                resource_rules.append(_picked(rule, ("verbs", "apiGroups", "resources", "resourceNames")))
            if rule.get("nonResourceURLs"):
                path_rules.append(_picked(rule, ("verbs", "nonResourceURLs")))
        return SubjectRules(resource_rules, path_rules, error=aggregate(problems))

    def user_rules(self, user: User, namespace: str) -> UserRules:
        """Return the rules of all roles that a user has in a namespace, "" for those of the cluster alone."""
        rules: list[Obj] = []
        problems: list[str] = []
        for binding in dict.fromkeys(self._bindings.bindings_of(user, namespace)):
            role = self.role_rules(binding.role_key)
            if role is None:
                problems.append(_lacks_role(binding))
            else:
                rules.extend(role.rules)
        return UserRules(rules, problems)

    def role_rules(self, key: str) -> RoleRules | None:
        """Return the rules of the role under a key of the store, None if it does not exist."""
        kv = self._store.get(key)
        if kv is None:
            self._roles.pop(key, None)
            return None
        known = self._roles.get(key)
        if known is not None and known[0] == kv.mod_revision:
            return known[1]
        role = RoleRules(orjson.loads(kv.value).get("rules") or ())
        self._roles[key] = kv.mod_revision, role
        return role

    def _decide(self, request: AuthorizationRequest) -> Decision:
        user = request.user
        problems: list[str] = []
        keys = resource_keys(request)
        for binding in self._bindings.bindings_of(user, request.namespace):
            role = self.role_rules(binding.role_key)
            if role is None:
                problems.append(_lacks_role(binding))
            elif (
                role.allow_resource(request, keys)
                if request.is_resource
                else role.allow_path(request.verb, request.path)
            ):
                return Decision(allowed=True, explain=partial(_allowed_by, binding, user))
        return Decision(explain=partial(_refused_with, problems))


def _allowed_by(binding: Binding, user: User) -> str:
    return f"RBAC: allowed by {binding.describe(user)}"


def _refused_with(problems: Sequence[str]) -> str:
    return f"RBAC: {aggregate(problems)}" if problems else ""


def _lacks_role(binding: Binding) -> str:
    """Return that the role of a binding does not exist, as the lister says it."""
    return f"{binding.role_kind.lower()}.{GROUP} {quoted(binding.role_name)} not found"


def _picked(rule: Obj, fields: Sequence[str]) -> Obj:
    return dict(_present(rule, fields))


def _present(rule: Obj, fields: Sequence[str]) -> Iterator[tuple[str, object]]:
    return ((field, rule[field]) for field in fields if rule.get(field))
