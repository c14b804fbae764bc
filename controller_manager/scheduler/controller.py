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
    Answer,
    Batch,
    Create,
    Enqueue,
    Patch,
    Plan,
    RecordEvent,
    Request,
    RequeueAfter,
    Spec,
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
    FLUSH,
    OWNERS,
    VIEW,
    Claiming,
    Observed,
    Placement,
    claim_changed,
    node_changed,
    observe,
    pod_changed,
    volume_changed,
    wants_node,
)
from controller_manager.scheduler.failures import Attempt, Failed, explain
from controller_manager.scheduler.metrics import METERS, PENDING, Result, attempted, placed
from controller_manager.scheduler.schedule_one import Chosen, Refused, decide
from controller_manager.scheduler.scheduling_queue import Part
from controller_manager.scheduler.volume_binding import Bindings, why_given_up
from controller_manager.scheduler.writes import binding, reservation, selection

FLUSH_EVERY = 30.0
"""Seconds between two runs of the FLUSH key (flushUnschedulablePodsLeftover)."""
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
        waiting = queue.pop(now)
        if waiting is None:
            return
        pod = observed.pod(waiting.key)
        if pod is None or pod["metadata"]["uid"] != waiting.uid or not wants_node(pod, observed.scheduler):
            queue.remove(waiting.uid)
            continue
        attempt = Attempt(waiting, pod, _outcome(observed, pod))
        _account(observed, attempt, now=now)
        yield attempt


def _outcome(observed: Observed, pod: Obj) -> Chosen | Refused | Failed:
    try:
        return decide(observed.view.cluster, pod, context=observed.context)
    except Exception as error:  # noqa: BLE001 - an odd pod must not hold up the others; it is raised in the end
        return Failed(f"{type(error).__name__}: {error}", error)


def _account(observed: Observed, attempt: Attempt, *, now: float) -> None:
    """Return the pod to the queue if it has no node; begin to wait for its claims if they are not bound yet."""
    view, waiting = observed.view, attempt.waiting
    match attempt.outcome:
        case Refused(info=info, plugins=plugins):
            view.queue.park(waiting, info, plugins=plugins, now=now)
        case Failed():
            view.queue.fail(waiting, now)
        case Chosen(node, bindings) if bindings.claims:
            claims = {key_of(claim): "" for claim, _ in bindings.volumes}
            claims |= {key_of(claim): claim["metadata"]["resourceVersion"] for claim in bindings.provisions}
            volumes = [name_of(volume) for _, volume in bindings.volumes]
            view.begin_claiming(Claiming(waiting, node, now + BIND_TIMEOUT, claims, volumes))


def _claimed(observed: Observed, now: float) -> Attempt | float | None:
    """Return the attempt of this key's pod if its claims are bound or have failed, or the seconds left to wait.

    None if the pod does not wait for claims.
    """
    claiming = observed.view.claiming.get(observed.key)
    pod = observed.pod(observed.key)
    if claiming is None:
        return None
    if pod is None or claiming.waiting.part is not Part.TAKEN:
        observed.view.end_claiming(observed.key)
        return None
    claims = [(key, observed.claim(key), version) for key, version in claiming.claims.items()]
    if all(claim is not None and is_bound(claim) for _, claim, _ in claims):
        observed.view.end_claiming(observed.key)
        return Attempt(claiming.waiting, pod, Chosen(claiming.node, Bindings()))
    failures = [why_given_up(claim, key, node=claiming.node, version=version) for key, claim, version in claims]
    failure = next(filter(None, failures), "context deadline exceeded" if now >= claiming.until else "")
    if not failure:
        return claiming.until - now
    attempt = Attempt(claiming.waiting, pod, Failed(f"{_PRE_BIND}{failure}"))
    _release(observed, attempt, now=now)
    return attempt


# -- actions -----------------------------------------------------------------------------------------------------------


def reconcile(observed: Observed, now: float) -> Plan:
    """Bind pods, write to their claims, explain why pods are unschedulable, and preempt.

    Raises:
        Exception: a pod was so odd that nothing could be decided; everything else is done by then.
    """
    view = observed.view
    if observed.key == FLUSH:
        view.queue.flush(now)
    attempts = list(_attempts(observed, now))
    claimed = _claimed(observed, now)
    if isinstance(claimed, Attempt):
        attempts.append(claimed)
    elif claimed is not None:
        yield RequeueAfter(claimed)
    yield from _requeue(view, now)
    chosen = [attempt for attempt in attempts if isinstance(attempt.outcome, Chosen)]
    yield from _bind(observed, [attempt for attempt in chosen if not attempt.bindings.claims], now=now)
    yield from _claim(observed, [attempt for attempt in chosen if attempt.bindings.claims], now=now)
    yield from explain(observed, [attempt for attempt in attempts if not isinstance(attempt.outcome, Chosen)], now=now)
    for attempt in attempts:
        if isinstance(attempt.outcome, Failed) and attempt.outcome.error is not None:
            raise attempt.outcome.error


