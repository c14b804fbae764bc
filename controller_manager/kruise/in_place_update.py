"""How OpenKruise's workloads update pods in place: begin it, change what had to wait, and open the gate at its end.

(pkg/util/inplaceupdate) Shared by CloneSets and Advanced StatefulSets.
"""

from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj, name_of
from controller_manager.kruise.pod_lifecycle import next_lifecycle, state_marks
from controller_manager.reconcile.contract import (
    STRATEGIC_PATCH,
    WARNING,
    Action,
    Batch,
    Patch,
    Plan,
    RecordEvent,
    key_of,
)
from controller_manager.reconcile.in_place import Mark, UpdateSpec, begun, due, opening, unready
from controller_manager.reconcile.kinds import POD
from controller_manager.reconcile.retry_on_conflict import update


def begin(owner: Obj, pod: Obj, spec: UpdateSpec, *, mark: Mark, now: float) -> Plan:
    """Update a pod in place, or begin its grace, and tell of it: it is made unready, then changed (Update).

    Args:
        owner: the workload, which the Event is about.
        pod: as a cache has it.
        spec: what changes.
        mark: what the workload writes on the pod besides.
        now: the time.

    Raises:
        ApiError: it could not be written; the Event tells of that too.
    """
    name, revision = name_of(pod), spec.revision
    try:
        if unready(pod, now) is not pod:
            pod = yield from update(POD, pod, change=lambda found: unready(found, now), subresource="status")
        yield from update(POD, pod, change=lambda found: begun(found, spec, mark=mark, now=now))
    except ApiError as error:
        why = f"failed to update pod {name} in-place(revision {revision}): {error.message}"
        yield RecordEvent(owner, "FailedUpdatePodInPlace", why, WARNING)
        raise
    yield RecordEvent(
        owner, "SuccessfulUpdatePodInPlace", f"successfully update pod {name} in-place(revision {revision})"
    )


@dataclass(frozen=True, slots=True)
class UpdateContext:
    """How a workload looks at its pods.

    Attributes:
        now: the time.
        is_of: whether a pod is of the revision of a name.
        labels: those that a pod lacks and is to have.
    """

    now: float
    is_of: Callable[[Obj, str], bool]
    labels: Callable[[Obj], Mapping[str, str]] = lambda _: {}


@dataclass(frozen=True, slots=True)
class Refreshed:
    """What came of a look at pods.

    Attributes:
        moved: whether the metadata of one was brought up to date, so that no other update begins in this run.
        wait: seconds until the first grace is over, None where there is none.
    """

    moved: bool = False
    wait: float | None = None


def refresh(pods: Iterable[Obj], look: UpdateContext) -> Generator[Action, Any, Refreshed]:
    """Bring pods on: change those whose grace is over, open gates, tell how far their lifecycle is (refreshPodState).

    Args:
        pods: the workload's active pods.
        look: how it looks at them.

    Raises:
        ApiError: the first refusal that is not because a pod is gone.
    """
    patches, waits, moved = list[Patch](), list[float](), False
    for pod in pods:
        needs = due(pod, is_of=look.is_of, now=look.now)
        if needs.pod is not None:
            yield from _change(pod, look)
        if needs.wait is not None:
            waits.append(needs.wait)
        marks = _marks(pod, look)
        if needs.opens:
            patches.append(Patch(POD, key_of(pod), opening(pod, look.now, marks), "status", STRATEGIC_PATCH))
        elif marks:
            patches.append(Patch(POD, key_of(pod), {"metadata": {"uid": pod["metadata"]["uid"]} | marks}))
        moved = moved or bool(marks)
    answers = (yield Batch(patches)) if patches else ()
    for answer in answers:
        if isinstance(answer, ApiError) and answer.code != 404:
            raise answer
    return Refreshed(moved, min(waits, default=None))


def _change(pod: Obj, look: UpdateContext) -> Plan:
    """Change a pod whose grace is over, as it is when it is written (finishGracePeriod)."""

    def changed(found: Obj) -> Obj:
        needs = due(found, is_of=look.is_of, now=look.now)
        return found if needs.pod is None else needs.pod

    try:
        yield from update(POD, pod, change=changed)
    except ApiError as error:
        if error.code != 404:
            raise


def _marks(pod: Obj, look: UpdateContext) -> Obj:
    """What of a pod's metadata is to be written, empty where all of it is as it should be."""
    labels, state = look.labels(pod), next_lifecycle(pod)
    marks = state_marks(state, look.now) if state else {}
    return marks | {"labels": {**labels, **marks.get("labels", {})}} if labels else marks
