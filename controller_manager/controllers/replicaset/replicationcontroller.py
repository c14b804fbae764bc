"""ReplicationControllers: the ReplicaSets of the first API, whose selector is a plain mapping of labels."""

from apiserver.api.meta import Obj
from controller_manager.controllers.replicaset.controller import Row, spec_of
from controller_manager.reconcile.kinds import REPLICATION_CONTROLLER


def selector_of(owner: Obj) -> Obj | None:
    """The selector as a metav1.LabelSelector, None where it has none (metav1.SetAsLabelSelector)."""
    wanted = owner["spec"].get("selector")
    return None if wanted is None else {"matchLabels": wanted}


SPEC = spec_of(
    Row(
        kind=REPLICATION_CONTROLLER,
        selector=selector_of,
        name="replicationcontroller",
        source="replication-controller",
        flag="rc",
        owner="replication_controller",
        queue="replicationmanager",
        counts_terminating=False,
    )
)
