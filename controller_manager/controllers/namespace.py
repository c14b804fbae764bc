"""Deletes the content of namespaces that are being deleted, then finalizes them (pkg/controller/namespace/deletion).

Pods go first, and nothing else is deleted while one remains (KEP-5080), so that what protects or counts pods outlives
them. Upstream begins five seconds after the deletion, in case another API server still allows creation; here the
content is listed again before a namespace is finalized, without a delay. If something remains the namespace is synced
again after upstream's estimate, and as soon as the last object of a kind has gone.
"""

from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj, namespace_of
from apiserver.api.namespace_conditions import RemainingContent, update_conditions
from controller_manager.reconcile.contract import (
    NAMESPACE_INDEX,
    Action,
    Batch,
    Change,
    ControllerSpec,
    Delete,
    DeleteAll,
    Key,
    ListAll,
    Listers,
    Plan,
    Requeue,
    RequeueAfter,
    Update,
    Watch,
)
from controller_manager.reconcile.controller_ref import is_deleting
from controller_manager.reconcile.deletion import unless_gone
from controller_manager.reconcile.kinds import EVERYTHING, NAMESPACE, POD, Kind
from controller_manager.reconcile.pods import is_terminal
from controller_manager.reconcile.retry_on_conflict import retry_on_conflict, update
from controller_manager.reconcile.times import format_time, parse_time

FINALIZER = "kubernetes"
"""The finalizer in a namespace's spec that stands for its content (v1.FinalizerKubernetes)."""
FINALIZER_ESTIMATE_SECONDS = 15
"""Seconds that finalizers are assumed to take (finalizerEstimateSeconds)."""
MAX_WAIT = 60.0
"""Seconds after which a namespace that could not be emptied is retried at the latest (nsControllerRateLimiter)."""


@dataclass(frozen=True, slots=True)
class ContentKind:
    """A kind whose objects a namespace may contain.

    Attributes:
        lists: True if they can be listed.
        clears: True if they can be deleted as a collection.
    """

    kind: Kind
    lists: bool
    clears: bool


@dataclass(frozen=True, slots=True)
class Observed:
    """A namespace that is being deleted, with the kinds of its content.

    Attributes:
        pods: the kind Pod, or None if the server does not serve it.
        others: all other kinds, in the order of discovery.
        grace: the longest terminationGracePeriodSeconds of its running pods.
        undiscovered: "group/version" → why its resources are not known.
    """

    namespace: Obj
    pods: ContentKind | None
    others: tuple[ContentKind, ...]
    grace: int
    undiscovered: dict[str, str]


# -- observe -----------------------------------------------------------------------------------------------------------


def _namespace_changed(_: Listers, change: Change) -> Iterable[Key]:
    """Yield a namespace whose deletion begins."""
    new = change.new
    if (
        new is not None
        and is_deleting(new)
        and (change.old is None or change.old is new or not is_deleting(change.old))
    ):
        yield new["metadata"]["name"]


def _content_changed(listers: Listers, change: Change) -> Iterable[Key]:
    """Return a namespace being deleted that has just lost its last object of a kind."""
    if change.new is not None or change.old is None:
        return ()
    namespace = namespace_of(change.old)
    namespace_object = listers[NAMESPACE].get(namespace) if namespace else None
    if namespace_object is None or not is_deleting(namespace_object):
        return ()
    kind = listers.served.find_kind(change.old["apiVersion"], change.old["kind"])
    cache = listers.find(str(kind)) if kind is not None else None
    return () if cache is not None and cache.by_index(NAMESPACE_INDEX, namespace) else (namespace,)


def observe(listers: Listers, key: Key) -> Observed | None:
    """Return the content to delete, or None if there is nothing to do."""
    namespace = listers[NAMESPACE].get(key)
    if namespace is None or not is_deleting(namespace) or FINALIZER not in _finalizers(namespace):
        return None
    content = {kind: _content(listers, kind) for kind in listers.served.supporting("delete") if kind.namespaced}
    pods = content.pop(POD, None)
    grace = max((_grace(pod) for pod in listers[POD].by_index(NAMESPACE_INDEX, key)), default=0)
    return Observed(namespace, pods, tuple(content.values()), grace, dict(listers.served.failures))


def _content(listers: Listers, kind: Kind) -> ContentKind:
    verbs = listers.served.verbs[kind]
    return ContentKind(kind, lists="list" in verbs, clears="deletecollection" in verbs)


def _finalizers(namespace: Obj) -> list[str]:
    return (namespace.get("spec") or {}).get("finalizers") or []


def _grace(pod: Obj) -> int:
    if is_terminal(pod):
        return 0
    return (pod.get("spec") or {}).get("terminationGracePeriodSeconds") or 0


# -- reconcile ---------------------------------------------------------------------------------------------------------


