"""Defaults are filled in (apiextensions-apiserver/pkg/apiserver/schema/defaulting/algorithm.go).

Of a schema with defaults a function is made that goes only where some are.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import orjson

from apiserver.api.meta import Obj
from apiserver.api.schema.keywords import default_of, items, properties, takes_null, values
from apiserver.apiextensions.structural.pruning import prune_value

SetDefaults = Callable[[Any], None]

_MISSING = object()


@dataclass(frozen=True, slots=True)
class _Filling:
    """What becomes of a field, an item or a map's value.

    Attributes:
        make: makes its default, with the defaults that are in it; None where it has none.
        null_stays: a null is a value.
        inside: fills what is in it, None where nothing can be missing.
    """

    make: Callable[[], Any] | None
    null_stays: bool
    inside: SetDefaults | None


def defaulter(schema: Obj) -> SetDefaults | None:
    """What fills an object's defaults in, in place; None of a schema that has none.

    Fields that are absent, or null where they may not be, get theirs; idle nulls are expected to be gone.
    """
    fields = [(name, filling) for name, each in properties(schema).items() if (filling := _filling(each))]
    named = frozenset(properties(schema))
    of_values, of_items = _filling(values(schema)), _filling(items(schema))
    if not (fields or of_values or of_items):
        return None

    def fill(value: Any) -> None:
        if isinstance(value, dict):
            for name, filling in fields:
                given = value.get(name, _MISSING)
                if filling.make and (given is _MISSING or (given is None and not filling.null_stays)):
                    value[name] = filling.make()
                elif filling.inside and given is not _MISSING:
                    filling.inside(given)
            if of_values:
                _fill_all(value, [name for name in value if name not in named], of_values)
        elif of_items and isinstance(value, list):
            _fill_all(value, range(len(value)), of_items)

    return fill


def _filling(schema: Obj | None) -> _Filling | None:
    if schema is None:
        return None
    inside = defaulter(schema)
    default = default_of(schema)
    if default is None:
        return _Filling(None, null_stays=True, inside=inside) if inside else None
    return _Filling(_maker(_pruned(default, schema), inside), takes_null(schema), inside)


def _pruned(default: Any, schema: Obj) -> Any:
    """The default without what its schema does not know; the server fills in no others (defaulting.PruneDefaults)."""
    made = orjson.loads(orjson.dumps(default))
    prune_value(made, schema)
    return made


def _maker(default: Any, inside: SetDefaults | None) -> Callable[[], Any]:
    if not isinstance(default, dict | list):
        return lambda: default
    if inside:
        inside(default)
    if not default:
        return type(default)
    text = orjson.dumps(default)
    return lambda: orjson.loads(text)


def _fill_all(value: Any, places: Iterable[Any], filling: _Filling) -> None:
    """Fill the values of a map or the items of a list; there is none that is absent."""
    for place in places:
        if value[place] is None and filling.make and not filling.null_stays:
            value[place] = filling.make()
        elif filling.inside:
            filling.inside(value[place])
