"""StatefulSets (apps): defaults, strategy, validation, field labels and columns."""

from collections.abc import Mapping
from typing import Any

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj, name_of
from apiserver.api.validation import checks, names
from apiserver.api.validation.combinators import FieldErrors, at, deeply_equal, nonnegative, one_of, struct
from apiserver.api.validation.contract import Validator
from apiserver.groups.apps.workload_columns import READY_PODS, container_cells, pod_spec_of
from apiserver.groups.apps.workload_defaults import REVISION_HISTORY, spec_with
from apiserver.groups.apps.workload_validation import status_update
from apiserver.groups.cell_format import age
from apiserver.groups.cells import Cells, mapping, number_of
from apiserver.groups.columns import AGE, CONTAINERS, IMAGES, NAME, Printer
from apiserver.groups.core.persistentvolumeclaims import default_claim
from apiserver.groups.core.pods.defaults import default_template
from apiserver.groups.core.pods.templates import (
    at_most_all,
    count_or_percent,
    mismatch,
    required_selector,
    validate_always_restarts,
    validate_selector,
    whole,
)
from apiserver.groups.core.pods.validation import template_metadata
from apiserver.groups.kind import ALL, BuiltinKind
from apiserver.groups.strategy import Strategy, creation, status_updating, updating

_STATEFUL_SET: Mapping[str, Any] = {
    "podManagementPolicy": "OrderedReady",
    "replicas": 1,
    "revisionHistoryLimit": REVISION_HISTORY,
}


def default_stateful_set(stateful_set: Obj) -> None:
    """Set the defaults of a StatefulSet; claim templates get apiVersion and kind, as upstream's conversion writes."""
    spec = spec_with(stateful_set, _STATEFUL_SET)
    _default_stateful_strategy(spec.setdefault("updateStrategy", {}))
    retention = spec.setdefault("persistentVolumeClaimRetentionPolicy", {})
    retention.setdefault("whenDeleted", "Retain")
    retention.setdefault("whenScaled", "Retain")
    default_template(spec.setdefault("template", {}))
    for claim in spec.get("volumeClaimTemplates") or ():
        claim["apiVersion"] = "v1"
        claim["kind"] = "PersistentVolumeClaim"
        default_claim(claim)


def _default_stateful_strategy(strategy: Obj) -> None:
    """Default to rolling all pods; an explicit RollingUpdate without rollingUpdate stays so (apps/v1)."""
    if "type" not in strategy:
        strategy["type"] = "RollingUpdate"
        strategy.setdefault("rollingUpdate", {})
    if strategy["type"] == "RollingUpdate" and "rollingUpdate" in strategy:
        strategy["rollingUpdate"].setdefault("partition", 0)


STATEFUL_SET_STRATEGY = Strategy(
    creation(status=lambda: {"availableReplicas": 0, "replicas": 0}),
    updating("spec"),
    status_updating(),
    has_status=True,
)

_UPDATABLE_FIELDS = frozenset(
    {
        "replicas",
        "ordinals",
        "template",
        "updateStrategy",
        "revisionHistoryLimit",
        "persistentVolumeClaimRetentionPolicy",
        "minReadySeconds",
    }
)

_FROZEN = (
    "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', "
    "'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
)

_partition = struct(("partition", nonnegative))


def _rolling_stateful_set(rolling: Obj) -> FieldErrors:
    errors, unavailable = [*_partition(rolling)], rolling.get("maxUnavailable")
    if unavailable is None:
        return errors
    unavailable_errors = [*count_or_percent(unavailable)]
    if not whole(unavailable):
        unavailable_errors.append(field.invalid("", unavailable, "cannot be 0"))
    return [*errors, *at("maxUnavailable", [*unavailable_errors, *at_most_all(unavailable)])]


