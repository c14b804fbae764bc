"""Columns that the kinds of workloads share: counts of replicas, containers, images and selectors."""

from apiserver.api.meta import Obj
from apiserver.groups.cells import Cells, mapping, mappings, number_of, text_of
from apiserver.groups.columns import AGE, CONTAINERS, IMAGES, NAME, Column


def pod_spec_of(workload_spec: Obj) -> Obj:
    """Return the pod spec in the template of a workload's spec."""
    return mapping(mapping(workload_spec, "template"), "spec")


def container_cells(pod_spec: Obj) -> Cells:
    """Return the cells of the columns Containers and Images."""
    containers = mappings(pod_spec, "containers")
    return [",".join([text_of(c, key) for c in containers]) for key in ("name", "image")]


def replica_counts(obj: Obj) -> Cells:
    """Return the cells Desired, Current and Ready."""
    status = mapping(obj, "status")
    return [
        number_of(mapping(obj, "spec"), "replicas"),
        number_of(status, "replicas"),
        number_of(status, "readyReplicas"),
    ]


def selector_column(definition: str) -> Column:
    """Return the column Selector; its description comes from the definition of the kind's spec."""
    return Column("Selector", f"{definition}#selector", priority=1)


def replica_columns(kind: str) -> tuple[Column, ...]:
    """Return the columns of a kind with a number of replicas: ReplicaSet and ReplicationController."""
    return (
        NAME,
        Column("Desired", f"{kind}Spec#replicas", type="integer"),
        Column("Current", f"{kind}Status#replicas", type="integer"),
        Column("Ready", f"{kind}Status#readyReplicas", type="integer"),
        AGE,
        CONTAINERS,
        IMAGES,
        selector_column(f"{kind}Spec"),
    )


READY_PODS = Column("Ready", "How many pods are ready, of how many are wanted.")
