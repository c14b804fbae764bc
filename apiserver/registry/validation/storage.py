"""What storage classes and the objects of CSI may be; volumes and claims have files of their own (pkg/apis/storage)."""

from collections.abc import Callable, Iterator, Mapping

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj
from apiserver.api.validation import checks, combinators, names
from apiserver.api.validation.contract import Errors, Validator
from apiserver.api.validation.resource_lists import amount
from apiserver.registry.validation import claims, persistent_volumes
from apiserver.registry.validation.volumes import csi_driver_name

_GROUP = "storage.k8s.io"
_MOST_PARAMETERS, _MOST_PARAMETER_BYTES, _LONGEST_NODE_ID = 512, 256 * 1024, 192
_TEN_MINUTES = 600
_RECLAIM_POLICIES = frozenset({"Delete", "Retain"})
_BINDING_MODES = frozenset({"Immediate", "WaitForFirstConsumer"})
_GROUP_POLICIES = frozenset({"File", "None", "ReadWriteOnceWithFSType"})
_LIFECYCLES = frozenset({"Ephemeral", "Persistent"})
_DRIVER_FLAGS = {"attachRequired": "attachedRequired", "podInfoOnMount": "podInfoOnMount"}  # field → the path told


def _class(storage_class: Obj) -> Iterator[FieldError]:
    yield from _provisioner("provisioner", storage_class.get("provisioner") or "")
    yield from _parameters(storage_class.get("parameters") or {})
    policy = storage_class.get("reclaimPolicy")
    if policy:
        yield from checks.one_of("reclaimPolicy", policy, _RECLAIM_POLICIES)
    yield from checks.needed_one_of("volumeBindingMode", storage_class.get("volumeBindingMode"), _BINDING_MODES)
    yield from checks.each("allowedTopologies", storage_class.get("allowedTopologies"), _topology)


def _provisioner(path: str, name: str) -> checks.Found:
    return checks.wrong(path, name, names.qualified_name(name.lower())) if name else (field.required(path),)


def _parameters(parameters: Mapping[str, str]) -> Iterator[FieldError]:
    if len(parameters) > _MOST_PARAMETERS:
        yield field.too_long("parameters", _MOST_PARAMETERS)
        return
    if "" in parameters:
        yield field.invalid("parameters", "", "field can not be empty.")
    if sum(len(name.encode()) + len(value.encode()) for name, value in parameters.items()) > _MOST_PARAMETER_BYTES:
        yield field.too_long("parameters", _MOST_PARAMETER_BYTES)


def _topology(term: Obj) -> Iterator[FieldError]:
    requirements, seen = term.get("matchLabelExpressions") or (), set()
    for index, requirement in enumerate(requirements):
        key, values = requirement.get("key", ""), requirement.get("values") or ()
        path = f"matchLabelExpressions[{index}]"
        yield from checks.needed(f"{path}.values", values)
        for at, value in enumerate(values):
            if value in values[:at]:
                yield field.duplicate(f"{path}.values[{at}]", value)
        yield from checks.wrong(f"{path}.key", key, names.qualified_name(key))
        if key in seen:
            yield field.duplicate(f"{path}.key", key)
        seen.add(key)


def _class_update(new: Obj, old: Obj) -> Iterator[FieldError]:
    for name in ("parameters", "provisioner"):
        if not checks.same(new.get(name), old.get(name)):
            yield field.forbidden(name, f"updates to {name} are forbidden.")
    for name in ("reclaimPolicy", "volumeBindingMode"):
        yield from checks.immutable(name, new.get(name), old.get(name))


def _attributes_class(attributes_class: Obj) -> Iterator[FieldError]:
    yield from _provisioner("driverName", attributes_class.get("driverName") or "")
    parameters = attributes_class.get("parameters") or {}
    yield from _parameters(parameters)
    yield from checks.needed("parameters", parameters, "must contain at least one key/value pair")


def _driver(driver: Obj) -> Iterator[FieldError]:
    yield from combinators.at("name", csi_driver_name(driver["metadata"].get("name") or ""))
    yield from checks.within("spec", _driver_spec(driver.get("spec") or {}))


def _driver_spec(spec: Obj) -> Iterator[FieldError]:
    for name, path in _DRIVER_FLAGS.items():
        if spec.get(name) is None:
            yield field.required(path)
    yield from checks.optional_one_of("fsGroupPolicy", spec.get("fsGroupPolicy"), _GROUP_POLICIES)
    audiences = [request.get("audience", "") for request in spec.get("tokenRequests") or ()]
    for index, request in enumerate(spec.get("tokenRequests") or ()):
        path = f"tokenRequests[{index}]"
        if audiences[index] in audiences[:index]:
            yield field.duplicate(f"{path}.audience", audiences[index])
        yield from checks.within(f"{path}.expirationSeconds", _expiration(request.get("expirationSeconds")))
    for mode in spec.get("volumeLifecycleModes") or ():
        yield from checks.one_of("volumeLifecycleModes", mode, _LIFECYCLES)
    period = spec.get("nodeAllocatableUpdatePeriodSeconds")
    if period is not None and period < 10:
        words = "must be greater than or equal to 10 seconds"
        yield field.invalid("nodeAllocatableUpdatePeriodSeconds", period, words)


