"""Validation of a pod's volumes: exactly one source each, and the rules of each kind of source (ValidateVolumes)."""

import re
from collections.abc import Collection, Mapping

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj
from apiserver.api.validation import checks, names
from apiserver.api.validation.combinators import (
    Check,
    FieldErrors,
    at,
    cached,
    labels,
    named,
    one_of,
    required,
    required_name,
    struct,
)
from apiserver.api.validation.paths import descending, no_backsteps
from apiserver.api.validation.resource_lists import amount
from apiserver.groups.core.persistentvolumeclaims import claim_spec
from apiserver.groups.core.pods.projected_volumes import downward, keys, mode, projected

ONE_TYPE = "may not specify more than 1 volume type"

_PORTAL_WORDS = (
    "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters "
    "if iscsi.initiatorName is specified."
)

_ISCSI_FORMS = {
    "iqn": re.compile(r"iqn\.\d{4}-\d{2}\.([A-Za-z0-9.-]+)(:[^,;*&$|\s]+)"),
    "eui": re.compile(r"eui.[A-Za-z0-9]{16}"),
    "naa": re.compile(r"naa.[A-Za-z0-9]{32}"),
}

_HOST_PATH_TYPES = frozenset(
    {"", "DirectoryOrCreate", "Directory", "FileOrCreate", "File", "Socket", "CharDevice", "BlockDevice"}
)


def _one_of(known: frozenset[str]) -> Check:
    return lambda value: checks.one_of("", value, known)


_secret_ref = struct(("secretRef", struct(required("name"))))


def _partition_of(value: int) -> FieldErrors:
    return () if 0 <= value <= 255 else (field.invalid("", value, names.range_error(1, 255)),)


def _empty_dir(source: Obj) -> FieldErrors:
    limit = source.get("sizeLimit")
    if limit is None or amount(str(limit)) >= 0:
        return ()
    return (field.forbidden("sizeLimit", "SizeLimit field must be a valid resource quantity"),)


_host_path_rest = struct(("path", no_backsteps), ("type", _one_of(_HOST_PATH_TYPES)))


def _host_path(source: Obj) -> FieldErrors:
    return _host_path_rest(source) if source.get("path") else (field.required("path"),)


def _iscsi_name(name: str) -> str:
    form = _ISCSI_FORMS.get(name[:3])
    if form is None:
        return "must be valid format starting with iqn, eui, or naa"
    return "" if form.fullmatch(name) else "must be valid format"


def _iscsi(source: Obj) -> FieldErrors:
    errors = [] if source.get("targetPortal") else [field.required("targetPortal")]
    iqn, initiator = source.get("iqn") or "", source.get("initiatorName")
    if not iqn:
        errors.append(field.required("iqn"))
    elif error := _iscsi_name(iqn):
        errors.append(field.invalid("iqn", iqn, error))
    errors += checks.invalid_values("lun", source.get("lun", 0), names.in_range(source.get("lun", 0), 0, 255))
    if (source.get("chapAuthDiscovery") or source.get("chapAuthSession")) and source.get("secretRef") is None:
        errors.append(field.required("secretRef"))
    if initiator is not None and (error := _iscsi_name(initiator)):
        errors.append(field.invalid("initiatorname", initiator, error))
    return errors


def _nfs(source: Obj) -> FieldErrors:
    path = source.get("path") or ""
    errors = [field.required(name) for name in ("server", "path") if not source.get(name)]
    return errors if path[:1] == "/" else [*errors, field.invalid("path", path, "must be an absolute path")]


def _flocker(source: Obj) -> FieldErrors:
    name, uuid = source.get("datasetName") or "", source.get("datasetUUID")
    errors = [] if name or uuid else [field.required("", "one of datasetName and datasetUUID is required")]
    if name and uuid:
        detail = "datasetName and datasetUUID can not be specified simultaneously"
        errors.append(field.invalid("", "resource", detail))
    return [*errors, field.invalid("datasetName", name, "must not contain '/'")] if "/" in name else errors


