"""Subsets of a UnitedDeployment: the kinds of workload that they may be, as rows, and what is read of such a workload.

(openkruise/kruise pkg/controller/uniteddeployment/adapter: there a type with twelve methods for each kind)
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from apiserver.api.meta import Obj, api_version, labels_of, name_of, namespace_of
from apiserver.api.selectors import LabelSelector
from apiserver.api.united_deployments import GROUP, TEMPLATES, template_field
from controller_manager.reconcile.int_or_string import scaled
from controller_manager.reconcile.pods import is_active, is_ready

SUBSET_LABEL = "apps.kruise.io/subset-name"
"""The label of a workload, and of its pods, with the subset that it is."""
REVISION_LABEL = "apps.kruise.io/controller-revision-hash"
"""The label of a workload, and of its pods, with the UnitedDeployment's revision that they are made of."""
RESERVED_LABEL = "apps.kruise.io/united-deployment-reserved-pod"
"""The label of a pod that says whether another stands in for it: "true" or "false"."""
PATCH_ANNOTATION = "apps.kruise.io/subset-patch"
"""The annotation of a workload with the patch that its pod template was given."""

ON_DELETE = "OnDelete"


@dataclass(frozen=True, slots=True)
class SubsetType:
    """A kind of workload that subsets may be.

    Attributes:
        name: as events and messages tell it.
        template: the field of spec.template that asks for it.
        api_version, kind: of the workload.
        strategy: the field of its spec that says how it is updated.
        partitioned: whether some of its pods may stay at the old revision.
        ordered: whether its pods have ordinals, and its strategy must say that it is a rolling update.
        gets_stuck: whether a pod that never gets ready keeps it from updating that very pod.
    """

    name: str
    template: str
    api_version: str
    kind: str
    strategy: str = "updateStrategy"
    partitioned: bool = True
    ordered: bool = False
    gets_stuck: bool = False


_KRUISE = api_version(GROUP, "v1beta1")
TYPES = {
    each.template: each
    for each in (
        SubsetType("StatefulSet", TEMPLATES[0], "apps/v1", "StatefulSet", ordered=True, gets_stuck=True),
        SubsetType("AdvancedStatefulSet", TEMPLATES[1], _KRUISE, "StatefulSet", ordered=True),
        SubsetType("CloneSet", TEMPLATES[2], _KRUISE, "CloneSet"),
        SubsetType("Deployment", TEMPLATES[3], "apps/v1", "Deployment", strategy="strategy", partitioned=False),
    )
}
"""Field of spec.template → what it asks for; of several the first counts."""


def type_of(parent: Obj) -> SubsetType:
    """What the subsets of a UnitedDeployment are, by its template, which it must have."""
    return TYPES[template_field(parent["spec"])]


def template_of(parent: Obj) -> Obj:
    """The template of a UnitedDeployment's subsets."""
    found: Obj = parent["spec"]["template"][type_of(parent).template]
    return found


def workload_labels(parent: Obj) -> dict[str, str]:
    """The labels that workloads of all subsets have: the template's, and those that the selector names."""
    selected = (parent["spec"].get("selector") or {}).get("matchLabels") or {}
    return labels_of(template_of(parent)) | selected


def fault_of(parent: Obj, selector: LabelSelector) -> str:
    """Why nothing can be made of a UnitedDeployment, "" where something can; a server that validates stores no such.

    What is made and not selected would be made again and again.
    """
    if not template_field(parent["spec"]):
        return "there is no template"
    return "" if selector.matches(workload_labels(parent)) else "`selector` does not match template `labels`"


class UnnamedSubsetError(ValueError):
    """A workload does not tell which subset it is; the message is upstream's."""


