"""All functions together: overload id → what it computes."""

from collections.abc import Callable
from functools import cache
from typing import Any

from apiserver.api.rules.functions import (
    conversions,
    lists,
    named_formats,
    networks,
    operators,
    quantities,
    strings,
    times,
    urls,
    versions,
)
from apiserver.api.rules.language import regexes

_SIZES = ("bytes", "list", "map", "string")


@cache
def implementations() -> dict[str, Callable[..., Any]]:
    """The functions of all libraries."""
    tables = (operators, conversions, times, strings, lists, urls, networks, quantities, versions, named_formats)
    return {name: function for library in tables for name, function in library.FUNCTIONS.items()} | {
        **{f"size_{kind}": len for kind in _SIZES},
        **{f"{kind}_size": len for kind in _SIZES},
        "matches": regexes.matches,
        "matches_string": regexes.matches,
        "string_find_string": regexes.find,
        "string_find_all_string": regexes.find_all,
        "string_find_all_string_int": regexes.find_all,
    }
