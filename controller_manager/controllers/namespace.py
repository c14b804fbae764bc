"""Empties namespaces that are being deleted, and lets them go (pkg/controller/namespace/deletion).

Pods go first, and nothing else goes while one remains (KEP-5080): who protects or counts them outlives them. Upstream
begins five seconds after the deletion, lest another API server still lets something be made; here what is left is
listed anew before a namespace is let go, and it goes at once. Where something remains it is looked at again after
upstream's estimate, and as soon as the last object of a kind has gone.
"""

from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj, namespace_of
from apiserver.api.namespace_conditions import Remaining, updated
from controller_manager.reconcile.contract import (
    NAMESPACE_INDEX,
    Action,
    Batch,
    Change,
    Delete,
    DeleteAll,
    Key,
    ListAll,
    Listers,
    Patch,
    Plan,
    Requeue,
    RequeueAfter,
    Spec,
    Update,
    Watch,
)
from controller_manager.reconcile.controller_ref import is_deleting
from controller_manager.reconcile.deletion import Item, insist
from controller_manager.reconcile.kinds import EVERYTHING, NAMESPACE, POD, Kind
from controller_manager.reconcile.pods import is_terminal
from controller_manager.reconcile.times import seconds, stamp

FINALIZER = "kubernetes"
"""Of a namespace's spec: it stands for the content (v1.FinalizerKubernetes)."""
FINALIZERS_TAKE = 15
"""Seconds that finalizers are thought to take (finalizerEstimateSeconds)."""
LONGEST_WAIT = 60.0
"""Seconds after which a namespace that could not be emptied is tried again at the latest (nsControllerRateLimiter)."""


@dataclass(frozen=True, slots=True)
class Content:
    """A kind of which a namespace may have objects.

    Attributes:
        lists: whether they can be listed.
        clears: whether they can be deleted all at once.
    """

    kind: Kind
    lists: bool
    clears: bool


@dataclass(frozen=True, slots=True)
class Observed:
    """A namespace that is being deleted, and waits for its content to go.

    Attributes:
        pods: how pods are deleted, None where the server has none.
        others: all other kinds, in the order of discovery.
        grace: the longest time that a pod may take to stop.
        undiscovered: "group/version" → why it is not known what it has.
    """

    namespace: Obj
    pods: Content | None
    others: tuple[Content, ...]
    grace: int
    undiscovered: dict[str, str]


# -- observing ---------------------------------------------------------------------------------------------------------


def _begins(_: Listers, change: Change) -> Iterable[Key]:
    """A namespace whose deletion begins."""
    new = change.new
    if (
        new is not None
        and is_deleting(new)
        and (change.old is None or change.old is new or not is_deleting(change.old))
    ):
        yield new["metadata"]["name"]


def _is_emptied(listers: Listers, change: Change) -> Iterable[Key]:
    """A namespace that is being deleted and has just lost the last object of a kind."""
    if change.new is not None or change.old is None:
        return ()
    namespace = namespace_of(change.old)
    found = listers[NAMESPACE].get(namespace) if namespace else None
    if found is None or not is_deleting(found):
        return ()
    kind = listers.served.named(change.old["apiVersion"], change.old["kind"])
    cache = listers.find(str(kind)) if kind is not None else None
    return () if cache is not None and cache.by(NAMESPACE_INDEX, namespace) else (namespace,)


def observe(listers: Listers, key: Key) -> Observed | None:
    """What is to be deleted, None where nothing is."""
    namespace = listers[NAMESPACE].get(key)
    if namespace is None or not is_deleting(namespace) or FINALIZER not in _finalizers(namespace):
        return None
    content = {kind: _content(listers, kind) for kind in listers.served.able_to("delete") if kind.namespaced}
    pods = content.pop(POD, None)
    grace = max((_grace(pod) for pod in listers[POD].by(NAMESPACE_INDEX, key)), default=0)
    return Observed(namespace, pods, tuple(content.values()), grace, dict(listers.served.failures))


def _content(listers: Listers, kind: Kind) -> Content:
    verbs = listers.served.verbs[kind]
    return Content(kind, lists="list" in verbs, clears="deletecollection" in verbs)


def _finalizers(namespace: Obj) -> list[str]:
    return (namespace.get("spec") or {}).get("finalizers") or []


def _grace(pod: Obj) -> int:
    if is_terminal(pod):
        return 0
    return (pod.get("spec") or {}).get("terminationGracePeriodSeconds") or 0


# -- planning ----------------------------------------------------------------------------------------------------------