def reconcile(observed: Observed, now: float) -> Plan:
    """Delete the content, report what remains, and finalize the namespace when nothing does (Delete)."""
    if not observed.others:
        yield RequeueAfter(1.0)  # discovery is not complete yet
        return
    remaining, meta = RemainingContent(undiscovered=observed.undiscovered), observed.namespace["metadata"]
    estimate = 0
    if observed.pods is not None:
        grace = observed.grace if now - parse_time(meta["deletionTimestamp"]) < observed.grace else 0
        estimate = yield from _delete_content([observed.pods], meta["name"], remaining, grace=grace)
    if not remaining.kinds and not remaining.failures:
        estimate = yield from _delete_content(observed.others, meta["name"], remaining, grace=0)
    namespace = yield from _write_conditions(observed.namespace, remaining, now)
    if namespace is None:
        return
    if remaining.failures or remaining.undiscovered:
        yield Requeue()
        yield RequeueAfter(MAX_WAIT)
    elif remaining.kinds:
        yield RequeueAfter(estimate // 2 + 1)
    else:
        yield from _finalize(namespace)


def _delete_content(
    contents: Sequence[ContentKind], name: str, remaining: RemainingContent, *, grace: int
) -> Generator[Action, Any, int]:
    """Delete a namespace's objects of some kinds, note what remains, and return the seconds it may still take.

    Args:
        contents: the kinds.
        name: the namespace's name.
        remaining: collects what remains.
        grace: the seconds granted to objects.
    """
    listed = yield from _list_content([content for content in contents if content.lists], name, remaining)
    non_empty = [content for content in contents if listed.get(content.kind) or not content.lists]
    deleted = []
    for content in non_empty:
        refused = yield from _delete_collection(content, name, listed.get(content.kind) or ())
        if refused is None:
            deleted.append(content)
        else:
            remaining.failures.append(refused.message)
    left = yield from _list_content([content for content in deleted if content.lists], name, remaining)
    estimate = 0
    for kind, items in left.items():
        if items:
            estimate = max(estimate, _record_remaining(kind, items, name, remaining, grace))
    return estimate


def _list_content(
    contents: Sequence[ContentKind], name: str, remaining: RemainingContent
) -> Generator[Action, Any, dict[Kind, Sequence[Obj]]]:
    """List objects of some kinds; a kind that turns out not to support it has none."""
    if not contents:
        return {}
    answers = yield Batch([ListAll(content.kind, name) for content in contents])
    listed: dict[Kind, Sequence[Obj]] = {}
    for content, answer in zip(contents, answers, strict=True):
        if not isinstance(answer, ApiError):
            listed[content.kind] = answer
        elif not _is_unsupported(answer):
            remaining.failures.append(answer.message)
    return listed


def _delete_collection(
    content: ContentKind, name: str, items: Iterable[Obj]
) -> Generator[Action, Any, ApiError | None]:
    """Delete all objects of a kind, in the background so that none is orphaned; return the first refusal, if any."""
    requests: list[DeleteAll | Delete] = [DeleteAll(content.kind, name, propagation="Background")]
    if not content.clears:
        keys = [f"{name}/{item['metadata']['name']}" for item in items]
        requests = [Delete(content.kind, key, propagation="Background") for key in keys]
    answers = yield Batch(requests)
    refusals = (answer for answer in answers if isinstance(answer, ApiError) and not _is_unsupported(answer))
    return next(refusals, None)


def _record_remaining(kind: Kind, items: Sequence[Obj], name: str, remaining: RemainingContent, grace: int) -> int:
    """Note what remains of a kind; return the seconds it may take, 0 if no finalizer explains why it remains."""
    remaining.kinds[f"{kind.plural}.{kind.group}"] = len(items)
    finalizers = [finalizer for item in items for finalizer in item["metadata"].get("finalizers") or ()]
    remaining.finalizers.update(finalizers)
    if grace:
        return grace
    if not finalizers:
        resource = f"{kind.group}/{kind.version}, Resource={kind.plural}"
        remaining.failures.append(f"unexpected items still remain in namespace: {name} for gvr: {resource}")
    return FINALIZER_ESTIMATE_SECONDS if finalizers else 0


def _is_unsupported(error: ApiError) -> bool:
    """Return whether an object is gone, or a collection lacks a verb although discovery lists it."""
    return error.code in (404, 405)


def _write_conditions(namespace: Obj, remaining: RemainingContent, now: float) -> Generator[Action, Any, Obj | None]:
    """Write the conditions if they changed; return the namespace as stored, or None if it is gone."""
    before = (namespace.get("status") or {}).get("conditions") or []
    conditions = update_conditions(before, remaining, format_time(now))
    if conditions == before:
        return namespace

    def change(current: Obj) -> Obj:
        return current | {"status": (current.get("status") or {}) | {"conditions": conditions}}

    try:
        return (yield from update(NAMESPACE, namespace, change=change, subresource="status"))
    except ApiError as error:
        if error.code == 404:
            return None
        raise


def _finalize(namespace: Obj) -> Plan:
    """Remove the namespace's finalizer; a namespace that is gone counts as success.

    Raises:
        ApiError: it was refused, or every attempt met a conflict.
    """

    def write(current: Obj) -> Update:
        kept = [finalizer for finalizer in _finalizers(current) if finalizer != FINALIZER]
        return Update(NAMESPACE, current | {"spec": current["spec"] | {"finalizers": kept}}, "finalize")

    yield from unless_gone(retry_on_conflict(NAMESPACE, namespace, write=write))


SPEC = ControllerSpec(
    name="namespace",
    account="namespace-controller",
    watches=(Watch(NAMESPACE, _namespace_changed), Watch(POD), Watch(EVERYTHING, _content_changed)),
    observe=observe,
    reconcile=reconcile,
    source="namespace-controller",
    workers=10,
    flag="namespace",
)
