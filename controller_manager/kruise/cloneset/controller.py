"""CloneSets of OpenKruise: equal pods with ids of their own, which may be updated as they are.

(pkg/controller/cloneset) Not among what is here: lifecycle hooks, priorities and scattering of updates, and images that
are pulled before they are needed.
"""

from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj, labels_of, name_of, namespace_of
from apiserver.api.selectors import LabelSelector
from controller_manager.controllers.statefulset.identity import Version
from controller_manager.controllers.statefulset.status import is_same_status
from controller_manager.kruise.cloneset.claims import clean_up
from controller_manager.kruise.cloneset.pods import id_of
from controller_manager.kruise.cloneset.scale import SyncContext, scale
from controller_manager.kruise.cloneset.spec import Member, Strategy, is_of, members_of, soonest, strategy_of
from controller_manager.kruise.cloneset.status import (
    FAILED_SCALE,
    FAILED_UPDATE,
    RevisionState,
    counts,
    next_look,
    status_of,
    with_failure,
    with_progress,
)
from controller_manager.kruise.cloneset.update import update_pods
from controller_manager.kruise.invalid_spec import InvalidWorkload, fault_of, selector_or_fault
from controller_manager.kruise.pod_lifecycle import matters
from controller_manager.reconcile.contract import (
    ORPHANS,
    OWNER,
    WARNING,
    Action,
    Change,
    Key,
    Listers,
    Plan,
    RecordEvent,
    RequeueAfter,
    Spec,
    Watch,
    enqueue_self,
    key_of,
)
from controller_manager.reconcile.controller_ref import Parent, claim, controller_of, is_deleting, resolve_controller
from controller_manager.reconcile.controller_runtime_metrics import reconciled
from controller_manager.reconcile.kinds import CLAIM, CLONE_SET, CONTROLLER_REVISION, NODE, POD
from controller_manager.reconcile.metric_defs import Meter
from controller_manager.reconcile.pods import is_active
from controller_manager.reconcile.retry_on_conflict import update
from controller_manager.reconcile.revisions import History, record, template_data, template_of, truncate

PACE = 0.05
"""Seconds between two looks at one set: pods that change one after the other are looked at together."""

LEAKS = Meter(
    "cloneset_scale_expectation_leakage",
    "CloneSets that went on although what they had made or deleted was not seen in time.",
    ("namespace", "name"),
)


@dataclass(frozen=True, slots=True)
class Observed:
    """A CloneSet and what belongs to it.

    Attributes:
        pods: all that it owns.
        revisions: those that it owns, and those that it selects and nobody owns.
        claims: those that it owns.
        nodes: the labels of nodes by their names, where the template spreads pods over domains.
    """

    parent: Obj
    selector: LabelSelector
    pods: Sequence[Obj]
    revisions: Sequence[Obj]
    claims: Sequence[Obj]
    nodes: Mapping[str, Mapping[str, str]]


# -- what is seen ------------------------------------------------------------------------------------------------------


def observe(listers: Listers, key: Key) -> Observed | InvalidWorkload | None:
    """The CloneSet of that key and what belongs to it; None where it is gone."""
    parent = listers[CLONE_SET].get(key)
    if parent is None:
        return None
    selector = selector_or_fault(parent, fault_of)
    if isinstance(selector, InvalidWorkload):
        return selector
    uid = parent["metadata"]["uid"]
    revisions = listers[CONTROLLER_REVISION]
    found = (*revisions.by(OWNER, uid), *revisions.by(ORPHANS, namespace_of(parent)))
    spreads = parent["spec"]["template"]["spec"].get("topologySpreadConstraints")
    return Observed(
        parent,
        selector,
        pods=list(listers[POD].by(OWNER, uid)),
        revisions=[revision for revision in found if selector.matches(labels_of(revision))],
        claims=list(listers[CLAIM].by(OWNER, uid)),
        nodes={name_of(node): labels_of(node) for node in listers[NODE]} if spreads else {},
    )


def pod_changed(listers: Listers, change: Change) -> Iterable[Key]:
    """The sets that a change of a pod concerns: its own and its former one; what nobody owns is not adopted."""
    old, new = change.old, change.new
    if old is not None and new is not None:
        if old is new or not matters(old, new):
            return ()
        if controller_of(old) != controller_of(new):
            return {*_owners(listers, old), *_owners(listers, new)}
    return _owners(listers, change.obj)


def _owners(listers: Listers, pod: Obj) -> Iterable[Key]:
    owner = resolve_controller(listers, CLONE_SET, pod)
    return () if owner is None else (key_of(owner),)


# -- what is done ------------------------------------------------------------------------------------------------------


