"""Pods (core): the kind and its field labels."""

from apiserver.api.meta import Obj
from apiserver.api.validation.contract import Validator
from apiserver.groups.columns import AGE, CORE, NAME, Column, Printer
from apiserver.groups.core.pods.columns import pod_cells, pod_conditions
from apiserver.groups.core.pods.defaults import default_pod, default_pod_status
from apiserver.groups.core.pods.strategy import POD_EPHEMERAL_CONTAINERS, POD_RESIZE, POD_STRATEGY
from apiserver.groups.core.pods.updates import ephemeral_containers_update, status_update, update
from apiserver.groups.core.pods.validation import new_pod, resize
from apiserver.groups.field_labels import Fields
from apiserver.groups.kind import ALL, BuiltinKind
from apiserver.groups.notices import NO_DEVICES, NO_GROUPS, Notice, specifies


def pod(pod: Obj) -> Fields:
    """Return a pod's field labels; selectors may name status.podIPs, but no pod has a value for it."""
    spec, status = pod.get("spec") or {}, pod.get("status") or {}
    return {
        "spec.hostNetwork": "true" if spec.get("hostNetwork") else "false",
        "spec.nodeName": spec.get("nodeName", ""),
        "spec.restartPolicy": spec.get("restartPolicy", ""),
        "spec.schedulerName": spec.get("schedulerName", ""),
        "spec.serviceAccountName": spec.get("serviceAccountName", ""),
        "status.nominatedNodeName": status.get("nominatedNodeName", ""),
        "status.phase": status.get("phase", ""),
        "status.podIP": status.get("podIP", ""),
        "status.podIPs": "",
    }


_SUBRESOURCES = (
    "attach",
    "binding",
    "ephemeralcontainers",
    "eviction",
    "exec",
    "log",
    "portforward",
    "proxy",
    "resize",
)
_FIELDS = (
    "spec.hostNetwork",
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.schedulerName",
    "spec.serviceAccountName",
    "status.nominatedNodeName",
    "status.phase",
    "status.podIP",
    "status.podIPs",
)

_NOTICES = (
    Notice(
        f"mockube {NO_DEVICES}: this Pod is scheduled and started without its resourceClaims",
        "with `spec.resourceClaims`",
        specifies("resourceClaims"),
    ),
    Notice(
        f"mockube {NO_GROUPS}: this Pod is scheduled by itself",
        "with `spec.schedulingGroup` or `spec.workloadRef`",
        specifies("schedulingGroup", "workloadRef"),
    ),
)


POD = BuiltinKind(
    "",
    "Pod",
    ("po",),
    categories=ALL,
    subresources=_SUBRESOURCES,
    newer_subresources={"resize": 33},
    fields=_FIELDS,
    field_aliases={"spec.host": "spec.nodeName"},
    default=default_pod,
    default_beside_spec=default_pod_status,
    returns_deleted=True,
    strategy=POD_STRATEGY,
    subresource_strategies={"ephemeralcontainers": POD_EPHEMERAL_CONTAINERS, "resize": POD_RESIZE},
    validator=Validator(create=new_pod, update=update, status_update=status_update),
    subresource_validators={"ephemeralcontainers": ephemeral_containers_update, "resize": resize},
    field_labels=pod,
    printer=Printer(
        columns=(
            NAME,
            Column("Ready", "How many of the pod's containers are ready to serve."),
            Column("Status", "The state of the pod's containers, in one word."),
            Column("Restarts", "How often the pod's containers have restarted, and how long ago the last one did."),
            AGE,
            Column("IP", f"{CORE}PodStatus#podIP", priority=1),
            Column("Node", f"{CORE}PodSpec#nodeName", priority=1),
            Column("Nominated Node", f"{CORE}PodStatus#nominatedNodeName", priority=1),
            Column("Readiness Gates", f"{CORE}PodSpec#readinessGates", priority=1),
        ),
        cells=pod_cells,
        conditions=pod_conditions,
    ),
    notices=_NOTICES,
)
