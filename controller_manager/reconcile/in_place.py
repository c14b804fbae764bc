"""Pods that are updated as they are: new images in the same pod, which keeps its name, its node and its address.

What OpenKruise's CloneSet and StatefulSet share (pkg/util/inplaceupdate). An update leaves its traces on the pod: what
it was when the update began stands in an annotation, and a readiness gate keeps the pod from being ready until its
containers run the new images. Not among what is here: containers that are updated one after the other by their launch
priorities, environments made of metadata, and resources, whose gate is off upstream.
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
from controller_manager.reconcile.conditions import FALSE, TRUE, condition_of, without
from controller_manager.reconcile.images import image_of
from controller_manager.reconcile.revisions import template_of
from controller_manager.reconcile.times import seconds, stamp

GATE = "InPlaceUpdateReady"
"""The readiness gate of pods that may be updated in place, and the condition that opens it."""
STATE = "apps.kruise.io/inplace-update-state"
"""The annotation with what a pod was when its last update in place began (InPlaceUpdateState, as JSON)."""
GRACE = "apps.kruise.io/inplace-update-grace"
"""The annotation with what is to be changed of a pod once its grace is over (UpdateSpec, as JSON)."""

NONE: Mapping[str, Any] = MappingProxyType({})

_FORMER_STATE, _FORMER_GRACE = "inplace-update-state", "inplace-update-grace"  # before OpenKruise 1.0
_BEGUN = "StartInPlaceUpdate"

Mark = Callable[[Obj], Obj]
"""What a workload itself writes on a pod when it is updated, such as the revision that it is then of."""


# -- what an update changes --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class UpdateSpec:
    """What an update in place changes of a pod (UpdateSpec).

    Attributes:
        revision: the name of the revision that the pod is of then.
        images: of containers, by their names.
        metadata: a strategic merge patch, empty where metadata stays as it is.
        grace: seconds between the pod's becoming unready and the change itself.
    """

    revision: str
    images: Mapping[str, str] = field(default_factory=dict)
    metadata: Obj = field(default_factory=dict)
    grace: int = 0

    def text(self) -> str:
        """As the annotation has it, while a pod is in its grace."""
        told: Obj = {"revision": self.revision}
        if self.images:
            told["containerImages"] = dict(sorted(self.images.items()))
        if self.metadata:
            told["metaDataPatch"] = b64encode(orjson.dumps(self.metadata)).decode()
        return _json(told | ({"graceSeconds": self.grace} if self.grace else {}))


def _read_spec(text: str) -> UpdateSpec | None:
    """What an annotation says, None where it cannot be understood."""
    told = _read(text)
    if told is None or not isinstance(told.get("revision"), str):
        return None
    try:
        metadata = orjson.loads(b64decode(told["metaDataPatch"])) if told.get("metaDataPatch") else {}
    except (Base64Error, TypeError, ValueError):
        return None
    return UpdateSpec(told["revision"], told.get("containerImages") or {}, metadata, told.get("graceSeconds") or 0)


def spec_between(old: Obj | None, new: Obj, *, grace: int = 0) -> UpdateSpec | None:
    """What brings a pod of one revision to another, None where that needs another pod.

    Only images of containers may differ, not of init containers, and anything in the template's metadata
    (defaultCalculateInPlaceUpdateSpec).

    Args:
        old: the ControllerRevision that the pod is of; None where it is gone.
        new: the one that it is to be of.
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
    """The images that differ, None where anything else does."""
    old, new = before["containers"], after["containers"]
    if len(old) != len(new) or before | {"containers": ()} != after | {"containers": ()}:
        return None
    images: dict[str, str] = {}
    for one, other in zip(old, new, strict=True):
        if one == other:
            continue
        if not (one.get("image") and other.get("image")) or one | {"image": ""} != other | {"image": ""}:
            return None
        images[one["name"]] = other["image"]
    return images


# -- the gate ----------------------------------------------------------------------------------------------------------


def has_gate(pod: Obj) -> bool:
    """Whether a pod is ready only while no update in place is under way."""
    return any(gate.get("conditionType") == GATE for gate in pod["spec"].get("readinessGates") or ())


def with_gate(pod: Obj) -> Obj:
    """The pod with the readiness gate (InjectReadinessGate)."""
    if has_gate(pod):
        return pod
    gates = [*(pod["spec"].get("readinessGates") or ()), {"conditionType": GATE}]
    return pod | {"spec": pod["spec"] | {"readinessGates": gates}}


def is_gate_closed(pod: Obj) -> bool:
    """Whether the pod says that an update in place is under way; one that says nothing of it does not."""
    condition = condition_of(pod, GATE)
    return condition is not None and condition.get("status") != TRUE


