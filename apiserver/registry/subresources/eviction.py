"""Eviction: deletes a pod if its PodDisruptionBudget allows a disruption (core/pod/storage/eviction.go)."""

from dataclasses import replace

from apiserver.api import errors
from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj
from apiserver.api.resources import Resource
from apiserver.api.selectors import SelectorError, label_selector_of
from apiserver.registry.context import Registry
from apiserver.registry.decoding import Body
from apiserver.registry.options import DeleteOptions, ListOptions, Target
from apiserver.registry.rest import delete
from apiserver.registry.rest.update import rewrite
from apiserver.registry.subresources.binding import with_condition
from apiserver.registry.subresources.call import SUCCESS, SubresourceRequest, admit, read_parent

EVICTION = Resource(
    group="policy",
    version="v1",
    kind="Eviction",
    plural="evictions",
    singular="eviction",
    namespaced=True,
    definition="io.k8s.api.policy.v1.Eviction",
    storage_group="policy",
    storage_version="v1",
    storage_prefix="",
)
MAX_DISRUPTED = 2000
"""The number of evictions that may wait for the disruption controller to observe them."""
ATTEMPTS = 20
"""The number of attempts for a pod that changes meanwhile (EvictionsRetry)."""
REFUSED = "Cannot evict pod as it would violate the pod's disruption budget."
ENDED = frozenset(("Succeeded", "Failed"))


async def eviction(call: SubresourceRequest) -> Obj:
    """Evict a pod.

    Raises:
        ApiError: 400, 404, 409, 429 (the budget is used up), 500 (several budgets).
    """
    options = await _options(call)
    pod = await _unless_deleted(call, options)
    if pod is None:
        return SUCCESS
    budget = await _budget(call, pod)
    guarded = budget is not None and not await _reserve_disruption(call, pod, budget, dry_run=options.dry_run)
    try:
        await _delete(call, _pinned(options, pod) if guarded else options)
    except ApiError as error:
        if error.code == 409 and guarded and budget and not options.resource_version:
            raise _too_many_evictions(budget) from error
        raise
    return SUCCESS


async def _unless_deleted(call: SubresourceRequest, options: DeleteOptions) -> Obj | None:
    """Delete the pod if no budget protects it; return it if one may.

    A Pending pod that changes meanwhile may be ready now, so it is read again.
    """
    for attempt in range(ATTEMPTS):
        pod = await read_parent(call)
        phase, gone = (pod.get("status") or {}).get("phase"), pod["metadata"].get("deletionTimestamp")
        if not gone and phase not in ENDED and phase != "Pending":
            return pod
        try:
            await _delete(call, _pinned(options, pod) if phase == "Pending" and not gone else options)
        except ApiError as error:
            if error.code != 409 or options.resource_version or attempt == ATTEMPTS - 1:
                raise
        else:
            return None
    raise AssertionError("the last look returns or raises")


async def _options(call: SubresourceRequest) -> DeleteOptions:
    """Admit the eviction, and return its delete options."""
    body = call.required_body.obj
    if body.get("apiVersion") == "policy/v1beta1":  # the one other version is the same
        body = body | {"apiVersion": EVICTION.api_version}
    eviction_obj = call.registry.decoder.decode(EVICTION, Body(body), validation=call.options.validation).obj
    await admit(call, eviction_obj)
    if eviction_obj["metadata"].get("name") != call.target.name:
        raise errors.bad_request("name in URL does not match name in Eviction object")
    delete_options = eviction_obj.get("deleteOptions") or {}
    preconditions = delete_options.get("preconditions") or {}
    return DeleteOptions(
        call.options.user,
        dry_run=call.options.dry_run or bool(delete_options.get("dryRun")),
        grace_period=delete_options.get("gracePeriodSeconds"),
        propagation=delete_options.get("propagationPolicy") or "",
        uid=preconditions.get("uid") or "",
        resource_version=preconditions.get("resourceVersion") or "",
    )


def _pinned(options: DeleteOptions, pod: Obj) -> DeleteOptions:
    """Return the options with the pod's resourceVersion as precondition, unless they have one."""
    return replace(options, resource_version=options.resource_version or pod["metadata"]["resourceVersion"])


async def _delete(call: SubresourceRequest, options: DeleteOptions) -> None:
    """Set the DisruptionTarget condition of the pod, then delete it."""
    pod, now = call.target._replace(subresource=""), call.registry.timestamps.now()
    condition = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "EvictionByEvictionAPI",
        "message": "Eviction API: evicting",
        "lastProbeTime": None,
        "lastTransitionTime": now,
    }

    def change(old: Obj) -> Obj:
        version = old["metadata"]["resourceVersion"]
        if options.resource_version not in ("", version):
            raise errors.conflict("", "pods", name=pod.name, why=errors.STALE)
        return old | {"status": with_condition(old.get("status") or {}, condition)}

    if not options.dry_run:
        written = await rewrite(call.registry, pod, change, call.options)
        if options.resource_version:
            options = replace(options, resource_version=str(written.kv.mod_revision))
    await delete.delete(call.registry, pod, options, is_admitted=True)


