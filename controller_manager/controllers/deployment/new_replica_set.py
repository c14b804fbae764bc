"""The ReplicaSet that a Deployment makes for its template, and how its sizes are told."""

from apiserver.api.meta import Obj, name_of, namespace_of
from controller_manager.controllers.deployment.history import annotations_for_new, next_revision, size_annotations
from controller_manager.controllers.deployment.replica_sets import ReplicaSets
from controller_manager.controllers.deployment.rolling import first_size
from controller_manager.reconcile.pod_templates import selector_with_hash, template_hash, with_hash
from controller_manager.reconcile.profile import Profile

_LONGEST_NAME = 253


def new_replica_set(deployment: Obj, sets: ReplicaSets, reference: Obj, *, empty: bool = False) -> Obj:
    """The ReplicaSet to be made for a Deployment's template (sync.go getNewReplicaSet).

    Args:
        deployment: whose template it is.
        sets: those that it has, without a new one.
        reference: by which the Deployment controls it.
        empty: whether it starts without pods, or with as many as may be.
    """
    spec = deployment["spec"]
    hash_ = template_hash(spec["template"], (deployment.get("status") or {}).get("collisionCount"))
    template = with_hash(spec["template"], hash_)
    made: Obj = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": replica_set_name(name_of(deployment), hash_),
            "namespace": namespace_of(deployment),
            "labels": template["metadata"]["labels"],
            "ownerReferences": [reference],
        },
        "spec": {
            "replicas": 0 if empty else first_size(deployment, sets),
            "selector": selector_with_hash(spec.get("selector") or {}, hash_),
            "template": template,
        },
    }
    if ready := spec.get("minReadySeconds"):
        made["spec"]["minReadySeconds"] = ready
    annotations = annotations_for_new(deployment, made, next_revision(sets.old), bounded=True)
    made["metadata"]["annotations"] = annotations | size_annotations(deployment)
    return made


def replica_set_name(deployment: str, hash_: str) -> str:
    """The Deployment's name, cut if need be, and the hash (generateReplicaSetName)."""
    return f"{deployment[: _LONGEST_NAME - 1 - len(hash_)]}-{hash_}"


def scaling_message(name: str, before: int | None, size: int, *, profile: Profile) -> str:
    """What the event ScalingReplicaSet says.

    Args:
        name: of the ReplicaSet.
        before: its size, None where it was made just now.
        size: the size that it has now.
        profile: which words the release has.
    """
    verb = "down" if before is not None and size < before else "up"
    if profile.scale_from_to:
        return f"Scaled {verb} replica set {name} from {before or 0} to {size}"
    if profile.scale_from and before is not None:
        return f"Scaled {verb} replica set {name} to {size} from {before}"
    return f"Scaled {verb} replica set {name} to {size}"
