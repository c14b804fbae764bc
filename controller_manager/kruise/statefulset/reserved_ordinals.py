"""Reserved ordinals: an Advanced StatefulSet skips them, and still has as many pods as it asks for.

(pkg/controller/statefulset/stateful_set_utils.go getStatefulSetReplicasRange, pkg/util/api/asts.go)
"""

import re
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

from apiserver.api.meta import Obj
from controller_manager.controllers.statefulset.ordinals import MAX_ORDINAL
from controller_manager.reconcile.replicas import replicas_of

_RANGE = re.compile(r"([0-9]{1,18})-([0-9]{1,18})")


@dataclass(frozen=True, slots=True)
class Ordinals(Collection[int]):
    """Ascending ordinals.

    Attributes:
        spans: ranges without gaps, with gaps between them; no range is empty.
    """

    spans: tuple[range, ...]

    def __contains__(self, ordinal: object) -> bool:
        if not isinstance(ordinal, int):
            return False
        index = bisect_right(self.spans, ordinal, key=lambda span: span.start)
        return index > 0 and ordinal in self.spans[index - 1]

    def __iter__(self) -> Iterator[int]:
        return chain.from_iterable(self.spans)

    def __len__(self) -> int:
        return sum(map(len, self.spans))

    def at(self, position: int) -> int:
        """Return the ordinal at a position, counted from 0; beyond the last one, the ordinal that would be next."""
        end = 0
        for span in self.spans:
            if position < len(span):
                return span[position]
            position, end = position - len(span), span.stop
        return end


def usable_ordinals(parent: Obj) -> Ordinals:
    """Return the ordinals that an Advanced StatefulSet uses: spec.replicas of them, from spec.ordinals.start.

    Reserved ones are left out, and replaced by ordinals after the rest. None is beyond int32, so that a set may get
    fewer pods than it asks for.
    """
    spec = parent["spec"]
    begin, left = max((spec.get("ordinals") or {}).get("start") or 0, 0), replicas_of(parent)
    spans = []
    for reserved_span in sorted(reserved_ordinals(spec.get("reserveOrdinals") or ()), key=lambda span: span.start):
        free = min(reserved_span.start - begin, left)
        if free > 0:
            spans.append(range(begin, begin + free))
            left -= free
        begin = max(begin, reserved_span.stop)
    if left > 0:
        spans.append(range(begin, begin + left))
    return Ordinals(
        tuple(span for candidate in spans if (span := range(candidate.start, min(candidate.stop, MAX_ORDINAL + 1))))
    )


def reserved_ordinals(given: Iterable[int | str]) -> list[range]:
    """Parse spec.reserveOrdinals: ordinals, and "a-b" for all from a to b.

    If one of them is invalid, nothing is reserved (GetReserveOrdinalIntSet); OpenKruise's webhook would have rejected
    it.
    """
    spans = []
    for entry in given:
        if isinstance(entry, int):
            spans.append(range(entry, entry + 1))
        elif (match := _RANGE.fullmatch(entry)) and int(match[1]) <= int(match[2]):
            spans.append(range(int(match[1]), int(match[2]) + 1))
        else:
            return []
    return spans
