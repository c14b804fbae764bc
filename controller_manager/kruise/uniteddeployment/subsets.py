"""Subsets of a UnitedDeployment: a table of the kinds of workload that they may be, and accessors for such a workload.

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
"""The label of a workload, and of its pods, with the name of the subset."""
REVISION_LABEL = "apps.kruise.io/controller-revision-hash"
"""The label of a workload, and of its pods, with the UnitedDeployment's revision that they are made from."""
RESERVED_LABEL = "apps.kruise.io/united-deployment-reserved-pod"
"""The label of a pod that is "true" if another pod replaces it for the time being, else "false"."""
PATCH_ANNOTATION = "apps.kruise.io/subset-patch"
"""The annotation of a workload with the patch that was applied to its pod template."""

ON_DELETE = "OnDelete"


@dataclass(frozen=True, slots=True)
class SubsetType:
    """A kind of workload that subsets may be.

    Attributes:
        name: the name in Events and messages.
        template: the field of spec.template that selects it.
        api_version, kind: of the workload.
        strategy: the field of its spec with the update strategy.
        partitioned: True if some of its pods may stay at the old revision.
        ordered: True if its pods have ordinals, and its strategy must have the type RollingUpdate.
        can_get_stuck: True if a pod that never gets ready blocks the update of that very pod.
    """

    name: str
    template: str
    api_version: str
    kind: str
    strategy: str = "updateStrategy"
    partitioned: bool = True
    ordered: bool = False
    can_get_stuck: bool = False


_KRUISE = api_version(GROUP, "v1beta1")
TYPES = {
    each.template: each
    for each in (
        SubsetType("StatefulSet", TEMPLATES[0], "apps/v1", "StatefulSet", ordered=True, can_get_stuck=True),
        SubsetType("AdvancedStatefulSet", TEMPLATES[1], _KRUISE, "StatefulSet", ordered=True),
        SubsetType("CloneSet", TEMPLATES[2], _KRUISE, "CloneSet"),
        SubsetType("Deployment", TEMPLATES[3], "apps/v1", "Deployment", strategy="strategy", partitioned=False),
    )
}
"""Field of spec.template → the kind that it selects; the first one that is set counts."""


def type_of(parent: Obj) -> SubsetType:
    """Return the kind of a UnitedDeployment's workloads, by its template, which must not be missing."""
    return TYPES[template_field(parent["spec"])]


def template_of(parent: Obj) -> Obj:
    """Return the template of a UnitedDeployment's workloads."""
    template: Obj = parent["spec"]["template"][type_of(parent).template]
    return template


def workload_labels(parent: Obj) -> dict[str, str]:
    """Return the labels of the workloads of all subsets: the template's, and those that the selector requires."""
    selected = (parent["spec"].get("selector") or {}).get("matchLabels") or {}
    return labels_of(template_of(parent)) | selected


def fault_of(parent: Obj, selector: LabelSelector) -> str:
    """Return why a UnitedDeployment cannot work, "" if it can; a validating server rejects such specs.

    A workload that is made and not selected would be made again and again.
    """
    if not template_field(parent["spec"]):
        return "there is no template"
    return "" if selector.matches(workload_labels(parent)) else "`selector` does not match template `labels`"


class UnnamedSubsetError(ValueError):
    """A workload has no label with its subset; the message is upstream's."""


