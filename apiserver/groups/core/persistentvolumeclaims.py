"""PersistentVolumeClaims (core) and the specs of claim templates: defaults, strategy, validation and columns."""

from collections.abc import Iterator

from apiserver.api import field, quantity
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj, metadata, name_of
from apiserver.api.storage_classes import CLASS_ANNOTATION
from apiserver.api.validation import checks, combinators, names
from apiserver.api.validation.contract import Validator
from apiserver.api.validation.resource_lists import is_native
from apiserver.groups.cell_format import age
from apiserver.groups.cells import UNSET, Cells, is_deleted, mapping, quantity_text, text_of, texts
from apiserver.groups.columns import AGE, CORE, NAME, Column, Printer
from apiserver.groups.core.pods.defaults import default_claim_spec
from apiserver.groups.kind import BuiltinKind
from apiserver.groups.notices import stored
from apiserver.groups.quantities import round_up_to_milli
from apiserver.groups.strategy import Strategy, keep_field, status_updating


def default_claim(claim: Obj) -> None:
    """Set the defaults of a PersistentVolumeClaim."""
    default_claim_spec(claim.setdefault("spec", {}))
    status = claim.setdefault("status", {})
    status.setdefault("phase", "Pending")
    round_up_to_milli(status.get("capacity"))
    round_up_to_milli(status.get("allocatedResources"))


_CLASSIC_SOURCES = {("", "PersistentVolumeClaim"), ("snapshot.storage.k8s.io", "VolumeSnapshot")}


def _create_claim(claim: Obj) -> None:
    claim["status"] = {"phase": "Pending"}
    spec = claim["spec"]
    _drop_unknown_source(spec)
    _mirror_data_source(spec)


def _update_claim(new: Obj, old: Obj) -> None:
    """Keep the status and fill in dataSourceRef again, since older clients leave it out."""
    keep_field(new, old, "status")
    if "dataSource" not in old["spec"] and "dataSourceRef" not in old["spec"]:
        _drop_unknown_source(new["spec"])
    _mirror_data_source(new["spec"])


def _drop_unknown_source(spec: Obj) -> None:
    """Drop a dataSource that names neither a claim nor a snapshot; dataSourceRef may name other objects."""
    source = spec.get("dataSource") or {}
    if (source.get("apiGroup", ""), source.get("kind")) not in _CLASSIC_SOURCES:
        spec.pop("dataSource", None)


def _mirror_data_source(spec: Obj) -> None:
    """Copy dataSource to dataSourceRef or back, unless dataSourceRef names an object in another namespace."""
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if source is not None and reference is None:
        spec["dataSourceRef"] = dict(source)
    elif reference is not None and source is None and not reference.get("namespace"):
        spec["dataSource"] = {field: value for field, value in reference.items() if field != "namespace"}


PERSISTENT_VOLUME_CLAIM_STRATEGY = Strategy(_create_claim, _update_claim, status_updating(), has_status=True)

ACCESS_MODES = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}
"""Access mode → its abbreviation in columns, in the order in which they are printed."""

VOLUME_MODES = frozenset({"Block", "Filesystem"})

_CHANGED = "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims\n"

_RESIZE_STATES = frozenset(
    {
        "ControllerResizeInProgress",
        "ControllerResizeInfeasible",
        "NodeResizePending",
        "NodeResizeInProgress",
        "NodeResizeInfeasible",
    }
)


def access_modes(modes: list[str]) -> Iterator[FieldError]:
    """Yield the errors of a claim's or volume's access modes: unknown ones, or ReadWriteOncePod with others."""
    for mode in modes:
        yield from checks.one_of("accessModes", mode, ACCESS_MODES.keys())
    if "ReadWriteOncePod" in modes and ACCESS_MODES.keys() & modes != {"ReadWriteOncePod"}:
        yield field.forbidden("accessModes", "may not use ReadWriteOncePod with other access modes")


def _create(claim: Obj) -> Iterator[FieldError]:
    return checks.prefix_errors("spec", claim_spec(claim.get("spec") or {}))


def claim_spec(spec: Obj) -> Iterator[FieldError]:
    """Yield the errors of a claim's spec, with paths relative to it (ValidatePersistentVolumeClaimSpec)."""
    modes = spec.get("accessModes") or []
    yield from checks.required("accessModes", modes, "at least 1 access mode is required")
    yield from checks.label_selector("selector", spec.get("selector"))
    yield from access_modes(modes)
    yield from _size(_requested(spec))
    yield from checks.optional_name("storageClassName", spec.get("storageClassName"), names.dns1123_subdomain)
    yield from checks.optional_one_of("volumeMode", spec.get("volumeMode"), VOLUME_MODES)
    yield from _sources(spec)
    attributes = spec.get("volumeAttributesClassName")
    yield from checks.optional_name("volumeAttributesClassName", attributes, names.dns1123_subdomain)