async def _budget(call: SubresourceRequest, pod: Obj) -> Obj | None:
    """Return the PodDisruptionBudget that selects the pod, None if there is none."""
    labels, matching = pod["metadata"].get("labels") or {}, []
    for budget in await _budgets(call.registry, call.target.namespace):
        try:
            selector = label_selector_of((budget.get("spec") or {}).get("selector"))
        except SelectorError:
            continue
        if selector.matches(labels):  # an empty selector selects every pod (policy/v1)
            matching.append(budget)
    if len(matching) > 1:
        why = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
        raise ApiError(500, "", why)
    return matching[0] if matching else None


async def _budgets(registry: Registry, namespace: str) -> list[Obj]:
    resource = _resource(registry)
    selected = await registry.storage.list(resource, namespace, ListOptions())
    return [registry.codecs.codec_of(resource).decode(kv) for kv in selected.items]


def _resource(registry: Registry) -> Resource:
    resource = registry.table.find("policy", "v1", "poddisruptionbudgets")
    assert resource is not None
    return resource


async def _reserve_disruption(call: SubresourceRequest, pod: Obj, budget: Obj, *, dry_run: bool) -> bool:
    """Use one disruption of the budget; return False if the pod is not ready and costs none."""
    if not _is_ready(pod):
        status = budget.get("status") or {}
        desired = status.get("desiredHealthy") or 0
        is_healthy = 0 < desired <= (status.get("currentHealthy") or 0)
        if is_healthy or budget["spec"].get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
            return False
    name, now = budget["metadata"]["name"], call.registry.timestamps.now()
    target = Target(_resource(call.registry), call.target.namespace, name)
    options = call.options._replace(dry_run=dry_run)
    await rewrite(call.registry, target, lambda old: _check_and_decrement(old, pod["metadata"]["name"], now), options)
    return True


def _is_ready(pod: Obj) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return any(c.get("type") == "Ready" and c.get("status") == "True" for c in conditions)


def _check_and_decrement(budget: Obj, pod: str, now: str) -> Obj:
    """Return the budget with one allowed disruption fewer.

    Raises:
        ApiError: 403, 429.
    """
    meta, status = budget["metadata"], budget.get("status") or {}
    allowed, disrupted = status.get("disruptionsAllowed") or 0, status.get("disruptedPods") or {}
    if (status.get("observedGeneration") or 0) < (meta.get("generation") or 0):
        raise _too_many_evictions(budget)
    if allowed < 0:
        raise _forbidden(budget, "pdb disruptions allowed is negative")
    if len(disrupted) > MAX_DISRUPTED:
        why = "DisruptedPods map too big - too many evictions not confirmed by PDB controller"
        raise _forbidden(budget, why)
    if not allowed:
        raise _disruption_not_allowed(budget, status)
    status = status | {"disruptionsAllowed": allowed - 1, "disruptedPods": disrupted | {pod: now}}
    return budget | {"status": status if allowed > 1 else _disruptions_exhausted(meta, status, now)}


def _disruptions_exhausted(meta: Obj, status: Obj, now: str) -> Obj:
    """Return the status with the condition that no more disruptions are allowed."""
    condition = {"type": "DisruptionAllowed", "status": "False", "reason": "InsufficientPods", "message": ""}
    before: Obj = next((c for c in status.get("conditions") or () if c.get("type") == condition["type"]), {})
    since = before.get("lastTransitionTime") if before.get("status") == "False" else None
    seen = {"observedGeneration": meta.get("generation") or 0, "lastTransitionTime": since or now}
    return with_condition(status, condition | seen)


def _forbidden(budget: Obj, why: str) -> ApiError:
    return errors.forbidden("policy", "poddisruptionbudget", name=budget["metadata"]["name"], why=why)


def _too_many_evictions(budget: Obj) -> ApiError:
    name = budget["metadata"]["name"]
    error = errors.too_many_requests(REFUSED, 10)
    return _caused(error, f"The disruption budget {name} is still being processed by the server.")


def _disruption_not_allowed(budget: Obj, status: Obj) -> ApiError:
    name, desired, current = budget["metadata"]["name"], status.get("desiredHealthy"), status.get("currentHealthy")
    failed = next((c for c in status.get("conditions") or () if c.get("reason") == "SyncFailed"), None)
    if failed:
        why = f"does not allow evicting pods currently because it failed sync: {failed.get('message', '')}"
    else:
        why = f"needs {desired or 0} healthy pods and has {current or 0} currently"
    return _caused(ApiError(429, "TooManyRequests", REFUSED, details={}), f"The disruption budget {name} {why}")


def _caused(error: ApiError, message: str) -> ApiError:
    cause = {"reason": "DisruptionBudget", "message": message}
    error.details = {"causes": [cause]} | (error.details or {})
    return error
