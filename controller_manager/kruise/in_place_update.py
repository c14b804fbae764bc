"""In-place updates of pods of OpenKruise workloads: begin one, change pods after their grace, open the gate at its end.

(pkg/util/inplaceupdate) Shared by CloneSets and Advanced StatefulSets.
"""

from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj, name_of
from controller_manager.kruise.pod_lifecycle import next_lifecycle, state_metadata
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
from controller_manager.reconcile.in_place import (
    PodMarker,
    UpdateSpec,
    due_changes,
    gate_opening_patch,
    with_begun_update,
    with_closed_gate,
)
from controller_manager.reconcile.kinds import POD
from controller_manager.reconcile.retry_on_conflict import update


def begin_update(owner: Obj, pod: Obj, spec: UpdateSpec, *, mark: PodMarker, now: float) -> Plan:
    """Update a pod in place, or begin its grace period, and record an Event: the pod is made unready, then changed.

    (Update)

    Args:
        owner: the workload, which the Event is about.
        pod: the pod as the cache has it.
        spec: the changes.
        mark: adds what the workload itself writes on the pod.
        now: the time.

    Raises:
        ApiError: the pod could not be written; an Event says so too.
    """
    name, revision = name_of(pod), spec.revision
    try:
        if with_closed_gate(pod, now) is not pod:
            pod = yield from update(
                POD, pod, change=lambda current: with_closed_gate(current, now), subresource="status"
            )
        yield from update(POD, pod, change=lambda current: with_begun_update(current, spec, mark=mark, now=now))
    except ApiError as error:
        message = f"failed to update pod {name} in-place(revision {revision}): {error.message}"
        yield RecordEvent(owner, "FailedUpdatePodInPlace", message, WARNING)
        raise
    yield RecordEvent(
        owner, "SuccessfulUpdatePodInPlace", f"successfully update pod {name} in-place(revision {revision})"
    )


@dataclass(frozen=True, slots=True)
class UpdateContext:
    """The workload's view of its pods.

    Attributes:
        now: the time.
        is_of: returns True if a pod is of the revision with a name.
        labels: returns the labels that a pod lacks.
    """

    now: float
    is_of: Callable[[Obj, str], bool]
    labels: Callable[[Obj], Mapping[str, str]] = lambda _: {}


@dataclass(frozen=True, slots=True)
class RefreshResult:
    """The result of a refresh.

    Attributes:
        changed: True if the metadata of a pod was updated, so that no other update begins in this run.
        wait: seconds until the first grace period is over, None if there is none.
    """

    changed: bool = False
    wait: float | None = None


def refresh_pods(pods: Iterable[Obj], context: UpdateContext) -> Generator[Action, Any, RefreshResult]:
    """Go on with in-place updates: change pods after their grace, open gates, write lifecycle states (refreshPodState).

    Args:
        pods: the workload's active pods.
        context: the workload's view of them.

    Raises:
        ApiError: the first error other than that a pod is gone.
    """
    patches, waits, moved = list[Patch](), list[float](), False
    for pod in pods:
        needs = due_changes(pod, is_of=context.is_of, now=context.now)
        if needs.pod is not None:
            yield from _finish_grace_period(pod, context)
        if needs.wait is not None:
            waits.append(needs.wait)
        marks = _metadata_changes(pod, context)
        if needs.opens_gate:
            patches.append(
                Patch(POD, key_of(pod), gate_opening_patch(pod, context.now, marks), "status", STRATEGIC_PATCH)
            )
        elif marks:
            patches.append(Patch(POD, key_of(pod), {"metadata": {"uid": pod["metadata"]["uid"]} | marks}))
        moved = moved or bool(marks)
    answers = (yield Batch(patches)) if patches else ()
    for answer in answers:
        if isinstance(answer, ApiError) and answer.code != 404:
            raise answer
    return RefreshResult(moved, min(waits, default=None))


def _finish_grace_period(pod: Obj, context: UpdateContext) -> Plan:
    """Change a pod whose grace period is over, based on its newest version (finishGracePeriod)."""

    def changed(current: Obj) -> Obj:
        needs = due_changes(current, is_of=context.is_of, now=context.now)
        return current if needs.pod is None else needs.pod

    try:
        yield from update(POD, pod, change=changed)
    except ApiError as error:
        if error.code != 404:
            raise


def _metadata_changes(pod: Obj, context: UpdateContext) -> Obj:
    """Return the metadata of a pod that has to be written, empty if all of it is right."""
    labels, state = context.labels(pod), next_lifecycle(pod)
    marks = state_metadata(state, context.now) if state else {}
    return marks | {"labels": {**labels, **marks.get("labels", {})}} if labels else marks
