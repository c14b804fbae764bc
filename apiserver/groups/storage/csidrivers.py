"""CSIDrivers (storage.k8s.io): defaults, validation and columns."""

from collections.abc import Iterator

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj, name_of
from apiserver.api.validation import checks, combinators
from apiserver.api.validation.contract import Validator
from apiserver.groups.cell_format import age
from apiserver.groups.cells import NONE, UNSET, Cells, flag, mapping, mappings, text_of, texts
from apiserver.groups.columns import AGE, NAME, STORAGE, Column, Printer
from apiserver.groups.core.pods.volumes import csi_driver_name
from apiserver.groups.kind import BuiltinKind
from apiserver.groups.strategy import COUNTED_PINNED


def default_csi_driver(driver: Obj) -> None:
    """Set the defaults of a CSIDriver."""
    spec = driver.setdefault("spec", {})
    spec.setdefault("attachRequired", True)
    spec.setdefault("podInfoOnMount", False)
    spec.setdefault("storageCapacity", False)
    spec.setdefault("fsGroupPolicy", "ReadWriteOnceWithFSType")
    spec.setdefault("requiresRepublish", False)
    spec.setdefault("seLinuxMount", False)
    if not spec.get("volumeLifecycleModes"):
        spec["volumeLifecycleModes"] = ["Persistent"]


_TEN_MINUTES = 600

_GROUP_POLICIES = frozenset({"File", "None", "ReadWriteOnceWithFSType"})

_LIFECYCLES = frozenset({"Ephemeral", "Persistent"})

_DRIVER_FLAGS = {"attachRequired": "attachedRequired", "podInfoOnMount": "podInfoOnMount"}  # field → the path in errors


def _driver(driver: Obj) -> Iterator[FieldError]:
    yield from combinators.at("name", csi_driver_name(driver["metadata"].get("name") or ""))
    yield from checks.prefix_errors("spec", _driver_spec(driver.get("spec") or {}))


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
        yield from checks.prefix_errors(f"{path}.expirationSeconds", _expiration(request.get("expirationSeconds")))
    for mode in spec.get("volumeLifecycleModes") or ():
        yield from checks.one_of("volumeLifecycleModes", mode, _LIFECYCLES)
    period = spec.get("nodeAllocatableUpdatePeriodSeconds")
    if period is not None and period < 10:
        detail = "must be greater than or equal to 10 seconds"
        yield field.invalid("nodeAllocatableUpdatePeriodSeconds", period, detail)


def _expiration(seconds: int | None) -> Iterator[FieldError]:
    if seconds is not None and seconds < _TEN_MINUTES:
        yield field.invalid("", seconds, "may not specify a duration less than 10 minutes")
    elif seconds is not None and seconds > 1 << 32:
        yield field.invalid("", seconds, "may not specify a duration larger than 2^32 seconds")


def _driver_update(new: Obj, old: Obj) -> Iterator[FieldError]:
    spec, before = new.get("spec") or {}, old.get("spec") or {}
    yield from checks.prefix_errors("spec", _driver_spec(spec))
    yield from checks.immutable("spec.attachedRequired", spec.get("attachRequired"), before.get("attachRequired"))
    modes, old_modes = spec.get("volumeLifecycleModes"), before.get("volumeLifecycleModes")
    yield from checks.immutable("spec.volumeLifecycleModes", modes, old_modes)


def _csi_driver(obj: Obj) -> Cells:
    spec = mapping(obj, "spec")
    audiences = [text_of(request, "audience") for request in mappings(spec, "tokenRequests")]
    return [
        name_of(obj),
        flag(spec, "attachRequired", absent=True),
        flag(spec, "podInfoOnMount"),
        flag(spec, "storageCapacity"),
        UNSET if spec.get("tokenRequests") is None else ",".join(audiences),
        flag(spec, "requiresRepublish"),
        ",".join(texts(spec, "volumeLifecycleModes")) or NONE,
        age(obj),
    ]


CSI_DRIVER = BuiltinKind(
    "storage.k8s.io",
    "CSIDriver",
    namespaced=False,
    default=default_csi_driver,
    returns_deleted=True,
    strategy=COUNTED_PINNED,
    validator=Validator(_driver, _driver_update),
    printer=Printer(
        columns=(
            NAME,
            Column("AttachRequired", f"{STORAGE}CSIDriverSpec#attachRequired", type="boolean"),
            Column("PodInfoOnMount", f"{STORAGE}CSIDriverSpec#podInfoOnMount", type="boolean"),
            Column("StorageCapacity", f"{STORAGE}CSIDriverSpec#storageCapacity", type="boolean"),
            Column("TokenRequests", f"{STORAGE}CSIDriverSpec#tokenRequests"),
            Column("RequiresRepublish", f"{STORAGE}CSIDriverSpec#requiresRepublish", type="boolean"),
            Column("Modes", f"{STORAGE}CSIDriverSpec#volumeLifecycleModes"),
            AGE,
        ),
        cells=_csi_driver,
    ),
)
