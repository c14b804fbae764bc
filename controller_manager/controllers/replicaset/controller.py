"""ReplicaSets, and what else keeps a number of equal pods: missing ones are made, others go, the status counts them."""

from collections import Counter
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from apiserver.api.errors import ApiError, bad_request
from apiserver.api.meta import Obj, labels_of, name_of, namespace_of
from apiserver.api.selectors import LabelSelector, SelectorError, label_selector_of
from controller_manager.controllers.replicaset.deletion_ages import age_ratios
from controller_manager.reconcile.conditions import condition_of
from controller_manager.reconcile.contract import (
    NAMESPACE_INDEX,
    ORPHANS,
    OWNER,
    WARNING,
    Action,
    Batch,
    Create,
    Delete,
    Get,
    Key,
    Listers,
    Plan,
    RecordEvent,
    RequeueAfter,
    Spec,
    Update,
    Watch,
    enqueue_self,
    is_namespace_terminating,
    key_of,
)
from controller_manager.reconcile.controller_ref import Parent, claim, controller_of, is_deleting, owner_reference
from controller_manager.reconcile.kinds import POD, REPLICA_SET, Kind
from controller_manager.reconcile.metric_defs import Measure, Meter, exponential
from controller_manager.reconcile.pod_triggers import pod_changed
from controller_manager.reconcile.pods import in_deletion_order, is_active, is_terminal, pod_from_template
from controller_manager.reconcile.profile import Profile
from controller_manager.reconcile.rate_limiter_metrics import rate_limiter_use
from controller_manager.reconcile.replicas import FAILURE, Counts, Failure, count, replicas_of, status_of

BURST = 500
"""How many pods are made or deleted at a time (BurstReplicas)."""
PACE = 0.05
"""Seconds between two looks at one owner: pods that become ready one after another are counted together."""

AGE_RATIO = Meter(
    "replicaset_controller_sorting_deletion_age_ratio",
    "Age of the ready pods that a scale down deletes, as a multiple of the youngest ready pod's.",
    buckets=exponential(0.25, 2, 6),
    feature="logarithmic_ages",
)


@dataclass(frozen=True, slots=True)
class Row:
    """A kind that keeps a number of pods.

    Attributes:
        selector: of its objects, as a metav1.LabelSelector.
        name: of the controller.
        source: of its events.
        flag, queue: as in Spec.
        owner: what the names of its metrics begin with.
        counts_terminating: whether its status has terminatingReplicas.
    """

    kind: Kind
    selector: Callable[[Obj], Obj | None]
    name: str
    source: str
    flag: str
    owner: str
    queue: str
    counts_terminating: bool


@dataclass(frozen=True, slots=True)
class Observed:
    """An owner and its pods.

    Attributes:
        selector: of its pods, or why it is none.
        pods: active pods that it owns and selects.
        odd: active pods that it owns and no longer selects, and those it selects that nobody owns.
        terminating: how many pods that it owns are on their way out, None where that is not counted.
        related: the pods that crowd nodes, where some must go.
    """

    row: Row
    owner: Obj
    selector: LabelSelector | SelectorError
    pods: Sequence[Obj]
    odd: Sequence[Obj]
    terminating: int | None
    related: Sequence[Obj]
    profile: Profile


# -- what is seen ------------------------------------------------------------------------------------------------------


def observe(row: Row, listers: Listers, key: Key) -> Observed | None:
    """The owner of that key and its pods, None where it is gone."""
    owner = listers[row.kind].get(key)
    if owner is None:
        return None
    counting = row.counts_terminating and listers.profile.terminating_replicas
    try:
        selector = label_selector_of(row.selector(owner))
    except SelectorError as error:
        return Observed(row, owner, error, (), (), None, (), listers.profile)
    pods: list[Obj] = []
    odd: list[Obj] = []
    terminating = 0
    for pod in listers[POD].by(OWNER, owner["metadata"]["uid"]):
        matches = selector.matches(labels_of(pod))
        if is_active(pod):
            (pods if matches else odd).append(pod)
        elif matches and is_deleting(pod) and not is_terminal(pod):
            terminating += 1
    orphans = listers[POD].by(ORPHANS, namespace_of(owner))
    odd.extend(pod for pod in orphans if selector.matches(labels_of(pod)) and is_active(pod))
    related = _related(listers, row.kind, owner) if len(pods) + len(odd) > replicas_of(owner) else ()
    return Observed(row, owner, selector, pods, odd, terminating if counting else None, related, listers.profile)


def _related(listers: Listers, kind: Kind, owner: Obj) -> Sequence[Obj]:
    """The pods of all owners that have the same controller, nothing where it has none (getIndirectlyRelatedPods)."""
    controller = controller_of(owner)
    if controller is None:
        return ()
    siblings = listers[kind].by(OWNER, controller["uid"])
    return [pod for sibling in siblings for pod in listers[POD].by(OWNER, sibling["metadata"]["uid"])]


def _adopters(row: Row, listers: Listers, pod: Obj) -> Iterable[Key]:
    """The owners that select an orphan."""
    owners = listers[row.kind].by(NAMESPACE_INDEX, namespace_of(pod))
    return [key_of(owner) for owner in owners if _may_select(row.selector(owner), pod)]


def _may_select(selector: Obj | None, pod: Obj) -> bool:
    """Whether the equal labels of a selector are those of the pod; expressions are parsed when the owner runs."""
    return selector is not None and (selector.get("matchLabels") or {}).items() <= labels_of(pod).items()


