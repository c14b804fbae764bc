"""Which owners a change of a pod concerns: for the controllers that keep pods."""

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
    """Wakes the owner of a pod and its former one, and for an orphan those that may adopt it.

    (replica_set.go and stateful_set.go addPod, updatePod, deletePod)

    Args:
        kind: of the owners.
        adopters: the keys of those that may want a pod that nobody controls and nobody deletes.
        matters: whether a pod that was so and is so now concerns an owner at all.
    """

    def concerned(listers: Listers, pod: Obj, *, wanted: bool) -> Iterable[Key]:
        if controller_of(pod) is not None:
            owner = resolve_controller(listers, kind, pod)
            return (key_of(owner),) if owner is not None else ()
        return adopters(listers, pod) if wanted and not is_deleting(pod) else ()

    def trigger(listers: Listers, change: Change) -> Iterable[Key]:
        old, new = change.old, change.new
        if old is None or new is None:
            return concerned(listers, change.obj, wanted=new is not None)
        if old is new or not matters(old, new):
            return ()
        if controller_of(old) == controller_of(new):
            return concerned(listers, new, wanted=labels_of(old) != labels_of(new))
        return {*concerned(listers, old, wanted=False), *concerned(listers, new, wanted=True)}

    return trigger
