"""The scale subresource: desired and current replicas, in the same form for every kind."""

from functools import partial

from apiserver.api import errors, field
from apiserver.api.meta import Obj
from apiserver.api.resources import Resource
from apiserver.api.selectors import label_selector_of
from apiserver.registry.context import Change, Registry
from apiserver.registry.decoding import Body
from apiserver.registry.managed_fields_update import recording
from apiserver.registry.options import Target
from apiserver.registry.rest.decode_patched import decode_patched
from apiserver.registry.rest.patch_body import ApplyPatch, Patch
from apiserver.registry.rest.preconditions import check_name, check_uid
from apiserver.registry.rest.update import modify
from apiserver.registry.subresources.applied_scale import apply_to_scale
from apiserver.registry.subresources.call import ObjectWithWarnings, SubresourceRequest, read_parent
from apiserver.registry.subresources.custom_scale import custom_scale_functions
from apiserver.registry.subresources.scaling import SCALE, ScaleFunctions, desired_replicas, new_scale


async def scale(call: SubresourceRequest) -> ObjectWithWarnings | Obj:
    """Read or write the replicas of an object.

    Raises:
        ApiError: 400, 404, 409, 422, 500 if a field of a custom object has a wrong type for its scale path.
    """
    scaling = scale_functions(call.registry, call.target.resource)
    if call.verb == "get":
        return await _read(call, scaling)
    if isinstance(call.patch, ApplyPatch):
        return await _apply(call, call.patch, scaling)
    field_warnings: list[str] = []
    try:
        written = await modify(call.registry, call.target, _change(call, scaling, field_warnings), call.options)
        obj = scaling.scale_after_write(await call.registry.decode(call.target.resource, written.kv))
    except errors.ApiError as error:
        raise error.prepend_warnings(tuple(field_warnings)) from error.__cause__
    return ObjectWithWarnings(obj, (*field_warnings, *written.warnings))


async def _apply(call: SubresourceRequest, patch: ApplyPatch, scaling: ScaleFunctions) -> ObjectWithWarnings:
    """Apply a configuration to the Scale of an object."""
    entries: list[Obj] = []

    def change(old: Obj) -> Obj:
        applied = apply_to_scale(
            call.registry, call.target, patch, call.options, obj=old, scale=scaling.scale_before_write(old)
        )
        entries[:] = applied.entries
        scale_obj = call.registry.decoder.decode(SCALE, Body(applied.scale), validation="Ignore").obj
        check_name(call.target, scale_obj)
        return scaling.apply_scale(old, scale_obj)

    written = await modify(call.registry, call.target, change, call.options, record=recording(entries))
    obj = scaling.scale_after_write(await call.registry.decode(call.target.resource, written.kv))
    return ObjectWithWarnings(obj, (*patch.repeated, *written.warnings))


def scale_functions(registry: Registry, resource: Resource) -> ScaleFunctions:
    """Return the functions of a kind, built-in or custom, for its scale subresource."""
    custom = registry.customs.find(resource)
    paths = custom.scale if custom else None
    if paths is not None:
        return custom_scale_functions(resource, paths)
    # upstream's 404 names the subresource on reads, and the resource on writes
    return ScaleFunctions(f"{resource.plural}/scale", scale_of, scale_of, partial(_apply_scale, resource), scale_of)


async def _read(call: SubresourceRequest, scaling: ScaleFunctions) -> Obj:
    try:
        return scaling.to_scale(await read_parent(call))
    except errors.ApiError as error:
        if error.code != 404:
            raise
        raise errors.not_found(call.target.resource.group, scaling.not_found_resource, call.target.name) from error


