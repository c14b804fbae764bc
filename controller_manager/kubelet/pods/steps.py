"""What comes of a look at a pod."""

from collections.abc import Sequence
from dataclasses import dataclass

from apiserver.api.meta import Obj
from controller_manager.kubelet.pods.events import KubeletEvent


@dataclass(frozen=True, slots=True)
class Step:
    """What is to be done about a pod.

    Attributes:
        status: to be written, None where it stays.
        told: events.
        wait: seconds until there is more to be done, None where time alone changes nothing.
        gone: whether everything has stopped, so that the pod can go.
    """

    status: Obj | None = None
    told: Sequence[KubeletEvent] = ()
    wait: float | None = None
    gone: bool = False
