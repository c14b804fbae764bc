"""Warnings for writers of objects that are stored but have no effect here: a table of notices by kind.

It lists what a Kubernetes control plane would act on: kube-apiserver, kube-controller-manager or kube-scheduler.
What add-ons act on, such as Ingresses, has no effect in a bare cluster either, and is listed in docs/compatibility.md
alone. Which controllers run is up to whoever starts them, so a Deployment has no notice even if none do.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial

from apiserver.api import quantity
from apiserver.api.meta import Obj, metadata
from apiserver.api.resources import Resource
from apiserver.groups.kruise import conversion

Applies = Callable[[Obj, Obj | None], bool]
"""Returns whether a notice concerns a write: (new object, old object or None at creation) → bool."""


def _always(_new: Obj, _old: Obj | None) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Notice:
    """A warning for clients that create, update or patch an object.

    Attributes:
        text: one line that says what is stored but has no effect.
        when: the objects that it concerns, in Markdown; "" for all of the kind.
        applies: the same condition as a function.
    """

    text: str
    when: str = ""
    applies: Applies = _always


def bound(rows: Iterable[Resource]) -> Iterator[Resource]:
    """Yield the rows, with their notices if NOTICES has the kind; all others are the same objects."""
    for row in rows:
        notices = NOTICES.get((row.group, row.kind))
        yield replace(row, notices=partial(_texts, notices)) if notices else row


def _texts(notices: tuple[Notice, ...], new: Obj, old: Obj | None) -> tuple[str, ...]:
    """Return the texts of the notices that concern a write."""
    return tuple([notice.text for notice in notices if notice.applies(new, old)])


def _spec(obj: Obj) -> Obj:
    spec: Obj = obj.get("spec") or {}
    return spec


def _has(*names: str) -> Applies:
    """Return a test for objects that have one of these fields at their top."""
    return lambda new, _old: any(new.get(name) for name in names)


def _specifies(*names: str) -> Applies:
    """Return a test for objects that have one of these fields in their spec."""
    fields = frozenset(names)
    return lambda new, _old: not _spec(new).keys().isdisjoint(fields)


_POD_SECURITY = "pod-security.kubernetes.io/"


def _has_pod_security_labels(new: Obj, _old: Obj | None) -> bool:
    return any(name.startswith(_POD_SECURITY) for name in metadata(new).get("labels") or ())


def _is_account_token(new: Obj, _old: Obj | None) -> bool:
    return new.get("type") == "kubernetes.io/service-account-token"


def _grows(new: Obj, old: Obj | None) -> bool:
    """Test whether a claim requests more storage than before."""
    if old is None:
        return False
    return _requested_storage(new) > _requested_storage(old)


def _requested_storage(claim: Obj) -> int:
    requests = (_spec(claim).get("resources") or {}).get("requests") or {}
    return quantity.of(requests.get("storage")).nanos


def _has_builtin_signer(new: Obj, _old: Obj | None) -> bool:
    """Test for requests that kube-controller-manager would sign."""
    return str(_spec(new).get("signerName") or "").startswith("kubernetes.io/")


def _limits_volumes(new: Obj, _old: Obj | None) -> bool:
    return any(driver.get("allocatable") for driver in _spec(new).get("drivers") or ())


def _converts_by_webhook(new: Obj, _old: Obj | None) -> bool:
    """Test for definitions whose objects only a webhook can convert; OpenKruise's is built in."""
    spec = _spec(new)
    if (spec.get("conversion") or {}).get("strategy") != "Webhook":
        return False
    kind = (spec.get("names") or {}).get("kind") or ""
    versions = [version.get("name") or "" for version in spec.get("versions") or ()]
    storage = next((each.get("name") or "" for each in spec.get("versions") or () if each.get("storage")), "")
    converts = partial(conversion.conversion, spec.get("group") or "", kind, target=storage)
    return any(version != storage and converts(source=version) is None for version in versions)


