"""PriorityLevelConfigurations (flowcontrol.apiserver.k8s.io): defaults, validation, conversion and columns."""

from collections.abc import Callable, Iterator, Mapping
from math import ceil, log2
from typing import Any

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj, name_of
from apiserver.api.validation import checks
from apiserver.api.validation.contract import same_on_update
from apiserver.groups.cell_format import age
from apiserver.groups.cells import NONE, Cells, mapping, number_of, text_of
from apiserver.groups.columns import AGE, FLOW, NAME, Column, Printer
from apiserver.groups.conversion import Conversion, rename_fields
from apiserver.groups.flowcontrol.flowschemas import HASH_BITS, MOST_QUEUES
from apiserver.groups.kind import BuiltinKind
from apiserver.groups.notices import NO_FAIRNESS, stored
from apiserver.groups.strategy import COUNTED_STATUS

_QUEUES: Mapping[str, Any] = {"handSize": 8, "queueLengthLimit": 50, "queues": 64}


def default_priority_level(level: Obj) -> None:
    """Set the defaults of a priority level: 30 shares and 64 queues if it is limited, no shares if it is exempt."""
    spec = level.setdefault("spec", {})
    if "exempt" in spec:
        spec["exempt"].setdefault("nominalConcurrencyShares", 0)
        spec["exempt"].setdefault("lendablePercent", 0)
    if "limited" in spec:
        _default_limited(spec["limited"])


def _default_limited(limited: Obj) -> None:
    share_fields = ("nominalConcurrencyShares", "assuredConcurrencyShares")  # the latter is v1beta2's name
    if all(limited.get(name) is None for name in share_fields):
        limited["nominalConcurrencyShares"] = 30
    limited.setdefault("lendablePercent", 0)
    queuing = (limited.get("limitResponse") or {}).get("queuing")
    if queuing is not None:
        queuing.update((name, value) for name, value in _QUEUES.items() if not queuing.get(name))


_LEVEL_TYPES = frozenset({"Exempt", "Limited"})

_RESPONSE_TYPES = frozenset({"Queue", "Reject"})


def _level(level: Obj) -> Iterator[FieldError]:
    spec = level.get("spec") or {}
    kind, limited, exempt = spec.get("type") or "", spec.get("limited"), spec.get("exempt")
    if (name_of(level) == "exempt") != (kind == "Exempt"):
        yield field.invalid("spec.type", kind, "type must be 'Exempt' if and only if name is 'exempt'")
    if kind == "Exempt":
        if limited is not None:
            yield field.forbidden("spec.limited", "must be nil if the type is not Limited")
        yield from checks.prefix_errors("spec.exempt", _validate_shares(exempt or {}))
    elif kind == "Limited":
        if exempt is not None:
            yield field.forbidden("spec.exempt", "must be nil if the type is Limited")
        if limited is None:
            yield field.required("spec.limited", "must not be empty when type is Limited")
        else:
            yield from checks.prefix_errors("spec.limited", _limited(limited))
    else:
        yield field.not_supported("spec.type", kind, _LEVEL_TYPES)


def _validate_shares(level: Obj) -> Iterator[FieldError]:
    shares, lendable = level.get("nominalConcurrencyShares"), level.get("lendablePercent")
    if shares is not None and shares < 0:
        yield field.invalid("nominalConcurrencyShares", shares, "must be a non-negative integer")
    if lendable is not None and not 0 <= lendable <= 100:
        yield field.invalid("lendablePercent", lendable, "must be between 0 and 100, inclusive")


def _limited(limited: Obj) -> Iterator[FieldError]:
    yield from _validate_shares(limited)
    yield from checks.prefix_errors("limitResponse", _response(limited.get("limitResponse") or {}))
    borrowing = limited.get("borrowingLimitPercent")
    if borrowing is not None and borrowing < 0:
        yield field.invalid("borrowingLimitPercent", borrowing, "if specified, must be a non-negative integer")


