"""Ordinals of which some are reserved: an Advanced StatefulSet has as many pods as it wants, but none of those.

(pkg/controller/statefulset/stateful_set_utils.go getStatefulSetReplicasRange, pkg/util/api/asts.go)
"""

import re
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

from apiserver.api.meta import Obj
from controller_manager.controllers.statefulset.ordinals import MOST
from controller_manager.reconcile.replicas import replicas_of

_RANGE = re.compile(r"([0-9]{1,18})-([0-9]{1,18})")


@dataclass(frozen=True, slots=True)
class Ordinals(Collection[int]):
    """Ordinals, ascending.

    Attributes:
        spans: without gaps in themselves, and with some between them; none is empty.
    """

    spans: tuple[range, ...]

    def __contains__(self, ordinal: object) -> bool:
        if not isinstance(ordinal, int):
            return False
        place = bisect_right(self.spans, ordinal, key=lambda span: span.start)
        return place > 0 and ordinal in self.spans[place - 1]

    def __iter__(self) -> Iterator[int]:
        return chain.from_iterable(self.spans)

    def __len__(self) -> int:
        return sum(map(len, self.spans))

    def after(self, number: int) -> int:
        """The first ordinal that has so many of these before it, were there more of them than there are."""
        end = 0
        for span in self.spans:
            if number < len(span):
                return span[number]
            number, end = number - len(span), span.stop
        return end


def usable_ordinals(parent: Obj) -> Ordinals:
    """The ordinals that an Advanced StatefulSet asks for: spec.replicas of them, from spec.ordinals.start.

    What is reserved is left out, and others come after the rest. There are none beyond int32, so that a set may get
    fewer pods than it asks for.
    """
    spec = parent["spec"]
    begin, left = max((spec.get("ordinals") or {}).get("start") or 0, 0), replicas_of(parent)
    spans = []
    for taken in sorted(reserved(spec.get("reserveOrdinals") or ()), key=lambda span: span.start):
        free = min(taken.start - begin, left)
        if free > 0:
            spans.append(range(begin, begin + free))
            left -= free
        begin = max(begin, taken.stop)
    if left > 0:
        spans.append(range(begin, begin + left))
    return Ordinals(tuple(span for each in spans if (span := range(each.start, min(each.stop, MOST + 1)))))


def reserved(given: Iterable[int | str]) -> list[range]:
    """What spec.reserveOrdinals says: ordinals, and "a-b" for all from a to b.

    Nothing at all is reserved where one of them cannot be understood (GetReserveOrdinalIntSet); OpenKruise's webhook
    would not have let it in.
    """
    found = []
    for each in given:
        if isinstance(each, int):
            found.append(range(each, each + 1))
        elif (told := _RANGE.fullmatch(each)) and int(told[1]) <= int(told[2]):
            found.append(range(int(told[1]), int(told[2]) + 1))
        else:
            return []
    return found