def _fc(source: Obj) -> FieldErrors:
    wwns, wwids, lun = source.get("targetWWNs"), source.get("wwids"), source.get("lun")
    errors: list[FieldError] = []
    if not wwns and not wwids:
        errors.append(field.required("targetWWNs", "must specify either targetWWNs or wwids, but not both"))
    if wwns and wwids:
        errors.append(field.invalid("targetWWNs", wwns, "targetWWNs and wwids can not be specified simultaneously"))
    if wwns and lun is None:
        errors.append(field.required("lun", "lun is required if targetWWNs is specified"))
    elif wwns:
        errors += checks.invalid_values("lun", lun, names.in_range(lun or 0, 0, 255))
    return errors


def _flex(source: Obj) -> FieldErrors:
    errors = [] if source.get("driver") else [field.required("driver")]
    for name in source.get("options") or ():
        if f".{name.partition('/')[0].lower()}".endswith((".kubernetes.io", ".k8s.io")):
            detail = "kubernetes.io and k8s.io namespaces are reserved"
            errors.append(field.invalid(f"options[{name}]", name, detail))
    return errors


def _azure_disk(source: Obj) -> FieldErrors:
    kind, uri = source.get("kind"), source.get("diskURI") or ""
    errors = [*_azure_disk_basics(source)]
    if kind == "Managed" and not uri.startswith("/subscriptions/"):
        managed = "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"
        errors.append(field.not_supported("diskURI", uri, (managed,)))
    if kind is not None and kind != "Managed" and not uri.startswith("https://"):
        blob = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"
        errors.append(field.not_supported("diskURI", uri, (blob,)))
    return errors


_azure_disk_basics = struct(
    required("diskName"),
    required("diskURI"),
    ("cachingMode", one_of("None", "ReadOnly", "ReadWrite")),
    ("kind", one_of("Dedicated", "Managed", "Shared")),
)


def csi_driver_name(name: str) -> FieldErrors:
    """Return the errors of the name of a CSI driver (ValidateCSIDriverName)."""
    errors = [] if name else [field.required("")]
    if len(name) > 63:
        errors.append(field.too_long("", 63))
    return [*errors, *checks.invalid_values("", name, names.dns1123_subdomain(name.lower()))]


def _csi(source: Obj) -> FieldErrors:
    errors = [*at("driver", csi_driver_name(source.get("driver") or ""))]
    if (secret := source.get("nodePublishSecretRef")) is not None:
        name = secret.get("name")
        missing = (field.required("nodePublishSecretRef.name"),)
        errors += checks.invalid_values("name", name, names.dns1123_subdomain(name)) if name else missing
    return errors


def _ephemeral(source: Obj) -> FieldErrors:
    template = source.get("volumeClaimTemplate")
    return _claim_template(template) if template is not None else (field.required("volumeClaimTemplate"),)


def _claim_template(template: Obj) -> FieldErrors:
    errors = [*at("metadata.labels", labels((template.get("metadata") or {}).get("labels") or {}))]
    errors += checks.prefix_errors("spec", claim_spec(template.get("spec") or {}))
    return at("volumeClaimTemplate", errors)


def _image(source: Obj) -> FieldErrors:
    errors = [] if source.get("reference") else [field.required("reference")]
    return [*errors, *_image_policy(source)]


_image_policy = struct(("pullPolicy", one_of("Always", "IfNotPresent", "Never")))

