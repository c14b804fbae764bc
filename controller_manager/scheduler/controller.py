"""The scheduler: gives pods without a node one, by priority and then in the order they came, or says why it cannot.

A key that runs does not schedule its own pod only: it pops the pods at the head of the queue, up to MAX_ATTEMPTS, so
that priority holds in whatever order keys come. Each decision is made at once and counts for the next; requests that
carry decisions out are sent to the server together, while other keys go on deciding. A run makes all its decisions
before its first action.
"""

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj, name_of, namespace_of
from controller_manager.reconcile.contract import (
    PODS_BY_NODE,
    Action,
    Batch,
    BatchResult,
    ControllerSpec,
    Create,
    Enqueue,
    Patch,
    Plan,
    RecordEvent,
    Request,
    RequeueAfter,
    Watch,
    key_of,
)
from controller_manager.reconcile.kinds import (
    CLAIM,
    DISRUPTION_BUDGET,
    NAMESPACE,
    NODE,
    POD,
    SERVICE,
    STORAGE_CLASS,
    VOLUME,
)
from controller_manager.reconcile.volumes import FREE_VOLUMES, PODS_BY_CLAIM, VOLUMES_BY_CLAIM, is_bound
from controller_manager.scheduler.context import (
    FLUSH_KEY,
    OWNER_KINDS,
    SCHEDULER_VIEW,
    Observed,
    SchedulerView,
    WaitingPod,
    claim_changed,
    is_to_schedule,
    node_changed,
    observe,
    pod_changed,
    volume_changed,
)
from controller_manager.scheduler.failures import Attempt, AttemptError, handle_failures
from controller_manager.scheduler.metrics import METRICS, PENDING_PODS, Result, count_attempts, observe_pod_attempts
from controller_manager.scheduler.schedule_one import FitError, ScheduleResult, schedule_pod
from controller_manager.scheduler.scheduling_queue import QueuePart
from controller_manager.scheduler.volume_binding import Bindings, binding_error
from controller_manager.scheduler.writes import binding, claim_ref_patch, selected_node_patch

FLUSH_SECONDS = 30.0
"""Seconds between two runs of FLUSH_KEY (flushUnschedulablePodsLeftover)."""
MAX_ATTEMPTS = 64
"""The most pods that one run schedules; their bindings are sent together."""
BIND_TIMEOUT = 600.0
"""Seconds that a pod with a node waits for its claims (VolumeBindingArgs.bindTimeoutSeconds)."""

_BIND = 'running Bind plugin "DefaultBinder": '
_PRE_BIND = 'running PreBind plugin "VolumeBinding": binding volumes: '

# -- decisions ---------------------------------------------------------------------------------------------------------


def _attempts(observed: Observed, now: float) -> Iterator[Attempt]:
    """Yield a decision for each pod at the head of the queue, at most MAX_ATTEMPTS."""
    queue = observed.view.queue
    for _ in range(MAX_ATTEMPTS):
        queued = queue.pop(now)
        if queued is None:
            return
        pod = observed.pod(queued.key)
        if pod is None or pod["metadata"]["uid"] != queued.uid or not is_to_schedule(pod, observed.scheduler):
            queue.remove(queued.uid)
            continue
        attempt = Attempt(queued, pod, _outcome(observed, pod))
        _update_queue(observed, attempt, now=now)
        yield attempt


def _outcome(observed: Observed, pod: Obj) -> ScheduleResult | FitError | AttemptError:
    try:
        return schedule_pod(observed.view.cluster, pod, context=observed.context)
    except Exception as error:  # noqa: BLE001 - an odd pod must not hold up the others; it is raised in the end
        return AttemptError(f"{type(error).__name__}: {error}", error)


def _update_queue(observed: Observed, attempt: Attempt, *, now: float) -> None:
    """Return the pod to the queue if it has no node; begin to wait for its claims if they are not bound yet."""
    view, queued = observed.view, attempt.queued
    match attempt.outcome:
        case FitError(info=info, plugins=plugins):
            view.queue.add_unschedulable(queued, info, plugins=plugins, now=now)
        case AttemptError():
            view.queue.add_after_error(queued, now)
        case ScheduleResult(node, bindings) if bindings.claims:
            claims = {key_of(claim): "" for claim, _ in bindings.volumes}
            claims |= {key_of(claim): claim["metadata"]["resourceVersion"] for claim in bindings.provisions}
            volumes = [name_of(volume) for _, volume in bindings.volumes]
            view.begin_waiting(WaitingPod(queued, node, now + BIND_TIMEOUT, claims, volumes))


