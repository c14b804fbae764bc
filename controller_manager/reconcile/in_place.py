"""In-place updates: new images in the same pod, which keeps its name, its node and its address.

Shared by OpenKruise's CloneSet and StatefulSet (pkg/util/inplaceupdate). An update is recorded on the pod: an
annotation holds the state in which the update began, and a readiness gate keeps the pod from being ready until its
containers run the new images. Not supported: launch priorities, by which containers are updated one after the other;
environment variables from metadata; and resources, whose feature gate is off upstream.
"""

from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import ceil
from types import MappingProxyType
from typing import Any

import orjson

from apiserver.api.meta import Obj, annotations_of, labels_of, name_of
from controller_manager.reconcile.conditions import FALSE, TRUE, condition_of, without_condition
from controller_manager.reconcile.images import image_of
from controller_manager.reconcile.revisions import template_of
from controller_manager.reconcile.times import format_time, parse_time

READINESS_GATE = "InPlaceUpdateReady"
"""The readiness gate of pods that may be updated in place, and the condition that opens it."""
STATE_ANNOTATION = "apps.kruise.io/inplace-update-state"
"""The annotation with a pod's state when its last in-place update began (InPlaceUpdateState, as JSON)."""
GRACE_ANNOTATION = "apps.kruise.io/inplace-update-grace"
"""The annotation with the changes to make to a pod once its grace period is over (UpdateSpec, as JSON)."""

EMPTY: Mapping[str, Any] = MappingProxyType({})

_FORMER_STATE, _FORMER_GRACE = "inplace-update-state", "inplace-update-grace"  # before OpenKruise 1.0
_BEGUN = "StartInPlaceUpdate"

PodMarker = Callable[[Obj], Obj]
"""Writes a workload's own marks on an updated pod, such as the label of its new revision."""


# -- what an update changes --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class UpdateSpec:
    """The changes that an in-place update makes to a pod (UpdateSpec).

    Attributes:
        revision: the name of the pod's new revision.
        images: the new images, by container name.
        metadata: a strategic merge patch, empty if metadata does not change.
        grace: seconds between the pod's becoming unready and the change itself.
    """

    revision: str
    images: Mapping[str, str] = field(default_factory=dict)
    metadata: Obj = field(default_factory=dict)
    grace: int = 0

    def text(self) -> str:
        """Return the value of the annotation for a pod in its grace period."""
        fields: Obj = {"revision": self.revision}
        if self.images:
            fields["containerImages"] = dict(sorted(self.images.items()))
        if self.metadata:
            fields["metaDataPatch"] = b64encode(orjson.dumps(self.metadata)).decode()
        return _json(fields | ({"graceSeconds": self.grace} if self.grace else {}))


def _read_spec(text: str) -> UpdateSpec | None:
    """Return the UpdateSpec in an annotation, or None if it cannot be parsed."""
    fields = _read(text)
    if fields is None or not isinstance(fields.get("revision"), str):
        return None
    try:
        metadata = orjson.loads(b64decode(fields["metaDataPatch"])) if fields.get("metaDataPatch") else {}
    except (Base64Error, TypeError, ValueError):
        return None
    return UpdateSpec(
        fields["revision"], fields.get("containerImages") or {}, metadata, fields.get("graceSeconds") or 0
    )


def spec_between(old: Obj | None, new: Obj, *, grace: int = 0) -> UpdateSpec | None:
    """Return the changes that bring a pod from one revision to another, or None if that needs a new pod.

    Only images of containers may differ, not of init containers, and anything in the template's metadata
    (defaultCalculateInPlaceUpdateSpec).

    Args:
        old: the ControllerRevision of the pod, or None if it is gone.
        new: the ControllerRevision to update to.
        grace: inPlaceUpdateStrategy.gracePeriodSeconds.
    """
    before, after = template_of(old) if old is not None else None, template_of(new)
    if before is None or after is None:
        return None
    images = _new_images(before["spec"], after["spec"])
    if images is None or _rest(before) != _rest(after):
        return None
    patch = metadata_patch(before.get("metadata") or {}, after.get("metadata") or {})
    return UpdateSpec(name_of(new), images, patch, grace)


def _rest(template: Obj) -> Obj:
    return {key: value for key, value in template.items() if key not in ("metadata", "spec")}


