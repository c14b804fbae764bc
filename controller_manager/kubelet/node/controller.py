"""Simulated nodes themselves: made at the start, kept alive by leases and reports (pkg/kubelet/kubelet_node_status.go).

Nodes are made once: one that somebody deletes stays away until the next start, as with real kubelets. A node that is
there already is taken over as it is; one that people make with the label `mockube.io/simulated` is as good as ours.
"""

from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj, annotations_of, name_of
from apiserver.api.nodes import KUBELET_ENDPOINT
from controller_manager.kubelet.addresses import Blocks, host_address, prefix_for
from controller_manager.reconcile.conditions import TRUE
from controller_manager.reconcile.contract import (
    Action,
    Batch,
    Change,
    Create,
    Key,
    Listers,
    Patch,
    Plan,
    RecordEvent,
    RequeueAfter,
    Settings,
    Spec,
    Update,
    Watch,
)
from controller_manager.reconcile.kinds import LEASE, NODE
from controller_manager.reconcile.nodes import (
    LEASES,
    Size,
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
from controller_manager.reconcile.times import micro_stamp, time_left

START = ""
"""The key that makes nodes."""
BLOCKS = "pod-blocks"
"""The view that gives nodes the addresses of their pods."""
Steps: TypeAlias = Generator[Action, Any, float]
"""Actions of a plan, that give the seconds until they are due again."""


@dataclass(frozen=True, slots=True)
class Missing:
    """A node that is to be made."""

    number: int
    block: str
    address: str


@dataclass(frozen=True, slots=True)
class Starting:
    """The nodes that are to be made, and how big they are."""

    missing: Sequence[Missing]
    size: Size


@dataclass(frozen=True, slots=True)
class Observed:
    """A node that is there.

    Attributes:
        lease: None where it has none.
        block: of its pods' addresses, "" where there is none left.
        address: its own, where it tells none.
        endpoint: where its kubelet answers, "" where it does not.
        period: seconds between two renewals of the lease.
    """

    node: Obj
    lease: Obj | None
    size: Size
    block: str
    address: str
    endpoint: str
    period: float


def _of_node(_: Listers, change: Change) -> Iterable[Key]:
    node = change.new
    return (name_of(node),) if node is not None and is_simulated(node) else ()


def observe(listers: Listers, key: Key) -> Starting | Observed | None:
    """A node with its lease, or at the start which nodes are missing."""
    settings = listers.settings
    size = Size(settings.node_cpu, settings.node_memory, settings.node_pods, settings.node_version)
    blocks: Blocks = listers.view(BLOCKS)
    if key == START:
        numbers = [i for i in range(1, settings.nodes + 1) if listers[NODE].get(name_of_node(i)) is None]
        return Starting([_missing(number, blocks, settings) for number in numbers], size)
    node = listers[NODE].get(key)
    if node is None or not is_simulated(node) or is_lost(node):
        return None
    block = node["spec"].get("podCIDR") or _block(key, blocks, settings)
    address = host_address(block, settings.cluster_cidr)
    lease = listers[LEASE].get(f"{LEASES}/{key}")
    period = renewal_period(key, len(listers[NODE]), grace=settings.node_monitor_grace)
    return Observed(node, lease, size, block, address, settings.kubelet_endpoint, period)


def _block(name: str, blocks: Blocks, settings: Settings) -> str:
    return blocks.take(name, settings.cluster_cidr, prefix_for(settings.node_pods))


def _missing(number: int, blocks: Blocks, settings: Settings) -> Missing:
    block = _block(name_of_node(number), blocks, settings)
    return Missing(number, block, host_address(block, settings.cluster_cidr))


def plan(seen: Starting | Observed, now: float) -> Plan:
    """Make what is missing; of a node that is there, report its status and renew its lease when that is due."""
    if isinstance(seen, Starting):
        yield from _make(seen, now)
        return
    if lacking := _lacking(seen):
        yield Patch(NODE, name_of(seen.node), lacking)
        return  # the change runs this again
    report = yield from _report(seen, now)
    renewal = yield from _renew(seen, now)
    yield RequeueAfter(min(report, renewal))


def _lacking(seen: Observed) -> Obj:
    """What the node needs beside its status, as a merge patch; empty where it has it."""
    patch: Obj = {}
    if seen.block and not seen.node["spec"].get("podCIDR"):
        patch["spec"] = {"podCIDR": seen.block, "podCIDRs": [seen.block]}
    told = annotations_of(seen.node).get(KUBELET_ENDPOINT)
    if seen.endpoint and told != seen.endpoint:
        patch["metadata"] = {"annotations": {KUBELET_ENDPOINT: seen.endpoint}}
    return patch


def _make(seen: Starting, now: float) -> Plan:
    nodes = [new_node(each.number, seen.size, block=each.block, now=now, address=each.address) for each in seen.missing]
    answers = yield Batch([Create(NODE, node) for node in nodes])
    for answer in answers:
        if isinstance(answer, ApiError):
            if answer.code != 409:  # it is there already
                raise answer
        else:
            made = answer | {"apiVersion": NODE.api_version, "kind": NODE.kind}
            yield _event(made, "Starting", "Starting kubelet.")


def _event(node: Obj, reason: str, message: str) -> RecordEvent:
    return RecordEvent(node, reason=reason, message=message, component="kubelet", host=name_of(node))


def _report(seen: Observed, now: float) -> Steps:
    """Report the status if that is due; gives the seconds until it is again."""
    node = seen.node
    status = kubelet_status(node, seen.size, now, address=seen.address)
    reported = node | {"status": status}
    if not is_report_due(node, status, now):
        return report_due_in(node, now)
    yield Update(NODE, reported, subresource="status")
    if ready_status(node) != ready_status(reported):
        reason = "NodeReady" if ready_status(reported) == TRUE else "NodeNotReady"
        yield _event(node, reason, f"Node {name_of(node)} status is now: {reason}")
    return report_due_in(reported, now)


def _renew(seen: Observed, now: float) -> Steps:
    """Renew the lease if that is due; gives the seconds until it is again (component-helpers' lease controller)."""
    wait = time_left(seen.period, renewed_at(seen.lease), now)
    if seen.lease is not None and wait:
        return wait
    name = name_of(seen.node)
    if seen.lease is not None:
        try:
            yield Patch(LEASE, f"{LEASES}/{name}", {"spec": {"holderIdentity": name, "renewTime": micro_stamp(now)}})
        except ApiError as error:
            if error.code != 404:
                raise
        else:
            return seen.period
    yield Create(LEASE, new_lease(seen.node, now))
    return seen.period


SPEC = Spec(
    name="node",
    watches=(Watch(NODE, _of_node), Watch(LEASE)),
    observe=observe,
    reconcile=plan,
    source="kubelet",
    workers=8,
    periodic=(START,),
    views={BLOCKS: Blocks},
    feeds={BLOCKS: (NODE,)},
)
