"""The scheduler: pods without a node get one, by priority and then as they came, or are told why they get none.

A key is a turn, not a pod: whichever key runs takes pods from the queue whose turn it is, some at a time, so that
priority holds in whatever order keys come. Each decision is made at once and counts for the next; what carries them out
is asked of the server together, while other keys decide on. All decisions of a run come before its first action.
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
"""Seconds between two such runs (flushUnschedulablePodsLeftover)."""
TURN = 64
"""How many pods a run takes at most: their bindings are under way together."""
BIND_TIMEOUT = 600.0
"""Seconds that a pod waits for its claims when it has a node (VolumeBindingArgs.bindTimeoutSeconds)."""

_BIND = 'running Bind plugin "DefaultBinder": '
_PRE_BIND = 'running PreBind plugin "VolumeBinding": binding volumes: '

# -- what is decided ---------------------------------------------------------------------------------------------------


def _attempts(seen: Observed, now: float) -> Iterator[Attempt]:
    """Decide about whoever has a turn."""
    queue = seen.view.queue
    for _ in range(TURN):
        waiting = queue.take(now)
        if waiting is None:
            return
        pod = seen.pod(waiting.key)
        if pod is None or pod["metadata"]["uid"] != waiting.uid or not wants_node(pod, seen.scheduler):
            queue.remove(waiting.uid)
            continue
        attempt = Attempt(waiting, pod, _outcome(seen, pod))
        _account(seen, attempt, now=now)
        yield attempt


def _outcome(seen: Observed, pod: Obj) -> Chosen | Refused | Failed:
    try:
        return decide(seen.view.cluster, pod, around=seen.around)
    except Exception as error:  # noqa: BLE001 - an odd pod must not hold up the others; it is raised in the end
        return Failed(f"{type(error).__name__}: {error}", error)


def _account(seen: Observed, attempt: Attempt, *, now: float) -> None:
    """Give the pod back to the queue, or have it wait for its claims."""
    view, waiting = seen.view, attempt.waiting
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


def _claimed(seen: Observed, now: float) -> Attempt | float | None:
    """What became of the claims for which the pod of this key waits: bound, failed, or seconds to wait on."""
    claiming = seen.view.claiming.get(seen.key)
    pod = seen.pod(seen.key)
    if claiming is None:
        return None
    if pod is None or claiming.waiting.part is not Part.TAKEN:
        seen.view.end_claiming(seen.key)
        return None
    claims = [(key, seen.claim(key), version) for key, version in claiming.claims.items()]
    if all(claim is not None and is_bound(claim) for _, claim, _ in claims):
        seen.view.end_claiming(seen.key)
        return Attempt(claiming.waiting, pod, Chosen(claiming.node, Bindings()))
    whys = [why_given_up(claim, key, node=claiming.node, version=version) for key, claim, version in claims]
    why = next(filter(None, whys), "context deadline exceeded" if now >= claiming.until else "")
    if not why:
        return claiming.until - now
    attempt = Attempt(claiming.waiting, pod, Failed(f"{_PRE_BIND}{why}"))
    _take_back(seen, attempt, now=now)
    return attempt


# -- what is done ------------------------------------------------------------------------------------------------------


def plan(seen: Observed, now: float) -> Plan:
    """Bind, ask for claims, say why not, and make room.

    Raises:
        Exception: a pod was so odd that nothing could be decided; everything else is done by then.
    """
    view = seen.view
    if seen.key == FLUSH:
        view.queue.flush(now)
    attempts = list(_attempts(seen, now))
    claimed = _claimed(seen, now)
    if isinstance(claimed, Attempt):
        attempts.append(claimed)
    elif claimed is not None:
        yield RequeueAfter(claimed)
    yield from _go_on(view, now)
    chosen = [attempt for attempt in attempts if isinstance(attempt.outcome, Chosen)]
    yield from _bind(seen, [attempt for attempt in chosen if not attempt.bindings.claims], now=now)
    yield from _claim(seen, [attempt for attempt in chosen if attempt.bindings.claims], now=now)
    yield from explain(seen, [attempt for attempt in attempts if not isinstance(attempt.outcome, Chosen)], now=now)
    for attempt in attempts:
        if isinstance(attempt.outcome, Failed) and attempt.outcome.error is not None:
            raise attempt.outcome.error


def _go_on(view: Placement, now: float) -> Plan:
    """See to it that there is a run for who is left: now, or when the next has waited long enough."""
    if key := view.queue.next_key():
        yield Enqueue((key,))
    due = view.queue.due()
    if due is not None and not now < view.alarm <= due:
        view.alarm = due
        yield RequeueAfter(due - now)


def _bind(seen: Observed, attempts: Sequence[Attempt], *, now: float) -> Plan:
    """Give pods their nodes; where that fails the room is free again."""
    if not attempts:
        return
    requests = [Create(POD, binding(a.pod, a.node), name=name_of(a.pod), subresource="binding") for a in attempts]
    answers = yield from _ask(seen, attempts, requests, now=now)
    failed, bound = [], []
    for attempt, answer in zip(attempts, answers, strict=True):
        if isinstance(answer, ApiError):
            failed.append(Failure(attempt, _BIND, answer))
            continue
        seen.view.queue.remove(attempt.waiting.uid)
        bound.append(attempt)
        pod = attempt.pod
        message = f"Successfully assigned {namespace_of(pod)}/{name_of(pod)} to {attempt.node}"
        yield RecordEvent(pod, "Scheduled", message, component=seen.scheduler)
    yield from attempted((Result.SCHEDULED for _ in bound), seen.scheduler)
    yield from placed(attempt.waiting.failures for attempt in bound)
    yield from _fail(seen, failed, now=now)


def _claim(seen: Observed, attempts: Sequence[Attempt], *, now: float) -> Plan:
    """Have claims bound for the node; when they are, their pods' keys run again and the pods are bound."""
    if not attempts:
        return
    wanted = [_claim_requests(attempt) for attempt in attempts]
    answers = iter((yield from _ask(seen, attempts, [request for part in wanted for request in part], now=now)))
    failed = []
    for attempt, requests in zip(attempts, wanted, strict=True):
        errors = [answer for answer in islice(answers, len(requests)) if isinstance(answer, ApiError)]
        if errors and attempt.key in seen.view.claiming:
            failed.append(Failure(attempt, _PRE_BIND, errors[0]))
    yield Enqueue([attempt.key for attempt in attempts])
    yield from _fail(seen, failed, now=now)