def _stateful_set_strategy(strategy: Obj) -> FieldErrors:
    kind, rolling = strategy.get("type"), strategy.get("rollingUpdate")
    if not kind:
        return (field.required(""),)
    if kind == "RollingUpdate":
        return () if rolling is None else at("rollingUpdate", _rolling_stateful_set(rolling))
    if kind == "OnDelete":
        detail = "only allowed for updateStrategy 'RollingUpdate'"
        return () if rolling is None else (field.invalid("rollingUpdate", rolling, detail),)
    return (field.invalid("", strategy, "must be 'RollingUpdate' or 'OnDelete'"),)


def _pod_management(policy: str | None) -> FieldErrors:
    if policy in {"OrderedReady", "Parallel"}:
        return ()
    detail = "must be 'OrderedReady' or 'Parallel'"
    return (field.invalid("", policy, detail) if policy else field.required(""),)


claim_retention = struct(("whenDeleted", one_of("Retain", "Delete")), ("whenScaled", one_of("Retain", "Delete")))

_stateful_set_numbers = struct(
    ("persistentVolumeClaimRetentionPolicy", claim_retention),
    ("replicas", nonnegative),
    ("minReadySeconds", nonnegative),
)


def _stateful_set_spec(spec: Obj) -> list[FieldError]:
    """Return the errors of a spec; the pod template's spec is not checked, as claim templates may add volumes to it."""
    selector, template = spec.get("selector"), spec.get("template") or {}
    errors = [*at("podManagementPolicy", _pod_management(spec.get("podManagementPolicy")))]
    errors += at("updateStrategy", _stateful_set_strategy(spec.get("updateStrategy") or {}))
    errors += _stateful_set_numbers(spec)
    if (start := (spec.get("ordinals") or {}).get("start", 0)) < 0:
        errors.append(field.invalid("ordinals.start", start, checks.NEGATIVE))
    errors += required_selector(selector, "statefulset")
    matches = validate_selector(selector, template)
    if matches is None:
        errors.append(field.invalid("selector", selector, ""))
    else:
        errors += [] if matches or selector == {} else [mismatch(template)]
        errors += at("template", template_metadata(template))
    return errors + validate_always_restarts(template, "StatefulSet")


def _stateful_set_changes(new: Obj, old: Obj) -> FieldErrors:
    fixed = [{name: value for name, value in spec.items() if name not in _UPDATABLE_FIELDS} for spec in (new, old)]
    return () if deeply_equal(*fixed) else (field.forbidden("", _FROZEN),)


def _create(obj: Obj) -> FieldErrors:
    return at("spec", _stateful_set_spec(obj.get("spec") or {}))


def _update(new: Obj, old: Obj) -> FieldErrors:
    changes = _stateful_set_changes(new.get("spec") or {}, old.get("spec") or {})
    return [*_create(new), *at("spec", changes)]


STATEFUL_SET_VALIDATOR = Validator(
    create=_create,
    update=_update,
    status_update=status_update(
        "replicas",
        "readyReplicas",
        "currentReplicas",
        "updatedReplicas",
        "availableReplicas",
        "observedGeneration",
        "collisionCount",
        within=("readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"),
        unready="cannot be greater than status.readyReplicas",
    ),
)


def _stateful_set_cells(obj: Obj) -> Cells:
    spec = mapping(obj, "spec")
    ready = f"{number_of(mapping(obj, 'status'), 'readyReplicas')}/{number_of(spec, 'replicas')}"
    return [name_of(obj), ready, age(obj), *container_cells(pod_spec_of(spec))]


STATEFUL_SET = BuiltinKind(
    "apps",
    "StatefulSet",
    ("sts",),
    categories=ALL,
    subresources=("scale",),
    default=default_stateful_set,
    strategy=STATEFUL_SET_STRATEGY,
    validator=STATEFUL_SET_VALIDATOR,
    printer=Printer(columns=(NAME, READY_PODS, AGE, CONTAINERS, IMAGES), cells=_stateful_set_cells),
    name_rule=names.dns1123_label,
)
