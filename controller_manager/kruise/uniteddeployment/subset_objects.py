"""The workload of a subset: made of the UnitedDeployment's template, and bound to the subset's nodes.

(openkruise/kruise pkg/controller/uniteddeployment/adapter, ApplySubsetTemplate)
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from apiserver.api.meta import Obj, labels_of, name_of, namespace_of
from apiserver.api.patch.merge_schema import MergeKind, MergeSchema
from apiserver.api.patch.strategic_merge import apply
from apiserver.api.schema import available_versions, load_definitions
from apiserver.api.united_deployments import subsets_of
from controller_manager.kruise.uniteddeployment.subsets import (
    ON_DELETE,
    PATCH_ANNOTATION,
    REVISION_LABEL,
    SUBSET_LABEL,
    Subset,
    SubsetType,
    template_of,
    type_of,
    workload_labels,
)
from controller_manager.reconcile.revisions import data_bytes

_LONGEST_PREFIX = 253  # what a name may have


@dataclass(frozen=True, slots=True)
class Target:
    """What the workload of a subset is to be.

    Attributes:
        subset: its entry in spec.topology.subsets.
        revision: the name of the revision that it is made of.
        replicas: how many pods.
        partition: how many of them stay at the old revision.
        unavailable: how many may be unavailable during an update, None for what the template says.
    """

    subset: Obj
    revision: str
    replicas: int
    partition: int = 0
    unavailable: int | None = None

    @property
    def name(self) -> str:
        """Which subset it is."""
        return str(self.subset["name"])

    @property
    def patch(self) -> str:
        """The patch of the pod template as the workload's annotation tells it, "" for none."""
        given = self.subset.get("patch")
        return "" if given is None else data_bytes(given).decode()


def targets_of(parent: Obj, revision: str, sizes: Mapping[str, int]) -> dict[str, Target]:
    """Name of a subset → what its workload is to be, in the order of the topology.

    Args:
        parent: the UnitedDeployment.
        revision: the name of its newest revision.
        sizes: how many pods each subset is to have.
    """
    strategy = parent["spec"].get("updateStrategy") or {}
    manual = (strategy.get("type") or "Manual") == "Manual" and type_of(parent).partitioned
    partitions = ((strategy.get("manualUpdate") or {}).get("partitions") or {}) if manual else {}
    return {
        subset["name"]: Target(subset, revision, size, min(partitions.get(subset["name"]) or 0, size))
        for subset in subsets_of(parent["spec"])
        for size in (sizes[subset["name"]],)
    }


def new_workload(parent: Obj, target: Target, reference: Obj) -> Obj:
    """The workload of a subset that has none.

    Args:
        parent: the UnitedDeployment.
        target: what it is to be.
        reference: by which the UnitedDeployment controls it.

    Raises:
        ApiError: the subset's patch does not fit its pod template.
    """
    subset_type = type_of(parent)
    blank = {
        "apiVersion": subset_type.api_version,
        "kind": subset_type.kind,
        "metadata": {
            "generateName": _prefix(name_of(parent), target.name),
            "namespace": namespace_of(parent),
            "ownerReferences": [reference],
        },
    }
    return with_target(parent, target, blank)


def _prefix(parent: str, subset: str) -> str:
    """What the names of a subset's workloads begin with (getSubsetPrefix)."""
    prefix = f"{parent}-{subset}-"
    return prefix if len(prefix) <= _LONGEST_PREFIX else f"{parent}-"


def with_target(parent: Obj, target: Target, workload: Obj) -> Obj:
    """The workload of a subset as it is to be; what it says of itself beside its spec, labels and annotations stays.

    Raises:
        ApiError: the subset's patch does not fit its pod template.
    """
    template, meta = template_of(parent), workload["metadata"]
    marks = {SUBSET_LABEL: target.name, REVISION_LABEL: target.revision}
    annotations = (meta.get("annotations") or {}) | ((template.get("metadata") or {}).get("annotations") or {})
    told = {
        "labels": labels_of(workload) | workload_labels(parent) | marks,
        "annotations": annotations | {PATCH_ANNOTATION: target.patch},
    }
    return workload | {"metadata": meta | told, "spec": _spec(parent, target, marks)}