def _new_images(before: Obj, after: Obj) -> dict[str, str] | None:
    """Return the images that differ, or None if anything else differs."""
    old, new = before["containers"], after["containers"]
    if len(old) != len(new) or before | {"containers": ()} != after | {"containers": ()}:
        return None
    images: dict[str, str] = {}
    for old_container, new_container in zip(old, new, strict=True):
        if old_container == new_container:
            continue
        if not (old_container.get("image") and new_container.get("image")) or old_container | {
            "image": ""
        } != new_container | {"image": ""}:
            return None
        images[old_container["name"]] = new_container["image"]
    return images


# -- the gate ----------------------------------------------------------------------------------------------------------


def has_gate(pod: Obj) -> bool:
    """Return whether a pod has the readiness gate for in-place updates."""
    return any(gate.get("conditionType") == READINESS_GATE for gate in pod["spec"].get("readinessGates") or ())


def with_gate(pod: Obj) -> Obj:
    """Return the pod with the readiness gate (InjectReadinessGate)."""
    if has_gate(pod):
        return pod
    gates = [*(pod["spec"].get("readinessGates") or ()), {"conditionType": READINESS_GATE}]
    return pod | {"spec": pod["spec"] | {"readinessGates": gates}}


def is_gate_closed(pod: Obj) -> bool:
    """Return whether an in-place update is under way according to the pod's condition; without it, none is."""
    condition = condition_of(pod, READINESS_GATE)
    return condition is not None and condition.get("status") != TRUE


def with_closed_gate(pod: Obj, now: float) -> Obj:
    """Return the pod with its gate closed, and therefore not ready; unchanged if it has no gate or it is closed.

    (Update, updateCondition) The kubelet would close it as well, but later than the images change.
    """
    if not has_gate(pod) or is_gate_closed(pod):
        return pod
    closed = _condition(READINESS_GATE, FALSE, now, reason=_BEGUN)
    conditions = (pod.get("status") or {}).get("conditions") or ()
    pod = pod | {
        "status": (pod.get("status") or {}) | {"conditions": [*without_condition(conditions, READINESS_GATE), closed]}
    }
    ready, containers = condition_of(pod, "Ready"), condition_of(pod, "ContainersReady")
    if ready is None or ready["status"] == FALSE or containers is None or containers["status"] != TRUE:
        return pod
    message = ", ".join(
        filter(None, (_closed_reason(pod, gate["conditionType"]) for gate in pod["spec"]["readinessGates"]))
    )
    not_ready = _condition("Ready", FALSE, now, reason="ReadinessGatesNotReady", message=message)
    updated = [not_ready if condition["type"] == "Ready" else condition for condition in pod["status"]["conditions"]]
    return pod | {"status": pod["status"] | {"conditions": updated}}


def _closed_reason(pod: Obj, gate: str) -> str:
    """Return why a gate is closed, or "" if it is open (SetPodReadyCondition)."""
    condition = condition_of(pod, gate)
    if condition is None:
        return f'corresponding condition of pod readiness gate "{gate}" does not exist.'
    status = condition["status"]
    return "" if status == TRUE else f'the status of pod readiness gate "{gate}" is not "True", but {status}'


def _condition(type_: str, status: str, now: float, **fields: str) -> Obj:
    return {"type": type_, "status": status, "lastProbeTime": None, "lastTransitionTime": format_time(now)} | fields


def gate_opening_patch(pod: Obj, now: float, marks: Mapping[str, Any] = EMPTY) -> Obj:
    """Return a strategic merge patch of the pod's status that opens its gate (Refresh).

    Args:
        pod: the pod.
        now: the time.
        marks: other metadata to write, which updates of a pod's status may change.
    """
    current = condition_of(pod, READINESS_GATE) or {}
    cleared = {name: None for name in ("reason", "message") if current.get(name)}
    condition: Obj = {"type": READINESS_GATE, "status": TRUE, "lastTransitionTime": format_time(now)} | cleared
    return {"metadata": {"uid": pod["metadata"]["uid"], **marks}, "status": {"conditions": [condition]}}


# -- the course of an update -------------------------------------------------------------------------------------------


