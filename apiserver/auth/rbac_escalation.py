"""Refuses roles and bindings by which their writer would grant more than he may do (pkg/registry/rbac policybased).

The verbs `escalate` on roles and `bind` on roles lift the limit, and so does membership in system:masters.
"""

from collections.abc import Sequence

from apiserver.api import errors
from apiserver.api.golang.strings import quoted, quoted_list
from apiserver.api.meta import Obj
from apiserver.api.user import User
from apiserver.auth.authorization import PRIVILEGED_GROUP
from apiserver.auth.rbac import GROUP, RBAC
from apiserver.auth.rbac_bindings import role_key
from apiserver.groups.rbac.coverage import compact, uncovered
from apiserver.registry.authorizer import AuthorizationRequest, Authorizer
from apiserver.registry.options import Target

FULL_AUTHORITY: Sequence[Obj] = (
    {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]},
    {"verbs": ["*"], "nonResourceURLs": ["*"]},
)
_AGGREGATION = "must have cluster-admin privileges to use the aggregationRule"
_FIELDS = ("apiGroups", "resources", "nonResourceURLs", "resourceNames", "verbs")
_GARBAGE_COLLECTED = ("ownerReferences", "finalizers", "managedFields", "resourceVersion")
"""The metadata that the garbage collector changes, which anybody who may update the object may change as well."""


class EscalationCheck:
    """Checks writes of Roles, ClusterRoles and their bindings.

    Args:
        authorizer: decides whether the writer has the verbs `escalate` and `bind`.
        policy: the rules of the writer and of roles.
    """

    def __init__(self, authorizer: Authorizer, policy: RBAC) -> None:
        self._authorizer = authorizer
        self._policy = policy

    async def check(self, user: User, target: Target, *, new: Obj, old: Obj | None) -> None:
        """Refuse a new role or binding that grants more than the writer has.

        Raises:
            ApiError: 403; 404, the role of a binding does not exist.
        """
        if PRIVILEGED_GROUP in user.groups or (old is not None and _differs_for_gc_alone(new, old)):
            return
        if target.resource.plural in ("roles", "clusterroles"):
            await self._check_role(user, target, new=new, old=old)
        else:
            await self._check_binding(user, target, new)

    async def _check_role(self, user: User, target: Target, *, new: Obj, old: Obj | None) -> None:
        request = AuthorizationRequest(
            user, "escalate", "", GROUP, target.resource.plural, "", target.namespace, target.name
        )
        if (await self._authorizer.authorize(request)).allowed:
            return
        self._refuse_uncovered(user, target, new, new.get("rules") or ())
        if (_has_aggregation(new) or (old is not None and _has_aggregation(old))) and self._uncovered(
            user, target, FULL_AUTHORITY
        ):
            raise _forbidden(target, new, _AGGREGATION)

    async def _check_binding(self, user: User, target: Target, new: Obj) -> None:
        ref = new.get("roleRef") or {}
        kind, name = ref.get("kind") or "", ref.get("name") or ""
        plural = {"Role": "roles", "ClusterRole": "clusterroles"}.get(kind)
        if plural is None:
            raise errors.internal(f"unsupported role reference kind: {quoted(kind)}")
        request = AuthorizationRequest(user, "bind", "", ref.get("apiGroup") or "", plural, "", target.namespace, name)
        if (await self._authorizer.authorize(request)).allowed:
            return
        role = self._policy.role_rules(role_key(kind, target.namespace, name))
        if role is None:
            raise errors.not_found(GROUP, plural, name)
        self._refuse_uncovered(user, target, new, role.rules)

    def _refuse_uncovered(self, user: User, target: Target, new: Obj, rules: Sequence[Obj]) -> None:
        """Refuse rules that the writer's own do not cover (validation.ConfirmNoEscalation)."""
        missing = self._uncovered(user, target, rules)
        if not missing:
            return
        lines = sorted({_rule_text(part) for part in compact(missing)})
        problems = self._policy.user_rules(user, target.namespace).problems
        resolution = f"; resolution errors: [{', '.join(problems)}]" if problems else ""
        raise _forbidden(
            target,
            new,
            f"user {quoted(user.name)} (groups={quoted_list(user.groups)}) is attempting to grant RBAC permissions "
            f"not currently held:\n{chr(10).join(lines)}{resolution}",
        )

    def _uncovered(self, user: User, target: Target, rules: Sequence[Obj]) -> list[Obj]:
        return uncovered(rules, owned=self._policy.user_rules(user, target.namespace).rules)


def _forbidden(target: Target, new: Obj, why: str) -> errors.ApiError:
    return errors.forbidden(GROUP, target.resource.plural, name=new["metadata"].get("name") or "", why=why)


def _has_aggregation(role: Obj) -> bool:
    return bool((role.get("aggregationRule") or {}).get("clusterRoleSelectors"))


def _differs_for_gc_alone(new: Obj, old: Obj) -> bool:
    """Return whether an update changes only what the garbage collector changes (IsOnlyMutatingGCFields)."""
    return _without_gc_fields(new) == _without_gc_fields(old)


def _without_gc_fields(obj: Obj) -> Obj:
    meta = {name: value for name, value in obj["metadata"].items() if name not in _GARBAGE_COLLECTED}
    return obj | {"metadata": meta}


def _rule_text(rule: Obj) -> str:
    """Return a rule as messages show it (CompactString)."""
    shown = [f"{name[0].upper()}{name[1:]}:{quoted_list(rule[name])}" for name in _FIELDS if rule.get(name)]
    return f"{{{', '.join(shown)}}}".replace("ApiGroups:", "APIGroups:")
