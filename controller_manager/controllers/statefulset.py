"""StatefulSets: pods with names of their own, made, updated and deleted in order, each with claims that outlive it."""

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj, labels_of, name_of, namespace_of
from apiserver.api.selectors import LabelSelector, SelectorError, label_selector_of
from controller_manager.parts.history import History, record, truncate
from controller_manager.parts.pod_changes import pod_changed
from controller_manager.parts.stateful_meters import GAUGES
from controller_manager.parts.stateful_pods import perform
from controller_manager.parts.updates import update
from controller_manager.planning.conditions import condition_of, phase_of
from controller_manager.planning.identity import Version, claim_names, claim_templates, revision_name_of, set_names
from controller_manager.planning.ordinals import (
    Replica,
    arrange,
    health_of,
    ordinal_of,
    pod_name,
    wanted_ordinals,
)
from controller_manager.planning.pods import counts_differently, soonest_available
from controller_manager.planning.profile import Profile
from controller_manager.planning.replicas import FAILURE, Failure, replicas_of
from controller_manager.planning.retention import Owners, policy_of
from controller_manager.planning.revisions import template_data, template_of
from controller_manager.planning.stateful import Work
from controller_manager.planning.stateful_status import Progress, counts, is_same_status, status_of, with_condition
from controller_manager.runtime.claims import Parent, claim, is_deleting, owner_reference
from controller_manager.runtime.contract import (
    ORPHANS,
    OWNER,
    WARNING,
    Action,
    Change,
    Emit,
    Key,
    Later,
    Plan,
    Spec,
    Watch,
    World,
    itself,
)
from controller_manager.runtime.kinds import CLAIM, CONTROLLER_REVISION, POD, STATEFUL_SET


@dataclass(frozen=True, slots=True)
class Observed:
    """A StatefulSet and what belongs to it.

    Attributes:
        selector: of its pods and revisions, or why it is none.
        pods: those it owns, and those that it would adopt.
        revisions: likewise.
        claims: the claims of its ordinals, and of its pods', that exist, by name.
    """

    parent: Obj
    selector: LabelSelector | SelectorError
    pods: Sequence[Obj]
    revisions: Sequence[Obj]
    claims: Mapping[str, Obj]
    profile: Profile


# -- what is seen ------------------------------------------------------------------------------------------------------


def observe(world: World, key: Key) -> Observed | None:
    """The StatefulSet of that key and what belongs to it, None where it is gone."""
    parent = world[STATEFUL_SET].get(key)
    if parent is None:
        return None
    try:
        selector = label_selector_of(parent["spec"].get("selector"))
    except SelectorError as error:
        return Observed(parent, error, (), (), {}, world.profile)
    uid, namespace, name = parent["metadata"]["uid"], namespace_of(parent), name_of(parent)
    orphans = (pod for pod in world[POD].by(ORPHANS, namespace) if ordinal_of(name, name_of(pod)) is not None)
    pods = [*world[POD].by(OWNER, uid), *(pod for pod in orphans if selector.matches(labels_of(pod)))]
    revisions = (*world[CONTROLLER_REVISION].by(OWNER, uid), *world[CONTROLLER_REVISION].by(ORPHANS, namespace))
    mine = [revision for revision in revisions if selector.matches(labels_of(revision))]
    return Observed(parent, selector, pods, mine, _claims(world, parent, pods), world.profile)


def _claims(world: World, parent: Obj, pods: Iterable[Obj]) -> Mapping[str, Obj]:
    if not claim_templates(parent):
        return {}
    name, namespace = name_of(parent), namespace_of(parent)
    arranged = arrange(name, pods, wanted_ordinals(parent, world.profile))
    names = (n for found in (*arranged.replicas, *arranged.condemned) for n in claim_names(parent, found.ordinal))
    return {n: found for n in names if (found := world[CLAIM].get(f"{namespace}/{n}")) is not None}


def _matters(old: Obj, new: Obj) -> bool:
    """Whether a change of a pod may change what is done or counted."""
    return counts_differently(old, new) or phase_of(old) != phase_of(new)


def _adopters(world: World, pod: Obj) -> Iterable[Key]:
    """The set that an orphan is named after."""
    parent = name_of(pod).rpartition("-")[0]
    key = f"{namespace_of(pod)}/{parent}"
    is_there = world[STATEFUL_SET].get(key) is not None and ordinal_of(parent, name_of(pod)) is not None
    return (key,) if is_there else ()


def claim_changed(world: World, change: Change) -> Iterable[Key]:
    """The sets that may wait for a claim to go before they make it anew; upstream waits for whatever comes next."""
    if change.new is not None:
        return ()
    namespace = namespace_of(change.obj)
    keys = (f"{namespace}/{name}" for name in set_names(name_of(change.obj)))
    return [key for key in keys if world[STATEFUL_SET].get(key) is not None]


# -- what is done ------------------------------------------------------------------------------------------------------


