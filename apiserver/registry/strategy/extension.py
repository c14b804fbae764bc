"""What extends the server: custom resources and their definitions, aggregated APIs, signing requests, flow control."""

from apiserver.api.meta import Obj
from apiserver.registry.strategy.contract import (
    Strategy,
    keep,
    move_generation,
    status_updating,
    unchanged,
    updating,
)

_DECISIONS = ("Approved", "Denied")


def _create_definition(definition: Obj) -> None:
    definition["status"] = {"acceptedNames": {"kind": "", "plural": ""}, "conditions": None, "storedVersions": None}
    definition["metadata"]["generation"] = 1
    _note_stored_version(definition)


def _update_definition(new: Obj, old: Obj) -> None:
    keep(new, old, "status")
    if new["spec"] != old["spec"]:
        move_generation(new, old)
    _note_stored_version(new)


def _note_stored_version(definition: Obj) -> None:
    """A version that objects are stored in stays among the stored ones until somebody has migrated them all."""
    status = definition.get("status") or {}
    stored = status.get("storedVersions") or []
    versions = definition["spec"].get("versions") or ()
    current = next((version["name"] for version in versions if version.get("storage")), None)
    if current is not None and current not in stored:
        definition["status"] = status | {"storedVersions": [*stored, current]}


def _create_custom(obj: Obj) -> None:
    obj["metadata"]["generation"] = 1


def _create_custom_with_status(obj: Obj) -> None:
    obj.pop("status", None)
    obj["metadata"]["generation"] = 1


def _update_custom(new: Obj, old: Obj) -> None:
    """All but the metadata is desired state."""
    if _differ(new, old):
        move_generation(new, old)


def _update_custom_with_status(new: Obj, old: Obj) -> None:
    keep(new, old, "status")
    _update_custom(new, old)


def _update_custom_status(new: Obj, old: Obj) -> None:
    """Nothing but the status, and who owns its fields, comes from a status update."""
    given = dict(new)
    new.clear()
    new.update(old)
    keep(new, given, "status")
    new["metadata"] = dict(old["metadata"])
    keep(new["metadata"], given["metadata"], "managedFields")


def update_endpoint_slice(new: Obj, old: Obj) -> None:
    """All but the metadata is what a slice says, and so are its labels."""
    labels = new["metadata"].get("labels") or {}
    if _differ(new, old) or labels != (old["metadata"].get("labels") or {}):
        move_generation(new, old)


def _differ(new: Obj, old: Obj) -> bool:
    return any(new.get(field) != old.get(field) for field in new.keys() | old.keys() if field != "metadata")


def _create_api_service(service: Obj) -> None:
    """An API that this server serves itself is available from the start."""
    service["status"] = {}
    if "service" not in service["spec"]:
        available = {
            "type": "Available",
            "status": "True",
            "reason": "Local",
            "message": "Local APIServices are always available",
            "lastTransitionTime": service["metadata"].get("creationTimestamp"),
        }
        service["status"] = {"conditions": [available]}


def _create_signing_request(request: Obj) -> None:
    """A request starts undecided."""
    request["status"] = {}


def _update_signing_request(new: Obj, old: Obj) -> None:
    keep(new, old, "spec")
    keep(new, old, "status")


def _update_signing_status(new: Obj, old: Obj) -> None:
    """The signer writes the certificate; a decision among the conditions is put back as it was.

    Where a decision came or went, validation refuses the update.
    """
    keep(new, old, "spec")
    status = new.setdefault("status", {})
    before = (old.get("status") or {}).get("conditions") or ()
    given = status.get("conditions") or ()
    kept = {decision: [c for c in before if c.get("type") == decision] for decision in _DECISIONS}
    for decision in _DECISIONS:
        if sum(c.get("type") == decision for c in given) != len(kept[decision]):
            kept[decision] = [c for c in given if c.get("type") == decision]
    if given:
        status["conditions"] = [kept[c["type"]].pop(0) if c.get("type") in kept else c for c in given]


def _update_signing_approval(new: Obj, old: Obj) -> None:
    """The approver writes conditions alone."""
    keep(new, old, "spec")
    conditions = (new.get("status") or {}).get("conditions")
    status = {field: value for field, value in (old.get("status") or {}).items() if field != "conditions"}
    new["status"] = status | {"conditions": conditions} if conditions else status


API_SERVICE = Strategy(
    _create_api_service,
    updating(),
    status_updating("labels", "annotations", "finalizers", "ownerReferences"),
    has_status=True,
    allow_unconditional_update=False,
)
CERTIFICATE_SIGNING_REQUEST = Strategy(
    _create_signing_request, _update_signing_request, _update_signing_status, has_status=True
)
CERTIFICATE_SIGNING_REQUEST_APPROVAL = Strategy(_create_signing_request, _update_signing_approval, unchanged)
CUSTOM = Strategy(_create_custom, _update_custom, _update_custom_status, allow_unconditional_update=False)
CUSTOM_WITH_STATUS = Strategy(
    _create_custom_with_status,
    _update_custom_with_status,
    _update_custom_status,
    has_status=True,
    allow_unconditional_update=False,
)
CUSTOM_RESOURCE_DEFINITION = Strategy(
    _create_definition, _update_definition, status_updating(), has_status=True, allow_unconditional_update=False
)