def _finish_claims(observed: Observed, now: float) -> Attempt | float | None:
    """Return the attempt of this key's pod if its claims are bound or have failed, or the seconds left to wait.

    None if the pod does not wait for claims.
    """
    waiting_pod = observed.view.waiting_for_claims.get(observed.key)
    pod = observed.pod(observed.key)
    if waiting_pod is None:
        return None
    if pod is None or waiting_pod.queued.part is not QueuePart.IN_FLIGHT:
        observed.view.end_waiting(observed.key)
        return None
    claims = [(key, observed.claim(key), version) for key, version in waiting_pod.claims.items()]
    if all(claim is not None and is_bound(claim) for _, claim, _ in claims):
        observed.view.end_waiting(observed.key)
        return Attempt(waiting_pod.queued, pod, ScheduleResult(waiting_pod.node, Bindings()))
    failures = [binding_error(claim, key, node=waiting_pod.node, version=version) for key, claim, version in claims]
    failure = next(filter(None, failures), "context deadline exceeded" if now >= waiting_pod.deadline else "")
    if not failure:
        return waiting_pod.deadline - now
    attempt = Attempt(waiting_pod.queued, pod, AttemptError(f"{_PRE_BIND}{failure}"))
    _release_room(observed, attempt, now=now)
    return attempt


# -- actions -----------------------------------------------------------------------------------------------------------


def reconcile(observed: Observed, now: float) -> Plan:
    """Bind pods, write to their claims, explain why pods are unschedulable, and preempt.

    Raises:
        Exception: a pod was so odd that nothing could be decided; everything else is done by then.
    """
    view = observed.view
    if observed.key == FLUSH_KEY:
        view.queue.flush_unschedulable(now)
    attempts = list(_attempts(observed, now))
    claimed = _finish_claims(observed, now)
    if isinstance(claimed, Attempt):
        attempts.append(claimed)
    elif claimed is not None:
        yield RequeueAfter(claimed)
    yield from _requeue(view, now)
    chosen = [attempt for attempt in attempts if isinstance(attempt.outcome, ScheduleResult)]
    yield from _bind(observed, [attempt for attempt in chosen if not attempt.bindings.claims], now=now)
    yield from _bind_claims(observed, [attempt for attempt in chosen if attempt.bindings.claims], now=now)
    yield from handle_failures(
        observed, [attempt for attempt in attempts if not isinstance(attempt.outcome, ScheduleResult)], now=now
    )
    for attempt in attempts:
        if isinstance(attempt.outcome, AttemptError) and attempt.outcome.error is not None:
            raise attempt.outcome.error


def _requeue(view: SchedulerView, now: float) -> Plan:
    """Make sure that the pods left in the queue get a run: now, or when the next backoff is over."""
    if key := view.queue.next_key():
        yield Enqueue((key,))
    due = view.queue.next_backoff_end()
    if due is not None and not now < view.alarm <= due:
        view.alarm = due
        yield RequeueAfter(due - now)


def _bind(observed: Observed, attempts: Sequence[Attempt], *, now: float) -> Plan:
    """Bind pods to their nodes; a pod whose binding fails gives its room back."""
    if not attempts:
        return
    requests = [Create(POD, binding(a.pod, a.node), name=name_of(a.pod), subresource="binding") for a in attempts]
    answers = yield from _send_requests(observed, attempts, requests, now=now)
    failed, bound = [], []
    for attempt, answer in zip(attempts, answers, strict=True):
        if isinstance(answer, ApiError):
            failed.append(BindingFailure(attempt, _BIND, answer))
            continue
        observed.view.queue.remove(attempt.queued.uid)
        bound.append(attempt)
        pod = attempt.pod
        message = f"Successfully assigned {namespace_of(pod)}/{name_of(pod)} to {attempt.node}"
        yield RecordEvent(pod, "Scheduled", message, component=observed.scheduler)
    yield from count_attempts((Result.SCHEDULED for _ in bound), observed.scheduler)
    yield from observe_pod_attempts(attempt.queued.failures for attempt in bound)
    yield from _handle_binding_failures(observed, failed, now=now)


