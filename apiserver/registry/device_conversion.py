"""Devices in the versions of resource.k8s.io: v1beta2 and v1 hold a request in `exactly`, a device without `basic`.

Source: pkg/apis/resource/v1beta1/conversion.go.
"""

from collections.abc import Callable
from functools import partial

from apiserver.api.meta import Obj

Change = Callable[[Obj], Obj]


def _nested(request: Obj) -> Obj:
    kept: Obj = {name: request[name] for name in ("name", "firstAvailable") if name in request}
    exactly = {name: value for name, value in request.items() if name not in kept}
    return kept | {"exactly": exactly} if exactly else kept


def _lifted(obj: Obj, part: str) -> Obj:
    """An object with what is in a part of it at its own level."""
    rest = {name: value for name, value in obj.items() if name != part}
    return rest | (obj.get(part) or {})


_flat_request = partial(_lifted, part="exactly")
_without_basic = partial(_lifted, part="basic")


def _with_basic(device: Obj) -> Obj:
    return {"name": device.get("name", ""), "basic": {name: value for name, value in device.items() if name != "name"}}


def _each(obj: Obj, path: tuple[str, ...], change: Change) -> Obj:
    """A copy of an object with all items of the list at a path changed, if it has that list."""
    first, *rest = path
    inner = obj.get(first)
    if not inner:
        return obj
    return obj | {first: _each(inner, tuple(rest), change) if rest else [change(item) for item in inner]}


CLAIM = ("spec", "devices", "requests")
TEMPLATE = ("spec", *CLAIM)
SLICE = ("spec", "devices")


def requests_to_v1(path: tuple[str, ...]) -> Change:
    """Nests the requests at a path of an object of v1beta1."""
    return lambda obj: _each(obj, path, _nested)


def requests_from_v1(path: tuple[str, ...]) -> Change:
    """The way back."""
    return lambda obj: _each(obj, path, _flat_request)


def slice_to_v1(obj: Obj) -> Obj:
    """A ResourceSlice of v1beta1 as one of v1."""
    return _each(obj, SLICE, _without_basic)


def slice_from_v1(obj: Obj) -> Obj:
    """The way back."""
    return _each(obj, SLICE, _with_basic)