@dataclass(frozen=True, slots=True)
class Subset:
    """A workload of a UnitedDeployment.

    Attributes:
        type: what it is.
        workload: the object.
        pods: its active pods.
    """

    type: SubsetType
    workload: Obj
    pods: Sequence[Obj]

    @property
    def name(self) -> str:
        """Which subset it is.

        Raises:
            UnnamedSubsetError: it does not tell.
        """
        if found := labels_of(self.workload).get(SUBSET_LABEL):
            return found
        is_there = SUBSET_LABEL in labels_of(self.workload)
        why = f"label {SUBSET_LABEL} has an empty value" if is_there else f"no label {SUBSET_LABEL} found"
        place = f"{namespace_of(self.workload)}/{name_of(self.workload)}"
        raise UnnamedSubsetError(f"fail to get subSet name from label of subset {place}: {why}")

    @property
    def revision(self) -> str:
        """The UnitedDeployment's revision that it was made of, "" where it tells none."""
        return revision_of(self.workload)

    @property
    def replicas(self) -> int:
        """How many pods it is to have."""
        found = self.workload["spec"].get("replicas")
        return 0 if found is None else int(found)

    @property
    def strategy(self) -> Obj:
        """How it is updated."""
        found: Obj = self.workload["spec"].get(self.type.strategy) or {}
        return found

    @property
    def partition(self) -> int:
        """How many of its pods are not updated (GetSpecPartition); with OnDelete, how many are not as yet."""
        if not self.type.partitioned:
            return 0
        if self.strategy.get("type") == ON_DELETE:
            return sum(revision_of(pod) != self.revision for pod in self.pods)
        try:
            given = (self.strategy.get("rollingUpdate") or {}).get("partition")
            return scaled(given, self.replicas, round_up=True)
        except ValueError:
            return 0

    @property
    def patch(self) -> str:
        """The patch that its pod template was given, "" for none."""
        return (self.workload["metadata"].get("annotations") or {}).get(PATCH_ANNOTATION) or ""

    def counted(self, field: str) -> int:
        """A number that its own controller tells: replicas, readyReplicas."""
        return (self.workload.get("status") or {}).get(field) or 0

    def updated(self, revision: str) -> list[Obj]:
        """Its pods that are made of a revision of the UnitedDeployment (CalculateUpdatedReplicas)."""
        return [pod for pod in self.pods if revision_of(pod) == revision]

    def stuck(self, revision: str, partition: int) -> list[Obj]:
        """The pods that keep it from updating them: old, not ready, and to be updated (isPodStuckForRollingUpdate).

        (kubernetes/kubernetes#67250)
        """
        if not self.type.gets_stuck or self.strategy.get("type") == ON_DELETE:
            return []
        first = ((self.workload["spec"].get("ordinals") or {}).get("start") or 0) + partition
        old = [pod for pod in self.pods if revision_of(pod) != revision and _ordinal_of(pod) >= first]
        return [pod for pod in old if not is_ready(pod)]


def revision_of(obj: Obj) -> str:
    """The UnitedDeployment's revision that a workload or a pod is made of, "" where it tells none."""
    return labels_of(obj).get(REVISION_LABEL, "")


def _ordinal_of(pod: Obj) -> int:
    ordinal = name_of(pod).rpartition("-")[2]
    return int(ordinal) if ordinal.isascii() and ordinal.isdecimal() else -1


def active(pods: Iterable[Obj]) -> list[Obj]:
    """The pods that have neither ended nor are on their way out."""
    return [pod for pod in pods if is_active(pod)]


@dataclass(frozen=True, slots=True)
class Grouped:
    """Workloads by subset.

    Attributes:
        kept: name of a subset → its workload.
        doubled: further workloads of the same subsets.
    """

    kept: dict[str, Subset]
    doubled: list[Subset]


def by_name(subsets: Iterable[Subset]) -> Grouped:
    """One workload for each subset: of several the oldest that nobody deletes.

    Raises:
        UnnamedSubsetError: one does not tell which subset it is.
    """
    found = Grouped({}, [])
    for subset in sorted(subsets, key=_rank):
        if subset.name in found.kept:
            found.doubled.append(subset)
        else:
            found.kept[subset.name] = subset
    return found


def _rank(subset: Subset) -> tuple[bool, str, str]:
    meta = subset.workload["metadata"]
    return bool(meta.get("deletionTimestamp")), meta.get("creationTimestamp") or "", meta["name"]
