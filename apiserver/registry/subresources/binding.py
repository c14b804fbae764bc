"""Binding: a pod gets its node, by pods/NAME/binding or by the collection of bindings (core/pod/storage)."""

from apiserver.api import errors, field
from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj
from apiserver.registry.context import Registry
from apiserver.registry.decoding import decode
from apiserver.registry.options import Target, WriteOptions
from apiserver.registry.rest.update import rewrite
from apiserver.registry.subresources.call import SUCCESS, Call, core

PLACE = "pods/binding"


async def binding(call: Call) -> Obj:
    """Give a pod its node.

    Raises:
        ApiError: 400, 404, 409 (it has one, or goes away), 500 (the binding names no node: upstream has no reason).
    """
    return await _bind(call, call.target.name)


async def bindings(call: Call) -> Obj:
    """Return the same, where the pod is named by the binding alone."""
    return await _bind(call, "")


async def _bind(call: Call, name: str) -> Obj:
    kind = core(call.registry, "bindings")
    wanted = decode(call.registry, kind, call.sent, validation=call.options.validation).obj
    named = wanted["metadata"].get("name") or ""
    if name and named != name:
        raise errors.bad_request("name in URL does not match name in Binding object")
    _check(wanted.get("target") or {})
    pod = Target(core(call.registry, "pods"), call.target.namespace, named)
    await assign(call.registry, pod, wanted, call.options)
    return SUCCESS


def _check(target: Obj) -> None:
    found = []
    kind = target.get("kind") or ""
    if kind not in ("", "Node"):
        found.append(field.not_supported("target.kind", kind, ("Node", "<empty>")))
    if not target.get("name"):
        found.append(field.required("target.name"))
    if found:
        told = [str(error) for error in found]
        raise ApiError(500, "", told[0] if len(told) == 1 else f"[{', '.join(told)}]")


async def assign(registry: Registry, pod: Target, wanted: Obj, options: WriteOptions) -> None:
    """Write the node into the pod, with the annotations of the binding (setPodHostAndAnnotations).

    Raises:
        ApiError: 404, 409.
    """
    now, node = registry.timestamps.now(), wanted["target"]["name"]
    annotations = wanted["metadata"].get("annotations") or {}

    def change(old: Obj) -> Obj:
        _check_uid(pod, wanted, old)
        why = _why_not(old)
        if why:
            raise errors.conflict("", PLACE, name=pod.name, why=why)
        meta = dict(old["metadata"])
        if annotations:
            meta["annotations"] = (meta.get("annotations") or {}) | annotations
        scheduled = {"type": "PodScheduled", "status": "True", "lastProbeTime": None, "lastTransitionTime": now}
        spec = old["spec"] | {"nodeName": node}
        return old | {"metadata": meta, "spec": spec, "status": with_condition(old.get("status") or {}, scheduled)}

    await rewrite(registry, pod._replace(subresource="binding"), change, options)


def _check_uid(pod: Target, wanted: Obj, old: Obj) -> None:
    uid, version, meta = wanted["metadata"].get("uid"), wanted["metadata"].get("resourceVersion"), old["metadata"]
    if uid and uid != meta["uid"]:
        why = f"Precondition failed: UID in precondition: {uid}, UID in object meta: {meta['uid']}"
    elif version and version != meta["resourceVersion"]:
        why = (
            f"Precondition failed: ResourceVersion in precondition: {version}, "
            f"ResourceVersion in object meta: {meta['resourceVersion']}"
        )
    else:
        return
    raise errors.conflict("", "pods", name=pod.name, why=why)


def _why_not(pod: Obj) -> str:
    """Why a pod cannot get a node, "" if it can."""
    name, spec = pod["metadata"]["name"], pod["spec"]
    if pod["metadata"].get("deletionTimestamp"):
        return f"pod {name} is being deleted, cannot be assigned to a host"
    if spec.get("nodeName"):
        return f'pod {name} is already assigned to node "{spec["nodeName"]}"'
    if spec.get("schedulingGates"):
        return f"pod {name} has non-empty .spec.schedulingGates"
    return ""


def with_condition(status: Obj, condition: Obj) -> Obj:
    """Return the status of a pod with a condition in place of one of its type (podutil.UpdatePodCondition)."""
    conditions = [c for c in status.get("conditions") or () if c.get("type") != condition["type"]]
    return status | {"conditions": [*conditions, condition]}
