"""PersistentVolumes (core): defaults, strategy, validation and columns."""

from collections.abc import Iterator, Mapping
from posixpath import normpath

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj, name_of
from apiserver.api.validation import checks, combinators, names
from apiserver.api.validation.combinators import Check, FieldErrors, required, required_name, struct
from apiserver.api.validation.contract import Validator
from apiserver.api.validation.paths import no_backsteps
from apiserver.api.validation.resource_lists import amount
from apiserver.groups.cell_format import age
from apiserver.groups.cells import UNSET, Cells, mapping, quantity_text, text_of
from apiserver.groups.columns import AGE, CORE, NAME, Column, Printer
from apiserver.groups.core.persistentvolumeclaims import (
    VOLUME_MODES,
    access_modes,
    access_modes_text,
    phase_text,
    storage_class_name,
    whole_amount,
)
from apiserver.groups.core.pods.defaults import default_source
from apiserver.groups.core.pods.scheduling import node_selector
from apiserver.groups.core.pods.volumes import ERROR_PATHS, ONE_TYPE, csi_driver_name
from apiserver.groups.kind import BuiltinKind
from apiserver.groups.quantities import round_up_to_milli
from apiserver.groups.strategy import Strategy, status_updating, updating

_DEFAULTED_SOURCES = ("azureDisk", "hostPath", "iscsi", "rbd", "scaleIO")


def default_volume(volume: Obj) -> None:
    """Set the defaults of a PersistentVolume: it is retained when released, and holds a file system."""
    spec = volume.setdefault("spec", {})
    spec.setdefault("persistentVolumeReclaimPolicy", "Retain")
    spec.setdefault("volumeMode", "Filesystem")
    round_up_to_milli(spec.get("capacity"))
    for kind in _DEFAULTED_SOURCES:
        if kind in spec:
            default_source(kind, spec[kind])
    volume.setdefault("status", {}).setdefault("phase", "Pending")


def _create_volume(volume: Obj) -> None:
    volume["status"] = {"phase": "Pending", "lastPhaseTransitionTime": volume["metadata"].get("creationTimestamp")}


PERSISTENT_VOLUME_STRATEGY = Strategy(_create_volume, updating(), status_updating(), has_status=True)

_RECLAIM_POLICIES = frozenset({"Delete", "Recycle", "Retain"})

