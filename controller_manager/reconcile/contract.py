"""What a controller is: what it watches, what it observes, and a plan: a generator of actions, told how each went.

A plan never waits and never asks the time, so it runs in a test as it runs in the manager:

    def plan(seen: Observed, now: float) -> Plan:
        pod = yield Create(POD, a_pod)           # the object as stored; a refusal is raised here as ApiError
        yield Emit(seen.owner, reason="SuccessfulCreate", message=f"Created pod: {name_of(pod)}")
"""

from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj, metadata
from controller_manager.reconcile.kinds import POD, Kind, Served
from controller_manager.reconcile.metric_defs import Measure, Meter, Reading
from controller_manager.reconcile.profile import Profile

Key: TypeAlias = str
"""What a queue holds: "namespace/name", or "name" where there are no namespaces."""

NORMAL, WARNING = "Normal", "Warning"

MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
JSON_PATCH = "application/json-patch+json"


def key_of(obj: Obj) -> Key:
    """The key of an object."""
    meta = metadata(obj)
    namespace = meta.get("namespace")
    return f"{namespace}/{meta['name']}" if namespace else str(meta["name"])


def split_key(key: Key) -> tuple[str, str]:
    """(namespace, name); namespace is "" where there is none."""
    namespace, _, name = key.rpartition("/")
    return namespace, name


# -- actions: what a plan yields, and what it gets back ----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Create:
    """POST an object, or a subresource of the object `name` (binding, eviction, token); gives the answer."""

    kind: Kind
    obj: Obj
    name: str = ""
    subresource: str = ""


@dataclass(frozen=True, slots=True)
class Update:
    """PUT an object or its subresource; the object's resourceVersion guards it. Gives the object as stored."""

    kind: Kind
    obj: Obj
    subresource: str = ""


@dataclass(frozen=True, slots=True)
class Patch:
    """PATCH an object or its subresource; gives the object as stored. `body` may hold metadata.uid as a guard."""

    kind: Kind
    key: Key
    body: Any
    subresource: str = ""
    content_type: str = MERGE_PATCH


@dataclass(frozen=True, slots=True)
class Delete:
    """DELETE an object; gives the answer.

    Attributes:
        uid: only the object with this uid.
        resource_version: only if it has not changed since.
        propagation: "Background", "Foreground", "Orphan", or "" for the kind's own default.
        grace: seconds, None for the object's own.
    """

    kind: Kind
    key: Key
    uid: str = ""
    resource_version: str = ""
    propagation: str = ""
    grace: int | None = None


@dataclass(frozen=True, slots=True)
class DeleteAll:
    """DELETE a collection; gives the answer. `propagation` and `grace` are as in Delete."""

    kind: Kind
    namespace: str
    grace: int | None = None
    propagation: str = ""


@dataclass(frozen=True, slots=True)
class Get:
    """GET an object or its subresource from the server itself, not from a cache."""

    kind: Kind
    key: Key
    subresource: str = ""


@dataclass(frozen=True, slots=True)
class ListAll:
    """LIST a collection from the server itself, metadata alone; gives the items (PartialObjectMetadata)."""

    kind: Kind
    namespace: str = ""


Request: TypeAlias = Create | Update | Patch | Delete | DeleteAll | Get | ListAll


@dataclass(frozen=True, slots=True)
class Batch:
    """Requests that do not depend on each other; gives a list of answers in their order: the object, or the ApiError.

    Attributes:
        slow_start: one request first, then two, four, eight …, and none after a round with an error; the answer of what
            was never tried is None (pkg/controller/controller_utils.go slowStartBatch).
    """

    requests: Sequence[Request]
    slow_start: bool = False


@dataclass(frozen=True, slots=True)
class RecordEvent:
    """Record an Event; it is sent in the background and never fails.

    Attributes:
        regarding: the object that it is about, with kind and apiVersion, as caches hold it.
        type: NORMAL or WARNING.
        component: who says so, when it is not the controller's own source ("kubelet").
        host: the node that says so, for the kubelet.
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
    """Run this key again after so many seconds; the earliest of several holds."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Requeue:
    """Run this key again, rate limited as after an error, with nothing to complain about."""


@dataclass(frozen=True, slots=True)
class Enqueue:
    """Run other keys of the same controller, as a trigger would have it."""

    keys: Collection[Key]


Action: TypeAlias = Request | Batch | RecordEvent | RequeueAfter | Requeue | Enqueue | Measure
Answer: TypeAlias = Obj | ApiError | None
Plan: TypeAlias = Generator[Action, Any, None]


# -- what controllers see of the cluster -------------------------------------------------------------------------------


class Cache(Protocol):
    """The objects of a kind as last seen: read-only, and consistent from one `observe` to its plan's first action."""

    @property
    def kind(self) -> Kind:
        """Whose objects."""

    def get(self, key: Key) -> Obj | None:
        """The object, None where there is none."""

    def by(self, index: str, value: str) -> Collection[Obj]:
        """The objects that an index files under a value, in no order; OWNER, ORPHANS and NAMESPACE are always there."""

    def __iter__(self) -> Iterator[Obj]: ...

    def __len__(self) -> int: ...


OWNER = "owner"
"""The index by the uid of the controlling owner."""
ORPHANS = "orphans"
"""The index of what no controller owns, by namespace."""
NAMESPACE_INDEX = "namespace"
"""The index by namespace."""