def _requested(spec: Obj) -> str | None:
    storage: str | None = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    return storage


def _size(size: str | None) -> checks.FieldErrors:
    if size is None:
        return (field.required("resources[storage]"),)
    return () if _bytes(size) > 0 else (field.invalid("resources[storage]", size, checks.NOT_POSITIVE),)


def _bytes(size: str | None) -> int:
    return quantity.of(size).nanos


def _sources(spec: Obj) -> Iterator[FieldError]:
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if source is not None:
        yield from checks.prefix_errors("dataSource", _source(source))
    if reference is None:
        return
    yield from checks.prefix_errors("dataSourceRef", _source(reference))
    namespace = reference.get("namespace")
    yield from checks.optional_name("dataSourceRef.namespace", namespace, names.dns1123_label)
    if source is None:
        return
    if namespace:
        yield field.invalid("", {}, "may not be specified when dataSourceRef.namespace is specified")
    elif any(source.get(name) != reference.get(name) for name in ("apiGroup", "kind", "name")):
        yield field.invalid("", {}, "must match dataSourceRef")


def _source(source: Obj) -> Iterator[FieldError]:
    yield from checks.required("name", source.get("name"))
    kind, group = source.get("kind") or "", source.get("apiGroup")
    yield from checks.required("kind", kind)
    if not group and kind != "PersistentVolumeClaim":
        yield field.invalid("", kind, "must be 'PersistentVolumeClaim' when referencing the default apiGroup")
    yield from checks.optional_name("apiGroup", group, names.dns1123_subdomain)


def _update(new: Obj, old: Obj) -> Iterator[FieldError]:
    yield from _create(new)
    spec, before = new.get("spec") or {}, old.get("spec") or {}
    annotations, old_annotations = ((obj["metadata"].get("annotations") or {}) for obj in (new, old))
    if old_annotations.get(CLASS_ANNOTATION) != annotations.get(CLASS_ANNOTATION) and not _upgrade_storage_class(
        old, spec
    ):
        shown = annotations.get(CLASS_ANNOTATION, "")
        yield field.invalid(f"metadata.annotations.{CLASS_ANNOTATION}", shown, checks.IMMUTABLE)
    bound = (new.get("status") or {}).get("phase") == "Bound"
    reverted = _revert_allowed_changes(spec, before, old_annotations.get(CLASS_ANNOTATION), bound=bound)
    if not combinators.deeply_equal(reverted, before):
        yield field.forbidden("spec", _CHANGED + _difference(reverted, before))
    yield from _shrinking(_requested(spec), _requested(before), old.get("status") or {})
    yield from checks.immutable("volumeMode", spec.get("volumeMode"), before.get("volumeMode"))
    yield from _attributes(spec.get("volumeAttributesClassName"), before.get("volumeAttributesClassName"))


def _upgrade_storage_class(old: Obj, spec: Obj) -> bool:
    """Return whether the storage class moves from the deprecated annotation to its field."""
    annotated = (old["metadata"].get("annotations") or {}).get(CLASS_ANNOTATION)
    before = (old.get("spec") or {}).get("storageClassName")
    return annotated is not None and before is None and spec.get("storageClassName") == annotated


def _revert_allowed_changes(spec: Obj, before: Obj, annotated: str | None, *, bound: bool) -> Obj:
    """Return the new spec with every allowed change undone: each remaining difference is forbidden."""
    reverted = dict(spec)
    if not before.get("volumeName"):
        reverted["volumeName"] = None
    if before.get("storageClassName") is None and annotated in {None, spec.get("storageClassName")}:
        reverted["storageClassName"] = None
    if bound:
        resources = spec.get("resources") or {}
        requests = (resources.get("requests") or {}) | {"storage": _requested(before)}
        reverted["resources"] = resources | {"requests": requests}
        if spec.get("volumeAttributesClassName") is not None:
            reverted["volumeAttributesClassName"] = before.get("volumeAttributesClassName")
    elif _bytes(_requested(spec)) == _bytes(_requested(before)):
        reverted["resources"] = before.get("resources")
    return reverted


def _difference(new: Obj, old: Obj) -> str:
    """Return the fields that differ, in the format of the diff that upstream prints here."""
    lines = ["  core.PersistentVolumeClaimSpec{"]
    for name in dict.fromkeys((*old, *new)):
        if not combinators.deeply_equal(new.get(name), old.get(name)):
            go_name = name[:1].upper() + name[1:]
            lines += [f"- \t{go_name}: {field.show(old.get(name))},", f"+ \t{go_name}: {field.show(new.get(name))},"]
    return "\n".join([*lines, "  }", ""])


def _shrinking(new: str | None, old: str | None, status: Obj) -> Iterator[FieldError]:
    if _bytes(new) < _bytes(old) and _bytes(new) <= _bytes((status.get("capacity") or {}).get("storage")):
        yield field.forbidden("spec.resources.requests.storage", "field can not be less than status.capacity")


