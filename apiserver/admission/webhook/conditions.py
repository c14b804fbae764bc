"""Match conditions whose expressions may ask the authorizer, which may have to be waited for.

An expression is evaluated without waiting. Where it asks for a decision that is not known yet, the evaluation stops,
the authorizer is asked, and the evaluation begins again:

    authorizer.group('').resource('pods').check('create').allowed()   → stops; the authorizer allows it
    the same, evaluated again                                        → true
"""

from collections.abc import Mapping, Sequence
from typing import Any

from apiserver.api.meta import Obj
from apiserver.api.user import User
from apiserver.cel.functions.authorization import AuthorizerValue
from apiserver.groups.admissionregistration.expressions import (
    Condition,
    MatchConditionsError,
    all_match,
    values_of,
)
from apiserver.registry.authorizer import AuthorizationRequest, Authorizer, Decision

__all__ = ["Decisions", "MatchConditionsError", "UndecidedError", "conditions_match"]

_RESOURCE_FIELDS = ("group", "resource", "subresource", "namespace", "name")


class UndecidedError(Exception):
    """An expression has asked for a decision that is not known yet."""

    def __init__(self, request: AuthorizationRequest) -> None:
        super().__init__("undecided")
        self.request = request


class Decisions:
    """The decisions that the expressions for one request have asked for.

    Args:
        authorizer: makes them.
    """

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer
        self._made: dict[tuple[Any, ...], Decision] = {}

    def decide(self, user: User, attributes: Mapping[str, str]) -> Decision:
        """Return the decision for a check in an expression (pathCheckVal and resourceCheckVal of authz.go).

        Raises:
            UndecidedError: it is not known yet.
        """
        path = attributes.get("path", "")
        group, resource, subresource, namespace, name = (attributes.get(field, "") for field in _RESOURCE_FIELDS)
        request = AuthorizationRequest(
            user, attributes["verb"], path, group, resource, subresource, namespace, name, is_resource=not path
        )
        decision = self._made.get(_key(request))
        if decision is None:
            raise UndecidedError(request)
        return decision

    async def make(self, request: AuthorizationRequest) -> None:
        """Ask the authorizer for a decision."""
        self._made[_key(request)] = await self._authorizer.authorize(request)


def _key(request: AuthorizationRequest) -> tuple[Any, ...]:
    return request.user.name, *request[1:]


async def conditions_match(
    conditions: Sequence[Condition], shown: tuple[Obj | None, Obj | None, Obj], *, user: User, authorizer: Authorizer
) -> bool:
    """Return whether all match conditions are true for a request.

    Args:
        conditions: the conditions.
        shown: the object, the object before, and the AdmissionRequest, as the conditions see them.
        user: the user of the request.
        authorizer: answers what users may do.

    Raises:
        MatchConditionsError: they cannot be evaluated.
    """
    decisions = Decisions(authorizer)
    while True:
        try:
            return all_match(conditions, values_of(*shown, AuthorizerValue(user, decisions.decide)))
        except UndecidedError as undecided:
            await decisions.make(undecided.request)
