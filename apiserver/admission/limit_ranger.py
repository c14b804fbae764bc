"""LimitRanger: sets default requests and limits of containers, and refuses what a LimitRange of the namespace forbids.

What an update leaves as it is stored is not checked again.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Decimal, localcontext

import orjson

from apiserver.admission.latest import NamespaceLister, RangeWatcher
from apiserver.api.meta import Obj
from apiserver.api.pod_resources import Amounts, amounts, pod_amounts
from apiserver.api.quantity import Quantity
from apiserver.registry.admission import CREATE, UPDATE, Attributes, Handles, forbidden
from etcd.store import KeyValue

LIMIT_RANGES = "/registry/limitranges/"
ANNOTATION = "kubernetes.io/limit-ranger"
"""The annotation of a pod that says which defaults were set."""

POD, CLAIM = ("", "Pod"), ("", "PersistentVolumeClaim")


@dataclass(frozen=True, slots=True)
class Limit:
    """One item of a LimitRange.

    Attributes:
        type: "Container", "Pod" or "PersistentVolumeClaim".
        min, max: bounds of requests and limits.
        ratio: the largest allowed limit as a multiple of its request.
    """

    type: str
    min: Amounts
    max: Amounts
    ratio: Amounts


@dataclass(frozen=True, slots=True)
class LimitRange:
    """A LimitRange, ready for use.

    Attributes:
        requests, limits: the defaults of containers.
        items: the bounds.
    """

    requests: Mapping[str, str]
    limits: Mapping[str, str]
    items: tuple[Limit, ...]


class LimitRanger:
    """The plug-in of that name (plugin/pkg/admission/limitranger)."""

    name = "LimitRanger"
    handles = (
        Handles(CREATE, frozenset((POD, CLAIM))),
        Handles(UPDATE, frozenset((CLAIM,))),
        Handles(UPDATE, frozenset((POD,)), frozenset(("resize",))),
    )

    def __init__(self, store: RangeWatcher) -> None:
        self._lister = NamespaceLister(store, LIMIT_RANGES, _limit_range)

    async def admit(self, attributes: Attributes) -> None:
        """Set the default requests and limits of a pod's containers."""
        if attributes.target.resource.kind == "Pod":
            for limit_range in self._limit_ranges(attributes):
                assert attributes.obj is not None
                _set_defaults(attributes.obj, limit_range)

    async def validate(self, attributes: Attributes) -> None:
        """Refuse a pod or a claim that a LimitRange forbids.

        Raises:
            ApiError: 403 with all reasons of the first LimitRange that forbids it.
        """
        check = _pod_problems if attributes.target.resource.kind == "Pod" else _claim_problems
        for limit_range in self._limit_ranges(attributes):
            assert attributes.obj is not None
            if problems := list(dict.fromkeys(check(limit_range, attributes.obj, attributes.old))):
                raise forbidden(attributes, problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]")

    def _limit_ranges(self, attributes: Attributes) -> Iterable[LimitRange]:
        """Return the LimitRanges of the namespace; none for an object that is being deleted."""
        limit_ranges, old = self._lister.get(attributes.target.namespace), attributes.old
        if limit_ranges and old is not None and old["metadata"].get("deletionTimestamp"):
            return ()
        return limit_ranges


def _limit_range(kv: KeyValue) -> LimitRange:
    obj = orjson.loads(kv.value)
    items = (obj.get("spec") or {}).get("limits") or []
    requests: dict[str, str] = {}
    limits: dict[str, str] = {}
    for item in items:
        if item.get("type") == "Container":
            requests |= item.get("defaultRequest") or {}
            limits |= item.get("default") or {}
    return LimitRange(
        requests,
        limits,
        tuple(
            Limit(
                item.get("type", ""),
                amounts(item.get("min")),
                amounts(item.get("max")),
                amounts(item.get("maxLimitRequestRatio")),
            )
            for item in items
        ),
    )


# -- defaults ---------------------------------------------------------------------------------------------------------


def _set_defaults(pod: Obj, limit_range: LimitRange) -> None:
    """Set the defaults of a pod's containers, and annotate it (mergePodResourceRequirements)."""
    spec, notes = dict(pod["spec"]), list[str]()
    for field, words in (("containers", "container"), ("initContainers", "init container")):
        if spec.get(field):
            spec[field] = [_with_defaults(container, limit_range, words, notes) for container in spec[field]]
    if notes:
        pod["spec"], meta = spec, pod["metadata"]
        text = f"LimitRanger plugin set: {'; '.join(notes)}"
        meta["annotations"] = {**(meta.get("annotations") or {}), ANNOTATION: text}


def _with_defaults(container: Obj, limit_range: LimitRange, words: str, notes: list[str]) -> Obj:
    """Return a container with defaults for the resources that it does not name, and note which were set."""
    resources = dict(container.get("resources") or {})
    for field, defaults, word in (
        ("requests", limit_range.requests, "request"),
        ("limits", limit_range.limits, "limit"),
    ):
        given = resources.get(field) or {}
        missing = sorted(name for name in defaults if name not in given)
        if missing:
            resources[field] = {**given, **{name: defaults[name] for name in missing}}
            notes.append(f"{', '.join(missing)} {word} for {words} {container['name']}")
    return {**container, "resources": resources}


