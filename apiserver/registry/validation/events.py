"""What Events may be: loosely in the core group, strictly in events.k8s.io (pkg/apis/core/validation/events.go).

Paths are always those of the core group, which is what both are inside upstream; an object is read in either form.
"""

from collections.abc import Iterator

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj, namespace_of
from apiserver.api.validation import checks, names
from apiserver.api.validation.contract import Validator, same_on_update

_LIMITS = {"reportingInstance": 128, "action": 128, "reason": 128, "message": 1024}
_OTHER_NAMES = {  # the core group's field → how events.k8s.io calls it
    "involvedObject": "regarding",
    "message": "note",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
    "reportingComponent": "reportingController",
}
_FIXED = (
    ("involvedObject", "involvedObject"),
    ("reason", "reason"),
    ("message", "message"),
    ("source", "source"),
    ("firstTimestamp", "firstTimestamp"),
    ("lastTimestamp", "lastTimestamp"),
    ("count", "count"),
    ("reason", "reason"),
    ("type", "type"),
    ("eventTime", "eventTime"),
    ("action", "action"),
    ("related", "related"),
    ("reportingComponent", "reportingController"),
    ("reportingInstance", "reportingInstance"),
)
_UNSET = ("firstTimestamp", "lastTimestamp", "count", "source")
_TYPES = frozenset({"Normal", "Warning"})
_OTHER_NAMESPACE = "does not match event.namespace"


def _get(event: Obj, name: str) -> object:
    """The value of a field by its name in the core group, in whichever form the event is."""
    return event.get(name) or event.get(_OTHER_NAMES.get(name, name))


def _loose(event: Obj) -> Iterator[FieldError]:
    namespace, involved = namespace_of(event), _get(event, "involvedObject")
    meant = involved.get("namespace") or "" if isinstance(involved, dict) else ""
    if event.get("eventTime"):
        fits = bool(meant) or namespace in {"default", "kube-system"}
    else:
        fits = namespace == meant if meant else namespace in {"", "default"}
    if not fits:
        yield field.invalid("involvedObject.namespace", meant, _OTHER_NAMESPACE)
    if event.get("eventTime"):
        yield from _new_style(event)
    yield from checks.wrong("namespace", namespace, names.dns1123_subdomain(namespace))


def _new_style(event: Obj) -> Iterator[FieldError]:
    controller = str(_get(event, "reportingComponent") or "")
    yield from checks.needed("reportingController", controller)
    yield from checks.wrong("reportingController", controller, names.qualified_name(controller))
    for name, limit in _LIMITS.items():
        text = str(_get(event, name) or "")
        if not text and name != "message":
            yield field.required(name)
        if len(text.encode()) > limit:
            yield field.invalid(name, "", f"can have at most {limit} characters")


def _strict(event: Obj) -> Iterator[FieldError]:
    yield from _loose(event)
    yield from _series(event)
    yield from checks.needed("eventTime", event.get("eventTime"))
    kind = event.get("type") or ""
    if kind not in _TYPES:
        yield field.invalid("type", "", f"has invalid value: {kind}")
    for name in _UNSET:
        if _get(event, name):
            yield field.invalid(name, "", "needs to be unset")


def _series(event: Obj) -> Iterator[FieldError]:
    series = event.get("series")
    if series is not None:
        if (series.get("count") or 0) < 2:
            yield field.invalid("series.count", "", "should be at least 2")
        yield from checks.needed("series.lastObservedTime", series.get("lastObservedTime"))


def _strict_update(new: Obj, old: Obj) -> Iterator[FieldError]:
    yield from _loose(new)
    if new.get("series") != old.get("series"):
        yield from _series(new)
    for name, path in _FIXED:
        yield from checks.immutable(path, _get(new, name), _get(old, name))


VALIDATORS = {
    ("", "Event"): same_on_update(_loose),
    ("events.k8s.io", "Event"): Validator(_strict, _strict_update),
}
