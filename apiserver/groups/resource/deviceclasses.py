"""DeviceClasses (resource.k8s.io): validation."""

from apiserver.api.meta import Obj
from apiserver.api.validation import checks
from apiserver.api.validation.contract import Errors, same_on_update
from apiserver.groups.columns import NAME_AND_AGE
from apiserver.groups.kind import BuiltinKind
from apiserver.groups.notices import NO_DEVICES, stored
from apiserver.groups.resource.resourceclaims import device_selectors
from apiserver.groups.strategy import COUNTED


def _class(device_class: Obj) -> Errors:
    return checks.prefix_errors("spec", device_selectors((device_class.get("spec") or {}).get("selectors") or []))


DEVICE_CLASS = BuiltinKind(
    "resource.k8s.io",
    "DeviceClass",
    namespaced=False,
    returns_deleted=True,
    strategy=COUNTED,
    validator=same_on_update(_class),
    printer=NAME_AND_AGE,
    notices=stored("DeviceClass", NO_DEVICES, "no device is chosen by it"),
)
