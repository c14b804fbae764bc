"""Keeps the number of pods of a ReplicaSet or a similar object: creates and deletes pods, and counts them."""

from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from apiserver.api.errors import ApiError, bad_request
from apiserver.api.meta import Obj, labels_of, name_of, namespace_of
from apiserver.api.selectors import LabelSelector, SelectorError, label_selector_of
from controller_manager.reconcile.conditions import condition_of
from controller_manager.reconcile.contract import (
    NAMESPACE_INDEX,
    ORPHAN_INDEX,
    OWNER_INDEX,
    WARNING,
    Action,
    Batch,
    ControllerSpec,
    Create,
    Delete,
    Key,
    Listers,
    Plan,
    RecordEvent,
    RequeueAfter,
    Watch,
    enqueue_self,
    is_namespace_terminating,
    key_of,
)
from controller_manager.reconcile.controller_ref import (
    Parent,
    adopt_and_release,
    controller_of,
    is_deleting,
    owner_reference,
)
from controller_manager.reconcile.kinds import POD, REPLICA_SET, Kind
from controller_manager.reconcile.metric_defs import MetricDef, RecordMetric, exponential
from controller_manager.reconcile.pod_triggers import pod_changed
from controller_manager.reconcile.pods import in_deletion_order, is_active, is_ready, is_terminal, pod_from_template
from controller_manager.reconcile.profile import Profile
from controller_manager.reconcile.replicas import (
    REPLICA_FAILURE,
    PodCounts,
    ReplicaFailure,
    count_pods,
    replicas_of,
    status_of,
)
from controller_manager.reconcile.retry_on_conflict import update
from controller_manager.reconcile.times import parse_time

BURST_REPLICAS = 500
"""The number of pods that are created or deleted at a time (BurstReplicas)."""
MIN_INTERVAL = 0.05
"""Minimum seconds between two syncs of one owner: pods that become ready one after another are counted together."""

DELETION_AGE_RATIO = MetricDef(
    "replicaset_controller_sorting_deletion_age_ratio",
    "Age of the ready pods that a scale down deletes, as a multiple of the youngest ready pod's.",
    buckets=exponential(0.25, 2, 6),
    feature="logarithmic_ages",
)


@dataclass(frozen=True, slots=True)
class OwnerKind:
    """A kind whose objects keep a number of pods.

    Attributes:
        selector: returns the selector of an object, as a metav1.LabelSelector.
        name: the controller's name.
        source: the source of its events.
        flag, queue: as in ControllerSpec.
        counts_terminating: True if its status has terminatingReplicas.
    """

    kind: Kind
    selector: Callable[[Obj], Obj | None]
    name: str
    source: str
    flag: str
    queue: str
    counts_terminating: bool


@dataclass(frozen=True, slots=True)
class Observed:
    """An owner and its pods.

    Attributes:
        selector: of its pods, or the error if it cannot be parsed.
        pods: the active pods that it owns and selects.
        odd: the active pods that it owns and no longer selects, and orphans that it selects.
        terminating: how many of its pods are terminating, or None if they are not counted.
        related: the pods of owners with the same controller, if some must be deleted.
    """

    row: OwnerKind
    owner: Obj
    selector: LabelSelector | SelectorError
    pods: Sequence[Obj]
    odd: Sequence[Obj]
    terminating: int | None
    related: Sequence[Obj]
    profile: Profile


# -- observe -----------------------------------------------------------------------------------------------------------


def observe(row: OwnerKind, listers: Listers, key: Key) -> Observed | None:
    """Return the owner of that key and its pods, or None if the owner is gone."""
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
    for pod in listers[POD].by_index(OWNER_INDEX, owner["metadata"]["uid"]):
        matches = selector.matches(labels_of(pod))
        if is_active(pod):
            (pods if matches else odd).append(pod)
        elif matches and is_deleting(pod) and not is_terminal(pod):
            terminating += 1
    orphans = listers[POD].by_index(ORPHAN_INDEX, namespace_of(owner))
    odd.extend(pod for pod in orphans if selector.matches(labels_of(pod)) and is_active(pod))
    related = _related_pods(listers, row.kind, owner) if len(pods) + len(odd) > replicas_of(owner) else ()
    return Observed(row, owner, selector, pods, odd, terminating if counting else None, related, listers.profile)


