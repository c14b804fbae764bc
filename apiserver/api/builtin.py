"""The built-in resources: one row of facts per group and kind, joined with the definitions of a Kubernetes release."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from apiserver.api.meta import Obj
from apiserver.api.resources import ALL_VERBS, Resource, Subresource, version_rank

CREATE = ("create",)
GET = ("get",)
UPDATE = ("update",)
EDIT = ("get", "patch", "update")
STREAM = ("create", "get")
PROXY = ("create", "delete", "get", "patch", "update")
NO_COLLECTION_DELETE = tuple(verb for verb in ALL_VERBS if verb != "deletecollection")

ALL = ("all",)
API_EXTENSIONS = ("api-extensions",)


@dataclass(frozen=True, slots=True)
class Kind:
    """What the OpenAPI definitions do not say of a kind.

    Attributes:
        parts: its subresources, keys of SUBRESOURCES. "status" is not among them: a kind has it when its definition has
            that property, so that it comes and goes with the release.
        fields: what field selectors may name beside metadata.name and metadata.namespace.
        creates_on_update: PUT of an absent name creates it (AllowCreateOnUpdate of upstream's strategies).
        prefix: where it is stored, when that is not its plural.
    """

    name: str
    short: tuple[str, ...] = ()
    namespaced: bool = True
    categories: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ALL_VERBS
    parts: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()
    creates_on_update: bool = False
    prefix: str = ""


@dataclass(frozen=True, slots=True)
class Part:
    """A subresource: its verbs and the body that it speaks; without a kind it speaks its parent's."""

    verbs: tuple[str, ...]
    kind: str = ""
    group: str = ""
    version: str = "v1"


SUBRESOURCES = {
    "approval": Part(EDIT),
    "attach": Part(STREAM, "PodAttachOptions"),
    "binding": Part(CREATE, "Binding"),
    "ephemeralcontainers": Part(EDIT),
    "eviction": Part(CREATE, "Eviction", "policy"),
    "exec": Part(STREAM, "PodExecOptions"),
    "finalize": Part(UPDATE),
    "log": Part(GET),
    "portforward": Part(STREAM, "PodPortForwardOptions"),
    "resize": Part(EDIT),
    "scale": Part(EDIT, "Scale", "autoscaling"),
    "status": Part(EDIT),
    "token": Part(CREATE, "TokenRequest", "authentication.k8s.io"),
}
PROXIES = {kind: Part(PROXY, f"{kind}ProxyOptions") for kind in ("Node", "Pod", "Service")}
"""The subresource "proxy" of these kinds, each with options of its own."""

POD_PARTS = ("attach", "binding", "ephemeralcontainers", "eviction", "exec", "log", "portforward", "proxy", "resize")
POD_FIELDS = (
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
_OBJECT = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
EVENT_FIELDS = (*(f"involvedObject.{part}" for part in _OBJECT), "reason", "reportingComponent", "source", "type")
NEW_EVENT_FIELDS = (*(f"regarding.{part}" for part in _OBJECT), "reason", "reportingController", "type")

KINDS: dict[str, tuple[Kind, ...]] = {
    "": (
        Kind("Binding", verbs=CREATE),
        Kind("ComponentStatus", ("cs",), namespaced=False, verbs=("get", "list")),
        Kind("ConfigMap", ("cm",)),
        Kind("Endpoints", ("ep",), creates_on_update=True, prefix="services/endpoints"),
        Kind("Event", ("ev",), fields=EVENT_FIELDS, creates_on_update=True),
        Kind("LimitRange", ("limits",), creates_on_update=True),
        Kind(
            "Namespace",
            ("ns",),
            namespaced=False,
            verbs=NO_COLLECTION_DELETE,
            parts=("finalize",),
            fields=("status.phase",),
        ),
        Kind("Node", ("no",), namespaced=False, parts=("proxy",), fields=("spec.unschedulable",), prefix="minions"),
        Kind("PersistentVolumeClaim", ("pvc",)),
        Kind("PersistentVolume", ("pv",), namespaced=False),
        Kind("Pod", ("po",), categories=ALL, parts=POD_PARTS, fields=POD_FIELDS),
        Kind("PodTemplate"),
        Kind(
            "ReplicationController",
            ("rc",),
            categories=ALL,
            parts=("scale",),
            fields=("status.replicas",),
            prefix="controllers",
        ),
        Kind("ResourceQuota", ("quota",)),
        Kind("Secret", fields=("type",)),
        Kind("ServiceAccount", ("sa",), parts=("token",)),
        Kind(
            "Service",
            ("svc",),
            categories=ALL,
            parts=("proxy",),
            fields=("spec.clusterIP", "spec.type"),
            creates_on_update=True,
            prefix="services/specs",
        ),
    ),
    "apiregistration.k8s.io": (
        Kind("APIService", namespaced=False, categories=API_EXTENSIONS, prefix="apiregistration.k8s.io/apiservices"),
    ),
    "apps": (
        Kind("ControllerRevision"),
        Kind("DaemonSet", ("ds",), categories=ALL),
        Kind("Deployment", ("deploy",), categories=ALL, parts=("scale",)),
        Kind("ReplicaSet", ("rs",), categories=ALL, parts=("scale",)),
        Kind("StatefulSet", ("sts",), categories=ALL, parts=("scale",), fields=("status.successful",)),
    ),
    "events.k8s.io": (Kind("Event", ("ev",), fields=NEW_EVENT_FIELDS, creates_on_update=True),),
    "authentication.k8s.io": (
        Kind("SelfSubjectReview", namespaced=False, verbs=CREATE),
        Kind("TokenReview", namespaced=False, verbs=CREATE),
    ),
    "authorization.k8s.io": (
        Kind("LocalSubjectAccessReview", verbs=CREATE),
        Kind("SelfSubjectAccessReview", namespaced=False, verbs=CREATE),
        Kind("SelfSubjectRulesReview", namespaced=False, verbs=CREATE),
        Kind("SubjectAccessReview", namespaced=False, verbs=CREATE),
    ),
    "autoscaling": (Kind("HorizontalPodAutoscaler", ("hpa",), categories=ALL),),
    "batch": (
        Kind("CronJob", ("cj",), categories=ALL),
        Kind("Job", categories=ALL, fields=("status.successful",)),
    ),
    "certificates.k8s.io": (
        Kind(
            "CertificateSigningRequest",
            ("csr",),
            namespaced=False,
            parts=("approval",),
            fields=("spec.signerName",),
        ),
        Kind("ClusterTrustBundle", namespaced=False, fields=("spec.signerName",)),
        Kind("PodCertificateRequest", fields=("spec.signerName",)),
    ),
    "networking.k8s.io": (
        Kind("ClusterCIDR", ("cc",), namespaced=False),
        Kind("IngressClass", namespaced=False),
        Kind("Ingress", ("ing",), prefix="ingress"),
        Kind("IPAddress", ("ip",), namespaced=False),
        Kind("NetworkPolicy", ("netpol",)),
        Kind("ServiceCIDR", namespaced=False),
    ),
    "policy": (Kind("PodDisruptionBudget", ("pdb",)),),
    "rbac.authorization.k8s.io": (
        Kind("ClusterRoleBinding", namespaced=False, creates_on_update=True),
        Kind("ClusterRole", namespaced=False, creates_on_update=True),
        Kind("RoleBinding", creates_on_update=True),
        Kind("Role", creates_on_update=True),
    ),
    "storage.k8s.io": (
        Kind("CSIDriver", namespaced=False),
        Kind("CSINode", namespaced=False),
        Kind("CSIStorageCapacity"),
        Kind("StorageClass", ("sc",), namespaced=False),
        Kind("VolumeAttachment", namespaced=False),
        Kind("VolumeAttributesClass", ("vac",), namespaced=False),
    ),
    "admissionregistration.k8s.io": (
        Kind("MutatingAdmissionPolicy", namespaced=False, categories=API_EXTENSIONS),
        Kind("MutatingAdmissionPolicyBinding", namespaced=False, categories=API_EXTENSIONS),
        Kind("MutatingWebhookConfiguration", namespaced=False, categories=API_EXTENSIONS),
        Kind("ValidatingAdmissionPolicy", namespaced=False, categories=API_EXTENSIONS),
        Kind("ValidatingAdmissionPolicyBinding", namespaced=False, categories=API_EXTENSIONS),
        Kind("ValidatingWebhookConfiguration", namespaced=False, categories=API_EXTENSIONS),
    ),
    "apiextensions.k8s.io": (
        Kind(
            "CustomResourceDefinition",
            ("crd", "crds"),
            namespaced=False,
            categories=API_EXTENSIONS,
            prefix="apiextensions.k8s.io/customresourcedefinitions",
        ),
    ),
    "scheduling.k8s.io": (
        Kind("CompositePodGroup"),
        Kind("PodGroup"),
        Kind("PriorityClass", ("pc",), namespaced=False),
        Kind("Workload"),
    ),
    "coordination.k8s.io": (
        Kind("LeaseCandidate", creates_on_update=True),
        Kind("Lease", creates_on_update=True),
    ),
    "node.k8s.io": (Kind("RuntimeClass", namespaced=False, creates_on_update=True),),
    "discovery.k8s.io": (Kind("EndpointSlice"),),
    "flowcontrol.apiserver.k8s.io": (
        Kind("FlowSchema", namespaced=False),
        Kind("PriorityLevelConfiguration", namespaced=False),
    ),
    "internal.apiserver.k8s.io": (Kind("StorageVersion", namespaced=False),),
    "resource.k8s.io": (
        Kind("DeviceClass", namespaced=False),
        Kind("DeviceTaintRule", namespaced=False),
        Kind("PodSchedulingContext"),
        Kind("ResourceClaim"),
        Kind("ResourceClaimTemplate"),
        Kind("ResourceClass", namespaced=False),
        Kind("ResourcePoolStatusRequest", namespaced=False),
        Kind("ResourceSlice", namespaced=False, fields=("spec.driver", "spec.nodeName")),
    ),
    "storagemigration.k8s.io": (Kind("StorageVersionMigration", namespaced=False),),
    "lifecycle.k8s.io": (Kind("EvictionRequest"), Kind("Eviction")),
}
"""Group → its kinds. Groups stand in upstream's order of discovery (groupPriorityMinimum, then name)."""

_RANKS = {group: rank for rank, group in enumerate(KINDS)}

STORED_AS = {("events.k8s.io", "Event"): ("", "v1")}
"""Kinds that live among the objects of another group's kind of the same name (upstream's cohabitating resources)."""


def builtin_rows(definitions: Mapping[str, Obj]) -> list[Resource]:
    """The resources that a release serves.

    Every version that the definitions have of a kind in KINDS is served; the most stable and newest one is stored.

    Args:
        definitions: the release's OpenAPI definitions by name.
    """
    served: dict[tuple[str, str], dict[str, str]] = {}
    for name, schema in definitions.items():
        for gvk in schema.get("x-kubernetes-group-version-kind", ()):
            served.setdefault((gvk["group"], gvk["kind"]), {})[gvk["version"]] = name
    return [
        row
        for group, kinds in KINDS.items()
        for kind in kinds
        for row in _rows(kind, group=group, served=served.get((group, kind.name), {}), definitions=definitions)
    ]


def group_rank(group: str) -> tuple[int, str]:
    """A sort key that puts groups in the order of discovery: built-in ones as in KINDS, then custom ones by name."""
    return _RANKS.get(group, len(_RANKS)), group


def plural_of(kind: str) -> str:
    """The resource's name of a built-in kind: "ingresses" of "Ingress" (meta.UnsafeGuessKindToResource)."""
    name = kind.lower()
    if name == "endpoints":
        return name
    if name.endswith("s"):
        return f"{name}es"
    return f"{name[:-1]}ies" if name.endswith("y") else f"{name}s"


def _rows(kind: Kind, *, group: str, served: Mapping[str, str], definitions: Mapping[str, Obj]) -> Iterator[Resource]:
    """The kind's rows, one per version that the release has, most preferred first."""
    versions = sorted(served, key=version_rank, reverse=True)
    plural = plural_of(kind.name)
    for version in versions:
        storage_group, storage_version = STORED_AS.get((group, kind.name), (group, versions[0]))
        has_status = kind.verbs != CREATE and "status" in definitions[served[version]].get("properties", {})
        parts = (*kind.parts, "status") if has_status else kind.parts
        yield Resource(
            group=group,
            version=version,
            kind=kind.name,
            plural=plural,
            singular=kind.name.lower(),
            namespaced=kind.namespaced,
            definition=served[version],
            storage_group=storage_group,
            storage_version=storage_version,
            storage_prefix=kind.prefix or plural,
            verbs=kind.verbs,
            short_names=kind.short,
            categories=kind.categories,
            fields=kind.fields,
            create_on_update=kind.creates_on_update,
            subresources={name: _subresource(name, kind=kind, group=group, version=version) for name in sorted(parts)},
        )


def _subresource(name: str, *, kind: Kind, group: str, version: str) -> Subresource:
    part = PROXIES[kind.name] if name == "proxy" else SUBRESOURCES[name]
    if part.kind:
        return Subresource(name=name, verbs=part.verbs, kind=part.kind, group=part.group, version=part.version)
    return Subresource(name=name, verbs=part.verbs, kind=kind.name, group=group, version=version)
