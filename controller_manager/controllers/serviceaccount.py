"""Keeps the ServiceAccount "default" in every active namespace (pkg/controller/serviceaccount)."""

from collections.abc import Iterable
from dataclasses import dataclass

from apiserver.api.errors import ApiError
from apiserver.api.meta import namespace_of
from controller_manager.reconcile.conditions import phase_of
from controller_manager.reconcile.contract import (
    Change,
    ControllerSpec,
    Create,
    Key,
    Listers,
    Plan,
    Watch,
    is_namespace_terminating,
)
from controller_manager.reconcile.kinds import NAMESPACE, SERVICE_ACCOUNT

DEFAULT_ACCOUNT = "default"


@dataclass(frozen=True, slots=True)
class Observed:
    """A namespace without the account."""

    namespace: Key


def _namespace_changed(_: Listers, change: Change) -> Iterable[Key]:
    return () if change.new is None else (change.new["metadata"]["name"],)


def _account_deleted(_: Listers, change: Change) -> Iterable[Key]:
    """Return the namespace of a deleted account."""
    return () if change.new is not None else (namespace_of(change.obj),)


def observe(listers: Listers, key: Key) -> Observed | None:
    """Return a namespace that lacks the account, or None if there is nothing to do."""
    namespace = listers[NAMESPACE].get(key)
    if namespace is None or phase_of(namespace) != "Active":
        return None
    return None if listers[SERVICE_ACCOUNT].get(f"{key}/{DEFAULT_ACCOUNT}") else Observed(key)


def reconcile(observed: Observed, _: float) -> Plan:
    """Create the account."""
    try:
        yield Create(SERVICE_ACCOUNT, {"metadata": {"name": DEFAULT_ACCOUNT, "namespace": observed.namespace}})
    except ApiError as error:
        if error.reason != "AlreadyExists" and not is_namespace_terminating(error):
            raise


SPEC = ControllerSpec(
    name="serviceaccount",
    account="service-account-controller",
    watches=(Watch(NAMESPACE, _namespace_changed), Watch(SERVICE_ACCOUNT, _account_deleted)),
    observe=observe,
    reconcile=reconcile,
    source="service-account-controller",
    workers=1,
)