def _related_pods(listers: Listers, kind: Kind, owner: Obj) -> Sequence[Obj]:
    """Return the pods of all owners with the same controller, empty if there is none (getIndirectlyRelatedPods)."""
    controller = controller_of(owner)
    if controller is None:
        return ()
    siblings = listers[kind].by_index(OWNER_INDEX, controller["uid"])
    return [pod for sibling in siblings for pod in listers[POD].by_index(OWNER_INDEX, sibling["metadata"]["uid"])]


def _adopters(row: OwnerKind, listers: Listers, pod: Obj) -> Iterable[Key]:
    """Return the keys of the owners that select an orphan."""
    owners = listers[row.kind].by_index(NAMESPACE_INDEX, namespace_of(pod))
    return [key_of(owner) for owner in owners if _may_select(row.selector(owner), pod)]


def _may_select(selector: Obj | None, pod: Obj) -> bool:
    """Return whether a selector's matchLabels match the pod; expressions are parsed in the owner's sync."""
    return selector is not None and (selector.get("matchLabels") or {}).items() <= labels_of(pod).items()


# -- reconcile ---------------------------------------------------------------------------------------------------------


def reconcile(observed: Observed, now: float) -> Plan:
    """Adopt and release pods, create or delete some, then update the status (replica_set.go syncReplicaSet).

    Raises:
        ApiError: the first refused write; the status was updated nevertheless.
    """
    owner, error = observed.owner, None
    if isinstance(observed.selector, SelectorError):
        yield from _report_invalid(observed, str(observed.selector), now)
        return
    pods = observed.pods
    if observed.odd:
        pods = [
            *pods,
            *(yield from adopt_and_release(Parent(observed.row.kind, owner, observed.selector), POD, observed.odd)),
        ]
    if not is_deleting(owner):
        error = yield from _manage_pods(observed, pods, now)
    failure = _failure("FailedCreate" if len(pods) < replicas_of(owner) else "FailedDelete", error)
    counts = count_pods(owner["spec"], pods, now, terminating=observed.terminating)
    yield from _update_status(observed, counts, failure, now)
    if counts.wait is not None:
        yield RequeueAfter(counts.wait)
    if error:
        raise error


def _failure(reason: str, error: ApiError | None) -> ReplicaFailure | None:
    return ReplicaFailure(reason, error.message) if error else None


def _manage_pods(observed: Observed, pods: Sequence[Obj], now: float) -> Generator[Action, Any, ApiError | None]:
    """Create missing pods or delete surplus ones; return the first error."""
    excess = len(pods) - replicas_of(observed.owner)
    if excess < 0:
        return (yield from _create_pods(observed, min(-excess, BURST_REPLICAS)))
    if excess == 0:
        return None
    chosen = pods
    excess = min(excess, BURST_REPLICAS)
    if excess < len(pods):
        chosen = in_deletion_order(pods, now, related=observed.related, profile=observed.profile)
        for ratio, times in Counter(age_ratios(chosen, excess, now)).items():
            yield RecordMetric(DELETION_AGE_RATIO, ratio, times=times)
    return (yield from _delete_pods(observed, chosen[:excess]))


