"""Words of UnitedDeployments that the server and the controllers share: templates, strategies, and subsets' shares.

(openkruise/kruise apis/apps/v1beta1/uniteddeployment_types.go)
"""

from apiserver.api.golang.numbers import parse_int
from apiserver.api.meta import Obj

GROUP, KIND = "apps.kruise.io", "UnitedDeployment"
TEMPLATES = ("statefulSetTemplate", "advancedStatefulSetTemplate", "cloneSetTemplate", "deploymentTemplate")
"""The fields of spec.template; of several the first counts."""
MANUAL = "Manual"
"""The only type of spec.updateStrategy."""

_INT32 = range(-(2**31), 2**31)


def template_field(spec: Obj) -> str:
    """The name of the template that counts, "" where there is none."""
    template = spec.get("template") or {}
    return next((field for field in TEMPLATES if template.get(field) is not None), "")


def subsets_of(spec: Obj) -> list[Obj]:
    """spec.topology.subsets."""
    found: list[Obj] = (spec.get("topology") or {}).get("subsets") or []
    return found


def schedule_strategy(spec: Obj) -> Obj:
    """spec.topology.scheduleStrategy."""
    found: Obj = (spec.get("topology") or {}).get("scheduleStrategy") or {}
    return found


def is_adaptive(spec: Obj) -> bool:
    """Whether pods that find no node are given to other subsets."""
    return bool(schedule_strategy(spec).get("type") == "Adaptive")


def reserves(spec: Obj) -> bool:
    """Whether pods that find no node stay, and others stand in for them (ShouldReserveUnschedulablePods)."""
    adaptive = schedule_strategy(spec).get("adaptive") or {}
    return is_adaptive(spec) and bool(adaptive.get("reserveUnschedulablePods"))


def share_of(value: int | str, total: int | None) -> int:
    """How many pods a number, or a share in percent, means (ParseSubsetReplicas); half a pod is a whole one.

    Args:
        value: replicas, minReplicas or maxReplicas of a subset.
        total: spec.replicas, None where it is not set.

    Raises:
        ValueError: it means no number; the message is upstream's.
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
        why = "only support integer value or percentage value with a suffix '%'"
        raise ValueError(f"subset replicas ({value}) {why}")
    try:
        percent = parse_int(digits)
    except ValueError as error:
        raise ValueError(f"subset replicas ({value}) should be correct percentage integer: {error}") from None
    if percent not in _INT32:
        why = f'strconv.ParseInt: parsing "{digits}": value out of range'
        raise ValueError(f"subset replicas ({value}) should be correct percentage integer: {why}")
    if not 0 <= percent <= 100:
        raise ValueError(f"subset replicas ({value}) should be in range [0, 100]")
    return percent
