"""Conversions between the versions of a kind that are not alike; all others differ in apiVersion alone."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from apiserver.api.meta import Obj
from apiserver.api.resources import Resource
from apiserver.registry import autoscaler_conversion
from apiserver.registry import device_conversion as devices


@dataclass(frozen=True, slots=True)
class Conversion:
    """The two ways between a served version and the stored one.

    Attributes:
        alike: versions whose objects look the same: if one of them is stored, nothing is converted.
    """

    to_storage: Callable[[Obj], Obj]
    from_storage: Callable[[Obj], Obj]
    alike: frozenset[str] = frozenset()


def _renamed(obj: Obj, names: Mapping[str, str]) -> Obj:
    return {names.get(key, key): value for key, value in obj.items()}


_EVENT_NAMES = {  # events.k8s.io/v1 → core/v1 (pkg/apis/events/v1/conversion.go)
    "regarding": "involvedObject",
    "note": "message",
    "reportingController": "reportingComponent",
    "deprecatedSource": "source",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
}
_CORE_NAMES = {core: new for new, core in _EVENT_NAMES.items()}
_CORE_ALWAYS: Obj = {
    "involvedObject": {},
    "source": {},
    "firstTimestamp": None,
    "lastTimestamp": None,
    "eventTime": None,
    "reportingComponent": "",
    "reportingInstance": "",
}


def _event_to_core(obj: Obj) -> Obj:
    return _CORE_ALWAYS | _renamed(obj, _EVENT_NAMES)


def _event_from_core(obj: Obj) -> Obj:
    return _renamed(_without(obj, ("reportingComponent", "reportingInstance")), _CORE_NAMES)


def _without(obj: Obj, optional: tuple[str, ...]) -> Obj:
    return {k: v for k, v in obj.items() if v not in ("", None) or k not in optional}


def _shares(old: str, new: str) -> Callable[[Obj], Obj]:
    """Renames the shares of a PriorityLevelConfiguration."""

    def rename(obj: Obj) -> Obj:
        spec = obj.get("spec") or {}
        if not spec.get("limited"):
            return obj
        return obj | {"spec": spec | {"limited": _renamed(spec["limited"], {old: new})}}

    return rename


def _without_proof(obj: Obj) -> Obj:
    """What v1 of a PodCertificateRequest says by its stub request alone."""
    spec = obj.get("spec") or {}
    kept = {name: value for name, value in spec.items() if name not in ("pkixPublicKey", "proofOfPossession")}
    return obj | {"spec": kept}


def _same(obj: Obj) -> Obj:
    return obj


_OLD_DEVICES = frozenset(("v1beta1", "v1alpha3"))
_OLD_SHARES = frozenset(("v1beta2", "v1beta1"))
_OF_OLD_VERSIONS: Mapping[tuple[str, str], Conversion] = {
    ("resource.k8s.io", "ResourceClaim"): Conversion(
        devices.requests_to_v1(devices.CLAIM), devices.requests_from_v1(devices.CLAIM), alike=_OLD_DEVICES
    ),
    ("resource.k8s.io", "ResourceClaimTemplate"): Conversion(
        devices.requests_to_v1(devices.TEMPLATE), devices.requests_from_v1(devices.TEMPLATE), alike=_OLD_DEVICES
    ),
    ("resource.k8s.io", "ResourceSlice"): Conversion(devices.slice_to_v1, devices.slice_from_v1, alike=_OLD_DEVICES),
    ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration"): Conversion(
        _shares("assuredConcurrencyShares", "nominalConcurrencyShares"),
        _shares("nominalConcurrencyShares", "assuredConcurrencyShares"),
        alike=_OLD_SHARES,
    ),
}
"""(group, kind) → the conversion between the versions that are alike and all others."""

CONVERSIONS: Mapping[tuple[str, str, str], Conversion] = {
    ("events.k8s.io", "v1", "Event"): Conversion(_event_to_core, _event_from_core),
    ("autoscaling", "v1", "HorizontalPodAutoscaler"): Conversion(
        autoscaler_conversion.to_v2, autoscaler_conversion.from_v2
    ),
    ("certificates.k8s.io", "v1", "PodCertificateRequest"): Conversion(_same, _without_proof),
    **{
        (group, version, kind): conversion
        for (group, kind), conversion in _OF_OLD_VERSIONS.items()
        for version in conversion.alike
    },
}
"""(group, served version, kind) → its conversion to and from the stored version, for versions that are not alike."""


def conversion_of(resource: Resource) -> Conversion | None:
    """The conversion between the version of a row and the stored one, None where their objects are alike."""
    found = CONVERSIONS.get((resource.group, resource.version, resource.kind))
    return None if found is None or resource.storage_version in found.alike else found