def _create_pods(observed: Observed, number: int) -> Generator[Action, Any, ApiError | None]:
    pod = pod_from_template(
        observed.owner["spec"]["template"], observed.owner, owner_reference(observed.row.kind, observed.owner)
    )
    if not labels_of(pod):
        return bad_request("unable to create pods, no labels")
    answers = yield Batch([Create(POD, pod)] * number, slow_start=True)
    first = None
    for answer in answers:
        if isinstance(answer, ApiError):
            if is_namespace_terminating(answer):
                continue
            first = first or answer
            yield RecordEvent(observed.owner, "FailedCreate", f"Error creating: {answer.message}", WARNING)
        elif answer is not None:
            yield RecordEvent(observed.owner, "SuccessfulCreate", f"Created pod: {name_of(answer)}")
    return first


def _delete_pods(observed: Observed, pods: Sequence[Obj]) -> Generator[Action, Any, ApiError | None]:
    answers = yield Batch([Delete(POD, key_of(pod), uid=pod["metadata"]["uid"]) for pod in pods])
    first = None
    for pod, answer in zip(pods, answers, strict=True):
        if not isinstance(answer, ApiError):
            yield RecordEvent(observed.owner, "SuccessfulDelete", f"Deleted pod: {name_of(pod)}")
        elif answer.code != 404:
            first = first or answer.with_message(f"unable to delete pods: {answer.message}")
            yield RecordEvent(observed.owner, "FailedDelete", f"Error deleting: {answer.message}", WARNING)
    return first


def _update_status(observed: Observed, counts: PodCounts, failure: ReplicaFailure | None, now: float) -> Plan:
    """Write the status if it changes; retry once after a conflict (updateReplicaSetStatus)."""
    owner, kind = observed.owner, observed.row.kind
    status = status_of(owner, counts, failure, now)
    if status == owner.get("status"):
        return
    yield from update(kind, owner, change=lambda state: state | {"status": status}, subresource="status", tries=2)


def _report_invalid(observed: Observed, error: str, now: float) -> Plan:
    """Report once that the selector cannot be parsed; the pods stay as they are."""
    failure = ReplicaFailure("InvalidSelector", error)
    if condition_of(observed.owner, REPLICA_FAILURE) is None:
        yield RecordEvent(observed.owner, failure.reason, f"Error selecting pods: {error}", WARNING)
    old = observed.owner.get("status") or {}
    names = ("replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas")
    yield from _update_status(observed, PodCounts(*(old.get(name) or 0 for name in names)), failure, now)


def age_ratios(ranked: Sequence[Obj], number: int, now: float) -> Iterator[float]:
    """Yield the age of each deleted ready pod, as a multiple of the youngest's; nothing if that age is not positive.

    (replica_set.go reportSortingDeletionAgeRatioMetric)

    Args:
        ranked: all pods, in the order of deletion.
        number: how many of them are deleted.
        now: the time.
    """
    youngest = min((_age(pod, now) for pod in ranked if is_ready(pod)), default=0)
    if youngest > 0:
        yield from (float(_age(pod, now) // youngest) for pod in ranked[:number] if is_ready(pod))


def _age(pod: Obj, now: float) -> int:
    """Return a pod's age in milliseconds, or 0 if it has no creation time."""
    created = pod["metadata"].get("creationTimestamp")
    return int((now - parse_time(created)) * 1000) if created else 0


def controller_of_kind(row: OwnerKind) -> ControllerSpec:
    """Return the controller of a kind whose objects keep a number of pods."""
    return ControllerSpec(
        name=row.name,
        watches=(Watch(row.kind, enqueue_self), Watch(POD, pod_changed(row.kind, partial(_adopters, row)))),
        observe=partial(observe, row),
        reconcile=reconcile,
        source=row.source,
        account=row.source,
        flag=row.flag,
        min_interval=MIN_INTERVAL,
        queue=row.queue,
        metrics=(DELETION_AGE_RATIO,),
    )


SPEC = controller_of_kind(
    OwnerKind(
        kind=REPLICA_SET,
        selector=lambda owner: owner["spec"].get("selector"),
        name="replicaset",
        source="replicaset-controller",
        flag="replicaset",
        queue="replicaset",
        counts_terminating=True,
    )
)
