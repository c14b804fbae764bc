"""The result of a sync of a pod."""

from collections.abc import Sequence
from dataclasses import dataclass

from apiserver.api.meta import Obj
from controller_manager.kubelet.pods.events import KubeletEvent


@dataclass(frozen=True, slots=True)
class Step:
    """The next step of a pod.

    Attributes:
        status: the status to write, None if it stays.
        events: the events to record.
        wait: seconds until there is more to do, None if nothing changes with time.
        delete: True if everything has stopped, so that the pod can be deleted.
    """

    status: Obj | None = None
    events: Sequence[KubeletEvent] = ()
    wait: float | None = None
    delete: bool = False
