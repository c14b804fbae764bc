"""The Scale of custom objects, at the paths of their definition (apiextensions-apiserver's customresource/etcd.go)."""

from functools import partial

from apiserver.api import errors
from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj
from apiserver.api.nested_fields import NestedFieldError
from apiserver.api.resources import Resource
from apiserver.api.scale_paths import ScalePaths
from apiserver.registry.subresources.scaling import Scaling, scale_with, wanted_replicas

UNSET = -(1 << 31)
"""The replicas of a Scale whose object does not say how many it wants: a patch that leaves them so is refused."""


def custom_scaling(resource: Resource, paths: ScalePaths) -> Scaling:
    """How a custom kind is scaled.

    Args:
        resource: its row.
        paths: where its objects keep what a Scale tells.
    """
    return Scaling(
        resource.plural, partial(_read, paths), partial(_before, paths), partial(_scaled, paths), partial(_after, paths)
    )


def _read(paths: ScalePaths, obj: Obj) -> Obj:
    """Return the Scale of an object.

    Raises:
        ApiError: 500, the object says something odd, or nothing of how many it wants.
    """
    try:
        if paths.spec_replicas.integer(obj) is None:
            raise errors.internal(f'the spec replicas field "{paths.spec_replicas.path}" does not exist')
        return _scale_of(paths, obj)
    except NestedFieldError as error:
        raise _odd(error) from error


def _before(paths: ScalePaths, obj: Obj) -> Obj:
    """Return the Scale that is about to be changed.

    Raises:
        ApiError: 500, the object says something odd.
    """
    try:
        return _scale_of(paths, obj, absent=UNSET)
    except NestedFieldError as error:
        raise _odd(error) from error


def _scaled(paths: ScalePaths, old: Obj, wanted: Obj) -> Obj:
    """Return the object with the replicas of a Scale, which builds on the version that the Scale names, or on any.

    Raises:
        ApiError: 400, the Scale has no replicas; 500, there is no place for them.
    """
    replicas = wanted_replicas(wanted)
    if replicas == UNSET:
        raise errors.bad_request(f'the spec replicas field "{paths.spec_replicas.path}" cannot be empty')
    try:
        new = paths.spec_replicas.put(old, replicas)
    except NestedFieldError as error:
        raise _odd(error) from error
    version = wanted["metadata"].get("resourceVersion")
    return new | {"metadata": old["metadata"] | ({"resourceVersion": version} if version else {})}


def _after(paths: ScalePaths, obj: Obj) -> Obj:
    """Return the Scale of an object that was scaled.

    Raises:
        ApiError: 400, the object says something odd.
    """
    try:
        return _scale_of(paths, obj)
    except NestedFieldError as error:
        raise errors.bad_request(str(error)) from error


def _scale_of(paths: ScalePaths, obj: Obj, *, absent: int = 0) -> Obj:
    wanted = paths.spec_replicas.integer(obj)
    had = paths.status_replicas.integer(obj) or 0
    selector = paths.label_selector.text(obj) if paths.label_selector else None
    return scale_with(
        obj["metadata"],
        wanted=absent if wanted is None else _int32(wanted),
        had=_int32(had),
        selector=selector or "",
    )


def _int32(number: int) -> int:
    """Return the number in 32 bits; more than that can only have been stored before the kind could be scaled."""
    return (number + (1 << 31)) % (1 << 32) - (1 << 31)


def _odd(error: NestedFieldError) -> ApiError:
    return ApiError(500, "", str(error))
