"""The scale subresource: how many replicas are wanted and had, in the same words for every kind."""

from functools import partial

from apiserver.api import errors, field
from apiserver.api.meta import Obj
from apiserver.api.resources import Resource
from apiserver.api.selectors import label_selector_of
from apiserver.registry.context import Change
from apiserver.registry.decoding import Body, decode
from apiserver.registry.options import Target
from apiserver.registry.rest.decode_patched import decode_patched
from apiserver.registry.rest.patch_body import Patch
from apiserver.registry.rest.preconditions import check_name, check_uid
from apiserver.registry.rest.update import modify
from apiserver.registry.subresources.call import Call, Warned, read
from apiserver.registry.subresources.custom_scale import custom_scaling
from apiserver.registry.subresources.scaling import SCALE, Scaling, scale_with, wanted_replicas


async def scale(call: Call) -> Warned | Obj:
    """Read or write the replicas of an object.

    Raises:
        ApiError: 400, 404, 409, 422, 500 where a custom object is of another shape than its definition says.
    """
    scaling = _scaling(call)
    if call.verb == "get":
        return await _read(call, scaling)
    odd: list[str] = []
    try:
        written = await modify(call.registry, call.target, _change(call, scaling, odd), call.options)
        obj = scaling.after(call.registry.codecs.of(call.target.resource).decode(written.kv))
    except errors.ApiError as error:
        raise error.warned_before(tuple(odd)) from error.__cause__
    return Warned(obj, (*odd, *written.warnings))


def _scaling(call: Call) -> Scaling:
    resource = call.target.resource
    custom = call.registry.customs.find(resource)
    paths = custom.scale if custom else None
    if paths is not None:
        return custom_scaling(resource, paths)
    # upstream names the subresource when it finds nothing to read, and on writes the resource
    return Scaling(f"{resource.plural}/scale", scale_of, scale_of, partial(_scaled, resource), scale_of)


async def _read(call: Call, scaling: Scaling) -> Obj:
    try:
        return scaling.read(await read(call))
    except errors.ApiError as error:
        if error.code != 404:
            raise
        raise errors.not_found(call.target.resource.group, scaling.missing, call.target.name) from error


def _change(call: Call, scaling: Scaling, odd: list[str]) -> Change:
    """Return what scales an object; it notes the unknown and the repeated fields of what was sent in a list."""
    patch = call.patch
    if patch is not None:
        return lambda old: scaling.scaled(old, _patched(call, patch, scaling.before(old), odd))
    _check_kind(call, call.sent.obj)
    wanted = _sent(call, call.sent, odd)

    def replaced(old: Obj) -> Obj:
        check_uid(call.target, wanted, old)
        scaling.before(old)  # what cannot be told cannot be changed either
        return scaling.scaled(old, wanted)

    return replaced


def _sent(call: Call, body: Body, odd: list[str]) -> Obj:
    """Return the Scale of a body.

    Raises:
        ApiError: 400, it is none or of another object.
    """
    decoded = decode(call.registry, SCALE, body, validation=call.options.validation)
    odd[:] = decoded.warnings
    check_name(call.target, decoded.obj)
    return decoded.obj


def _patched(call: Call, patch: Patch, scale: Obj, odd: list[str]) -> Obj:
    """Return the Scale that a patch makes of another.

    Raises:
        ApiError: 400, it is of another object; 422, it is none.
    """
    target = Target(SCALE, call.target.namespace, call.target.name)
    decoded = decode_patched(call.registry, target, patch, old=scale, validation=call.options.validation)
    odd[:] = decoded.warnings
    check_name(call.target, decoded.obj)
    return decoded.obj


UNREGISTERED = (
    'no kind is registered for the type v1.Scale in scheme "k8s.io/apiextensions-apiserver/pkg/apiserver/'
    'customresource_handler.go:781"'
)
"""What the server of custom resources says of any other kind where it expects a Scale."""


def _check_kind(call: Call, sent: Obj) -> None:
    """Refuse what is no Scale where the scale of a custom object is written; of built-in kinds decoding does so.

    Raises:
        ApiError: 400.
    """
    named = (sent.get("apiVersion") or SCALE.api_version, sent.get("kind") or SCALE.kind)
    is_text = all(isinstance(each, str) for each in named)
    if call.target.resource.custom and is_text and named != (SCALE.api_version, SCALE.kind):
        raise errors.bad_request(UNREGISTERED)


def scale_of(obj: Obj) -> Obj:
    """Return the Scale that tells of an object of a built-in kind."""
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    return scale_with(
        obj["metadata"],
        wanted=spec.get("replicas"),
        had=status.get("replicas") or 0,
        selector=_selector(spec.get("selector")),
    )


def _selector(selector: Obj | None) -> str:
    if not selector:
        return ""
    if "matchLabels" in selector or "matchExpressions" in selector:
        return str(label_selector_of(selector))
    return ",".join(f"{key}={value}" for key, value in sorted(selector.items()))


def _scaled(resource: Resource, old: Obj, wanted: Obj) -> Obj:
    """Return the object with the replicas of a Scale.

    Raises:
        ApiError: 422, it asks for less than nothing; 409, it is of another object of the name.
    """
    name, replicas, named = old["metadata"]["name"], wanted_replicas(wanted), wanted["metadata"]
    if replicas < 0:
        wrong = [field.invalid("spec.replicas", replicas, "must be greater than or equal to 0")]
        raise errors.invalid(SCALE.group, SCALE.kind, name=name, errors=wrong)
    uid = old["metadata"].get("uid", "")
    if named.get("uid") not in (None, "", uid):
        why = f"Precondition failed: UID in precondition: {named['uid']}, UID in object meta: {uid}"
        raise errors.conflict(resource.group, f"{resource.plural}/scale", name=name, why=why)
    meta = old["metadata"] | {"resourceVersion": named.get("resourceVersion") or ""}
    return old | {"metadata": meta, "spec": (old.get("spec") or {}) | {"replicas": replicas}}
