"""ReplicationControllers, the predecessor of ReplicaSets, whose selector is a plain mapping of labels."""

from apiserver.api.meta import Obj
from controller_manager.controllers.replicaset.controller import OwnerKind, controller_of_kind
from controller_manager.reconcile.kinds import REPLICATION_CONTROLLER


def selector_of(owner: Obj) -> Obj | None:
    """Return the selector as a metav1.LabelSelector, or None if there is none (metav1.SetAsLabelSelector)."""
    labels = owner["spec"].get("selector")
    return None if labels is None else {"matchLabels": labels}


SPEC = controller_of_kind(
    OwnerKind(
        kind=REPLICATION_CONTROLLER,
        selector=selector_of,
        name="replicationcontroller",
        source="replication-controller",
        flag="rc",
        queue="replicationmanager",
        counts_terminating=False,
    )
)