def _claim_requests(attempt: Attempt) -> Sequence[Request]:
    bindings = attempt.bindings
    volumes = [Patch(VOLUME, name_of(volume), reservation(volume, claim)) for claim, volume in bindings.volumes]
    claims = [Patch(CLAIM, key_of(claim), selection(claim, attempt.node)) for claim in bindings.provisions]
    return [*volumes, *claims]


def _ask(
    seen: Observed, attempts: Sequence[Attempt], requests: Sequence[Request], *, now: float
) -> Generator[Action, Any, Sequence[Answer]]:
    """The answers; where the run is broken off before they come, nothing has been placed."""
    answers: Sequence[Answer] | None = None
    try:
        answers = yield Batch(requests)
    finally:
        if answers is None:
            for attempt in attempts:
                _take_back(seen, attempt, now=now)
    return answers


@dataclass(frozen=True, slots=True)
class Failure:
    """What the server refused.

    Attributes:
        what: who had asked, as a beginning of the message.
    """

    attempt: Attempt
    what: str
    error: ApiError


def _fail(seen: Observed, failures: Sequence[Failure], *, now: float) -> Plan:
    """Pods are not placed after all: whom that helps is tried, and it is said of those that are not gone."""
    if not failures:
        return
    told = []
    for failure in failures:
        attempt, error = failure.attempt, failure.error
        _take_back(seen, attempt, now=now)
        if error.code != 404 and attempt.waiting.part is not Part.GONE:
            told.append(Attempt(attempt.waiting, attempt.pod, Failed(f"{failure.what}{error.message}")))
    yield from _go_on(seen.view, now)
    yield from explain(seen, told, now=now)


def _take_back(seen: Observed, attempt: Attempt, *, now: float) -> None:
    """The pod is not placed after all, and is tried again later."""
    view, waiting = seen.view, attempt.waiting
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
    reconcile=plan,
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
