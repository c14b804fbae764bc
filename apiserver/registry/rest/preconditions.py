"""Preconditions of writes: the body names the object of its path, and the UID and version of its stored state."""

from apiserver.api import errors, field
from apiserver.api.errors import ApiError
from apiserver.api.golang.numbers import parse_uint
from apiserver.api.meta import Obj
from apiserver.groups.strategy import Strategy
from apiserver.registry.options import Target
from apiserver.registry.storage import key_of


def check_versions(target: Target, strategy: Strategy, new: Obj, old: Obj) -> None:
    """Refuse a change of a stale state of an object; a change without a resourceVersion is of the newest state.

    Raises:
        ApiError: 400 for an invalid version, 409, 422 if the kind requires one.
    """
    named, current = new["metadata"].get("resourceVersion") or "", old["metadata"]["resourceVersion"]
    if named == current:
        return
    if named and _revision(named):
        raise _stale(target)
    if not strategy.allow_unconditional_update:
        raise _version_required(target)
    new["metadata"]["resourceVersion"] = current


def _revision(text: str) -> int:
    try:
        return parse_uint(text)
    except ValueError as error:
        raise errors.bad_request(str(error)) from error


def check_uid(target: Target, new: Obj, old: Obj) -> None:
    """Refuse to replace another object of the same name, or one that is gone.

    Raises:
        ApiError: 409.
    """
    uid = new["metadata"].get("uid")
    if uid and uid != old["metadata"].get("uid"):
        key = key_of(target.resource, target.namespace, target.name)
        why = (
            f"StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: "
            f"Precondition failed: UID in precondition: {uid}, UID in object meta: {old['metadata'].get('uid', '')}"
        )
        raise errors.conflict(target.resource.group, target.resource.plural, name=target.name, why=why)


def _stale(target: Target) -> ApiError:
    """Return the 409 for an object that somebody else changed."""
    return errors.conflict(target.resource.group, target.resource.plural, name=target.name, why=errors.STALE)


def _version_required(target: Target) -> ApiError:
    invalid = [field.invalid("metadata.resourceVersion", 0, "must be specified for an update")]
    return errors.invalid(target.resource.group, target.resource.plural, name=target.name, errors=invalid)


def check_name(target: Target, obj: Obj) -> None:
    """Refuse a body that names another object than the path.

    Raises:
        ApiError: 400.
    """
    name = obj["metadata"].get("name")
    if not name:
        raise errors.bad_request(
            f"the name of the object ({target.name} based on URL) was undeterminable: name must be provided"
        )
    if name != target.name:
        raise errors.bad_request(f"the name of the object ({name}) does not match the name on the URL ({target.name})")


def check_namespace(target: Target, obj: Obj) -> None:
    """Refuse a body that names another namespace than the path.

    Raises:
        ApiError: 400.
    """
    named = obj["metadata"].get("namespace")
    if not target.resource.namespaced:
        obj["metadata"].pop("namespace", None)
    elif named and named != target.namespace:
        raise errors.bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