def with_begun_update(pod: Obj, spec: UpdateSpec, *, mark: PodMarker, now: float) -> Obj:
    """Return the pod with an in-place update begun: changed, or in its grace period before that (updatePodInPlace)."""
    state: Obj = {"revision": spec.revision, "updateTimestamp": format_time(now), "lastContainerStatuses": None}
    if spec.images:
        state["updateImages"] = True
    pod = mark(pod)
    if spec.grace <= 0:
        return _changed(pod, spec, state=state, now=now)
    kept = {key: value for key, value in annotations_of(pod).items() if key != _FORMER_STATE}
    return _annotated(pod, kept | {STATE_ANNOTATION: _json(state), GRACE_ANNOTATION: spec.text()})


def is_in_grace(pod: Obj) -> bool:
    """Return whether a pod is in its grace period, before it changes (GetInPlaceUpdateGrace)."""
    return bool(_annotation(pod, GRACE_ANNOTATION, _FORMER_GRACE))


def _annotation(pod: Obj, key: str, former: str) -> str:
    annotations = annotations_of(pod)
    return annotations.get(key) or annotations.get(former) or ""


def _changed(pod: Obj, spec: UpdateSpec, *, state: Obj, now: float) -> Obj:
    """Return the pod with all changes made and its former state annotated (defaultPatchUpdateSpecToPod)."""
    pod = with_metadata_patch(pod, spec.metadata) if spec.metadata else pod
    containers = pod["spec"]["containers"]
    names = sorted(container["name"] for container in containers if container["name"] in spec.images)
    last = {
        status["name"]: {"imageID": status["imageID"]} if status.get("imageID") else {}
        for status in (pod.get("status") or {}).get("containerStatuses") or ()
        if status["name"] in spec.images
    }
    if last:
        state = state | {"lastContainerStatuses": dict(sorted(last.items())) | (state["lastContainerStatuses"] or {})}
    batches = [*(state.get("containerBatchesRecord") or ()), {"timestamp": format_time(now), "containers": names}]
    gone = (_FORMER_STATE, GRACE_ANNOTATION, _FORMER_GRACE)
    kept = {key: value for key, value in annotations_of(pod).items() if key not in gone}
    pod = _annotated(pod, kept | {STATE_ANNOTATION: _json(state | {"containerBatchesRecord": batches})})
    if not spec.images:
        return pod
    renewed = [old | {"image": spec.images.get(old["name"], old.get("image"))} for old in containers]
    return pod | {"spec": pod["spec"] | {"containers": renewed}}


def _annotated(pod: Obj, annotations: Mapping[str, str]) -> Obj:
    return pod | {"metadata": pod["metadata"] | {"labels": labels_of(pod), "annotations": annotations}}


@dataclass(frozen=True, slots=True)
class DueChanges:
    """The changes that a pod needs from its workload apart from new updates.

    Attributes:
        pod: the pod to write after its grace period, or None if it does not change.
        opens_gate: True if its gate should be opened.
        wait: the remaining seconds of its grace period, or None if it has none.
    """

    pod: Obj | None = None
    opens_gate: bool = False
    wait: float | None = None


def due_changes(pod: Obj, *, is_of: Callable[[Obj, str], bool], now: float) -> DueChanges:
    """Return what the pod needs: a change after its grace period, or an open gate after its update (Refresh).

    Args:
        pod: an active pod.
        is_of: whether a pod has the revision of a name.
        now: the time.
    """
    if is_in_grace(pod):
        return _due_in_grace(pod, is_of=is_of, now=now)
    if not has_gate(pod) or not _are_containers_updated(pod):
        return DueChanges()
    condition = condition_of(pod, READINESS_GATE)
    if (
        condition is not None
        and condition["status"] == TRUE
        and not (condition.get("reason") or condition.get("message"))
    ):
        return DueChanges()
    return DueChanges(opens_gate=True)


