"""The scale subresource: how many replicas are wanted and had, in the same words for every kind."""

from apiserver.api import errors, field
from apiserver.api.meta import Obj
from apiserver.api.resources import Resource
from apiserver.api.selectors import label_selector_of
from apiserver.registry.context import Written
from apiserver.registry.decoding import Body, decode
from apiserver.registry.operations import modify
from apiserver.registry.options import Target
from apiserver.registry.subresources.call import Call, read

SCALE = Resource(
    group="autoscaling",
    version="v1",
    kind="Scale",
    plural="scales",
    singular="scale",
    namespaced=True,
    definition="io.k8s.api.autoscaling.v1.Scale",
    storage_group="autoscaling",
    storage_version="v1",
    storage_prefix="",
)


async def scale(call: Call) -> Obj:
    """Read or write the replicas of an object.

    Raises:
        ApiError: 400, 404, 409, 422.
    """
    target = call.target
    codec = call.registry.codecs.of(target.resource)
    if call.verb == "get":
        return await _read(call)
    if call.verb == "update":
        wanted = _checked(call, call.sent)
        written = await modify(call.registry, target, lambda old: _scaled(old, wanted), call.options)
    else:
        written = await _patched(call)
    return scale_of(codec.decode(written.kv))


async def _patched(call: Call) -> Written:
    assert call.patch is not None
    patch = call.patch
    return await modify(
        call.registry,
        call.target,
        lambda old: _scaled(old, _checked(call, Body(patch.apply(scale_of(old))))),
        call.options,
    )


async def _read(call: Call) -> Obj:
    try:
        return scale_of(await read(call))
    except errors.ApiError as error:
        if error.code != 404:
            raise
        resource = call.target.resource  # upstream names the subresource here, and on writes the resource
        raise errors.not_found(resource.group, f"{resource.plural}/scale", call.target.name) from error


def scale_of(obj: Obj) -> Obj:
    """The Scale that tells of an object."""
    meta, spec, status = obj["metadata"], obj.get("spec") or {}, obj.get("status") or {}
    kept = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    wanted = spec.get("replicas")
    found: Obj = {"replicas": status.get("replicas") or 0}
    selector = _selector(spec.get("selector"))
    if selector:
        found["selector"] = selector
    return {
        "kind": SCALE.kind,
        "apiVersion": SCALE.api_version,
        "metadata": {name: meta[name] for name in kept if name in meta},
        "spec": {"replicas": wanted} if wanted else {},
        "status": found,
    }


def _selector(selector: Obj | None) -> str:
    if not selector:
        return ""
    if "matchLabels" in selector or "matchExpressions" in selector:
        return str(label_selector_of(selector))
    return ",".join(f"{key}={value}" for key, value in sorted(selector.items()))


def _checked(call: Call, body: Body) -> Obj:
    """The Scale of a body.

    Raises:
        ApiError: 400, it is none or of another object; 422, it asks for less than nothing.
    """
    obj = decode(call.registry, SCALE, body, validation=call.options.validation).obj
    name = obj["metadata"].get("name")
    if name != call.target.name:
        raise _wrong_name(call.target, name)
    replicas = (obj.get("spec") or {}).get("replicas") or 0
    if replicas < 0:
        wrong = [field.invalid("spec.replicas", replicas, "must be greater than or equal to 0")]
        raise errors.invalid(SCALE.group, SCALE.kind, name=call.target.name, errors=wrong)
    return obj


def _wrong_name(target: Target, name: str | None) -> errors.ApiError:
    if not name:
        return errors.bad_request(
            f"the name of the object ({target.name} based on URL) was undeterminable: name must be provided"
        )
    return errors.bad_request(f"the name of the object ({name}) does not match the name on the URL ({target.name})")


def _scaled(old: Obj, wanted: Obj) -> Obj:
    meta = dict(old["metadata"])
    named = wanted["metadata"]
    meta["resourceVersion"] = named.get("resourceVersion") or ""
    if named.get("uid"):
        meta["uid"] = named["uid"]
    replicas = (wanted.get("spec") or {}).get("replicas") or 0
    return old | {"metadata": meta, "spec": (old.get("spec") or {}) | {"replicas": replicas}}