def _expiration(seconds: int | None) -> Iterator[FieldError]:
    if seconds is not None and seconds < _TEN_MINUTES:
        yield field.invalid("", seconds, "may not specify a duration less than 10 minutes")
    elif seconds is not None and seconds > 1 << 32:
        yield field.invalid("", seconds, "may not specify a duration larger than 2^32 seconds")


def _driver_update(new: Obj, old: Obj) -> Iterator[FieldError]:
    spec, before = new.get("spec") or {}, old.get("spec") or {}
    yield from checks.within("spec", _driver_spec(spec))
    yield from checks.immutable("spec.attachedRequired", spec.get("attachRequired"), before.get("attachRequired"))
    modes, was = spec.get("volumeLifecycleModes"), before.get("volumeLifecycleModes")
    yield from checks.immutable("spec.volumeLifecycleModes", modes, was)


def _node(node: Obj) -> Iterator[FieldError]:
    drivers = (node.get("spec") or {}).get("drivers") or []
    yield from checks.each("spec.drivers", drivers, _node_driver)
    seen = set()
    for index, driver in enumerate(drivers):
        name = driver.get("name", "")
        if name in seen:
            yield field.duplicate(f"spec.drivers[{index}].name", name)
        seen.add(name)


def _node_driver(driver: Obj) -> Iterator[FieldError]:
    yield from combinators.at("name", csi_driver_name(driver.get("name") or ""))
    node_id, keys = driver.get("nodeID") or "", driver.get("topologyKeys") or []
    yield from checks.needed("nodeID", node_id)
    if len(node_id) > _LONGEST_NODE_ID:
        yield field.invalid("nodeID", node_id, f"must be {_LONGEST_NODE_ID} characters or less")
    yield from checks.not_negative("allocatable.count", (driver.get("allocatable") or {}).get("count"))
    for index, key in enumerate(keys):
        yield from checks.needed(f"topologyKeys[{index}]", key)
        if key in keys[:index]:
            yield field.duplicate("topologyKeys", key)
        yield from checks.optional_name("topologyKeys", key, names.qualified_name)


def _node_update(new: Obj, old: Obj) -> Iterator[FieldError]:
    """A driver may come or go, and its count change; the rest of it stays."""
    yield from _node(new)
    drivers = {driver.get("name"): driver for driver in (new.get("spec") or {}).get("drivers") or ()}
    for driver in (old.get("spec") or {}).get("drivers") or ():
        current = drivers.get(driver.get("name"))
        if current and not combinators.same(current | {"allocatable": None}, driver | {"allocatable": None}):
            yield field.invalid("CSINodeDriver", current, checks.IMMUTABLE)


def _attachment(attachment: Obj) -> Iterator[FieldError]:
    spec = attachment.get("spec") or {}
    yield from combinators.at("spec.attacher", csi_driver_name(spec.get("attacher") or ""))
    source = spec.get("source") or {}
    inline, name = source.get("inlineVolumeSpec"), source.get("persistentVolumeName")
    words = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"
    if inline is None and name is None:
        yield field.required("spec.source", words)
    elif inline is not None and name is not None:
        yield field.forbidden("spec.source", words)
    elif name == "":
        yield field.required("spec.source.persistentVolumeName", "must specify non empty persistentVolumeName")
    node = spec.get("nodeName") or ""
    yield from checks.wrong("spec.nodeName", node, names.dns1123_subdomain(node))


def _attachment_update(new: Obj, old: Obj) -> Iterator[FieldError]:
    yield from _attachment(new)
    if not combinators.same(new.get("spec"), old.get("spec")):
        yield field.invalid("spec", new.get("spec"), checks.IMMUTABLE)


def _capacity(capacity: Obj) -> Iterator[FieldError]:
    name = capacity.get("storageClassName") or ""
    yield from checks.wrong("storageClassName", name, names.dns1123_subdomain(name))
    for limit in ("capacity", "maximumVolumeSize"):
        text = capacity.get(limit)
        if text is not None and amount(text) < 0:
            yield field.invalid(limit, text, checks.NEGATIVE)
    yield from checks.label_selector("nodeTopology", capacity.get("nodeTopology"))


def _fixed(*fields: str) -> Callable[[Obj, Obj], Errors]:
    """An update that may change none of the fields."""

    def update(new: Obj, old: Obj) -> Iterator[FieldError]:
        for name in fields:
            yield from checks.immutable(name, new.get(name), old.get(name))

    return update


VALIDATORS = (
    {
        (_GROUP, "StorageClass"): Validator(_class, _class_update),
        (_GROUP, "VolumeAttributesClass"): Validator(_attributes_class, _fixed("driverName", "parameters")),
        (_GROUP, "CSIDriver"): Validator(_driver, _driver_update),
        (_GROUP, "CSINode"): Validator(_node, _node_update),
        (_GROUP, "VolumeAttachment"): Validator(_attachment, _attachment_update),
        (_GROUP, "CSIStorageCapacity"): Validator(_capacity, _fixed("nodeTopology", "storageClassName")),
    }
    | claims.VALIDATORS
    | persistent_volumes.VALIDATORS
)