def unready(pod: Obj, now: float) -> Obj:
    """The pod with its gate closed, and therefore not ready; the same where it has none, or it is closed.

    (Update, updateCondition) The kubelet would close it as well, but later than the images change.
    """
    if not has_gate(pod) or is_gate_closed(pod):
        return pod
    closed = _condition(GATE, FALSE, now, reason=_BEGUN)
    conditions = (pod.get("status") or {}).get("conditions") or ()
    pod = pod | {"status": (pod.get("status") or {}) | {"conditions": [*without(conditions, GATE), closed]}}
    ready, containers = condition_of(pod, "Ready"), condition_of(pod, "ContainersReady")
    if ready is None or ready["status"] == FALSE or containers is None or containers["status"] != TRUE:
        return pod
    why = ", ".join(filter(None, (_closed(pod, gate["conditionType"]) for gate in pod["spec"]["readinessGates"])))
    waits = _condition("Ready", FALSE, now, reason="ReadinessGatesNotReady", message=why)
    told = [waits if condition["type"] == "Ready" else condition for condition in pod["status"]["conditions"]]
    return pod | {"status": pod["status"] | {"conditions": told}}


def _closed(pod: Obj, gate: str) -> str:
    """Why a gate is closed, "" if it is open (SetPodReadyCondition)."""
    condition = condition_of(pod, gate)
    if condition is None:
        return f'corresponding condition of pod readiness gate "{gate}" does not exist.'
    status = condition["status"]
    return "" if status == TRUE else f'the status of pod readiness gate "{gate}" is not "True", but {status}'


def _condition(type_: str, status: str, now: float, **told: str) -> Obj:
    return {"type": type_, "status": status, "lastProbeTime": None, "lastTransitionTime": stamp(now)} | told


def opening(pod: Obj, now: float, marks: Mapping[str, Any] = NONE) -> Obj:
    """A strategic merge patch of the pod's status that opens its gate (Refresh).

    Args:
        pod: the pod.
        now: the time.
        marks: what else of its metadata is written by the way, which writes of a pod's status may change.
    """
    told = condition_of(pod, GATE) or {}
    forgotten = {name: None for name in ("reason", "message") if told.get(name)}
    condition: Obj = {"type": GATE, "status": TRUE, "lastTransitionTime": stamp(now)} | forgotten
    return {"metadata": {"uid": pod["metadata"]["uid"], **marks}, "status": {"conditions": [condition]}}


# -- an update's course ------------------------------------------------------------------------------------------------


def begun(pod: Obj, spec: UpdateSpec, *, mark: Mark, now: float) -> Obj:
    """The pod as an update in place begins: changed, or in its grace before that (updatePodInPlace)."""
    state: Obj = {"revision": spec.revision, "updateTimestamp": stamp(now), "lastContainerStatuses": None}
    if spec.images:
        state["updateImages"] = True
    pod = mark(pod)
    if spec.grace <= 0:
        return _changed(pod, spec, state=state, now=now)
    kept = {key: value for key, value in annotations_of(pod).items() if key != _FORMER_STATE}
    return _annotated(pod, kept | {STATE: _json(state), GRACE: spec.text()})


def is_in_grace(pod: Obj) -> bool:
    """Whether a pod waits for its grace to be over before it changes (GetInPlaceUpdateGrace)."""
    return bool(_annotation(pod, GRACE, _FORMER_GRACE))


def _annotation(pod: Obj, key: str, former: str) -> str:
    annotations = annotations_of(pod)
    return annotations.get(key) or annotations.get(former) or ""


def _changed(pod: Obj, spec: UpdateSpec, *, state: Obj, now: float) -> Obj:
    """The pod with everything changed, and with what it was before (defaultPatchUpdateSpecToPod)."""
    pod = patched(pod, spec.metadata) if spec.metadata else pod
    containers = pod["spec"]["containers"]
    names = sorted(container["name"] for container in containers if container["name"] in spec.images)
    last = {
        status["name"]: {"imageID": status["imageID"]} if status.get("imageID") else {}
        for status in (pod.get("status") or {}).get("containerStatuses") or ()
        if status["name"] in spec.images
    }
    if last:
        state = state | {"lastContainerStatuses": dict(sorted(last.items())) | (state["lastContainerStatuses"] or {})}
    batches = [*(state.get("containerBatchesRecord") or ()), {"timestamp": stamp(now), "containers": names}]
    gone = (_FORMER_STATE, GRACE, _FORMER_GRACE)
    kept = {key: value for key, value in annotations_of(pod).items() if key not in gone}
    pod = _annotated(pod, kept | {STATE: _json(state | {"containerBatchesRecord": batches})})
    if not spec.images:
        return pod
    renewed = [each | {"image": spec.images.get(each["name"], each.get("image"))} for each in containers]
    return pod | {"spec": pod["spec"] | {"containers": renewed}}


def _annotated(pod: Obj, annotations: Mapping[str, str]) -> Obj:
    return pod | {"metadata": pod["metadata"] | {"labels": labels_of(pod), "annotations": annotations}}


@dataclass(frozen=True, slots=True)
class DueChanges:
    """What a pod needs of its workload beside new updates.

    Attributes:
        pod: as it is to be written, its grace being over; None where it stays.
        opens: whether its gate is to be opened.
        wait: seconds of grace that are left, None where it has none.
    """

    pod: Obj | None = None
    opens: bool = False
    wait: float | None = None


