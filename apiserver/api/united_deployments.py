"""Facts of UnitedDeployments that the server and the controllers share: templates, strategies, and subsets' shares.

(openkruise/kruise apis/apps/v1beta1/uniteddeployment_types.go)
"""

from apiserver.api.golang.numbers import parse_int
from apiserver.api.meta import Obj

GROUP, KIND = "apps.kruise.io", "UnitedDeployment"
TEMPLATES = ("statefulSetTemplate", "advancedStatefulSetTemplate", "cloneSetTemplate", "deploymentTemplate")
"""The fields of spec.template; if several are set, the first counts."""
MANUAL = "Manual"
"""The only type of spec.updateStrategy."""

_INT32 = range(-(2**31), 2**31)


def template_field(spec: Obj) -> str:
    """Return the name of the template that counts, or "" if there is none."""
    template = spec.get("template") or {}
    return next((field for field in TEMPLATES if template.get(field) is not None), "")


def subsets_of(spec: Obj) -> list[Obj]:
    """Return spec.topology.subsets."""
    subsets: list[Obj] = (spec.get("topology") or {}).get("subsets") or []
    return subsets


def schedule_strategy(spec: Obj) -> Obj:
    """Return spec.topology.scheduleStrategy."""
    strategy: Obj = (spec.get("topology") or {}).get("scheduleStrategy") or {}
    return strategy


def is_adaptive(spec: Obj) -> bool:
    """Return whether unschedulable pods move to other subsets."""
    return bool(schedule_strategy(spec).get("type") == "Adaptive")


def reserves(spec: Obj) -> bool:
    """Return whether unschedulable pods stay while others replace them (ShouldReserveUnschedulablePods)."""
    adaptive = schedule_strategy(spec).get("adaptive") or {}
    return is_adaptive(spec) and bool(adaptive.get("reserveUnschedulablePods"))


def share_of(value: int | str, total: int | None) -> int:
    """Return the pods that a number or a percentage stands for, rounded half up (ParseSubsetReplicas).

    Args:
        value: replicas, minReplicas or maxReplicas of a subset.
        total: spec.replicas, or None.

    Raises:
        ValueError: the value is neither; the message is upstream's.
    """
    if isinstance(value, int):
        if value < 0:
            raise ValueError(f"subset replicas ({value}) should not be less than 0")
        return value
    if total is None:
        raise ValueError(f"subsetReplicas ({value}) should not be string when unitedDeployment replicas is empty")
    percent = _percent(value)
    return (2 * total * percent + 100) // 200


def _percent(value: str) -> int:
    digits = value.removesuffix("%")
    if digits == value:
        reason = "only support integer value or percentage value with a suffix '%'"
        raise ValueError(f"subset replicas ({value}) {reason}")
    try:
        percent = parse_int(digits)
    except ValueError as error:
        raise ValueError(f"subset replicas ({value}) should be correct percentage integer: {error}") from None
    if percent not in _INT32:
        reason = f'strconv.ParseInt: parsing "{digits}": value out of range'
        raise ValueError(f"subset replicas ({value}) should be correct percentage integer: {reason}")
    if not 0 <= percent <= 100:
        raise ValueError(f"subset replicas ({value}) should be in range [0, 100]")
    return percent