def _stored(kind: str, lack: str, effect: str, when: str = "", applies: Applies = _always) -> tuple[Notice, ...]:
    """Return the notice of a kind, in the words that most notices share."""
    return (Notice(f"mockube {lack}: this {kind} is stored, but {effect}", when, applies),)


_NO_WEBHOOKS = "calls no admission webhooks"
_NO_POLICIES = "evaluates no admission policies"
_NO_RBAC = "has no RBAC authorizer"
_NO_DEVICES = "allocates no devices"
_NO_SIGNERS = "signs no certificates"
_NO_GROUPS = "schedules no groups of Pods"
_NO_FAIRNESS = "has no API Priority and Fairness"
_NO_RUNTIME_CLASSES = "has no RuntimeClass admission plug-in"
_NO_EVICTIONS = "has no evictionrequest-controller"
_NO_CIDRS = "allocates from --service-cluster-ip-range alone"
_BUILTIN_SIGNER = "`spec.signerName` begins with `kubernetes.io/`"

_CORE: Mapping[str, tuple[Notice, ...]] = {
    "LimitRange": _stored(
        "LimitRange", "has no LimitRanger admission plug-in", "sets no defaults and enforces no limits"
    ),
    "Namespace": (
        Notice(
            "mockube has no PodSecurity admission plug-in: the pod-security.kubernetes.io labels of this Namespace are "
            "stored, but no Pod is checked",
            f"with a label `{_POD_SECURITY}*`",
            _has_pod_security_labels,
        ),
    ),
    "PersistentVolumeClaim": _stored(
        "PersistentVolumeClaim", "resizes no volumes", "keeps its capacity", "its storage request grows", _grows
    ),
    "Pod": (
        Notice(
            f"mockube {_NO_DEVICES}: this Pod is scheduled and started without its resourceClaims",
            "with `spec.resourceClaims`",
            _specifies("resourceClaims"),
        ),
        Notice(
            f"mockube {_NO_RUNTIME_CLASSES}: this Pod gets neither the overhead nor the scheduling of its RuntimeClass",
            "with `spec.runtimeClassName`",
            _specifies("runtimeClassName"),
        ),
        Notice(
            f"mockube {_NO_GROUPS}: this Pod is scheduled by itself",
            "with `spec.schedulingGroup` or `spec.workloadRef`",
            _specifies("schedulingGroup", "workloadRef"),
        ),
    ),
    "ResourceQuota": _stored(
        "ResourceQuota", "has no ResourceQuota admission plug-in and no controller for it", "counts and limits nothing"
    ),
    "Secret": _stored(
        "Secret",
        "fills no token Secrets",
        "gets no token; kubectl create token makes one",
        "of type `kubernetes.io/service-account-token`",
        _is_account_token,
    ),
}

_ADMISSION: Mapping[str, tuple[Notice, ...]] = {
    **{
        kind: _stored(kind, _NO_WEBHOOKS, "nobody is asked")
        for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
    },
    **{
        kind: _stored(kind, _NO_POLICIES, "changes nothing")
        for kind in ("MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding")
    },
    **{
        kind: _stored(kind, _NO_POLICIES, "refuses nothing")
        for kind in ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")
    },
}

_DEVICES: Mapping[str, tuple[Notice, ...]] = {
    kind: _stored(kind, _NO_DEVICES, effect)
    for kind, effect in {
        "DeviceClass": "no device is chosen by it",
        "DeviceTaintRule": "taints no device",
        "PodSchedulingContext": "nobody answers it",
        "ResourceClaim": "is never allocated",
        "ResourceClaimTemplate": "no ResourceClaim is made from it",
        "ResourceClass": "no resource is chosen by it",
        "ResourcePoolStatusRequest": "is not answered",
        "ResourceSlice": "its devices are given to no Pod",
    }.items()
}