_SOURCES: Mapping[str, Check] = {
    "emptyDir": _empty_dir,
    "hostPath": _host_path,
    "gitRepo": struct(required("repository"), ("directory", descending)),
    "gcePersistentDisk": struct(required("pdName"), ("partition", _partition_of)),
    "awsElasticBlockStore": struct(required("volumeID"), ("partition", _partition_of)),
    "secret": struct(required("secretName"), ("defaultMode", mode), ("items", keys)),
    "nfs": _nfs,
    "iscsi": _iscsi,
    "glusterfs": struct(required("endpoints"), required("path")),
    "flocker": _flocker,
    "persistentVolumeClaim": struct(required("claimName")),
    "rbd": struct(required("monitors"), required("image")),
    "cinder": struct(required("volumeID"), ("", _secret_ref)),
    "cephfs": struct(required("monitors")),
    "quobyte": struct(
        required("registry", "must be a host:port pair or multiple pairs separated by commas"), required("volume")
    ),
    "downwardAPI": downward,
    "fc": _fc,
    "flexVolume": _flex,
    "configMap": struct(required("name"), ("defaultMode", mode), ("items", keys)),
    "azureFile": struct(required("secretName"), required("shareName")),
    "vsphereVolume": struct(required("volumePath")),
    "photonPersistentDisk": struct(required("pdID")),
    "portworxVolume": struct(required("volumeID")),
    "azureDisk": _azure_disk,
    "storageos": struct(
        required_name("volumeName", names.dns1123_label),
        ("volumeNamespace", named(names.dns1123_label)),
        ("", _secret_ref),
    ),
    "projected": cached(projected),
    "scaleIO": struct(required("gateway"), required("system"), required("volumeName")),
    "csi": _csi,
    "ephemeral": _ephemeral,
    "image": _image,
}
"""The volume sources with their checks, in the order in which upstream looks for them."""

_ORDER = {name: index for index, name in enumerate(_SOURCES)}

ERROR_PATHS = {"gcePersistentDisk": "persistentDisk"}
"""Sources whose errors upstream reports at another path."""


def _source(volume: Obj) -> list[FieldError]:
    """Return the errors of a volume's source, including a missing or a second source (validateVolumeSource)."""
    sources = [name for name, source in volume.items() if name in _SOURCES and source is not None]
    if not sources:
        return [field.required("", "must specify a volume type")]
    if len(sources) > 1:
        sources.sort(key=_ORDER.__getitem__)
    errors = [*at(ERROR_PATHS.get(sources[0], sources[0]), _SOURCES[sources[0]](volume[sources[0]]))]
    errors += [field.forbidden(name, ONE_TYPE) for name in sources[1:]]
    if (iscsi := volume.get("iscsi")) and iscsi.get("initiatorName") is not None:
        name = volume.get("name", "")
        if len(f"{name}:{iscsi.get('targetPortal', '')}") > 64:
            errors.append(field.invalid("name", name, _PORTAL_WORDS))
    return errors


def volumes(volumes: list[Obj], pod: str | None) -> tuple[FieldErrors, dict[str, Obj]]:
    """Return the errors of spec.volumes, and the valid volumes by name.

    `pod` is the pod's name, None in templates, which have none.
    """
    valid_volumes: dict[str, Obj] = {}
    errors: list[FieldError] = []
    created = {f"{pod}-{v.get('name', '')}" for v in volumes if pod and v.get("ephemeral") is not None}
    for index, volume in enumerate(volumes):
        if volume_errors := [*_source(volume), *_claim_name(volume, pod), *_volume_name(volume, valid_volumes)]:
            errors += at(f"[{index}]", volume_errors)
        else:
            valid_volumes[volume["name"]] = volume
        if created:
            errors += at(f"[{index}].persistentVolumeClaim.claimName", _created_claim(volume, created))
    return errors, valid_volumes


def _created_claim(volume: Obj, created: set[str]) -> FieldErrors:
    claim = (volume.get("persistentVolumeClaim") or {}).get("claimName")
    detail = "must not reference a PVC that gets created for an ephemeral volume"
    return (field.invalid("", claim, detail),) if claim in created else ()


def _claim_name(volume: Obj, pod: str | None) -> FieldErrors:
    """Return the errors of the name of an ephemeral volume's claim, which consists of the pod's name and its own."""
    name = volume.get("name")
    if not pod or not name or volume.get("ephemeral") is None:
        return ()
    messages = names.dns1123_subdomain(f"{pod}-{name}")
    return [field.invalid("name", name, f'PVC name "{pod}-{name}": {message}') for message in messages]


def _volume_name(volume: Obj, taken: Collection[str]) -> FieldErrors:
    name = volume.get("name")
    if not name:
        return (field.required("name"),)
    errors = checks.invalid_values("name", name, names.dns1123_label(name))
    return (*errors, field.duplicate("name", name)) if name in taken else errors