def _bind_claims(observed: Observed, attempts: Sequence[Attempt], *, now: float) -> Plan:
    """Write to claims and volumes so that they are bound for the node; the pods' keys run again when they are."""
    if not attempts:
        return
    requests_by_attempt = [_claim_requests(attempt) for attempt in attempts]
    answers = iter(
        (
            yield from _send_requests(
                observed, attempts, [request for group in requests_by_attempt for request in group], now=now
            )
        )
    )
    failed = []
    for attempt, requests in zip(attempts, requests_by_attempt, strict=True):
        errors = [answer for answer in islice(answers, len(requests)) if isinstance(answer, ApiError)]
        if errors and attempt.key in observed.view.waiting_for_claims:
            failed.append(BindingFailure(attempt, _PRE_BIND, errors[0]))
    yield Enqueue([attempt.key for attempt in attempts])
    yield from _handle_binding_failures(observed, failed, now=now)


def _claim_requests(attempt: Attempt) -> Sequence[Request]:
    bindings = attempt.bindings
    volumes = [Patch(VOLUME, name_of(volume), claim_ref_patch(volume, claim)) for claim, volume in bindings.volumes]
    claims = [Patch(CLAIM, key_of(claim), selected_node_patch(claim, attempt.node)) for claim in bindings.provisions]
    return [*volumes, *claims]


def _send_requests(
    observed: Observed, attempts: Sequence[Attempt], requests: Sequence[Request], *, now: float
) -> Generator[Action, Any, Sequence[BatchResult]]:
    """Return the server's answers; if the run is broken off before they come, release the pods' room."""
    answers: Sequence[BatchResult] | None = None
    try:
        answers = yield Batch(requests)
    finally:
        if answers is None:
            for attempt in attempts:
                _release_room(observed, attempt, now=now)
    return answers


@dataclass(frozen=True, slots=True)
class BindingFailure:
    """A request that the server refused.

    Attributes:
        plugin: the plug-in that sent it, as the beginning of the message.
    """

    attempt: Attempt
    plugin: str
    error: ApiError


def _handle_binding_failures(observed: Observed, failures: Sequence[BindingFailure], *, now: float) -> Plan:
    """Release the pods' room, retry the pods that this may make schedulable, and report those that still exist."""
    if not failures:
        return
    failed = []
    for failure in failures:
        attempt, error = failure.attempt, failure.error
        _release_room(observed, attempt, now=now)
        if error.code != 404 and attempt.queued.part is not QueuePart.REMOVED:
            failed.append(Attempt(attempt.queued, attempt.pod, AttemptError(f"{failure.plugin}{error.message}")))
    yield from _requeue(observed.view, now)
    yield from handle_failures(observed, failed, now=now)


def _release_room(observed: Observed, attempt: Attempt, *, now: float) -> None:
    """Release the pod's room and try it again later."""
    view, queued = observed.view, attempt.queued
    placed = view.cluster.placement_of(queued.uid)
    view.end_waiting(attempt.key)
    view.cluster.forget_pod(queued.uid)
    view.queue.add_after_error(queued, now)
    if placed is not None:
        view.retry_on_free_node(placed.node.name)


SPEC = ControllerSpec(
    name="scheduler",
    account="kube-scheduler",
    watches=(
        Watch(POD, pod_changed),
        Watch(NODE, node_changed),
        Watch(CLAIM, claim_changed),
        Watch(VOLUME, volume_changed),
        Watch(STORAGE_CLASS, volume_changed),
        *(Watch(kind) for kind in (NAMESPACE, SERVICE, DISRUPTION_BUDGET, *OWNER_KINDS.values())),
    ),
    observe=observe,
    reconcile=reconcile,
    source="default-scheduler",
    program="kube-scheduler",
    workers=100,
    sync_period=FLUSH_SECONDS,
    periodic_keys=(FLUSH_KEY,),
    indexes=(PODS_BY_NODE, PODS_BY_CLAIM, FREE_VOLUMES, VOLUMES_BY_CLAIM),
    views={SCHEDULER_VIEW: SchedulerView},
    view_kinds={SCHEDULER_VIEW: (POD, NODE, NAMESPACE, SERVICE)},
    metrics=METRICS,
    gauges=(PENDING_PODS,),
)