_HOST_PATH_TYPES = frozenset(
    {"", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"}
)

_BETA_LABELS = {
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
    "beta.kubernetes.io/os": "kubernetes.io/os",
    "beta.kubernetes.io/arch": "kubernetes.io/arch",
    "beta.kubernetes.io/instance-type": "node.kubernetes.io/instance-type",
}

_secret = struct(required_name("name", names.dns1123_subdomain), required_name("namespace", names.dns1123_label))


def _host_path(source: Obj) -> FieldErrors:
    if not source.get("path"):
        return (field.required("path"),)
    return (*combinators.at("path", no_backsteps(source["path"])), *_host_path_type(source))


def _host_path_type(source: Obj) -> FieldErrors:
    return checks.optional_one_of("type", source.get("type"), _HOST_PATH_TYPES)


def _absolute(path: str) -> FieldErrors:
    return () if path[:1] == "/" else (field.invalid("", path, "must be an absolute path"),)


def _local(source: Obj) -> FieldErrors:
    path = source.get("path")
    return combinators.at("path", no_backsteps(path)) if path else (field.required("path"),)


_SOURCES: Mapping[str, Check] = {
    "hostPath": _host_path,
    "gcePersistentDisk": struct(required("pdName")),
    "awsElasticBlockStore": struct(required("volumeID")),
    "glusterfs": struct(required("endpoints"), required("path")),
    "flocker": struct(),
    "nfs": struct(required("server"), required("path"), ("path", _absolute)),
    "rbd": struct(required("monitors"), required("image")),
    "quobyte": struct(
        required("registry", "must be a host:port pair or multiple pairs separated by commas"), required("volume")
    ),
    "cephfs": struct(required("monitors")),
    "iscsi": struct(required("targetPortal"), required("iqn")),
    "cinder": struct(required("volumeID")),
    "fc": struct(),
    "flexVolume": struct(required("driver")),
    "azureFile": struct(required("secretName"), required("shareName")),
    "vsphereVolume": struct(required("volumePath")),
    "photonPersistentDisk": struct(required("pdID")),
    "portworxVolume": struct(required("volumeID")),
    "azureDisk": struct(required("diskName"), required("diskURI")),
    "scaleIO": struct(required("gateway"), required("system"), required("volumeName")),
    "local": _local,
    "storageos": struct(required_name("volumeName", names.dns1123_label)),
    "csi": struct(
        ("", lambda source: combinators.at("driver", csi_driver_name(source.get("driver") or ""))),
        required("volumeHandle"),
        ("controllerPublishSecretRef", _secret),
        ("controllerExpandSecretRef", _secret),
        ("nodePublishSecretRef", _secret),
        ("nodeExpandSecretRef", _secret),
    ),
}
"""The volume sources with their checks, in the order in which upstream looks for them."""

_SECOND_SOURCE_PATHS = {"cephfs": "cephFS"}


def _create(volume: Obj) -> Iterator[FieldError]:
    return checks.prefix_errors("spec", _spec(volume.get("spec") or {}))


def _spec(spec: Obj) -> Iterator[FieldError]:
    modes, affinity = spec.get("accessModes") or [], spec.get("nodeAffinity")
    yield from checks.required("accessModes", modes)
    yield from access_modes(modes)
    yield from _capacity(spec.get("capacity") or {})
    policy = spec.get("persistentVolumeReclaimPolicy")
    if policy:
        yield from checks.one_of("persistentVolumeReclaimPolicy", policy, _RECLAIM_POLICIES)
    if affinity is not None:
        yield from checks.prefix_errors("nodeAffinity", _affinity(affinity))
    yield from _sources(spec)
    if policy == "Recycle" and normpath((spec.get("hostPath") or {}).get("path") or ".") == "/":
        detail = "may not be 'recycle' for a hostPath mount of '/'"
        yield field.forbidden("persistentVolumeReclaimPolicy", detail)
    yield from checks.optional_name("storageClassName", spec.get("storageClassName"), names.dns1123_subdomain)
    yield from checks.optional_one_of("volumeMode", spec.get("volumeMode"), VOLUME_MODES)
    yield from _attributes(spec)


def _capacity(capacity: dict[str, str]) -> Iterator[FieldError]:
    yield from checks.required("capacity", capacity)
    if capacity.keys() != {"storage"}:
        yield field.not_supported("capacity", capacity or None, ("storage",))
    for name, text in capacity.items():
        yield from whole_amount(f"capacity[{name}]", text)
        if amount(text) <= 0:
            yield field.invalid(f"capacity[{name}]", text, checks.NOT_POSITIVE)


def _affinity(affinity: Obj) -> FieldErrors:
    selector = affinity.get("required")
    if selector is None:
        return (field.required("required", "must specify required node constraints"),)
    return combinators.at("required", node_selector(selector))


def _sources(spec: Obj) -> Iterator[FieldError]:
    has_source = False
    for name, check in _SOURCES.items():
        source = spec.get(name)
        if source is None:
            continue
        if has_source and name != "flexVolume":
            yield field.forbidden(_SECOND_SOURCE_PATHS.get(name, name), ONE_TYPE)
            continue
        has_source = True
        yield from combinators.at(ERROR_PATHS.get(name, name), check(source))
        if name == "local" and spec.get("nodeAffinity") is None:
            yield field.required("nodeAffinity", "Local volume requires node affinity")
    if not has_source:
        yield field.required("", "must specify a volume type")


def _attributes(spec: Obj) -> Iterator[FieldError]:
    name = spec.get("volumeAttributesClassName")
    if name is None:
        return
    if name:
        yield from checks.invalid_values("volumeAttributesClassName", name, names.dns1123_subdomain(name))
    else:
        yield field.required("volumeAttributesClassName", "an empty string is disallowed")
    if spec.get("csi") is None:
        yield field.required("csi", "has to be specified when using volumeAttributesClassName")


def _update(new: Obj, old: Obj) -> Iterator[FieldError]:
    yield from _create(new)
    spec, before = new.get("spec") or {}, old.get("spec") or {}
    if not combinators.deeply_equal(_source_of(spec, before), _source_of(before, before)):
        yield field.forbidden(
            "spec.persistentvolumesource", "spec.persistentvolumesource is immutable after creation\n"
        )
    yield from checks.immutable("volumeMode", spec.get("volumeMode"), before.get("volumeMode"))
    affinity, old_affinity = spec.get("nodeAffinity"), before.get("nodeAffinity")
    if (
        old_affinity is not None
        and not combinators.deeply_equal(affinity, old_affinity)
        and not combinators.deeply_equal(affinity, _with_ga_labels(old_affinity, affinity))
    ):
        detail = f"{checks.IMMUTABLE}, except for updating from beta label to GA"
        yield field.invalid("nodeAffinity", affinity, detail)
    if before.get("volumeAttributesClassName") is not None and spec.get("volumeAttributesClassName") is None:
        yield field.forbidden("spec.volumeAttributesClassName", "update from non-nil value to nil is forbidden")


def _source_of(spec: Obj, before: Obj) -> Obj:
    """Return the volume source alone, without a controllerExpandSecretRef that is only now added."""
    source = {name: spec[name] for name in _SOURCES if spec.get(name) is not None}
    csi, old_csi = source.get("csi"), before.get("csi")
    if csi and old_csi and old_csi.get("controllerExpandSecretRef") is None:
        source["csi"] = {key: value for key, value in csi.items() if key != "controllerExpandSecretRef"}
    return source


def _with_ga_labels(affinity: Obj, new_affinity: Obj | None) -> Obj:
    """Return the old affinity with beta label keys renamed to the GA keys that the new affinity uses."""
    keys = {r.get("key") for term in _terms(new_affinity) for r in term.get("matchExpressions") or ()}

    def renamed(requirement: Obj) -> Obj:
        ga_key = _BETA_LABELS.get(requirement.get("key", ""))
        return requirement | {"key": ga_key} if ga_key in keys else requirement

    terms = [
        term | {"matchExpressions": [renamed(r) for r in term.get("matchExpressions") or ()]}
        for term in _terms(affinity)
    ]
    return affinity | {"required": {"nodeSelectorTerms": terms}}


def _terms(affinity: Obj | None) -> list[Obj]:
    return ((affinity or {}).get("required") or {}).get("nodeSelectorTerms") or []


def _persistent_volume(obj: Obj) -> Cells:
    spec = mapping(obj, "spec")
    claim = spec.get("claimRef")
    return [
        name_of(obj),
        quantity_text(mapping(spec, "capacity"), "storage"),
        access_modes_text(spec),
        text_of(spec, "persistentVolumeReclaimPolicy"),
        phase_text(obj),
        f"{text_of(claim, 'namespace')}/{text_of(claim, 'name')}" if isinstance(claim, dict) else "",
        storage_class_name(obj),
        text_of(spec, "volumeAttributesClassName", UNSET),
        text_of(mapping(obj, "status"), "reason"),
        age(obj),
        text_of(spec, "volumeMode", UNSET),
    ]


PERSISTENT_VOLUME = BuiltinKind(
    "",
    "PersistentVolume",
    ("pv",),
    namespaced=False,
    default=default_volume,
    returns_deleted=True,
    strategy=PERSISTENT_VOLUME_STRATEGY,
    validator=Validator(_create, _update),
    printer=Printer(
        columns=(
            NAME,
            Column("Capacity", f"{CORE}PersistentVolumeSpec#capacity"),
            Column("Access Modes", f"{CORE}PersistentVolumeSpec#accessModes"),
            Column("Reclaim Policy", f"{CORE}PersistentVolumeSpec#persistentVolumeReclaimPolicy"),
            Column("Status", f"{CORE}PersistentVolumeStatus#phase"),
            Column("Claim", f"{CORE}PersistentVolumeSpec#claimRef"),
            Column("StorageClass", f"{CORE}PersistentVolumeSpec#storageClassName"),
            Column("VolumeAttributesClass", f"{CORE}PersistentVolumeSpec#volumeAttributesClassName"),
            Column("Reason", f"{CORE}PersistentVolumeStatus#reason"),
            AGE,
            Column("VolumeMode", f"{CORE}PersistentVolumeSpec#volumeMode", priority=1),
        ),
        cells=_persistent_volume,
    ),
)
