"""All functions together: overload id → implementation."""

from collections.abc import Callable
from functools import cache
from typing import Any

from apiserver.cel.functions import (
    authorization,
    conversions,
    lists,
    named_formats,
    networks,
    operators,
    quantities,
    searches,
    strings,
    times,
    urls,
    versions,
)

_LIBRARIES = (
    *(operators, conversions, times, strings, searches, lists, urls, networks, quantities, versions),
    *(named_formats, authorization),
)
_SIZES = ("bytes", "list", "map", "string")


@cache
def implementations() -> dict[str, Callable[..., Any]]:
    """Return the functions of all libraries."""
    return {name: function for library in _LIBRARIES for name, function in library.FUNCTIONS.items()} | {
        **{f"size_{kind}": len for kind in _SIZES},
        **{f"{kind}_size": len for kind in _SIZES},
    }
