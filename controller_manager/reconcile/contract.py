"""The parts of a controller: what it watches, what it observes, and its plan, a generator of actions.

A plan never waits and never reads the clock, so it runs in a test as it runs in the manager:

    def reconcile(observed: Observed, now: float) -> Plan:
        pod = yield Create(POD, a_pod)  # the object as stored; a refusal is raised here as ApiError
        message = f"Created pod: {name_of(pod)}"
        yield RecordEvent(observed.owner, reason="SuccessfulCreate", message=message)
"""

from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj, metadata
from controller_manager.reconcile.kinds import POD, Kind, Served
from controller_manager.reconcile.metric_defs import MetricDef, RecordMetric, Sample
from controller_manager.reconcile.profile import Profile

Key: TypeAlias = str
"""A key in a work queue: "namespace/name", or "name" for cluster-scoped objects."""

NORMAL, WARNING = "Normal", "Warning"

MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"


def key_of(obj: Obj) -> Key:
    """Return the key of an object."""
    meta = metadata(obj)
    namespace = meta.get("namespace")
    return f"{namespace}/{meta['name']}" if namespace else str(meta["name"])


def split_key(key: Key) -> tuple[str, str]:
    """Return (namespace, name); namespace is "" for cluster-scoped objects."""
    namespace, _, name = key.rpartition("/")
    return namespace, name


# -- actions: what a plan yields, and the results that it gets ---------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Create:
    """POST an object, or a subresource of the object `name` (binding, eviction, token); the result is the response."""

    kind: Kind
    obj: Obj
    name: str = ""
    subresource: str = ""


@dataclass(frozen=True, slots=True)
class Update:
    """PUT an object or its subresource, guarded by the object's resourceVersion; the result is the object as stored."""

    kind: Kind
    obj: Obj
    subresource: str = ""


@dataclass(frozen=True, slots=True)
class Patch:
    """PATCH an object or its subresource; the result is the object as stored. metadata.uid in `body` is a guard."""

    kind: Kind
    key: Key
    body: Any
    subresource: str = ""
    content_type: str = MERGE_PATCH


@dataclass(frozen=True, slots=True)
class Delete:
    """DELETE an object; the result is the response.

    Attributes:
        uid: delete only the object with this uid.
        resource_version: delete it only if it still has this resourceVersion.
        propagation: "Background", "Foreground", "Orphan", or "" for the kind's own default.
        grace_period_seconds: the grace period in seconds, None for the object's own.
    """

    kind: Kind
    key: Key
    uid: str = ""
    resource_version: str = ""
    propagation: str = ""
    grace_period_seconds: int | None = None


@dataclass(frozen=True, slots=True)
class DeleteAll:
    """DELETE a collection; the result is the response. `propagation` and `grace_period_seconds` are as in Delete."""

    kind: Kind
    namespace: str
    grace_period_seconds: int | None = None
    propagation: str = ""


@dataclass(frozen=True, slots=True)
class Get:
    """GET an object or its subresource from the server itself, not from a cache."""

    kind: Kind
    key: Key
    subresource: str = ""


@dataclass(frozen=True, slots=True)
class ListAll:
    """LIST a collection from the server itself, metadata only; the result is the items (PartialObjectMetadata)."""

    kind: Kind
    namespace: str = ""


Request: TypeAlias = Create | Update | Patch | Delete | DeleteAll | Get | ListAll


@dataclass(frozen=True, slots=True)
class Batch:
    """Independent requests; the result is a list in their order, each the object or the ApiError.

    Attributes:
        slow_start: one request first, then two, four, eight …, and none after a round with an error; the result of a
            request that was never tried is None (pkg/controller/controller_utils.go slowStartBatch).
    """

    requests: Sequence[Request]
    slow_start: bool = False


@dataclass(frozen=True, slots=True)
class RecordEvent:
    """Record an Event; it is sent in the background and never fails.

    Attributes:
        regarding: the object that the Event is about, with kind and apiVersion, as caches hold it.
        type: NORMAL or WARNING.
        component: the reporting component, if it is not the controller's own source ("kubelet").
        host: the node that reports, for the kubelet.
        field_path: the part of the object: "spec.containers{web}".
    """

    regarding: Obj
    reason: str
    message: str
    type: str = NORMAL
    component: str = ""
    host: str = ""
    field_path: str = ""


