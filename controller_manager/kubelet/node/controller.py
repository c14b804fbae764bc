"""Simulated nodes: created at the start, kept alive by leases and status reports (pkg/kubelet/kubelet_node_status.go).

Nodes are created once: one that is deleted stays away until the next start, as with real kubelets. A node that exists
already is taken over as it is; one that somebody creates with the label `mockube.io/simulated` is treated like ours.
"""

from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj, annotations_of, name_of
from apiserver.api.nodes import KUBELET_ENDPOINT
from controller_manager.kubelet.addresses import NodeBlocks, host_address, prefix_for
from controller_manager.reconcile.conditions import TRUE
from controller_manager.reconcile.contract import (
    Action,
    Batch,
    Change,
    ControllerSpec,
    Create,
    Key,
    Listers,
    Patch,
    Plan,
    RecordEvent,
    RequeueAfter,
    Settings,
    Update,
    Watch,
)
from controller_manager.reconcile.kinds import LEASE, NODE
from controller_manager.reconcile.nodes import (
    LEASE_NAMESPACE,
    NodeCapacity,
    is_lost,
    is_report_due,
    is_simulated,
    kubelet_status,
    name_of_node,
    new_lease,
    new_node,
    ready_status,
    renewal_period,
    renewed_at,
    report_due_in,
)
from controller_manager.reconcile.times import format_micro_time, time_left

START_KEY = ""
"""The key that creates nodes."""
NODE_BLOCKS = "pod-blocks"
"""The view that allocates the nodes' pod CIDRs."""
Steps: TypeAlias = Generator[Action, Any, float]
"""Actions of a plan that return the seconds until they are due again."""


@dataclass(frozen=True, slots=True)
class MissingNode:
    """A node that is to be created."""

    number: int
    block: str
    address: str


@dataclass(frozen=True, slots=True)
class NodesToCreate:
    """The nodes that are to be created, and their size."""

    missing: Sequence[MissingNode]
    size: NodeCapacity


@dataclass(frozen=True, slots=True)
class Observed:
    """A node that exists.

    Attributes:
        lease: None if it has none.
        block: its pod CIDR, "" if none is left.
        address: its own address, "" if its pod CIDR is not an IPv4 block.
        endpoint: where its kubelet's server is reached, "" if there is none.
        period: seconds between two renewals of the lease.
    """

    node: Obj
    lease: Obj | None
    size: NodeCapacity
    block: str
    address: str
    endpoint: str
    period: float


def _node_changed(_: Listers, change: Change) -> Iterable[Key]:
    node = change.new
    return (name_of(node),) if node is not None and is_simulated(node) else ()


def observe(listers: Listers, key: Key) -> NodesToCreate | Observed | None:
    """Return a node with its lease, or at the start the missing nodes; None if the node is not simulated, or gone."""
    settings = listers.settings
    size = NodeCapacity(settings.node_cpu, settings.node_memory, settings.node_pods, settings.node_version)
    blocks: NodeBlocks = listers.view(NODE_BLOCKS)
    if key == START_KEY:
        numbers = [i for i in range(1, settings.nodes + 1) if listers[NODE].get(name_of_node(i)) is None]
        return NodesToCreate([_missing_node(number, blocks, settings) for number in numbers], size)
    node = listers[NODE].get(key)
    if node is None or not is_simulated(node) or is_lost(node):
        return None
    block = node["spec"].get("podCIDR") or _block_of(key, blocks, settings)
    address = host_address(block, settings.cluster_cidr)
    lease = listers[LEASE].get(f"{LEASE_NAMESPACE}/{key}")
    period = renewal_period(key, len(listers[NODE]), grace=settings.node_monitor_grace)
    return Observed(node, lease, size, block, address, settings.kubelet_endpoint, period)


def _block_of(name: str, blocks: NodeBlocks, settings: Settings) -> str:
    return blocks.allocate(name, settings.cluster_cidr, prefix_for(settings.node_pods))


