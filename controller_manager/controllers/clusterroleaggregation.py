"""Gives aggregated ClusterRoles the rules of those that they select (pkg/controller/clusterroleaggregation).

A role has a rule once, in the order of the selectors and of the selected roles' names. Upstream applies the rules as
server-side apply, and updates the role if the server does not know that; here it is always an update.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from apiserver.api.meta import Obj, labels_of, name_of
from apiserver.api.selectors import label_selector_of
from apiserver.api.validation.combinators import deeply_equal
from controller_manager.reconcile.contract import Change, ControllerSpec, Key, Listers, Plan, Update, Watch
from controller_manager.reconcile.kinds import CLUSTER_ROLE


@dataclass(frozen=True, slots=True)
class Outdated:
    """An aggregated role with other rules than it should have.

    Attributes:
        role: the role as it is.
        rules: the rules that it should have.
    """

    role: Obj
    rules: list[Obj]


def _aggregated(listers: Listers, _: Change) -> Iterable[Key]:
    """Yield the names of all aggregated roles: which of them a change concerns is not worth working out."""
    return [name_of(role) for role in listers[CLUSTER_ROLE] if role.get("aggregationRule") is not None]


def observe(listers: Listers, key: Key) -> Outdated | None:
    """Return an aggregated role whose rules are to change, or None if there is nothing to do.

    Raises:
        SelectorError: one of its selectors is invalid.
    """
    role = listers[CLUSTER_ROLE].get(key)
    if role is None or role.get("aggregationRule") is None:
        return None
    rules = aggregated_rules(role, listers[CLUSTER_ROLE])
    return None if deeply_equal(rules, role.get("rules")) else Outdated(role, rules)


def aggregated_rules(role: Obj, roles: Iterable[Obj]) -> list[Obj]:
    """Return the rules that an aggregated role should have, each once.

    Args:
        role: the aggregated role.
        roles: all roles.
    """
    rules: list[Obj] = []
    for rule in _selected_rules(role, sorted(roles, key=name_of)):
        if not any(deeply_equal(rule, known) for known in rules):
            rules.append(rule)
    return rules


def _selected_rules(role: Obj, roles: list[Obj]) -> Iterator[Obj]:
    """Yield the rules of the other roles that each selector selects; two selectors may select the same role."""
    for label_selector in role["aggregationRule"].get("clusterRoleSelectors") or ():
        selector = label_selector_of(label_selector)
        for other in roles:
            if name_of(other) != name_of(role) and selector.matches(labels_of(other)):
                yield from other.get("rules") or ()


def reconcile(outdated: Outdated, _: float) -> Plan:
    """Write the rules; the manager tries again if somebody else wrote the role meanwhile."""
    yield Update(CLUSTER_ROLE, outdated.role | {"rules": outdated.rules})


SPEC = ControllerSpec(
    name="clusterrole-aggregation",
    account="clusterrole-aggregation-controller",
    watches=(Watch(CLUSTER_ROLE, _aggregated),),
    observe=observe,
    reconcile=reconcile,
    queue="ClusterRoleAggregator",
)
