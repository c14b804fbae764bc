"""A pod that is being deleted: its containers stop, then it goes (kubelet.go SyncTerminatingPod, SyncTerminatedPod)."""

from apiserver.api.meta import Obj
from controller_manager.kubelet.pods.containers import KILLED, STOPPED
from controller_manager.kubelet.pods.phases import FAILED
from controller_manager.kubelet.pods.pod_containers import Crew, crew_of
from controller_manager.kubelet.pods.pod_sync import MAIN, Container, PodSync
from controller_manager.kubelet.pods.steps import Step
from controller_manager.reconcile.pods import TERMINAL, is_terminal
from controller_manager.reconcile.times import seconds, stamp

_UNKNOWN = {
    "exitCode": KILLED,
    "reason": "ContainerStatusUnknown",
    "message": "The container could not be located when the pod was terminated",
}
"""How a container ended that never ran."""


def stop(look: PodSync) -> Step:
    """What becomes of a pod that is being deleted.

    One whose grace is over should be gone, unless somebody holds it: the server died before it could remove it, and has
    to be asked again.
    """
    crew, meta = crew_of(look), look.pod["metadata"]
    grace = float(meta.get("deletionGracePeriodSeconds") or 0)
    patience = min(max(map(_stop_time, crew.running()), default=0.0), grace)
    asked = look.since(stamp(seconds(meta["deletionTimestamp"]) - grace))
    if patience and not look.is_due(asked + patience):
        crew.tell_stopping()
        return Step(None, look.told, look.due - look.now)
    if grace and not patience:
        crew.tell_stopping()
    held = bool(meta.get("finalizers"))  # the pod outlives this, and who holds it wants to know how it ended
    status = _last_status(crew, KILLED if patience and patience == grace else STOPPED) if held else None
    return Step(status, look.told, gone=bool(grace) or not held)


def _stop_time(container: Container) -> float:
    """How long a container takes to stop: what its preStop hook sleeps, and what it goes on by itself."""
    hook = ((container.spec.get("lifecycle") or {}).get("preStop") or {}).get("sleep") or {}
    return container.behaviour.stop_after + float(hook.get("seconds") or 0)


def _last_status(crew: Crew, code: int) -> Obj | None:
    """The status of a pod whose containers have stopped, None where it had ended before."""
    if is_terminal(crew.look.pod):
        return None
    crew.end(code)
    for container in crew.of(MAIN):
        status = crew.status(container)
        if "waiting" in status["state"]:
            crew.statuses[container.name] = status | {"state": {"terminated": _UNKNOWN}}
    phase = crew.phase(ended=True)
    return crew.pod_status(phase if phase in TERMINAL else FAILED)