class View(Protocol):
    """What a controller has worked out of caches and keeps up to date, such as the room left on each node."""

    def change(self, kind: Kind, old: Obj | None, new: Obj | None) -> None:
        """An object came (old is None), changed, or went (new is None)."""


class Listers(Protocol):
    """All caches, and how this cluster is to behave."""

    profile: Profile
    settings: "Settings"
    served: Served

    def __getitem__(self, kind: Kind) -> Cache:
        """The cache of a kind that some controller's SPEC names."""

    def find(self, resource: str) -> Cache | None:
        """The cache of what str(kind) names, in whichever version it is followed; None where it is not."""

    def view(self, name: str) -> Any:
        """The view of that name."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What the manager's flags tell the controllers.

    Attributes:
        root_ca: the certificate, as PEM, that kube-root-ca.crt publishes.
        nodes: how many nodes are simulated.
        node_cpu, node_memory, node_pods: the capacity of each.
        node_version: the release of their kubelets.
        kubelet_endpoint: HOST:PORT where the kubelets of simulated nodes answer, "" where none does.
        cluster_cidr: where pods get addresses.
        node_monitor_grace: seconds after which a node that says nothing is lost.
        terminated_pod_gc_threshold: how many ended pods may stay, 0 for any number.
        scheduler_name: the spec.schedulerName of the pods that the scheduler places.
    """

    root_ca: str = ""
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


# -- what a controller is ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Change:
    """An object as it was and as it is; `old` is None where it came, `new` where it went, both the same at a resync."""

    old: Obj | None
    new: Obj | None

    @property
    def obj(self) -> Obj:
        """The object as last known."""
        found = self.new if self.new is not None else self.old
        assert found is not None
        return found


@dataclass(frozen=True, slots=True)
class Delayed:
    """A key to be worked on after so many seconds."""

    key: Key
    seconds: float


Trigger: TypeAlias = Callable[[Listers, Change], Iterable[Key | Delayed]]


def enqueue_self(_: Listers, change: Change) -> Iterable[Key]:
    """The trigger of a controller's own kind: the object's own key."""
    return (key_of(change.obj),)


@dataclass(frozen=True, slots=True)
class Watch:
    """A kind that a controller follows, and which keys a change of it concerns; without a trigger it is only read."""

    kind: Kind
    trigger: Trigger | None = None


@dataclass(frozen=True, slots=True)
class Index:
    """Files objects of a kind under values, for `Cache.by(name, value)`."""

    kind: Kind
    name: str
    values: Callable[[Obj], Iterable[str]]


def _node_of(pod: Obj) -> Iterable[str]:
    name = pod["spec"].get("nodeName")
    return (name,) if name else ()


PODS_BY_NODE = Index(POD, "node", _node_of)
"""Pods by the name of the node that they are bound to, for the controllers that look them up so."""


@dataclass(frozen=True, slots=True)
class Gauge:
    """A meter that is read, of all that caches hold, whenever somebody asks for the metrics."""

    meter: Meter
    read: Callable[[Listers], Iterable[Reading]]


@dataclass(frozen=True, slots=True)
class Spec:
    """A controller.

    Attributes:
        name: as metrics and --controllers know it: "deployment".
        watches: the kinds that it needs in caches, and what they trigger.
        observe: everything that a plan needs of the caches, None where nothing is to be done.
        reconcile: what to do; it must not look at caches again.
        source: the component of its Events: "deployment-controller".
        workers: how many keys at a time; the flag --concurrent-NAME-syncs where `flag` says so.
        flag: the word in that flag: "deployment", "" for none.
        retries: how often a failing key is tried again before it waits for the next event, None for ever.
        min_interval: the least seconds between two runs of one key, so that a burst of changes is one run.
        every: seconds after which `periodic` keys run again and again, 0 for never.
        periodic: the keys that run at start and after every such time.
        indexes: what the controller looks up in caches.
        views: name → constructor of what it keeps worked out, with the kinds that feed it.
        feeds: name of a view → kinds.
        queue: what metrics call its work queue, where that is not its name.
        meters: what its plans measure.
        expectation_timeouts: that of them which counts keys that ran although the caches had not seen what they
            wrote, by namespace and name; None for none.
        gauges: what can be read of it.
    """

    name: str
    watches: tuple[Watch, ...]
    observe: Callable[[Listers, Key], Any]
    reconcile: Callable[[Any, float], Plan]
    source: str = ""
    workers: int = 5
    flag: str = ""
    retries: int | None = None
    min_interval: float = 0.0
    every: float = 0.0
    periodic: tuple[Key, ...] = ()
    indexes: tuple[Index, ...] = ()
    views: Mapping[str, Callable[[], View]] = field(default_factory=dict)
    feeds: Mapping[str, tuple[Kind, ...]] = field(default_factory=dict)
    queue: str = ""
    meters: tuple[Meter, ...] = ()
    expectation_timeouts: Meter | None = None
    gauges: tuple[Gauge, ...] = ()


def is_namespace_terminating(error: ApiError) -> bool:
    """Whether the server refused because the namespace is going away (apierrors.HasStatusCause)."""
    causes = (error.details or {}).get("causes") or ()
    return any(cause.get("reason") == "NamespaceTerminating" for cause in causes)
