"""Binding: assigns a pod to a node, by pods/NAME/binding or by the bindings resource (core/pod/storage)."""

from apiserver.api import errors, field
from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj
from apiserver.registry.context import Registry
from apiserver.registry.options import Target, WriteOptions
from apiserver.registry.rest.update import rewrite
from apiserver.registry.subresources.call import SUCCESS, SubresourceRequest, admit, core_resource

BINDING_RESOURCE = "pods/binding"


async def binding(call: SubresourceRequest) -> Obj:
    """Bind a pod to a node.

    Raises:
        ApiError: 400, 404, 409 (it has a node, or is being deleted), 500 (the binding names no node; as upstream).
    """
    return await _bind(call, call.target.name)


async def bindings(call: SubresourceRequest) -> Obj:
    """Bind the pod that the binding names to a node."""
    return await _bind(call, "")


async def _bind(call: SubresourceRequest, name: str) -> Obj:
    kind = core_resource(call.registry, "bindings")
    binding_obj = call.registry.decoder.decode(kind, call.required_body, validation=call.options.validation).obj
    await admit(call, binding_obj)
    named = binding_obj["metadata"].get("name") or ""
    if name and named != name:
        raise errors.bad_request("name in URL does not match name in Binding object")
    _check(binding_obj.get("target") or {})
    pod = Target(core_resource(call.registry, "pods"), call.target.namespace, named)
    await assign(call.registry, pod, binding_obj, call.options)
    return SUCCESS


def _check(target: Obj) -> None:
    invalid = []
    kind = target.get("kind") or ""
    if kind not in ("", "Node"):
        invalid.append(field.not_supported("target.kind", kind, ("Node", "<empty>")))
    if not target.get("name"):
        invalid.append(field.required("target.name"))
    if invalid:
        messages = [str(error) for error in invalid]
        raise ApiError(500, "", messages[0] if len(messages) == 1 else f"[{', '.join(messages)}]")


async def assign(registry: Registry, pod: Target, binding_obj: Obj, options: WriteOptions) -> None:
    """Set the node of a pod, with the annotations of the binding (setPodHostAndAnnotations).

    Raises:
        ApiError: 404, 409.
    """
    now, node = registry.timestamps.now(), binding_obj["target"]["name"]
    annotations = binding_obj["metadata"].get("annotations") or {}

    def change(old: Obj) -> Obj:
        _check_uid(pod, binding_obj, old)
        why = _refusal(old)
        if why:
            raise errors.conflict("", BINDING_RESOURCE, name=pod.name, why=why)
        meta = dict(old["metadata"])
        if annotations:
            meta["annotations"] = (meta.get("annotations") or {}) | annotations
        scheduled = {"type": "PodScheduled", "status": "True", "lastProbeTime": None, "lastTransitionTime": now}
        spec = old["spec"] | {"nodeName": node}
        return old | {"metadata": meta, "spec": spec, "status": with_condition(old.get("status") or {}, scheduled)}

    await rewrite(registry, pod._replace(subresource="binding"), change, options)


def _check_uid(pod: Target, binding_obj: Obj, old: Obj) -> None:
    uid, version, meta = (
        binding_obj["metadata"].get("uid"),
        binding_obj["metadata"].get("resourceVersion"),
        old["metadata"],
    )
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


def _refusal(pod: Obj) -> str:
    """Return why a pod cannot be bound to a node, "" if it can."""
    name, spec = pod["metadata"]["name"], pod["spec"]
    if pod["metadata"].get("deletionTimestamp"):
        return f"pod {name} is being deleted, cannot be assigned to a host"
    if spec.get("nodeName"):
        return f'pod {name} is already assigned to node "{spec["nodeName"]}"'
    if spec.get("schedulingGates"):
        return f"pod {name} has non-empty .spec.schedulingGates"
    return ""


def with_condition(status: Obj, condition: Obj) -> Obj:
    """Return a pod's status with a condition that replaces any of the same type (podutil.UpdatePodCondition)."""
    conditions = [c for c in status.get("conditions") or () if c.get("type") != condition["type"]]
    return status | {"conditions": [*conditions, condition]}