@dataclass(frozen=True, slots=True)
class RequeueAfter:
    """Process this key again after so many seconds; the earliest of several applies."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Requeue:
    """Process this key again, rate limited as after an error, but without reporting one."""


@dataclass(frozen=True, slots=True)
class Enqueue:
    """Process other keys of the same controller, as a trigger would cause it."""

    keys: Collection[Key]


Action: TypeAlias = Request | Batch | RecordEvent | RequeueAfter | Requeue | Enqueue | RecordMetric
BatchResult: TypeAlias = Obj | ApiError | None
Plan: TypeAlias = Generator[Action, Any, None]


# -- listers: what controllers read of the cluster ---------------------------------------------------------------------


class Cache(Protocol):
    """The objects of a kind as last seen: read-only, and consistent from one `observe` to its plan's first action."""

    @property
    def kind(self) -> Kind:
        """The kind of the objects."""

    def get(self, key: Key) -> Obj | None:
        """Return the object, or None if there is none."""

    def by_index(self, index: str, value: str) -> Collection[Obj]:
        """Return the objects under a value of an index; OWNER_INDEX, ORPHAN_INDEX and NAMESPACE_INDEX always exist."""

    def __iter__(self) -> Iterator[Obj]: ...

    def __len__(self) -> int: ...


OWNER_INDEX = "owner"
"""The index by the uid of the controlling owner."""
ORPHAN_INDEX = "orphans"
"""The index of objects without a controller, by namespace."""
NAMESPACE_INDEX = "namespace"
"""The index by namespace."""


class View(Protocol):
    """Data that a controller derives from caches and keeps up to date, such as the free resources of each node."""

    def apply_change(self, kind: Kind, old: Obj | None, new: Obj | None) -> None:
        """Handle an object that was added (old is None), changed, or deleted (new is None)."""


class Listers(Protocol):
    """All caches, and the configuration of the cluster.

    Attributes:
        profile: the behaviour that depends on the Kubernetes release.
        settings: the manager's flags that controllers read.
        served: the kinds that the server serves.
    """

    profile: Profile
    settings: "Settings"
    served: Served

    def __getitem__(self, kind: Kind) -> Cache:
        """Return the cache of a kind that some controller's SPEC names."""

    def find(self, resource: str) -> Cache | None:
        """Return the cache of the resource str(kind), in whichever version it is watched; None if it is not watched."""

    def view(self, name: str) -> Any:
        """Return the view of that name."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The manager's flags that controllers read.

    Attributes:
        root_ca: the certificate, as PEM, that kube-root-ca.crt publishes.
        cluster_signing_cert, cluster_signing_key: the CA that signs CertificateSigningRequests, as PEM; "" for none.
        cluster_signing_seconds: the longest time that its certificates last.
        sign_token: signs the claims of a service account's token, None if tokens are not signed here.
        nodes: how many nodes are simulated.
        node_cpu, node_memory, node_pods: the capacity of each node.
        node_version: the version of their kubelets.
        kubelet_endpoint: HOST:PORT of the server for the kubelets of simulated nodes, "" if there is none.
        cluster_cidr: the range of pod addresses.
        node_monitor_grace: seconds after which a node that does not report is marked unknown.
        terminated_pod_gc_threshold: how many terminated pods may stay, 0 for any number.
        scheduler_name: the spec.schedulerName of the pods that the scheduler binds.
    """

    root_ca: str = ""
    cluster_signing_cert: str = ""
    cluster_signing_key: str = field(default="", repr=False)
    cluster_signing_seconds: float = 8760 * 3600.0
    sign_token: Callable[[Obj], str] | None = None
    nodes: int = 0
    node_cpu: str = "32"
    node_memory: str = "256Gi"
    node_pods: int = 110
    node_version: str = "v1.37.0"
    kubelet_endpoint: str = ""
    cluster_cidr: str = "10.244.0.0/14"
    node_monitor_grace: float = 50.0
    terminated_pod_gc_threshold: int = 12500
    scheduler_name: str = "default-scheduler"


# -- the parts of a controller -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Change:
    """An object before and after; `old` is None if it was added, `new` if it was deleted; both the same at a resync.

    Attributes:
        relisted: True if a list brought the new state, so that states between the two may have been missed.
    """

    old: Obj | None
    new: Obj | None
    relisted: bool = False

    @property
    def obj(self) -> Obj:
        """The object as last known."""
        latest = self.new if self.new is not None else self.old
        assert latest is not None
        return latest


@dataclass(frozen=True, slots=True)
class DelayedKey:
    """A key to process after so many seconds."""

    key: Key
    seconds: float