def _due_in_grace(pod: Obj, *, is_of: Callable[[Obj, str], bool], now: float) -> DueChanges:
    """Return what a pod in its grace period needs (finishGracePeriod); nothing if its annotations are invalid."""
    spec, state = _read_spec(_annotation(pod, GRACE_ANNOTATION, _FORMER_GRACE)), _state_of(pod)
    if spec is None or state is None:
        return DueChanges()
    if not is_of(pod, spec.revision):  # it has another revision by now: the update begins again
        kept = {
            key: value for key, value in annotations_of(pod).items() if key not in (GRACE_ANNOTATION, _FORMER_GRACE)
        }
        return DueChanges(pod=_annotated(pod, kept))
    left = parse_time(state["updateTimestamp"]) + spec.grace - now
    return DueChanges(wait=float(ceil(left))) if left > 0 else DueChanges(pod=_changed(pod, spec, state=state, now=now))


def _state_of(pod: Obj) -> Obj | None:
    """Return the pod's state when its last update began, or None if the annotation is missing or invalid."""
    state = _read(_annotation(pod, STATE_ANNOTATION, _FORMER_STATE))
    if state is None or not isinstance(state.get("updateTimestamp"), str):
        return None
    return {"lastContainerStatuses": None} | state


def is_updated(pod: Obj) -> bool:
    """Return whether a pod's last in-place update is complete (DefaultCheckInPlaceUpdateCompleted)."""
    return not is_in_grace(pod) and _are_containers_updated(pod)


def _are_containers_updated(pod: Obj) -> bool:
    """Return whether all containers run other images than before (defaultCheckContainersInPlaceUpdateCompleted).

    An unchanged image id counts as updated if the container's image is the one in the pod's spec: a change that was
    reverted before the kubelet saw it is complete. Upstream compares hashes that its daemon reads from containers.
    """
    last = (_state_of(pod) or {}).get("lastContainerStatuses") or {}
    statuses = {status["name"]: status for status in (pod.get("status") or {}).get("containerStatuses") or ()}
    images = {container["name"]: container.get("image") or "" for container in pod["spec"]["containers"]}
    return all(
        name in statuses and _is_another(statuses[name], before, wanted_image=images.get(name, ""))
        for name, before in last.items()
    )


def _is_another(status: Obj, before: Obj, *, wanted_image: str) -> bool:
    if status.get("imageID", "") != before.get("imageID", ""):
        return True
    return bool(wanted_image) and image_of(wanted_image).reference == image_of(status.get("image") or "").reference


def _json(value: Obj) -> str:
    return orjson.dumps(value).decode()


def _read(text: str) -> dict[str, Any] | None:
    if not text:
        return None
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    return value if isinstance(value, dict) else None


_MAPS = ("labels", "annotations")
_FINALIZERS, _NO_FINALIZERS = "finalizers", "$deleteFromPrimitiveList/finalizers"


def metadata_patch(before: Obj, after: Obj) -> Obj:
    """Return the patch of a pod's metadata, empty if nothing differs; fields that the template lost are removed."""
    changes: Obj = {name: changed for name in _MAPS if (changed := _changes(before.get(name), after.get(name)))}
    old, new = before.get(_FINALIZERS) or (), after.get(_FINALIZERS) or ()
    if added := [finalizer for finalizer in new if finalizer not in old]:
        changes[_FINALIZERS] = added
    if gone := [finalizer for finalizer in old if finalizer not in new]:
        changes[_NO_FINALIZERS] = gone
    return {"metadata": changes} if changes else {}


def _changes(before: Mapping[str, str] | None, after: Mapping[str, str] | None) -> dict[str, str | None]:
    old, new = before or {}, after or {}
    gone: dict[str, str | None] = dict.fromkeys(old.keys() - new.keys())
    return gone | {key: value for key, value in new.items() if old.get(key) != value}


def with_metadata_patch(pod: Obj, patch: Obj) -> Obj:
    """Return the pod with such a patch applied."""
    changes, meta = patch.get("metadata") or {}, dict[str, Any](pod["metadata"])
    for name in _MAPS:
        if changed := changes.get(name):
            merged = (meta.get(name) or {}) | changed
            meta[name] = {key: value for key, value in merged.items() if value is not None}
    added, gone = changes.get(_FINALIZERS) or (), changes.get(_NO_FINALIZERS) or ()
    if added or gone:
        kept = [finalizer for finalizer in meta.get(_FINALIZERS) or () if finalizer not in gone]
        meta[_FINALIZERS] = kept + [finalizer for finalizer in added if finalizer not in kept]
    return pod | {"metadata": meta}