def _attributes(new: str | None, old: str | None) -> Iterator[FieldError]:
    if old is not None and not new:
        target = "nil" if new is None else "an empty string"
        yield field.forbidden("spec.volumeAttributesClassName", f"update from non-nil value to {target} is forbidden")


def _status_update(new: Obj, _old: Obj) -> Iterator[FieldError]:
    yield from checks.required("Spec.accessModes", (new.get("spec") or {}).get("accessModes"))
    status = new.get("status") or {}
    for name, text in (status.get("capacity") or {}).items():
        yield from whole_amount(f"status.capacity[{name}]", text)
    path = "status.allocatedResourceStatus"
    for name, state in (status.get("allocatedResourceStatuses") or {}).items():
        yield from _resource_key(path, name)
        if state not in _RESIZE_STATES:
            yield field.not_supported(path, name, _RESIZE_STATES)
    for name, text in (status.get("allocatedResources") or {}).items():
        errors = _resource_key("status.allocatedResources", name)
        yield from errors or whole_amount(f"status.allocatedResources[{name}]", text)


def whole_amount(path: str, text: str) -> checks.FieldErrors:
    """Return an error if the amount is negative (validateBasicResource)."""
    value = quantity.of(text).value
    return () if value >= 0 else (field.invalid(path, value, "must be a valid resource quantity"),)


def _resource_key(path: str, name: str) -> checks.FieldErrors:
    errors = checks.invalid_values(path, name, names.qualified_name(name))
    if errors or not is_native(name) or name == "storage":
        return errors
    return (field.not_supported(path, name, ("storage",)),)


def access_modes_text(obj: Obj) -> str:
    """Return access modes as the column shows them: "RWO,RWX"."""
    modes = texts(obj, "accessModes")
    return ",".join([short for mode, short in ACCESS_MODES.items() if mode in modes])


def annotations_in(obj: Obj) -> Obj:
    """Return the annotations of an object, {} if it has none."""
    return mapping(metadata(obj), "annotations")


def storage_class_name(obj: Obj) -> str:
    """Return the storage class that an object names, in its old annotation or in its spec."""
    from_spec = text_of(mapping(obj, "spec"), "storageClassName")
    return text_of(annotations_in(obj), CLASS_ANNOTATION, from_spec)


def phase_text(obj: Obj) -> str:
    """Return the phase as the column shows it: "Terminating" once the object is being deleted."""
    return "Terminating" if is_deleted(obj) else text_of(mapping(obj, "status"), "phase")


def _persistent_volume_claim(obj: Obj) -> Cells:
    spec, status = mapping(obj, "spec"), mapping(obj, "status")
    volume = text_of(spec, "volumeName")
    return [
        name_of(obj),
        phase_text(obj),
        volume,
        quantity_text(mapping(status, "capacity"), "storage") if volume else "",
        access_modes_text(status) if volume else "",
        storage_class_name(obj),
        text_of(spec, "volumeAttributesClassName", UNSET),
        age(obj),
        text_of(spec, "volumeMode", UNSET),
    ]


def _grows(new: Obj, old: Obj | None) -> bool:
    """Test whether a claim requests more storage than before."""
    return old is not None and _requested_storage(new) > _requested_storage(old)


def _requested_storage(claim: Obj) -> int:
    requests = ((claim.get("spec") or {}).get("resources") or {}).get("requests") or {}
    return quantity.of(requests.get("storage")).nanos


PERSISTENT_VOLUME_CLAIM = BuiltinKind(
    "",
    "PersistentVolumeClaim",
    ("pvc",),
    default=default_claim,
    returns_deleted=True,
    strategy=PERSISTENT_VOLUME_CLAIM_STRATEGY,
    validator=Validator(_create, _update, _status_update),
    printer=Printer(
        columns=(
            NAME,
            Column("Status", f"{CORE}PersistentVolumeClaimStatus#phase"),
            Column("Volume", f"{CORE}PersistentVolumeClaimSpec#volumeName"),
            Column("Capacity", f"{CORE}PersistentVolumeClaimStatus#capacity"),
            Column("Access Modes", f"{CORE}PersistentVolumeClaimStatus#accessModes"),
            Column("StorageClass", f"{CORE}PersistentVolumeClaimSpec#storageClassName"),
            Column("VolumeAttributesClass", f"{CORE}PersistentVolumeClaimSpec#volumeAttributesClassName"),
            AGE,
            Column("VolumeMode", f"{CORE}PersistentVolumeClaimSpec#volumeMode", priority=1),
        ),
        cells=_persistent_volume_claim,
    ),
    notices=stored(
        "PersistentVolumeClaim", "resizes no volumes", "keeps its capacity", "its storage request grows", _grows
    ),
)