Trigger: TypeAlias = Callable[[Listers, Change], Iterable[Key | DelayedKey]]


def triggered_keys(trigger: Trigger, listers: Listers, change: Change) -> Iterable[Key | DelayedKey]:
    """Return the keys that a change makes a controller process; a relisted object counts as added, too.

    Triggers ignore changes that make no difference to their controller. After a broken watch, two states that look
    alike do not mean that nothing has happened: a pod loses a label, its controller restores it, somebody removes it
    again, and the cache learns only of the last state, which looks like the first. Upstream compares nothing but
    resourceVersions (pkg/controller/replicaset/replica_set.go updatePod).
    """
    if not change.relisted:
        return trigger(listers, change)
    return [*trigger(listers, change), *trigger(listers, Change(None, change.new))]


def enqueue_self(_: Listers, change: Change) -> Iterable[Key]:
    """Return the object's own key; the trigger of a controller's own kind."""
    return (key_of(change.obj),)


@dataclass(frozen=True, slots=True)
class Watch:
    """A kind that a controller watches, and the trigger for its changes; without a trigger it is only read."""

    kind: Kind
    trigger: Trigger | None = None


@dataclass(frozen=True, slots=True)
class Index:
    """An index of a kind's objects by values, for `Cache.by_index(name, value)`."""

    kind: Kind
    name: str
    values: Callable[[Obj], Iterable[str]]


def _node_of(pod: Obj) -> Iterable[str]:
    name = pod["spec"].get("nodeName")
    return (name,) if name else ()


PODS_BY_NODE = Index(POD, "node", _node_of)
"""Pods by the name of the node that they are bound to."""


@dataclass(frozen=True, slots=True)
class Gauge:
    """A metric that is read from the caches whenever metrics are scraped."""

    metric: MetricDef
    read: Callable[[Listers], Iterable[Sample]]


@dataclass(frozen=True, slots=True)
class ControllerSpec:
    """The definition of a controller.

    Attributes:
        name: its name in metrics and --controllers: "deployment".
        watches: the kinds that it needs in caches, and what they trigger.
        observe: returns everything that a plan needs from the caches, or None if there is nothing to do.
        reconcile: returns the plan; it must not read the caches again.
        source: the component of its Events: "deployment-controller".
        account: the ServiceAccount in kube-system as which it acts, if controllers have accounts of their own.
        program: the program of a real cluster that it is a part of; the fields that it writes are this manager's.
        workers: how many keys are processed at a time; set by --concurrent-FLAG-syncs if `flag` is set.
        flag: the word in that flag: "deployment", "" for none.
        retries: how often a failing key is retried before it waits for the next event, None for ever.
        min_interval: minimum seconds between two syncs of one key, so that a burst of changes causes one sync.
        sync_period: seconds between two syncs of the `periodic_keys`, 0 for none after the first.
        periodic_keys: the keys that are processed at start and then periodically.
        indexes: the indexes that the controller uses.
        views: name → constructor of a view.
        view_kinds: name of a view → the kinds whose changes it gets.
        queue: the name of its work queue in metrics, if that is not its name.
        metrics: the metrics that its plans record.
        expectation_timeouts: the metric in `metrics` that counts expectation timeouts, by namespace and name.
        gauges: the gauges that are read from caches.
    """

    name: str
    watches: tuple[Watch, ...]
    observe: Callable[[Listers, Key], Any]
    reconcile: Callable[[Any, float], Plan]
    source: str = ""
    account: str = ""
    program: str = "kube-controller-manager"
    workers: int = 5
    flag: str = ""
    retries: int | None = None
    min_interval: float = 0.0
    sync_period: float = 0.0
    periodic_keys: tuple[Key, ...] = ()
    indexes: tuple[Index, ...] = ()
    views: Mapping[str, Callable[[], View]] = field(default_factory=dict)
    view_kinds: Mapping[str, tuple[Kind, ...]] = field(default_factory=dict)
    queue: str = ""
    metrics: tuple[MetricDef, ...] = ()
    expectation_timeouts: MetricDef | None = None
    gauges: tuple[Gauge, ...] = ()


def is_namespace_terminating(error: ApiError) -> bool:
    """Return whether the server refused because the namespace is terminating (apierrors.HasStatusCause)."""
    causes = (error.details or {}).get("causes") or ()
    return any(cause.get("reason") == "NamespaceTerminating" for cause in causes)