def _response(response: Obj) -> Iterator[FieldError]:
    kind, queuing = response.get("type") or "", response.get("queuing")
    yield from checks.one_of("type", kind, _RESPONSE_TYPES)
    if kind == "Queue" and queuing is not None:
        yield from checks.prefix_errors("queuing", _queuing(queuing))
    elif kind == "Queue":
        yield field.required("queuing", "must not be empty if limited.limitResponse.type is Limited")
    elif kind == "Reject" and queuing is not None:
        yield field.forbidden("queuing", "must be nil if limited.limitResponse.type is not Limited")


def _queuing(queuing: Obj) -> Iterator[FieldError]:
    length, queues, hand = (queuing.get(name) or 0 for name in ("queueLengthLimit", "queues", "handSize"))
    for name, number in (("queueLengthLimit", length), ("queues", queues)):
        if number <= 0:
            yield field.invalid(name, number, "must be positive")
    if queues > MOST_QUEUES:
        yield field.invalid("queues", queues, f"must not be greater than {MOST_QUEUES}")
    if hand <= 0:
        yield field.invalid("handSize", hand, "must be positive")
    elif hand > queues:
        yield field.invalid("handSize", hand, f"should not be greater than queues ({queues})")
    elif _entropy(queues, hand) > HASH_BITS:
        message = f"required entropy bits of deckSize {queues} and handSize {hand} should not be greater than"
        yield field.invalid("handSize", hand, f"{message} {HASH_BITS}")


def _entropy(queues: int, hand: int) -> int:
    """Return the bits of entropy that dealing a hand of queues takes (shufflesharding.RequiredEntropyBits)."""
    counted = min(hand, HASH_BITS * 2)  # a larger hand needs more bits than a hash has in any case
    return ceil(sum(log2(queues - dealt) for dealt in range(counted) if queues - dealt > 1))


def _shares_renamed(old: str, new: str) -> Callable[[Obj], Obj]:
    """Return a function that renames the shares of a PriorityLevelConfiguration."""

    def rename(obj: Obj) -> Obj:
        spec = obj.get("spec") or {}
        if not spec.get("limited"):
            return obj
        return obj | {"spec": spec | {"limited": rename_fields(spec["limited"], {old: new})}}

    return rename


_OLD_SHARES = frozenset(("v1beta2", "v1beta1"))

_QUEUING = (("Queues", "queues"), ("HandSize", "handSize"), ("QueueLengthLimit", "queueLengthLimit"))


def _priority_level(obj: Obj) -> Cells:
    spec = mapping(obj, "spec")
    limited = spec.get("limited")
    shares: Any = NONE
    queuing = None
    if isinstance(limited, dict):
        shares = number_of(limited, "nominalConcurrencyShares")
        queuing = mapping(limited, "limitResponse").get("queuing")
    queues = [number_of(queuing, key) if isinstance(queuing, dict) else NONE for _, key in _QUEUING]
    return [name_of(obj), text_of(spec, "type"), shares, *queues, age(obj)]


PRIORITY_LEVEL_CONFIGURATION = BuiltinKind(
    "flowcontrol.apiserver.k8s.io",
    "PriorityLevelConfiguration",
    namespaced=False,
    default=default_priority_level,
    strategy=COUNTED_STATUS,
    validator=same_on_update(_level),
    old_versions=Conversion(
        _shares_renamed("assuredConcurrencyShares", "nominalConcurrencyShares"),
        _shares_renamed("nominalConcurrencyShares", "assuredConcurrencyShares"),
        alike=_OLD_SHARES,
    ),
    printer=Printer(
        columns=(
            NAME,
            Column("Type", f"{FLOW}PriorityLevelConfigurationSpec#type"),
            Column("NominalConcurrencyShares", f"{FLOW}LimitedPriorityLevelConfiguration#nominalConcurrencyShares"),
            *(Column(name, f"{FLOW}QueuingConfiguration#{key}") for name, key in _QUEUING),
            AGE,
        ),
        cells=_priority_level,
    ),
    notices=stored("PriorityLevelConfiguration", NO_FAIRNESS, "no request is queued or refused by it"),
)
