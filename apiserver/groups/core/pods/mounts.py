"""Validation of a container's volumeMounts and volumeDevices (ValidateVolumeMounts, ValidateVolumeDevices)."""

from collections.abc import Mapping, Sequence

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj
from apiserver.api.validation.combinators import FieldErrors, at, one_of
from apiserver.api.validation.paths import descending

_IN_DEVICES = "must not already exist in volumeDevices"

_PATH_IN_DEVICES = "must not already exist as a path in volumeDevices"

_IN_MOUNTS = "must not already exist in volumeMounts"

_PATH_IN_MOUNTS = "must not already exist as a path in volumeMounts"

_NOT_BLOCK = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"

_OPTIONS = frozenset({"subPath", "subPathExpr", "mountPropagation", "recursiveReadOnly"})

Volumes = Mapping[str, Obj]
"""Name → volume, for the pod's valid volumes."""


def mounts(container: Obj, volumes: Volumes) -> FieldErrors:
    """Return the errors of a container's volumeMounts."""
    errors: list[FieldError] = []
    taken: set[str] = set()
    devices = container.get("volumeDevices") or ()
    for index, mount in enumerate(container.get("volumeMounts") or ()):
        name, path = mount.get("name") or "", mount.get("mountPath") or ""
        if name not in volumes or not path or path in taken or devices:
            errors += at(
                f"[{index}]",
                [*_volume_and_path(name, path, volumes), *_unique_path(path, taken), *_not_in_devices(mount, devices)],
            )
        taken.add(path)
        if not _OPTIONS.isdisjoint(mount):
            errors += at(f"[{index}]", _image_paths(mount, volumes.get(name) or {}))
            errors += _options(mount, container, f"[{index}]")
    return errors


def _volume_and_path(name: str, path: str, volumes: Volumes) -> list[FieldError]:
    errors = [] if name else [field.required("name")]
    if name not in volumes:
        errors.append(field.not_found("name", name))
    return errors if path else [*errors, field.required("mountPath")]


def _unique_path(path: str, taken: set[str]) -> FieldErrors:
    return (field.invalid("mountPath", path, "must be unique"),) if path in taken else ()


def _not_in_devices(mount: Obj, devices: Sequence[Obj]) -> list[FieldError]:
    name, path = mount.get("name", ""), mount.get("mountPath", "")
    errors: list[FieldError] = []
    if any(name == device.get("name") for device in devices):
        errors.append(field.invalid("name", name, _IN_DEVICES))
    if any(path == device.get("devicePath") for device in devices):
        errors.append(field.invalid("mountPath", path, _PATH_IN_DEVICES))
    return errors


def _image_paths(mount: Obj, volume: Obj) -> list[FieldError]:
    if volume.get("image") is None:
        return []
    detail = "not allowed in image volume sources"
    return [field.invalid(name, mount[name], detail) for name in ("subPath", "subPathExpr") if mount.get(name)]


def _options(mount: Obj, container: Obj, index: str) -> list[FieldError]:
    """Return the errors of a mount's options; upstream reports most of them at the list, not at the item."""
    sub_path, expression = mount.get("subPath") or "", mount.get("subPathExpr") or ""
    errors = [*at("subPath", descending(sub_path))]
    if expression and sub_path:
        detail = "subPathExpr and subPath are mutually exclusive"
        errors.append(field.invalid(f"{index}.subPathExpr", expression, detail))
    errors += at("subPathExpr", descending(expression))
    errors += at("mountPropagation", _propagation(mount, container))
    return [*errors, *at("recursiveReadOnly", _recursive_read_only(mount))]


_propagation_mode = one_of("Bidirectional", "HostToContainer", "None")

_recursion = one_of("Disabled", "Enabled", "IfPossible")


def _propagation(mount: Obj, container: Obj) -> FieldErrors:
    mode = mount.get("mountPropagation")
    if mode is None:
        return ()
    if mode == "Bidirectional" and not (container.get("securityContext") or {}).get("privileged"):
        detail = "Bidirectional mount propagation is available only to privileged containers"
        return (field.forbidden("", detail),)
    return _propagation_mode(mode)


def _recursive_read_only(mount: Obj) -> FieldErrors:
    mode = mount.get("recursiveReadOnly")
    if mode not in {"Enabled", "IfPossible"}:
        return () if mode is None else _recursion(mode)
    errors: list[FieldError] = []
    if not mount.get("readOnly"):
        errors.append(field.forbidden("", "may only be specified when readOnly is true"))
    if mount.get("mountPropagation", "None") != "None":
        detail = "may only be specified when mountPropagation is None or not specified"
        errors.append(field.forbidden("", detail))
    return errors


def devices(container: Obj, volumes: Volumes) -> FieldErrors:
    """Return the errors of a container's volumeDevices."""
    names: set[str] = set()
    paths: set[str] = set()
    errors: list[FieldError] = []
    for index, device in enumerate(container.get("volumeDevices") or ()):
        name, path = device.get("name") or "", device.get("devicePath") or ""
        device_errors = [*_device_name(name, names, volumes), *_device_path(path, paths)]
        errors += at(f"[{index}]", [*device_errors, *_not_in_mounts(device, container.get("volumeMounts") or ())])
        names.add(name)
        paths.add(path)
    return errors


def _device_name(name: str, taken: set[str], volumes: Volumes) -> list[FieldError]:
    errors = [] if name else [field.required("name")]
    if name and name in taken:
        errors.append(field.invalid("name", name, "must be unique"))
    volume = volumes.get(name)
    if volume is None:
        errors.append(field.not_found("name", name))
    elif volume.get("persistentVolumeClaim") is None and volume.get("ephemeral") is None:
        errors.append(field.invalid("name", name, _NOT_BLOCK))
    return errors


def _device_path(path: str, taken: set[str]) -> list[FieldError]:
    errors = [] if path else [field.required("devicePath")]
    if path in taken:
        errors.append(field.invalid("devicePath", path, "must be unique"))
    if ".." in path.split("/"):
        errors.append(field.invalid("devicePath", path, "can not contain backsteps ('..')"))
    return errors


def _not_in_mounts(device: Obj, mounts: Sequence[Obj]) -> list[FieldError]:
    name, path = device.get("name", ""), device.get("devicePath", "")
    errors: list[FieldError] = []
    if any(name == mount.get("name") for mount in mounts):
        errors.append(field.invalid("name", name, _IN_MOUNTS))
    if any(path == mount.get("mountPath") for mount in mounts):
        errors.append(field.invalid("devicePath", path, _PATH_IN_MOUNTS))
    return errors