def plan(seen: Observed, now: float) -> Plan:
    """Delete what is there; tell what remains; let the namespace go when nothing does (Delete)."""
    if not seen.others:
        yield RequeueAfter(1.0)  # the server has not told yet what it serves
        return
    remaining, meta = Remaining(undiscovered=seen.undiscovered), seen.namespace["metadata"]
    estimate = 0
    if seen.pods is not None:
        grace = seen.grace if now - seconds(meta["deletionTimestamp"]) < seen.grace else 0
        estimate = yield from _empty([seen.pods], meta["name"], remaining, grace=grace)
    if not remaining.kinds and not remaining.failures:
        estimate = yield from _empty(seen.others, meta["name"], remaining, grace=0)
    namespace = yield from _tell(seen.namespace, remaining, now)
    if namespace is None:
        return
    if remaining.failures or remaining.undiscovered:
        yield Requeue()
        yield RequeueAfter(LONGEST_WAIT)
    elif remaining.kinds:
        yield RequeueAfter(estimate // 2 + 1)
    else:
        yield from _finalize(namespace)


def _empty(contents: Sequence[Content], name: str, remaining: Remaining, *, grace: int) -> Generator[Action, Any, int]:
    """Delete what a namespace has of some kinds, note what remains, and give the seconds that it may still take.

    Args:
        contents: the kinds.
        name: of the namespace.
        remaining: where it is noted.
        grace: the seconds that objects are granted.
    """
    found = yield from _list([content for content in contents if content.lists], name, remaining)
    filled = [content for content in contents if found.get(content.kind) or not content.lists]
    deleted = []
    for content in filled:
        refused = yield from _delete(content, name, found.get(content.kind) or ())
        if refused is None:
            deleted.append(content)
        else:
            remaining.failures.append(refused.message)
    left = yield from _list([content for content in deleted if content.lists], name, remaining)
    estimate = 0
    for kind, items in left.items():
        if items:
            estimate = max(estimate, _note(kind, items, name, remaining, grace))
    return estimate


def _list(
    contents: Sequence[Content], name: str, remaining: Remaining
) -> Generator[Action, Any, dict[Kind, Sequence[Obj]]]:
    """What there is of some kinds; a kind that cannot be listed after all has nothing."""
    if not contents:
        return {}
    answers = yield Batch([ListAll(content.kind, name) for content in contents])
    found: dict[Kind, Sequence[Obj]] = {}
    for content, answer in zip(contents, answers, strict=True):
        if not isinstance(answer, ApiError):
            found[content.kind] = answer
        elif not _is_unsupported(answer):
            remaining.failures.append(answer.message)
    return found


def _delete(content: Content, name: str, items: Iterable[Obj]) -> Generator[Action, Any, ApiError | None]:
    """Delete all objects of a kind, in the background as none may be orphaned; gives the refusal, if there is one."""
    requests: list[DeleteAll | Delete] = [DeleteAll(content.kind, name, propagation="Background")]
    if not content.clears:
        keys = [f"{name}/{item['metadata']['name']}" for item in items]
        requests = [Delete(content.kind, key, propagation="Background") for key in keys]
    answers = yield Batch(requests)
    refusals = (answer for answer in answers if isinstance(answer, ApiError) and not _is_unsupported(answer))
    return next(refusals, None)


def _note(kind: Kind, items: Sequence[Obj], name: str, remaining: Remaining, grace: int) -> int:
    """Note what remains of a kind; gives the seconds that it may take, 0 where there is no reason why it remains."""
    remaining.kinds[f"{kind.plural}.{kind.group}"] = len(items)
    waited_for = [finalizer for item in items for finalizer in item["metadata"].get("finalizers") or ()]
    remaining.finalizers.update(waited_for)
    if grace:
        return grace
    if not waited_for:
        resource = f"{kind.group}/{kind.version}, Resource={kind.plural}"
        remaining.failures.append(f"unexpected items still remain in namespace: {name} for gvr: {resource}")
    return FINALIZERS_TAKE if waited_for else 0


def _is_unsupported(error: ApiError) -> bool:
    """Whether an object is gone, or a collection has no such verb although discovery says so."""
    return error.code in (404, 405)


def _tell(namespace: Obj, remaining: Remaining, now: float) -> Generator[Action, Any, Obj | None]:
    """Write the conditions, if they changed; gives the namespace as it is then, None where it is gone."""
    meta, status = namespace["metadata"], namespace.get("status") or {}
    before = status.get("conditions") or []
    conditions = updated(before, remaining, stamp(now))
    if conditions == before:
        return namespace
    body = {"metadata": {"uid": meta["uid"]}, "status": {"conditions": conditions}}
    try:
        answer: Obj = yield Patch(NAMESPACE, meta["name"], body, "status")
    except ApiError as error:
        if error.code == 404:
            return None
        raise
    return answer


def _finalize(namespace: Obj) -> Plan:
    """Let the namespace go; that it is gone is well.

    Raises:
        ApiError: it was refused, or others were faster every time.
    """

    def request(found: Obj) -> Update:
        kept = [finalizer for finalizer in _finalizers(found) if finalizer != FINALIZER]
        return Update(NAMESPACE, found | {"spec": found["spec"] | {"finalizers": kept}}, "finalize")

    yield from insist(Item(NAMESPACE, namespace), request)


SPEC = Spec(
    name="namespace",
    watches=(Watch(NAMESPACE, _begins), Watch(POD), Watch(EVERYTHING, _is_emptied)),
    observe=observe,
    reconcile=plan,
    source="namespace-controller",
    workers=10,
    flag="namespace",
)