def due(pod: Obj, *, is_of: Callable[[Obj, str], bool], now: float) -> DueChanges:
    """What the pod needs: a change after its grace, or that its gate opens when its containers have changed (Refresh).

    Args:
        pod: an active pod.
        is_of: whether a pod is of the revision of a name.
        now: the time.
    """
    if is_in_grace(pod):
        return _due_in_grace(pod, is_of=is_of, now=now)
    if not has_gate(pod) or not _are_containers_updated(pod):
        return DueChanges()
    told = condition_of(pod, GATE)
    if told is not None and told["status"] == TRUE and not (told.get("reason") or told.get("message")):
        return DueChanges()
    return DueChanges(opens=True)


def _due_in_grace(pod: Obj, *, is_of: Callable[[Obj, str], bool], now: float) -> DueChanges:
    """What a pod in its grace needs (finishGracePeriod); nothing where somebody wrote into its annotations."""
    spec, state = _read_spec(_annotation(pod, GRACE, _FORMER_GRACE)), _state_of(pod)
    if spec is None or state is None:
        return DueChanges()
    if not is_of(pod, spec.revision):  # it is of another revision by now: the update begins anew
        kept = {key: value for key, value in annotations_of(pod).items() if key not in (GRACE, _FORMER_GRACE)}
        return DueChanges(pod=_annotated(pod, kept))
    left = seconds(state["updateTimestamp"]) + spec.grace - now
    return DueChanges(wait=float(ceil(left))) if left > 0 else DueChanges(pod=_changed(pod, spec, state=state, now=now))


def _state_of(pod: Obj) -> Obj | None:
    """What the pod was when its last update began, None where it tells nothing that can be understood."""
    state = _read(_annotation(pod, STATE, _FORMER_STATE))
    if state is None or not isinstance(state.get("updateTimestamp"), str):
        return None
    return {"lastContainerStatuses": None} | state


def is_updated(pod: Obj) -> bool:
    """Whether a pod's last update in place is complete (DefaultCheckInPlaceUpdateCompleted)."""
    return not is_in_grace(pod) and _are_containers_updated(pod)


def _are_containers_updated(pod: Obj) -> bool:
    """Whether all containers run other images than before (defaultCheckContainersInPlaceUpdateCompleted).

    An image of the same id is another one where its name is the one that the pod has: a change that was taken back
    before the kubelet saw it is complete, which upstream knows by the hashes that its daemon reads of containers.
    """
    last = (_state_of(pod) or {}).get("lastContainerStatuses") or {}
    told = {each["name"]: each for each in (pod.get("status") or {}).get("containerStatuses") or ()}
    wanted = {container["name"]: container.get("image") or "" for container in pod["spec"]["containers"]}
    return all(
        name in told and _is_another(told[name], before, wanted=wanted.get(name, "")) for name, before in last.items()
    )


def _is_another(status: Obj, before: Obj, *, wanted: str) -> bool:
    if status.get("imageID", "") != before.get("imageID", ""):
        return True
    return bool(wanted) and image_of(wanted).reference == image_of(status.get("image") or "").reference


def _json(told: Obj) -> str:
    return orjson.dumps(told).decode()


def _read(text: str) -> dict[str, Any] | None:
    if not text:
        return None
    try:
        found = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    return found if isinstance(found, dict) else None


_MAPS = ("labels", "annotations")
_FINALIZERS, _NO_FINALIZERS = "finalizers", "$deleteFromPrimitiveList/finalizers"


def metadata_patch(before: Obj, after: Obj) -> Obj:
    """The patch of a pod, empty where nothing differs; what a template no longer has is taken away."""
    changes: Obj = {name: found for name in _MAPS if (found := _changes(before.get(name), after.get(name)))}
    old, new = before.get(_FINALIZERS) or (), after.get(_FINALIZERS) or ()
    if added := [each for each in new if each not in old]:
        changes[_FINALIZERS] = added
    if gone := [each for each in old if each not in new]:
        changes[_NO_FINALIZERS] = gone
    return {"metadata": changes} if changes else {}


def _changes(before: Mapping[str, str] | None, after: Mapping[str, str] | None) -> dict[str, str | None]:
    old, new = before or {}, after or {}
    gone: dict[str, str | None] = dict.fromkeys(old.keys() - new.keys())
    return gone | {key: value for key, value in new.items() if old.get(key) != value}


def patched(pod: Obj, patch: Obj) -> Obj:
    """The pod with such a patch applied."""
    changes, meta = patch.get("metadata") or {}, dict[str, Any](pod["metadata"])
    for name in _MAPS:
        if told := changes.get(name):
            merged = (meta.get(name) or {}) | told
            meta[name] = {key: value for key, value in merged.items() if value is not None}
    added, gone = changes.get(_FINALIZERS) or (), changes.get(_NO_FINALIZERS) or ()
    if added or gone:
        kept = [each for each in meta.get(_FINALIZERS) or () if each not in gone]
        meta[_FINALIZERS] = kept + [each for each in added if each not in kept]
    return pod | {"metadata": meta}
