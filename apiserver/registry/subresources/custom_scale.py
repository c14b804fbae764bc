"""The Scale of custom objects, at the paths of their definition (apiextensions-apiserver's customresource/etcd.go)."""

from functools import partial

from apiserver.api import errors
from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj
from apiserver.api.nested_fields import NestedFieldError
from apiserver.api.resources import Resource
from apiserver.api.scale_paths import ScalePaths
from apiserver.registry.subresources.scaling import ScaleFunctions, desired_replicas, new_scale

UNSET = -(1 << 31)
"""The replicas of a Scale whose object sets none: a patch must set them."""


def custom_scale_functions(resource: Resource, paths: ScalePaths) -> ScaleFunctions:
    """Return the scale functions of a custom kind.

    Args:
        resource: the kind's row.
        paths: the paths of its scale subresource.
    """
    return ScaleFunctions(
        resource.plural,
        partial(_read, paths),
        partial(_scale_before_write, paths),
        partial(_apply_scale, paths),
        partial(_scale_after_write, paths),
    )


def _read(paths: ScalePaths, obj: Obj) -> Obj:
    """Return the Scale of an object.

    Raises:
        ApiError: 500, a field of the object has a wrong type, or its spec has no replicas.
    """
    try:
        if paths.spec_replicas.read_int64(obj) is None:
            raise errors.internal(f'the spec replicas field "{paths.spec_replicas.path}" does not exist')
        return _scale_of(paths, obj)
    except NestedFieldError as error:
        raise _wrong_type(error) from error


def _scale_before_write(paths: ScalePaths, obj: Obj) -> Obj:
    """Return the Scale that is about to be changed.

    Raises:
        ApiError: 500, a field of the object has a wrong type.
    """
    try:
        return _scale_of(paths, obj, absent=UNSET)
    except NestedFieldError as error:
        raise _wrong_type(error) from error


def _apply_scale(paths: ScalePaths, old: Obj, scale: Obj) -> Obj:
    """Return the object with the replicas of a Scale, and its resourceVersion, if it names one, as precondition.

    Raises:
        ApiError: 400, the Scale has no replicas; 500, the object cannot hold them at that path.
    """
    replicas = desired_replicas(scale)
    if replicas == UNSET:
        raise errors.bad_request(f'the spec replicas field "{paths.spec_replicas.path}" cannot be empty')
    try:
        new = paths.spec_replicas.set_value(old, replicas)
    except NestedFieldError as error:
        raise _wrong_type(error) from error
    version = scale["metadata"].get("resourceVersion")
    return new | {"metadata": old["metadata"] | ({"resourceVersion": version} if version else {})}


def _scale_after_write(paths: ScalePaths, obj: Obj) -> Obj:
    """Return the Scale of an object that was scaled.

    Raises:
        ApiError: 400, a field of the object has a wrong type.
    """
    try:
        return _scale_of(paths, obj)
    except NestedFieldError as error:
        raise errors.bad_request(str(error)) from error


def _scale_of(paths: ScalePaths, obj: Obj, *, absent: int = 0) -> Obj:
    desired = paths.spec_replicas.read_int64(obj)
    current = paths.status_replicas.read_int64(obj) or 0
    selector = paths.label_selector.read_string(obj) if paths.label_selector else None
    return new_scale(
        obj["metadata"],
        desired=absent if desired is None else _int32(desired),
        current=_int32(current),
        selector=selector or "",
    )


def _int32(number: int) -> int:
    """Wrap a number to 32 bits; larger ones can only have been stored before the kind had a scale subresource."""
    return (number + (1 << 31)) % (1 << 32) - (1 << 31)


def _wrong_type(error: NestedFieldError) -> ApiError:
    return ApiError(500, "", str(error))