def _change(call: SubresourceRequest, scaling: ScaleFunctions, field_warnings: list[str]) -> Change:
    """Return the change that scales an object; it puts warnings about fields of the body into `field_warnings`."""
    patch = call.patch
    if isinstance(patch, Patch):
        return lambda old: scaling.apply_scale(
            old, _patched_scale(call, patch, scaling.scale_before_write(old), field_warnings)
        )
    _check_kind(call, call.required_body.obj)
    scale_obj = _sent_scale(call, call.required_body, field_warnings)

    def replaced(old: Obj) -> Obj:
        check_uid(call.target, scale_obj, old)
        scaling.scale_before_write(old)  # an object whose Scale cannot be read cannot be scaled either
        return scaling.apply_scale(old, scale_obj)

    return replaced


def _sent_scale(call: SubresourceRequest, body: Body, field_warnings: list[str]) -> Obj:
    """Return the Scale of a body.

    Raises:
        ApiError: 400, it is not a Scale, or of another object.
    """
    decoded = call.registry.decoder.decode(SCALE, body, validation=call.options.validation)
    field_warnings[:] = decoded.warnings
    check_name(call.target, decoded.obj)
    return decoded.obj


def _patched_scale(call: SubresourceRequest, patch: Patch, scale: Obj, field_warnings: list[str]) -> Obj:
    """Apply a patch to a Scale.

    Raises:
        ApiError: 400, the outcome is of another object; 422, it is not a Scale.
    """
    target = Target(SCALE, call.target.namespace, call.target.name)
    decoded = decode_patched(call.registry, target, patch, old=scale, validation=call.options.validation)
    field_warnings[:] = decoded.warnings
    check_name(call.target, decoded.obj)
    return decoded.obj


UNREGISTERED = (
    'no kind is registered for the type v1.Scale in scheme "k8s.io/apiextensions-apiserver/pkg/apiserver/'
    'customresource_handler.go:781"'
)
"""The message of the custom resource server for any other kind than Scale."""


def _check_kind(call: SubresourceRequest, sent: Obj) -> None:
    """Refuse a body that is not a Scale, for custom objects; for built-in kinds decoding does so.

    Raises:
        ApiError: 400.
    """
    named = (sent.get("apiVersion") or SCALE.api_version, sent.get("kind") or SCALE.kind)
    is_text = all(isinstance(each, str) for each in named)
    if call.target.resource.custom and is_text and named != (SCALE.api_version, SCALE.kind):
        raise errors.bad_request(UNREGISTERED)


def scale_of(obj: Obj) -> Obj:
    """Return the Scale of an object of a built-in kind."""
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    return new_scale(
        obj["metadata"],
        desired=spec.get("replicas"),
        current=status.get("replicas") or 0,
        selector=_selector(spec.get("selector")),
    )


def _selector(selector: Obj | None) -> str:
    if not selector:
        return ""
    if "matchLabels" in selector or "matchExpressions" in selector:
        return str(label_selector_of(selector))
    return ",".join(f"{key}={value}" for key, value in sorted(selector.items()))


def _apply_scale(resource: Resource, old: Obj, scale_obj: Obj) -> Obj:
    """Return the object with the replicas of a Scale.

    Raises:
        ApiError: 422, the replicas are negative; 409, the Scale has the UID of another object.
    """
    name, replicas, sent_meta = old["metadata"]["name"], desired_replicas(scale_obj), scale_obj["metadata"]
    if replicas < 0:
        invalid = [field.invalid("spec.replicas", replicas, "must be greater than or equal to 0")]
        raise errors.invalid(SCALE.group, SCALE.kind, name=name, errors=invalid)
    uid = old["metadata"].get("uid", "")
    if sent_meta.get("uid") not in (None, "", uid):
        why = f"Precondition failed: UID in precondition: {sent_meta['uid']}, UID in object meta: {uid}"
        raise errors.conflict(resource.group, f"{resource.plural}/scale", name=name, why=why)
    meta = old["metadata"] | {"resourceVersion": sent_meta.get("resourceVersion") or ""}
    return old | {"metadata": meta, "spec": (old.get("spec") or {}) | {"replicas": replicas}}