# -- what is done ------------------------------------------------------------------------------------------------------


def plan(seen: Observed, now: float) -> Plan:
    """Adopt and release pods, make or delete some, then tell how many there are (replica_set.go syncReplicaSet).

    Raises:
        ApiError: the first that stood in the way; the status was written nevertheless.
    """
    owner, error = seen.owner, None
    if isinstance(seen.selector, SelectorError):
        yield from _complain(seen, str(seen.selector), now)
        return
    pods = seen.pods
    if seen.odd:
        pods = [*pods, *(yield from claim(Parent(seen.row.kind, owner, seen.selector), POD, seen.odd))]
    if not is_deleting(owner):
        error = yield from _manage(seen, pods, now)
    failure = _failure("FailedCreate" if len(pods) < replicas_of(owner) else "FailedDelete", error)
    counts = count(owner["spec"], pods, now, terminating=seen.terminating, strict=seen.profile.strict_ready_time)
    yield from _tell(seen, counts, failure, now)
    if counts.wait is not None:
        yield RequeueAfter(counts.wait)
    if error:
        raise error


def _failure(reason: str, error: ApiError | None) -> Failure | None:
    return Failure(reason, error.message) if error else None


def _manage(seen: Observed, pods: Sequence[Obj], now: float) -> Generator[Action, Any, ApiError | None]:
    """Make what is missing or delete what is too much; gives the first error."""
    excess = len(pods) - replicas_of(seen.owner)
    if excess < 0:
        return (yield from _create(seen, min(-excess, BURST)))
    if excess == 0:
        return None
    chosen = pods
    excess = min(excess, BURST)
    if excess < len(pods):
        chosen = in_deletion_order(pods, now, related=seen.related, profile=seen.profile)
        for ratio, times in Counter(age_ratios(chosen, excess, now)).items():
            yield Measure(AGE_RATIO, ratio, times=times)
    return (yield from _delete(seen, chosen[:excess]))


def _create(seen: Observed, number: int) -> Generator[Action, Any, ApiError | None]:
    pod = pod_from_template(seen.owner["spec"]["template"], seen.owner, owner_reference(seen.row.kind, seen.owner))
    if not labels_of(pod):
        return bad_request("unable to create pods, no labels")
    answers = yield Batch([Create(POD, pod)] * number, slow_start=True)
    first = None
    for answer in answers:
        if isinstance(answer, ApiError):
            if is_namespace_terminating(answer):
                continue
            first = first or answer
            yield RecordEvent(seen.owner, "FailedCreate", f"Error creating: {answer.message}", WARNING)
        elif answer is not None:
            yield RecordEvent(seen.owner, "SuccessfulCreate", f"Created pod: {name_of(answer)}")
    return first


def _delete(seen: Observed, pods: Sequence[Obj]) -> Generator[Action, Any, ApiError | None]:
    answers = yield Batch([Delete(POD, key_of(pod), uid=pod["metadata"]["uid"]) for pod in pods])
    first = None
    for pod, answer in zip(pods, answers, strict=True):
        if not isinstance(answer, ApiError):
            yield RecordEvent(seen.owner, "SuccessfulDelete", f"Deleted pod: {name_of(pod)}")
        elif answer.code != 404:
            first = first or answer.worded(f"unable to delete pods: {answer.message}")
            yield RecordEvent(seen.owner, "FailedDelete", f"Error deleting: {answer.message}", WARNING)
    return first


def _tell(seen: Observed, counts: Counts, failure: Failure | None, now: float) -> Plan:
    """Write the status if it changes; after a lost race once more (updateReplicaSetStatus)."""
    owner, kind = seen.owner, seen.row.kind
    status = status_of(owner, counts, failure, now)
    if status == owner.get("status"):
        return
    try:
        yield Update(kind, owner | {"status": status}, "status")
    except ApiError as error:
        if error.code != 409:
            raise
        fresh = yield Get(kind, key_of(owner))
        yield Update(kind, fresh | {"status": status}, "status")


def _complain(seen: Observed, why: str, now: float) -> Plan:
    """Say that the selector cannot be understood, once: the pods are left alone."""
    failure = Failure("InvalidSelector", why)
    if condition_of(seen.owner, FAILURE) is None:
        yield RecordEvent(seen.owner, failure.reason, f"Error selecting pods: {why}", WARNING)
    old = seen.owner.get("status") or {}
    names = ("replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas")
    yield from _tell(seen, Counts(*(old.get(name) or 0 for name in names)), failure, now)


def spec_of(row: Row) -> Spec:
    """The controller of a kind that keeps a number of pods."""
    return Spec(
        name=row.name,
        watches=(Watch(row.kind, enqueue_self), Watch(POD, pod_changed(row.kind, partial(_adopters, row)))),
        observe=partial(observe, row),
        reconcile=plan,
        source=row.source,
        flag=row.flag,
        min_interval=PACE,
        queue=row.queue,
        meters=(AGE_RATIO,),
        gauges=(rate_limiter_use(row.owner),),
    )


SPEC = spec_of(
    Row(
        kind=REPLICA_SET,
        selector=lambda owner: owner["spec"].get("selector"),
        name="replicaset",
        source="replicaset-controller",
        flag="replicaset",
        owner="replicaset_controller",
        queue="replicaset",
        counts_terminating=True,
    )
)
