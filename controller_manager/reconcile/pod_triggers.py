"""The trigger that maps a pod's change to its owners, for controllers that keep pods."""

from collections.abc import Callable, Iterable

from apiserver.api.meta import Obj, labels_of
from controller_manager.reconcile.contract import Change, Key, Listers, Trigger, key_of
from controller_manager.reconcile.controller_ref import controller_of, is_deleting, resolve_controller
from controller_manager.reconcile.kinds import Kind
from controller_manager.reconcile.pods import counts_differently


def pod_changed(
    kind: Kind,
    adopters: Callable[[Listers, Obj], Iterable[Key]],
    matters: Callable[[Obj, Obj], bool] = counts_differently,
) -> Trigger:
    """Return a trigger for the owner of a pod and its former one, and for an orphan those that may adopt it.

    (replica_set.go and stateful_set.go addPod, updatePod, deletePod)

    Args:
        kind: the kind of the owners.
        adopters: returns the keys of the owners that may adopt an orphan that is not being deleted.
        matters: whether the change from one state of a pod to another matters to an owner.
    """

    def concerned(listers: Listers, pod: Obj, *, adoptable: bool) -> Iterable[Key]:
        if controller_of(pod) is not None:
            owner = resolve_controller(listers, kind, pod)
            return (key_of(owner),) if owner is not None else ()
        return adopters(listers, pod) if adoptable and not is_deleting(pod) else ()

    def trigger(listers: Listers, change: Change) -> Iterable[Key]:
        old, new = change.old, change.new
        if old is None or new is None:
            return concerned(listers, change.obj, adoptable=new is not None)
        if old is new or not matters(old, new):
            return ()
        if controller_of(old) == controller_of(new):
            return concerned(listers, new, adoptable=labels_of(old) != labels_of(new))
        return {*concerned(listers, old, adoptable=False), *concerned(listers, new, adoptable=True)}

    return trigger
