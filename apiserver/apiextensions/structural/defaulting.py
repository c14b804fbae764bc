"""Fills in defaults (apiextensions-apiserver/pkg/apiserver/schema/defaulting/algorithm.go).

A schema with defaults is compiled to a function that visits only the parts which have some.
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
class _ValueDefaults:
    """The way in which the defaults of a field, an item or a map's value are filled in.

    Attributes:
        make: creates its default, including nested defaults; None if it has none.
        null_stays: True if null is a valid value.
        inside: fills in the defaults within the value; None if there are none.
    """

    make: Callable[[], Any] | None
    null_stays: bool
    inside: SetDefaults | None


def defaulter(schema: Obj) -> SetDefaults | None:
    """Return the function that fills in an object's defaults in place; None if the schema has none.

    Defaults replace absent fields, and nulls that are not valid; idle nulls have been removed before.
    """
    fields = [
        (name, filling) for name, field_schema in properties(schema).items() if (filling := _filling(field_schema))
    ]
    named = frozenset(properties(schema))
    of_values, of_items = _filling(values(schema)), _filling(items(schema))
    if not (fields or of_values or of_items):
        return None

    def fill(value: Any) -> None:
        if isinstance(value, dict):
            for name, filling in fields:
                current = value.get(name, _MISSING)
                if filling.make and (current is _MISSING or (current is None and not filling.null_stays)):
                    value[name] = filling.make()
                elif filling.inside and current is not _MISSING:
                    filling.inside(current)
            if of_values:
                _fill_all(value, [name for name in value if name not in named], of_values)
        elif of_items and isinstance(value, list):
            _fill_all(value, range(len(value)), of_items)

    return fill


def _filling(schema: Obj | None) -> _ValueDefaults | None:
    if schema is None:
        return None
    inside = defaulter(schema)
    default = default_of(schema)
    if default is None:
        return _ValueDefaults(None, null_stays=True, inside=inside) if inside else None
    return _ValueDefaults(_maker(_pruned(default, schema), inside), takes_null(schema), inside)


def _pruned(default: Any, schema: Obj) -> Any:
    """Return the default without unknown fields; the server sets no other defaults in it (defaulting.PruneDefaults)."""
    pruned = orjson.loads(orjson.dumps(default))
    prune_value(pruned, schema)
    return pruned


def _maker(default: Any, inside: SetDefaults | None) -> Callable[[], Any]:
    if not isinstance(default, dict | list):
        return lambda: default
    if inside:
        inside(default)
    if not default:
        return type(default)
    text = orjson.dumps(default)
    return lambda: orjson.loads(text)


def _fill_all(value: Any, keys: Iterable[Any], filling: _ValueDefaults) -> None:
    """Fill in the defaults within the values of a map or the items of a list; none of them is absent."""
    for key in keys:
        if value[key] is None and filling.make and not filling.null_stays:
            value[key] = filling.make()
        elif filling.inside:
            filling.inside(value[key])