# -- bounds -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Usage:
    """The requests and limits of a container or a pod."""

    requests: Amounts
    limits: Amounts

    def is_unchanged(self, name: str, old: "Usage | None") -> bool:
        """Return whether the amounts of a resource are those of a stored object."""
        return (
            old is not None
            and _nanos(self.requests, name) == _nanos(old.requests, name)
            and _nanos(self.limits, name) == _nanos(old.limits, name)
        )


def _nanos(listed: Amounts, name: str) -> int | None:
    return listed[name].nanos if name in listed else None


def _pod_problems(limit_range: LimitRange, pod: Obj, old: Obj | None) -> Iterator[str]:
    """Yield what a LimitRange forbids in a pod (PodValidateLimitFunc)."""
    for limit in limit_range.items:
        if limit.type == "Container":
            before = _containers(old) if old is not None else {}
            for name, usage in _containers(pod).items():
                yield from _bound_problems(limit, usage, before.get(name))
        elif limit.type == "Pod":
            yield from _bound_problems(limit, _pod_usage(pod), _pod_usage(old) if old is not None else None)


def _containers(pod: Obj) -> Mapping[str, Usage]:
    spec = pod["spec"]
    return {
        container["name"]: Usage(amounts(resources.get("requests")), amounts(resources.get("limits")))
        for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ()))
        for resources in (container.get("resources") or {},)
    }


def _pod_usage(pod: Obj) -> Usage:
    return Usage(pod_amounts(pod, "requests"), pod_amounts(pod, "limits"))


Rule = Callable[[str, str, Quantity, Usage], str]
"""(type of the limit, resource, bound, usage) → why that is forbidden, "" if it is not."""


def _bound_problems(limit: Limit, usage: Usage, old: Usage | None) -> Iterator[str]:
    rules: tuple[tuple[Amounts, Rule], ...] = ((limit.min, _below), (limit.max, _above), (limit.ratio, _over_ratio))
    for bounds, rule in rules:
        for name, bound in sorted(bounds.items()):
            if not usage.is_unchanged(name, old) and (problem := rule(limit.type, name, bound, usage)):
                yield problem


def _claim_problems(limit_range: LimitRange, claim: Obj, old: Obj | None) -> Iterator[str]:
    """Yield what a LimitRange forbids in a claim: its requests alone count (PersistentVolumeClaimValidateLimitFunc)."""
    requests = _claim_requests(claim)
    before = _claim_requests(old) if old is not None else {}
    for limit in limit_range.items:
        if limit.type != "PersistentVolumeClaim":
            continue
        for bounds, rule in ((limit.min, _below), (limit.max, _claim_above)):
            for name, bound in sorted(bounds.items()):
                kept = name in requests and _nanos(requests, name) == _nanos(before, name)
                if not kept and (problem := rule(limit.type, name, bound, Usage(requests, {}))):
                    yield problem


def _claim_requests(claim: Obj) -> Amounts:
    return amounts(((claim.get("spec") or {}).get("resources") or {}).get("requests"))


def _below(kind: str, name: str, bound: Quantity, usage: Usage) -> str:
    """Return why a request or limit is too small (minConstraint)."""
    start = f"minimum {name} usage per {kind} is {bound}"
    request, limit = usage.requests.get(name), usage.limits.get(name)
    if request is None:
        return f"{start}.  No request is specified"
    if request.nanos < bound.nanos:
        return f"{start}, but request is {request}"
    return f"{start}, but limit is {limit}" if limit is not None and limit.nanos < bound.nanos else ""


def _above(kind: str, name: str, bound: Quantity, usage: Usage) -> str:
    """Return why a limit or request is too large (maxConstraint)."""
    start = f"maximum {name} usage per {kind} is {bound}"
    request, limit = usage.requests.get(name), usage.limits.get(name)
    if limit is None:
        return f"{start}.  No limit is specified"
    if limit.nanos > bound.nanos:
        return f"{start}, but limit is {limit}"
    return f"{start}, but request is {request}" if request is not None and request.nanos > bound.nanos else ""


def _claim_above(kind: str, name: str, bound: Quantity, usage: Usage) -> str:
    """Return why a request is too large (maxRequestConstraint)."""
    request = usage.requests.get(name)
    if request is None:
        return f"maximum {name} usage per {kind} is {bound}.  No request is specified"
    return (
        f"maximum {name} usage per {kind} is {bound}, but request is {request}" if request.nanos > bound.nanos else ""
    )


def _over_ratio(kind: str, name: str, bound: Quantity, usage: Usage) -> str:
    """Return why a limit is too large for its request (limitRequestRatioConstraint)."""
    start = f"{name} max limit to request ratio per {kind} is {bound}"
    request, limit = usage.requests.get(name), usage.limits.get(name)
    if request is None or not request.nanos:
        return f"{start}, but no request is specified or request is 0"
    if limit is None or not limit.nanos:
        return f"{start}, but no limit is specified or limit is 0"
    if limit.nanos * _UNIT <= request.nanos * bound.nanos:
        return ""
    return f"{start}, but provided ratio is {_ratio(limit, request)}"


_UNIT = 10**9


def _ratio(limit: Quantity, request: Quantity) -> str:
    """Return a ratio with six decimals."""
    with localcontext() as context:
        context.prec = 60
        return str((Decimal(limit.nanos) / request.nanos).quantize(Decimal("0.000001"), ROUND_HALF_EVEN))