@dataclass(frozen=True, slots=True)
class Subset:
    """A workload of a UnitedDeployment.

    Attributes:
        type: the kind.
        workload: the object.
        pods: its active pods.
    """

    type: SubsetType
    workload: Obj
    pods: Sequence[Obj]

    @property
    def name(self) -> str:
        """The name of the subset.

        Raises:
            UnnamedSubsetError: the workload has no label with it.
        """
        if name := labels_of(self.workload).get(SUBSET_LABEL):
            return name
        is_there = SUBSET_LABEL in labels_of(self.workload)
        reason = f"label {SUBSET_LABEL} has an empty value" if is_there else f"no label {SUBSET_LABEL} found"
        key = f"{namespace_of(self.workload)}/{name_of(self.workload)}"
        raise UnnamedSubsetError(f"fail to get subSet name from label of subset {key}: {reason}")

    @property
    def revision(self) -> str:
        """The UnitedDeployment's revision that it was made from, "" if it has no label with it."""
        return revision_of(self.workload)

    @property
    def replicas(self) -> int:
        """The number of pods that its spec asks for."""
        replicas = self.workload["spec"].get("replicas")
        return 0 if replicas is None else int(replicas)

    @property
    def strategy(self) -> Obj:
        """The update strategy in its spec."""
        strategy: Obj = self.workload["spec"].get(self.type.strategy) or {}
        return strategy

    @property
    def partition(self) -> int:
        """The number of pods that are not to be updated (GetSpecPartition); with OnDelete, that are not updated yet."""
        if not self.type.partitioned:
            return 0
        if self.strategy.get("type") == ON_DELETE:
            return sum(revision_of(pod) != self.revision for pod in self.pods)
        try:
            partition = (self.strategy.get("rollingUpdate") or {}).get("partition")
            return scaled(partition, self.replicas, round_up=True)
        except ValueError:
            return 0

    @property
    def patch(self) -> str:
        """The patch that was applied to its pod template, "" for none."""
        return (self.workload["metadata"].get("annotations") or {}).get(PATCH_ANNOTATION) or ""

    def status_count(self, field: str) -> int:
        """Return a number from its status: replicas, readyReplicas."""
        return (self.workload.get("status") or {}).get(field) or 0

    def updated_pods(self, revision: str) -> list[Obj]:
        """Return its pods that are made from a revision of the UnitedDeployment (CalculateUpdatedReplicas)."""
        return [pod for pod in self.pods if revision_of(pod) == revision]

    def stuck_pods(self, revision: str, partition: int) -> list[Obj]:
        """Return the pods that block their own update: old, not ready, and to be updated (isPodStuckForRollingUpdate).

        (kubernetes/kubernetes#67250)
        """
        if not self.type.can_get_stuck or self.strategy.get("type") == ON_DELETE:
            return []
        first = ((self.workload["spec"].get("ordinals") or {}).get("start") or 0) + partition
        old = [pod for pod in self.pods if revision_of(pod) != revision and _ordinal_of(pod) >= first]
        return [pod for pod in old if not is_ready(pod)]


def revision_of(obj: Obj) -> str:
    """Return the UnitedDeployment's revision that a workload or a pod is made from, "" if it has no label with it."""
    return labels_of(obj).get(REVISION_LABEL, "")


def _ordinal_of(pod: Obj) -> int:
    ordinal = name_of(pod).rpartition("-")[2]
    return int(ordinal) if ordinal.isascii() and ordinal.isdecimal() else -1


def active_pods(pods: Iterable[Obj]) -> list[Obj]:
    """Return the pods that have not ended and are not being deleted."""
    return [pod for pod in pods if is_active(pod)]


@dataclass(frozen=True, slots=True)
class SubsetGroups:
    """Workloads grouped by subset.

    Attributes:
        kept: name of a subset → its workload.
        duplicates: further workloads of the same subsets.
    """

    kept: dict[str, Subset]
    duplicates: list[Subset]


def group_by_subset(subsets: Iterable[Subset]) -> SubsetGroups:
    """Choose one workload for each subset: the oldest that is not being deleted.

    Raises:
        UnnamedSubsetError: one has no label with its subset.
    """
    grouped = SubsetGroups({}, [])
    for subset in sorted(subsets, key=_rank):
        if subset.name in grouped.kept:
            grouped.duplicates.append(subset)
        else:
            grouped.kept[subset.name] = subset
    return grouped


def _rank(subset: Subset) -> tuple[bool, str, str]:
    meta = subset.workload["metadata"]
    return bool(meta.get("deletionTimestamp")), meta.get("creationTimestamp") or "", meta["name"]
