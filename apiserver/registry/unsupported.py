"""Binds the kinds' notices to rows: writers of objects that are stored but have no effect here get a warning."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial

from apiserver.api.meta import Obj
from apiserver.api.resources import Resource
from apiserver.groups.kinds import ALL_KINDS
from apiserver.groups.notices import Notice


def notices_by_kind(rows: Iterable[Resource]) -> Iterator[Resource]:
    """Yield the rows, with their notices if their kind has some; all others are the same objects."""
    for row in rows:
        notices = NOTICES.get((row.group, row.kind))
        yield replace(row, notices=partial(_texts, notices)) if notices else row


def _texts(notices: tuple[Notice, ...], new: Obj, old: Obj | None) -> tuple[str, ...]:
    """Return the texts of the notices that concern a write."""
    return tuple([notice.text for notice in notices if notice.applies(new, old)])


NOTICES: Mapping[tuple[str, str], tuple[Notice, ...]] = {
    key: kind.notices for key, kind in ALL_KINDS.items() if kind.notices
}
"""(group, kind) → the notices for its writers."""
