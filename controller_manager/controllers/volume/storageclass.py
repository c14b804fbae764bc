"""The storage classes of a new cluster: upstream leaves them to whoever sets a cluster up, here they are made."""

from collections.abc import Sequence
from dataclasses import dataclass

from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj
from controller_manager.controllers.volume.provisioning import first_classes
from controller_manager.reconcile.contract import Batch, Create, Key, Listers, Plan, Spec, Watch
from controller_manager.reconcile.kinds import STORAGE_CLASS


@dataclass(frozen=True, slots=True)
class Missing:
    """Classes that there should be."""

    classes: Sequence[Obj]


def observe(listers: Listers, key: Key) -> Missing | None:
    """The first classes, None where there is any class: they are made once, and nobody brings them back."""
    del key
    return None if len(listers[STORAGE_CLASS]) else Missing(first_classes())


def plan(seen: Missing, now: float) -> Plan:
    """Make the classes.

    Raises:
        ApiError: one of them could not be made for a reason other than that it is there.
    """
    del now
    for answer in (yield Batch([Create(STORAGE_CLASS, each) for each in seen.classes])):
        if isinstance(answer, ApiError) and answer.reason != "AlreadyExists":
            raise answer


SPEC = Spec(
    name="storageclass",
    watches=(Watch(STORAGE_CLASS),),
    observe=observe,
    reconcile=plan,
    workers=1,
    periodic=("",),
)
