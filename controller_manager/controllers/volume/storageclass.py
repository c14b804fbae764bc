"""Creates the storage classes of a new cluster; upstream leaves them to the cluster's administrator."""

from collections.abc import Sequence
from dataclasses import dataclass

from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj
from controller_manager.controllers.volume.provisioning import default_classes
from controller_manager.reconcile.contract import Batch, ControllerSpec, Create, Key, Listers, Plan, Watch
from controller_manager.reconcile.kinds import STORAGE_CLASS


@dataclass(frozen=True, slots=True)
class MissingClasses:
    """The storage classes to create."""

    classes: Sequence[Obj]


def observe(listers: Listers, key: Key) -> MissingClasses | None:
    """Return the first classes, or None if there is any class: they are created once, and not restored later."""
    del key
    return None if len(listers[STORAGE_CLASS]) else MissingClasses(default_classes())


def reconcile(missing: MissingClasses, now: float) -> Plan:
    """Create the classes.

    Raises:
        ApiError: a class could not be created for a reason other than that it exists.
    """
    del now
    for answer in (yield Batch([Create(STORAGE_CLASS, storage_class) for storage_class in missing.classes])):
        if isinstance(answer, ApiError) and answer.reason != "AlreadyExists":
            raise answer


SPEC = ControllerSpec(
    name="storageclass",
    account="storageclass-controller",
    watches=(Watch(STORAGE_CLASS),),
    observe=observe,
    reconcile=reconcile,
    workers=1,
    periodic_keys=("",),
)
