"""The workload of a subset: made from the UnitedDeployment's template, with the subset's node affinity and patch.

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

_MAX_PREFIX_LENGTH = 253  # the maximum length of a name


@dataclass(frozen=True, slots=True)
class SubsetTarget:
    """The desired workload of a subset.

    Attributes:
        subset: its entry in spec.topology.subsets.
        revision: the name of the revision that it is made from.
        replicas: the number of pods.
        partition: how many of them stay at the old revision.
        unavailable: how many may be unavailable during an update, None for the template's number.
    """

    subset: Obj
    revision: str
    replicas: int
    partition: int = 0
    unavailable: int | None = None

    @property
    def name(self) -> str:
        """The name of the subset."""
        return str(self.subset["name"])

    @property
    def patch(self) -> str:
        """The patch of the pod template as in the workload's annotation, "" for none."""
        patch = self.subset.get("patch")
        return "" if patch is None else data_bytes(patch).decode()


def targets_of(parent: Obj, revision: str, sizes: Mapping[str, int]) -> dict[str, SubsetTarget]:
    """Return the desired workloads by name of the subset, in the order of the topology.

    Args:
        parent: the UnitedDeployment.
        revision: the name of its newest revision.
        sizes: the number of pods of each subset.
    """
    strategy = parent["spec"].get("updateStrategy") or {}
    manual = (strategy.get("type") or "Manual") == "Manual" and type_of(parent).partitioned
    partitions = ((strategy.get("manualUpdate") or {}).get("partitions") or {}) if manual else {}
    return {
        subset["name"]: SubsetTarget(subset, revision, size, min(partitions.get(subset["name"]) or 0, size))
        for subset in subsets_of(parent["spec"])
        for size in (sizes[subset["name"]],)
    }


def new_workload(parent: Obj, target: SubsetTarget, reference: Obj) -> Obj:
    """Return the new workload of a subset that has none.

    Args:
        parent: the UnitedDeployment.
        target: the desired workload.
        reference: the controlling owner reference to the UnitedDeployment.

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
    """Return the prefix of the names of a subset's workloads (getSubsetPrefix)."""
    prefix = f"{parent}-{subset}-"
    return prefix if len(prefix) <= _MAX_PREFIX_LENGTH else f"{parent}-"


def with_target(parent: Obj, target: SubsetTarget, workload: Obj) -> Obj:
    """Return the desired workload of a subset; everything but its spec, labels and annotations stays.

    Raises:
        ApiError: the subset's patch does not fit its pod template.
    """
    template, meta = template_of(parent), workload["metadata"]
    marks = {SUBSET_LABEL: target.name, REVISION_LABEL: target.revision}
    annotations = (meta.get("annotations") or {}) | ((template.get("metadata") or {}).get("annotations") or {})
    metadata = {
        "labels": labels_of(workload) | workload_labels(parent) | marks,
        "annotations": annotations | {PATCH_ANNOTATION: target.patch},
    }
    return workload | {"metadata": meta | metadata, "spec": _spec(parent, target, marks)}


def _spec(parent: Obj, target: SubsetTarget, marks: Obj) -> Obj:
    subset_type, template = type_of(parent), template_of(parent)
    selector = parent["spec"].get("selector") or {}
    spec: Obj = template.get("spec") or {}
    new_spec = spec | {
        "selector": selector | {"matchLabels": (selector.get("matchLabels") or {}) | {SUBSET_LABEL: target.name}},
        "replicas": target.replicas,
        "template": _pod_template(spec.get("template") or {}, target.subset, marks),
    }
    if strategy := _strategy(subset_type, spec.get(subset_type.strategy) or {}, target):
        new_spec[subset_type.strategy] = strategy
    return new_spec


# -- how it is updated -------------------------------------------------------------------------------------------------


def _strategy(subset_type: SubsetType, given: Obj, target: SubsetTarget) -> Obj:
    """Return the template's strategy with the partition, and with another maxUnavailable if the target has one.

    With OnDelete neither is set, since OpenKruise's webhooks would reject it.
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
    """Return the pod template of a subset: with its labels, node affinity and tolerations, and finally patched."""
    meta, spec = template.get("metadata") or {}, template.get("spec") or {}
    tolerations = subset.get("tolerations")
    if tolerations:
        spec = spec | {"tolerations": [*(spec.get("tolerations") or ()), *tolerations]}
    patched = template | {
        "metadata": meta | {"labels": (meta.get("labels") or {}) | marks},
        "spec": _with_node_affinity(spec, subset.get("nodeSelectorTerm") or {}),
    }
    patch = subset.get("patch")
    return patched if patch is None else apply(patched, patch, _pod_template_kind())


def _with_node_affinity(spec: Obj, term: Obj) -> Obj:
    """Return the pod spec with a term added to each of its required node selector terms (attachNodeAffinity).

    Upstream leaves out the term's matchFields.
    """
    added = {name: term[name] for name in ("matchExpressions", "matchFields") if term.get(name)}
    if not added:
        return spec
    affinity = spec.get("affinity") or {}
    node_affinity = affinity.get("nodeAffinity") or {}
    required = node_affinity.get(_REQUIRED) or {}
    terms: list[Obj] = required.get("nodeSelectorTerms") or [{}]
    bound = node_affinity | {
        _REQUIRED: required | {"nodeSelectorTerms": [_merged_term(existing, added) for existing in terms]}
    }
    return spec | {"affinity": affinity | {"nodeAffinity": bound}}


_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def _merged_term(term: Obj, added: Obj) -> Obj:
    return term | {name: [*(term.get(name) or ()), *requirements] for name, requirements in added.items()}


@cache  # the schema does not change, and loading it takes a moment
def _pod_template_kind() -> MergeKind:
    return MergeSchema(load_definitions(available_versions()[-1])).kind("io.k8s.api.core.v1.PodTemplateSpec")


# -- comparing ---------------------------------------------------------------------------------------------------------


def needs_update(subset: Subset, target: SubsetTarget) -> bool:
    """Return True if a workload differs from its target, as far as its labels, annotations and numbers show.

    (manageSubsets)
    """
    return (
        subset.revision != target.revision
        or subset.replicas != target.replicas
        or subset.partition != target.partition
        or subset.patch != target.patch
    )


def contains(actual: Any, desired: Any) -> bool:
    """Return True if a stored value contains all that is desired; defaults that a server has added do not matter.

    It may return False for an equal value that is written in another way, which costs a write that changes nothing.
    """
    if isinstance(desired, dict):
        return isinstance(actual, dict) and all(
            contains(actual.get(name), value) for name, value in desired.items() if value not in (None, {}, [], "")
        )
    if isinstance(desired, list):
        return isinstance(actual, list) and len(actual) == len(desired) and all(map(contains, actual, desired))
    return bool(actual == desired)