def _missing_node(number: int, blocks: NodeBlocks, settings: Settings) -> MissingNode:
    block = _block_of(name_of_node(number), blocks, settings)
    return MissingNode(number, block, host_address(block, settings.cluster_cidr))


def reconcile(observed: NodesToCreate | Observed, now: float) -> Plan:
    """Create missing nodes; for an existing node, report its status and renew its lease if that is due."""
    if isinstance(observed, NodesToCreate):
        yield from _create_nodes(observed, now)
        return
    if lacking := _missing_fields(observed):
        yield Patch(NODE, name_of(observed.node), lacking)
        return  # the change runs this again
    report = yield from _report_status(observed, now)
    renewal = yield from _renew_lease(observed, now)
    yield RequeueAfter(min(report, renewal))


def _missing_fields(observed: Observed) -> Obj:
    """Return a merge patch with what the node lacks besides its status, empty if it lacks nothing."""
    patch: Obj = {}
    if observed.block and not observed.node["spec"].get("podCIDR"):
        patch["spec"] = {"podCIDR": observed.block, "podCIDRs": [observed.block]}
    endpoint = annotations_of(observed.node).get(KUBELET_ENDPOINT)
    if observed.endpoint and endpoint != observed.endpoint:
        patch["metadata"] = {"annotations": {KUBELET_ENDPOINT: observed.endpoint}}
    return patch


def _create_nodes(observed: NodesToCreate, now: float) -> Plan:
    nodes = [
        new_node(missing.number, observed.size, block=missing.block, now=now, address=missing.address)
        for missing in observed.missing
    ]
    answers = yield Batch([Create(NODE, node) for node in nodes])
    for answer in answers:
        if isinstance(answer, ApiError):
            if answer.code != 409:  # it is there already
                raise answer
        else:
            created = answer | {"apiVersion": NODE.api_version, "kind": NODE.kind}
            yield _event(created, "Starting", "Starting kubelet.")


def _event(node: Obj, reason: str, message: str) -> RecordEvent:
    return RecordEvent(node, reason=reason, message=message, component="kubelet", host=name_of(node))


def _report_status(observed: Observed, now: float) -> Steps:
    """Report the status if that is due; return the seconds until it is due again."""
    node = observed.node
    status = kubelet_status(node, observed.size, now, address=observed.address)
    reported = node | {"status": status}
    if not is_report_due(node, status, now):
        return report_due_in(node, now)
    yield Update(NODE, reported, subresource="status")
    if ready_status(node) != ready_status(reported):
        reason = "NodeReady" if ready_status(reported) == TRUE else "NodeNotReady"
        yield _event(node, reason, f"Node {name_of(node)} status is now: {reason}")
    return report_due_in(reported, now)


def _renew_lease(observed: Observed, now: float) -> Steps:
    """Renew the lease if that is due; return the seconds until it is due again.

    (component-helpers' lease controller)
    """
    wait = time_left(observed.period, renewed_at(observed.lease), now)
    if observed.lease is not None and wait:
        return wait
    name = name_of(observed.node)
    if observed.lease is not None:
        try:
            yield Patch(
                LEASE,
                f"{LEASE_NAMESPACE}/{name}",
                {"spec": {"holderIdentity": name, "renewTime": format_micro_time(now)}},
            )
        except ApiError as error:
            if error.code != 404:
                raise
        else:
            return observed.period
    yield Create(LEASE, new_lease(observed.node, now))
    return observed.period


SPEC = ControllerSpec(
    name="node",
    account="simulated-nodes",
    watches=(Watch(NODE, _node_changed), Watch(LEASE)),
    observe=observe,
    reconcile=reconcile,
    source="kubelet",
    program="kubelet",
    workers=8,
    periodic_keys=(START_KEY,),
    views={NODE_BLOCKS: NodeBlocks},
    view_kinds={NODE_BLOCKS: (NODE,)},
)