def _requeue(view: Placement, now: float) -> Plan:
    """Make sure that the pods left in the queue get a run: now, or when the next backoff is over."""
    if key := view.queue.next_key():
        yield Enqueue((key,))
    due = view.queue.due()
    if due is not None and not now < view.alarm <= due:
        view.alarm = due
        yield RequeueAfter(due - now)


def _bind(observed: Observed, attempts: Sequence[Attempt], *, now: float) -> Plan:
    """Bind pods to their nodes; a pod whose binding fails gives its room back."""
    if not attempts:
        return
    requests = [Create(POD, binding(a.pod, a.node), name=name_of(a.pod), subresource="binding") for a in attempts]
    answers = yield from _ask(observed, attempts, requests, now=now)
    failed, bound = [], []
    for attempt, answer in zip(attempts, answers, strict=True):
        if isinstance(answer, ApiError):
            failed.append(Failure(attempt, _BIND, answer))
            continue
        observed.view.queue.remove(attempt.waiting.uid)
        bound.append(attempt)
        pod = attempt.pod
        message = f"Successfully assigned {namespace_of(pod)}/{name_of(pod)} to {attempt.node}"
        yield RecordEvent(pod, "Scheduled", message, component=observed.scheduler)
    yield from attempted((Result.SCHEDULED for _ in bound), observed.scheduler)
    yield from placed(attempt.waiting.failures for attempt in bound)
    yield from _fail(observed, failed, now=now)


def _claim(observed: Observed, attempts: Sequence[Attempt], *, now: float) -> Plan:
    """Write to claims and volumes so that they are bound for the node; the pods' keys run again when they are."""
    if not attempts:
        return
    requests_by_attempt = [_claim_requests(attempt) for attempt in attempts]
    answers = iter(
        (yield from _ask(observed, attempts, [request for group in requests_by_attempt for request in group], now=now))
    )
    failed = []
    for attempt, requests in zip(attempts, requests_by_attempt, strict=True):
        errors = [answer for answer in islice(answers, len(requests)) if isinstance(answer, ApiError)]
        if errors and attempt.key in observed.view.claiming:
            failed.append(Failure(attempt, _PRE_BIND, errors[0]))
    yield Enqueue([attempt.key for attempt in attempts])
    yield from _fail(observed, failed, now=now)


def _claim_requests(attempt: Attempt) -> Sequence[Request]:
    bindings = attempt.bindings
    volumes = [Patch(VOLUME, name_of(volume), reservation(volume, claim)) for claim, volume in bindings.volumes]
    claims = [Patch(CLAIM, key_of(claim), selection(claim, attempt.node)) for claim in bindings.provisions]
    return [*volumes, *claims]


def _ask(
    observed: Observed, attempts: Sequence[Attempt], requests: Sequence[Request], *, now: float
) -> Generator[Action, Any, Sequence[Answer]]:
    """Return the server's answers; if the run is broken off before they come, release the pods' room."""
    answers: Sequence[Answer] | None = None
    try:
        answers = yield Batch(requests)
    finally:
        if answers is None:
            for attempt in attempts:
                _release(observed, attempt, now=now)
    return answers


@dataclass(frozen=True, slots=True)
class Failure:
    """A request that the server refused.

    Attributes:
        what: the plug-in that sent it, as the beginning of the message.
    """

    attempt: Attempt
    what: str
    error: ApiError


def _fail(observed: Observed, failures: Sequence[Failure], *, now: float) -> Plan:
    """Release the pods' room, retry the pods that this may make schedulable, and report those that still exist."""
    if not failures:
        return
    failed = []
    for failure in failures:
        attempt, error = failure.attempt, failure.error
        _release(observed, attempt, now=now)
        if error.code != 404 and attempt.waiting.part is not Part.GONE:
            failed.append(Attempt(attempt.waiting, attempt.pod, Failed(f"{failure.what}{error.message}")))
    yield from _requeue(observed.view, now)
    yield from explain(observed, failed, now=now)


def _release(observed: Observed, attempt: Attempt, *, now: float) -> None:
    """Release the pod's room and try it again later."""
    view, waiting = observed.view, attempt.waiting
    placed = view.cluster.placed(waiting.uid)
    view.end_claiming(attempt.key)
    view.cluster.forget(waiting.uid)
    view.queue.fail(waiting, now)
    if placed is not None:
        view.freed(placed.node.name)


SPEC = Spec(
    name="scheduler",
    watches=(
        Watch(POD, pod_changed),
        Watch(NODE, node_changed),
        Watch(CLAIM, claim_changed),
        Watch(VOLUME, volume_changed),
        Watch(STORAGE_CLASS, volume_changed),
        *(Watch(kind) for kind in (NAMESPACE, SERVICE, DISRUPTION_BUDGET, *OWNERS.values())),
    ),
    observe=observe,
    reconcile=reconcile,
    source="default-scheduler",
    workers=100,
    every=FLUSH_EVERY,
    periodic=(FLUSH,),
    indexes=(PODS_BY_NODE, PODS_BY_CLAIM, FREE_VOLUMES, VOLUMES_BY_CLAIM),
    views={VIEW: Placement},
    feeds={VIEW: (POD, NODE, NAMESPACE, SERVICE)},
    meters=METERS,
    gauges=(PENDING,),
)