_BY_GROUP: Mapping[str, Mapping[str, tuple[Notice, ...]]] = {
    "": _CORE,
    "admissionregistration.k8s.io": _ADMISSION,
    "apiextensions.k8s.io": {
        "CustomResourceDefinition": (
            Notice(
                "mockube calls no conversion webhooks: objects of this CustomResourceDefinition can be read and "
                "written in their storage version alone",
                "with `spec.conversion.strategy: Webhook`, but for OpenKruise's workloads",
                _converts_by_webhook,
            ),
        )
    },
    "apiregistration.k8s.io": {
        "APIService": _stored(
            "APIService",
            "has no aggregation layer",
            "requests for its group are not passed on",
            "with `spec.service`",
            _specifies("service"),
        )
    },
    "apps": {"DaemonSet": _stored("DaemonSet", "has no DaemonSet controller", "creates no Pods")},
    "autoscaling": {
        "HorizontalPodAutoscaler": _stored(
            "HorizontalPodAutoscaler", "has no HorizontalPodAutoscaler controller", "scales nothing"
        )
    },
    "batch": {
        "CronJob": _stored("CronJob", "has no CronJob controller", "creates no Jobs"),
        "Job": _stored("Job", "has no Job controller", "creates no Pods"),
    },
    "certificates.k8s.io": {
        kind: _stored(kind, _NO_SIGNERS, "gets no certificate", _BUILTIN_SIGNER, _has_builtin_signer)
        for kind in ("CertificateSigningRequest", "PodCertificateRequest")
    },
    "coordination.k8s.io": {
        "LeaseCandidate": _stored("LeaseCandidate", "has no coordinated leader election", "is elected by nobody")
    },
    "flowcontrol.apiserver.k8s.io": {
        kind: _stored(kind, _NO_FAIRNESS, "no request is queued or refused by it")
        for kind in ("FlowSchema", "PriorityLevelConfiguration")
    },
    "lifecycle.k8s.io": {
        kind: _stored(kind, _NO_EVICTIONS, "evicts nothing") for kind in ("Eviction", "EvictionRequest")
    },
    "networking.k8s.io": {
        "ClusterCIDR": _stored("ClusterCIDR", "has no controller for ClusterCIDRs", "gives no Node its podCIDRs"),
        "IPAddress": _stored("IPAddress", _NO_CIDRS, "reserves nothing"),
        "ServiceCIDR": _stored("ServiceCIDR", _NO_CIDRS, "no Service gets an address from it"),
    },
    "node.k8s.io": {
        "RuntimeClass": _stored(
            "RuntimeClass",
            _NO_RUNTIME_CLASSES,
            "Pods get neither its overhead nor its scheduling",
            "with `overhead` or `scheduling`",
            _has("overhead", "scheduling"),
        )
    },
    "rbac.authorization.k8s.io": {
        kind: _stored(kind, _NO_RBAC, "grants nothing")
        for kind in ("ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding")
    },
    "resource.k8s.io": _DEVICES,
    "scheduling.k8s.io": {
        kind: _stored(kind, _NO_GROUPS, "its Pods are scheduled one by one")
        for kind in ("CompositePodGroup", "PodGroup", "Workload")
    },
    "storage.k8s.io": {
        "CSINode": _stored(
            "CSINode",
            "counts no attached volumes",
            "its limits keep no Pod from the Node",
            "a driver has `allocatable`",
            _limits_volumes,
        ),
        "CSIStorageCapacity": _stored(
            "CSIStorageCapacity", "schedules without a look at storage capacity", "keeps no Pod from a Node"
        ),
    },
    "storagemigration.k8s.io": {
        "StorageVersionMigration": _stored(
            "StorageVersionMigration", "has no storage version migrator", "no object is rewritten"
        )
    },
}

NOTICES: Mapping[tuple[str, str], tuple[Notice, ...]] = {
    (group, kind): notices for group, kinds in _BY_GROUP.items() for kind, notices in kinds.items()
}
"""(group, kind) → the notices for its writers."""