def _spec(parent: Obj, target: Target, marks: Obj) -> Obj:
    subset_type, template = type_of(parent), template_of(parent)
    selector = parent["spec"].get("selector") or {}
    spec: Obj = template.get("spec") or {}
    made = spec | {
        "selector": selector | {"matchLabels": (selector.get("matchLabels") or {}) | {SUBSET_LABEL: target.name}},
        "replicas": target.replicas,
        "template": _pod_template(spec.get("template") or {}, target.subset, marks),
    }
    if strategy := _strategy(subset_type, spec.get(subset_type.strategy) or {}, target):
        made[subset_type.strategy] = strategy
    return made


# -- how it is updated -------------------------------------------------------------------------------------------------


def _strategy(subset_type: SubsetType, given: Obj, target: Target) -> Obj:
    """The template's strategy with the partition, and with another maxUnavailable where that is wanted.

    Where pods are left to somebody else there is neither: OpenKruise's webhooks would refuse them.
    """
    rolling: Obj = {}
    if given.get("type") == ON_DELETE:
        return given
    if subset_type.partitioned:
        rolling["partition"] = target.partition
    if target.unavailable is not None and given.get("type") != "Recreate":
        rolling["maxUnavailable"] = target.unavailable
    if not rolling:
        return given
    kind = {"type": "RollingUpdate"} if subset_type.ordered else {}
    return given | kind | {"rollingUpdate": (given.get("rollingUpdate") or {}) | rolling}


# -- its pods ----------------------------------------------------------------------------------------------------------


def _pod_template(template: Obj, subset: Obj, marks: Obj) -> Obj:
    """The pod template of a subset: marked, bound to the subset's nodes, and patched last of all."""
    meta, spec = template.get("metadata") or {}, template.get("spec") or {}
    tolerations = subset.get("tolerations")
    if tolerations:
        spec = spec | {"tolerations": [*(spec.get("tolerations") or ()), *tolerations]}
    made = template | {
        "metadata": meta | {"labels": (meta.get("labels") or {}) | marks},
        "spec": _bound(spec, subset.get("nodeSelectorTerm") or {}),
    }
    patch = subset.get("patch")
    return made if patch is None else apply(made, patch, _pod_template_kind())


def _bound(spec: Obj, term: Obj) -> Obj:
    """The pod spec with a node selector term in each of its required terms, one of which suffices (attachNodeAffinity).

    Upstream leaves out what the term says of fields.
    """
    added = {name: term[name] for name in ("matchExpressions", "matchFields") if term.get(name)}
    if not added:
        return spec
    affinity = spec.get("affinity") or {}
    node_affinity = affinity.get("nodeAffinity") or {}
    required = node_affinity.get(_REQUIRED) or {}
    terms: list[Obj] = required.get("nodeSelectorTerms") or [{}]
    bound = node_affinity | {_REQUIRED: required | {"nodeSelectorTerms": [_joined(each, added) for each in terms]}}
    return spec | {"affinity": affinity | {"nodeAffinity": bound}}


_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def _joined(term: Obj, added: Obj) -> Obj:
    return term | {name: [*(term.get(name) or ()), *requirements] for name, requirements in added.items()}


@cache  # what a pod template is does not change, and reading it takes a moment
def _pod_template_kind() -> MergeKind:
    return MergeSchema(load_definitions(available_versions()[-1])).kind("io.k8s.api.core.v1.PodTemplateSpec")


# -- whether it is so already ------------------------------------------------------------------------------------------


def differs(subset: Subset, target: Target) -> bool:
    """Whether a workload is not what it is to be, as far as it tells (manageSubsets)."""
    return (
        subset.revision != target.revision
        or subset.replicas != target.replicas
        or subset.partition != target.partition
        or subset.patch != target.patch
    )


def holds(found: Any, wanted: Any) -> bool:
    """Whether a stored value says all that is wanted; a server adds defaults, which are not missed.

    It may say no where a value is only written otherwise: a write more than needed, which changes nothing.
    """
    if isinstance(wanted, dict):
        return isinstance(found, dict) and all(
            holds(found.get(name), value) for name, value in wanted.items() if value not in (None, {}, [], "")
        )
    if isinstance(wanted, list):
        return isinstance(found, list) and len(found) == len(wanted) and all(map(holds, found, wanted))
    return bool(found == wanted)