def plan(seen: Observed, now: float) -> Plan:
    """Adopt, record what the set is now, make, update or delete pods, tell how many there are, forget old states.

    (stateful_set.go sync, stateful_set_control.go UpdateStatefulSet)

    Raises:
        ApiError: the first that stood in the way; the status was written nevertheless.
    """
    parent, selector = seen.parent, seen.selector
    if isinstance(selector, SelectorError):
        yield from _complain(seen, Failure("InvalidSelector", str(selector)), now=now)
        return
    name = name_of(parent)
    adopter = Parent(STATEFUL_SET, parent, selector)
    named = replace(adopter, admits=lambda pod: ordinal_of(name, name_of(pod)) is not None)
    if is_deleting(parent):
        pods = yield from claim(named, POD, seen.pods)
        yield from _tell(seen, pods, progress=_standing(parent), now=now)
        return
    revisions = yield from claim(adopter, CONTROLLER_REVISION, seen.revisions)
    pods = yield from claim(named, POD, seen.pods)
    history = yield from record(adopter, revisions, data=template_data(parent["spec"]["template"]))
    yield from _sync(seen, pods, history=history, now=now)


def _sync(seen: Observed, pods: Sequence[Obj], *, history: History, now: float) -> Plan:
    parent, refusals = seen.parent, list[ApiError]()
    deleted = yield from _tried(perform(_work(seen, pods, history=history, now=now)), refusals)
    progress = Progress(name_of(history.current), name_of(history.update), history.collisions, deleted or 0)
    failure = _failure(parent, pods, refusals=refusals)
    yield from _tried(_tell(seen, pods, progress=progress, now=now, failure=failure), refusals)
    limit = parent["spec"].get("revisionHistoryLimit")
    live = {revision_name_of(pod) for pod in pods}
    yield from _tried(truncate(history, live=live, limit=10 if limit is None else limit), refusals)
    health = health_of(parent, now, seen.profile)
    wait = soonest_available((pod for pod in pods if not is_deleting(pod)), now, minimum=health.minimum)
    if wait is not None:
        yield Later(wait)
    if refusals:
        raise refusals[0]


def _tried(part: Generator[Action, Any, int | None], refusals: list[ApiError]) -> Generator[Action, Any, int | None]:
    """What a part gives; its error is kept for later, since other parts follow."""
    try:
        return (yield from part)
    except ApiError as error:
        refusals.append(error)
        return None


def _work(seen: Observed, pods: Sequence[Obj], *, history: History, now: float) -> Work:
    parent = seen.parent
    wanted = wanted_ordinals(parent, seen.profile)
    return Work(
        parent=parent,
        pods=arrange(name_of(parent), pods, wanted),
        current=_version(parent, history.current),
        update=_version(parent, history.update),
        health=health_of(parent, now, seen.profile),
        claims=seen.claims,
        owners=_owners(parent, wanted, profile=seen.profile),
        profile=seen.profile,
    )


def _version(parent: Obj, revision: Obj) -> Version:
    """What pods of a revision are made of; of one that holds no template, that of the set itself."""
    template = template_of(revision)
    return Version(name_of(revision), parent["spec"]["template"] if template is None else template)


def _owners(parent: Obj, wanted: range, *, profile: Profile) -> Callable[[Replica], Owners]:
    policy, reference = policy_of(parent, profile), owner_reference(STATEFUL_SET, parent)

    def owners(replica: Replica) -> Owners:
        absent = {"metadata": {"name": pod_name(name_of(parent), replica.ordinal), "uid": ""}}
        return Owners(policy, reference, owner_reference(POD, replica.pod or absent), replica.ordinal not in wanted)

    return owners


def _failure(parent: Obj, pods: Sequence[Obj], *, refusals: Sequence[ApiError]) -> Failure | None:
    """What the set itself is to blame for: the server finds invalid what is made of it."""
    invalid = next((error for error in refusals if error.code in (400, 422)), None)
    if invalid is None:
        return None
    missing = len(pods) < replicas_of(parent)
    return Failure("FailedCreate" if missing else "FailedUpdate", invalid.message)


# -- what is told ------------------------------------------------------------------------------------------------------


def _standing(parent: Obj) -> Progress:
    """How far the set says that it has come."""
    status = parent.get("status") or {}
    current, latest = status.get("currentRevision") or "", status.get("updateRevision") or ""
    return Progress(current, latest, status.get("collisionCount") or 0)


def _tell(
    seen: Observed, pods: Sequence[Obj], *, progress: Progress, now: float, failure: Failure | None = None
) -> Plan:
    """Write the status if it changes (updateStatefulSetStatus)."""
    numbers = counts(pods, progress, health=health_of(seen.parent, now, seen.profile))
    status = with_condition(status_of(seen.parent, numbers, progress=progress, profile=seen.profile), failure, now=now)
    if not is_same_status(seen.parent.get("status") or {}, status):
        yield from update(STATEFUL_SET, seen.parent, change=lambda obj: obj | {"status": status}, subresource="status")


def _complain(seen: Observed, failure: Failure, *, now: float) -> Plan:
    """Say that the selector cannot be understood, once: the pods are left alone."""
    parent = seen.parent
    if condition_of(parent, FAILURE) is None:
        yield Emit(parent, failure.reason, f"Error selecting pods: {failure.message}", WARNING)
        status = with_condition(parent.get("status") or {"replicas": 0}, failure, now=now)
        yield from update(STATEFUL_SET, parent, change=lambda obj: obj | {"status": status}, subresource="status")


SPEC = Spec(
    name="statefulset",
    watches=(
        Watch(STATEFUL_SET, itself),
        Watch(POD, pod_changed(STATEFUL_SET, _adopters, _matters)),
        Watch(CLAIM, claim_changed),
        Watch(CONTROLLER_REVISION),
    ),
    observe=observe,
    plan=plan,
    source="statefulset-controller",
    flag="statefulset",
    gauges=GAUGES,
)
