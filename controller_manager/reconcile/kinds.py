"""The kinds that controllers use, with the data for their paths and owner references."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from apiserver.api.meta import api_version


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind in the version that the controllers use.

    Attributes:
        plural: the name in paths: "pods".
        kind: the name in objects: "Pod".
        api_version: the apiVersion of its objects: "v1", "apps/v1".
    """

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool = True
    api_version: str = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "api_version", api_version(self.group, self.version))

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """Return the path of its collection, an object or a subresource; "" as namespace means all of them."""
        parts = ["", "apis", self.group, self.version] if self.group else ["", "api", self.version]
        if namespace:
            parts += ["namespaces", namespace]
        return "/".join([*parts, self.plural, *filter(None, (name, subresource))])

    def __str__(self) -> str:
        return f"{self.plural}.{self.group}" if self.group else self.plural


POD = Kind("", "v1", "Pod", "pods")
NODE = Kind("", "v1", "Node", "nodes", namespaced=False)
NAMESPACE = Kind("", "v1", "Namespace", "namespaces", namespaced=False)
SERVICE = Kind("", "v1", "Service", "services")
ENDPOINTS = Kind("", "v1", "Endpoints", "endpoints")
CONFIG_MAP = Kind("", "v1", "ConfigMap", "configmaps")
SECRET = Kind("", "v1", "Secret", "secrets")
SERVICE_ACCOUNT = Kind("", "v1", "ServiceAccount", "serviceaccounts")
CLAIM = Kind("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims")
VOLUME = Kind("", "v1", "PersistentVolume", "persistentvolumes", namespaced=False)
RESOURCE_QUOTA = Kind("", "v1", "ResourceQuota", "resourcequotas")
REPLICATION_CONTROLLER = Kind("", "v1", "ReplicationController", "replicationcontrollers")
DEPLOYMENT = Kind("apps", "v1", "Deployment", "deployments")
REPLICA_SET = Kind("apps", "v1", "ReplicaSet", "replicasets")
STATEFUL_SET = Kind("apps", "v1", "StatefulSet", "statefulsets")
CONTROLLER_REVISION = Kind("apps", "v1", "ControllerRevision", "controllerrevisions")
DISRUPTION_BUDGET = Kind("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets")
ENDPOINT_SLICE = Kind("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices")
STORAGE_CLASS = Kind("storage.k8s.io", "v1", "StorageClass", "storageclasses", namespaced=False)
CLUSTER_ROLE = Kind("rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles", namespaced=False)
CERTIFICATE_SIGNING_REQUEST = Kind(
    "certificates.k8s.io", "v1", "CertificateSigningRequest", "certificatesigningrequests", namespaced=False
)
SUBJECT_ACCESS_REVIEW = Kind(
    "authorization.k8s.io", "v1", "SubjectAccessReview", "subjectaccessreviews", namespaced=False
)
LEASE = Kind("coordination.k8s.io", "v1", "Lease", "leases")
EVENT = Kind("", "v1", "Event", "events")
SCHEDULER_EVENT = Kind("events.k8s.io", "v1", "Event", "events")
UNITED_DEPLOYMENT = Kind("apps.kruise.io", "v1beta1", "UnitedDeployment", "uniteddeployments")
CLONE_SET = Kind("apps.kruise.io", "v1beta1", "CloneSet", "clonesets")
ADVANCED_STATEFUL_SET = Kind("apps.kruise.io", "v1beta1", "StatefulSet", "statefulsets")

EVERYTHING = Kind("*", "*", "*", "*")
"""In a Watch, or among the kinds of a view: every kind that can be listed, watched and deleted, including kinds that
the server begins to serve later; kinds that no SPEC names are watched as metadata only.
"""


@dataclass(frozen=True, slots=True)
class Served:
    """The kinds that the server serves, from discovery.

    Attributes:
        verbs: kind → its verbs, in the order of discovery; a kind has one entry for each of its versions.
        preferred: each kind in the version that the server prefers.
        failures: "group/version" → why its kinds could not be discovered.
    """

    verbs: Mapping[Kind, frozenset[str]] = field(default_factory=dict)
    preferred: tuple[Kind, ...] = ()
    failures: Mapping[str, str] = field(default_factory=dict)
    _named: dict[str, Kind] = field(init=False, repr=False, compare=False, default_factory=dict)

    def __post_init__(self) -> None:
        self._named.update((f"{kind.api_version}/{kind.kind}", kind) for kind in self.verbs)

    def find_kind(self, api_version: str, kind: str) -> Kind | None:
        """Return the kind that an object or an owner reference names, or None if it is not served."""
        return self._named.get(f"{api_version}/{kind}")

    def supporting(self, *verbs: str) -> Iterator[Kind]:
        """Return the preferred kinds that support all these verbs (discovery.SupportsAllVerbs)."""
        return (kind for kind in self.preferred if self.verbs[kind].issuperset(verbs))
