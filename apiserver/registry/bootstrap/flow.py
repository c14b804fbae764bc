"""Priority levels and flow schemas that exist from the start (apiserver/pkg/apis/flowcontrol/bootstrap), as data."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from apiserver.api.meta import Obj

API_VERSION = "flowcontrol.apiserver.k8s.io/v1"
_ANNOTATIONS = {"apf.kubernetes.io/autoupdate-spec": "true"}
AUTHENTICATED, UNAUTHENTICATED = "Group system:authenticated", "Group system:unauthenticated"
NODES, SYSTEM_ACCOUNTS = "Group system:nodes", "ServiceAccount kube-system *"
MANAGER, SCHEDULER = "User system:kube-controller-manager", "User system:kube-scheduler"
ANYTHING = ("* : * : *", "* : URLS : *")


class PriorityLevel(NamedTuple):
    """A limited priority level; without queues it rejects excess requests."""

    shares: int
    lendable: int
    queues: int = 0
    hand: int = 6


LEVELS: Mapping[str, PriorityLevel] = {
    "catch-all": PriorityLevel(5, 0),
    "system": PriorityLevel(30, 33, 64),
    "node-high": PriorityLevel(40, 25, 64),
    "leader-election": PriorityLevel(10, 0, 16, 4),
    "workload-high": PriorityLevel(40, 50, 128),
    "workload-low": PriorityLevel(100, 90, 128),
    "global-default": PriorityLevel(20, 50, 128),
}


class FlowSchemaRow(NamedTuple):
    """A flow schema: it assigns requests to a priority level; of several that match, the lowest precedence wins."""

    level: str
    precedence: int
    by: str
    subjects: tuple[str, ...]
    rules: tuple[str, ...] = ANYTHING


SCHEMAS: Mapping[str, FlowSchemaRow] = {
    "exempt": FlowSchemaRow("exempt", 1, "", ("Group system:masters",)),
    "probes": FlowSchemaRow(
        "exempt", 2, "", (UNAUTHENTICATED, AUTHENTICATED), ("get : URLS : /healthz /readyz /livez",)
    ),
    "system-leader-election": FlowSchemaRow(
        "leader-election",
        100,
        "ByUser",
        (MANAGER, SCHEDULER, SYSTEM_ACCOUNTS),
        ("get create update : coordination.k8s.io : leases : namespaced",),
    ),
    "system-node-high": FlowSchemaRow(
        "node-high",
        400,
        "ByUser",
        (NODES,),
        ("* : CORE : nodes nodes/status", "* : coordination.k8s.io : leases : namespaced"),
    ),
    "system-nodes": FlowSchemaRow("system", 500, "ByUser", (NODES,)),
    "kube-controller-manager": FlowSchemaRow("workload-high", 800, "ByNamespace", (MANAGER,)),
    "kube-scheduler": FlowSchemaRow("workload-high", 800, "ByNamespace", (SCHEDULER,)),
    "kube-system-service-accounts": FlowSchemaRow("workload-high", 900, "ByNamespace", (SYSTEM_ACCOUNTS,)),
    "service-accounts": FlowSchemaRow("workload-low", 9000, "ByUser", ("Group system:serviceaccounts",)),
    "global-default": FlowSchemaRow("global-default", 9900, "ByUser", (UNAUTHENTICATED, AUTHENTICATED)),
    "catch-all": FlowSchemaRow("catch-all", 10000, "ByUser", (UNAUTHENTICATED, AUTHENTICATED)),
}


def flow() -> Iterator[Obj]:
    """Yield the priority levels and flow schemas."""
    exempt = {"type": "Exempt", "exempt": {"nominalConcurrencyShares": 0, "lendablePercent": 0}}
    yield _object("PriorityLevelConfiguration", "exempt", exempt)
    for name, level in LEVELS.items():
        yield _object("PriorityLevelConfiguration", name, _limited(level))
    for name, schema in SCHEMAS.items():
        yield _object("FlowSchema", name, _spec(schema))


def _limited(level: PriorityLevel) -> Obj:
    queuing = {"queues": level.queues, "handSize": level.hand, "queueLengthLimit": 50}
    response = {"type": "Queue", "queuing": queuing} if level.queues else {"type": "Reject"}
    shares = {"nominalConcurrencyShares": level.shares, "lendablePercent": level.lendable}
    return {"type": "Limited", "limited": shares | {"limitResponse": response}}


def _spec(schema: FlowSchemaRow) -> Obj:
    rule: Obj = {"subjects": [_subject(*subject.split()) for subject in schema.subjects]}
    for line in schema.rules:
        verbs, groups, resources, *scope = (part.split() for part in line.split(" : "))
        if groups == ["URLS"]:
            policy_rule = {"verbs": verbs, "nonResourceURLs": resources}
            rule.setdefault("nonResourceRules", []).append(policy_rule)
            continue
        policy_rule = {"verbs": verbs, "apiGroups": ["" if g == "CORE" else g for g in groups], "resources": resources}
        wide = {} if scope else {"clusterScope": True}
        rule.setdefault("resourceRules", []).append(policy_rule | wide | {"namespaces": ["*"]})
    spec: Obj = {"priorityLevelConfiguration": {"name": schema.level}, "matchingPrecedence": schema.precedence}
    return spec | ({"distinguisherMethod": {"type": schema.by}} if schema.by else {}) | {"rules": [rule]}


def _subject(kind: str, *names: str) -> Obj:
    if kind == "ServiceAccount":
        return {"kind": kind, "serviceAccount": {"namespace": names[0], "name": names[1]}}
    return {"kind": kind, kind.lower(): {"name": names[0]}}


def _object(kind: str, name: str, spec: Obj) -> Obj:
    meta = {"name": name, "annotations": _ANNOTATIONS}
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": meta, "spec": spec}
