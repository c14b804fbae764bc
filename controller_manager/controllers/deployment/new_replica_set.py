"""The ReplicaSet that a Deployment creates for its template, and the messages about its size."""

from apiserver.api.meta import Obj, name_of, namespace_of
from controller_manager.controllers.deployment.history import annotations_for_new, next_revision, size_annotations
from controller_manager.controllers.deployment.replica_sets import ReplicaSets
from controller_manager.controllers.deployment.rolling import new_replica_set_size
from controller_manager.reconcile.pod_templates import selector_with_hash, template_hash, with_hash
from controller_manager.reconcile.profile import Profile

_MAX_NAME_LENGTH = 253


def new_replica_set(deployment: Obj, sets: ReplicaSets, reference: Obj, *, empty: bool = False) -> Obj:
    """Return the ReplicaSet to create for a Deployment's template (sync.go getNewReplicaSet).

    Args:
        deployment: the Deployment that provides the template.
        sets: the ReplicaSets that it has; there is no new one among them.
        reference: the owner reference to the Deployment.
        empty: True to start without pods, False with as many as the strategy allows.
    """
    spec = deployment["spec"]
    hash_ = template_hash(spec["template"], (deployment.get("status") or {}).get("collisionCount"))
    template = with_hash(spec["template"], hash_)
    replica_set: Obj = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": replica_set_name(name_of(deployment), hash_),
            "namespace": namespace_of(deployment),
            "labels": template["metadata"]["labels"],
            "ownerReferences": [reference],
        },
        "spec": {
            "replicas": 0 if empty else new_replica_set_size(deployment, sets),
            "selector": selector_with_hash(spec.get("selector") or {}, hash_),
            "template": template,
        },
    }
    if ready := spec.get("minReadySeconds"):
        replica_set["spec"]["minReadySeconds"] = ready
    annotations = annotations_for_new(deployment, replica_set, next_revision(sets.old))
    replica_set["metadata"]["annotations"] = annotations | size_annotations(deployment)
    return replica_set


def replica_set_name(deployment: str, hash_: str) -> str:
    """Return the Deployment's name, shortened if need be, and the hash (generateReplicaSetName)."""
    return f"{deployment[: _MAX_NAME_LENGTH - 1 - len(hash_)]}-{hash_}"


def scaling_message(name: str, before: int | None, size: int, *, profile: Profile) -> str:
    """Return the message of the event ScalingReplicaSet.

    Args:
        name: the ReplicaSet's name.
        before: its former size, or None if it was created just now.
        size: the size that it has now.
        profile: selects the wording of the Kubernetes release.
    """
    verb = "down" if before is not None and size < before else "up"
    if profile.scale_from_to:
        return f"Scaled {verb} replica set {name} from {before or 0} to {size}"
    if profile.scale_from and before is not None:
        return f"Scaled {verb} replica set {name} to {size} from {before}"
    return f"Scaled {verb} replica set {name} to {size}"