def plan(seen: Observed | InvalidWorkload, now: float) -> Plan:
    """Let pods go that are not the set's, record what it is now, scale or else update, and tell how far it is.

    (cloneset_controller.go doReconcile) Of what cannot work it is told, and its pods are left alone.

    Raises:
        ApiError: the first that stood in the way; the status was written nevertheless.
    """
    if isinstance(seen, InvalidWorkload):
        yield RecordEvent(seen.parent, "FailedCreate", f"failed to create pod: {seen.why}", WARNING)
        return
    parent, strategy = seen.parent, strategy_of(seen.parent)
    active, inactive = _parted(seen.pods)
    if is_deleting(parent):
        standing = _standing(parent)
        members = members_of(active, standing.update, strategy=strategy, now=now)
        yield from _tell(seen, _status(seen, members, strategy=strategy, standing=standing, now=now))
        return
    claims: Sequence[Obj] = [claim for claim in seen.claims if not is_deleting(claim)]
    if claims and not strategy.reuses_claims:
        claims = yield from clean_up(parent, claims, active=active, inactive=inactive)
    owner = Parent(CLONE_SET, parent, seen.selector)
    mine = yield from claim(owner, POD, active)
    history = yield from record(owner, seen.revisions, data=template_data(parent["spec"]["template"]))
    run = SyncContext(
        parent,
        strategy,
        members=members_of(mine, name_of(history.update), strategy=strategy, now=now),
        claims=claims,
        taken=frozenset(map(id_of, (*seen.pods, *seen.claims))),
        current=_version(parent, history.current),
        update=_version(parent, history.update),
        nodes=seen.nodes,
        now=now,
    )
    yield from _sync(seen, run, history)


def _parted(pods: Iterable[Obj]) -> tuple[list[Obj], list[Obj]]:
    """Pods that are active, and all others."""
    active, inactive = list[Obj](), list[Obj]()
    for pod in pods:
        (active if is_active(pod) else inactive).append(pod)
    return active, inactive


def _version(parent: Obj, revision: Obj) -> Version:
    """What pods of a revision are made of; of one that holds no template, that of the set itself."""
    template = template_of(revision)
    return Version(name_of(revision), parent["spec"]["template"] if template is None else template)


def _sync(seen: Observed, run: SyncContext, history: History) -> Plan:
    standing = RevisionState(name_of(history.current), name_of(history.update), history.collisions)
    status = _status(seen, run.members, strategy=run.strategy, standing=standing, now=run.now)
    scaled, wait, failure = (yield from scale(run)), None, None
    if not scaled.moved:
        try:
            wait = yield from update_pods(run, history)
        except ApiError as error:
            failure = error
    if scaled.refusal:
        status = with_failure(status, FAILED_SCALE, scaled.refusal.message, run.now)
    if failure:
        status = with_failure(status, FAILED_UPDATE, failure.message, run.now)
    parent = yield from _tell(seen, status)
    yield from _forget_names(parent, run)
    yield from _forget_revisions(run, history)
    waits = (wait, soonest(run.members, run.now, minimum=run.strategy.minimum), next_look(parent, status, run.now))
    if (next_run := min((each for each in waits if each is not None), default=None)) is not None:
        yield RequeueAfter(next_run)
    if refusal := scaled.refusal or failure:
        raise refusal


def _forget_names(parent: Obj, run: SyncContext) -> Plan:
    """Take names of pods that are gone out of scaleStrategy.podsToDelete (truncatePodsToDelete)."""
    living = {each.name for each in run.members}
    if run.strategy.named <= living:
        return

    def forgetful(found: Obj) -> Obj:
        scaling = found["spec"].get("scaleStrategy") or {}
        names = [name for name in scaling.get("podsToDelete") or () if name in living]
        return found | {"spec": found["spec"] | {"scaleStrategy": scaling | {"podsToDelete": names}}}

    yield from update(CLONE_SET, parent, change=forgetful)


def _forget_revisions(run: SyncContext, history: History) -> Plan:
    """Delete the oldest revisions beyond the limit that no pod is of (truncateHistory)."""
    limit = run.parent["spec"].get("revisionHistoryLimit")
    names = [name_of(revision) for revision in history.revisions]
    live = {name for name in names if any(is_of(each.pod, name) for each in run.members)}
    yield from truncate(history, live=live, limit=10 if limit is None else limit)


# -- what is told ------------------------------------------------------------------------------------------------------


def _standing(parent: Obj) -> RevisionState:
    """How far the set says that it has come."""
    status = parent.get("status") or {}
    current, latest = status.get("currentRevision") or "", status.get("updateRevision") or ""
    return RevisionState(current, latest, status.get("collisionCount") or 0)


def _status(
    seen: Observed, members: Sequence[Member], *, strategy: Strategy, standing: RevisionState, now: float
) -> Obj:
    status = status_of(seen.parent, counts(members), strategy=strategy, standing=standing, selector=str(seen.selector))
    return with_progress(seen.parent, status, strategy=strategy, now=now)


def _tell(seen: Observed, status: Obj) -> Generator[Action, Any, Obj]:
    """Write the status if it changes; gives the set as it is then (UpdateCloneSetStatus)."""
    if is_same_status(seen.parent.get("status") or {}, status):
        return seen.parent
    change = {"status": status}
    return (yield from update(CLONE_SET, seen.parent, change=lambda found: found | change, subresource="status"))


SPEC = reconciled(
    Spec(
        name="cloneset",
        source="cloneset-controller",
        workers=3,
        flag="cloneset",
        min_interval=PACE,
        queue="cloneset-controller",
        watches=(
            Watch(CLONE_SET, enqueue_self),
            Watch(POD, pod_changed),
            Watch(CLAIM),
            Watch(CONTROLLER_REVISION),
            Watch(NODE),
        ),
        observe=observe,
        reconcile=plan,
        meters=(LEAKS,),
        expectation_timeouts=LEAKS,
    )
)
