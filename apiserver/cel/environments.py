"""Environments: the functions, macros and signs that expressions of a release may use.

Expressions that are new may use what the release before knew, so that one can go back to it; those that are stored
already may use all (k8s.io/apiserver/pkg/cel/environment/base.go).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from apiserver.cel.declarations import FORMATS, TYPES, functions
from apiserver.cel.signatures import Overload
from apiserver.cel.types import CelType

_NUMBERS = ("int64", "uint64", "double")
_MIXED = (
    f"{name}_{one}_{two}"
    for name in ("less", "less_equals", "greater", "greater_equals")
    for one in _NUMBERS
    for two in _NUMBERS
    if one != two
)
_QUANTIFIERS = ("all", "exists", "exists_one", "existsOne")
_TRANSFORMATIONS = ("transformList", "transformMap", "transformMapEntry")


@dataclass(frozen=True, slots=True)
class _Library:
    """What came with a release.

    Attributes:
        functions: all overloads of them.
        overloads: of functions that there were.
        macros: the name of each, and how many arguments it has.
        types: names of types.
    """

    functions: tuple[str, ...] = ()
    overloads: tuple[str, ...] = ()
    macros: tuple[tuple[str, int], ...] = ()
    types: tuple[str, ...] = ()


_OPTIONALS = (
    *("optional.of", "optional.ofNonZeroValue", "optional.none", "optional.unwrap", "unwrapOpt", "value", "hasValue"),
    *("or", "orValue", "first", "last", "_?._", "_[?_]"),
)
_QUANTITIES = (
    *("quantity", "isQuantity", "sign", "asApproximateFloat", "asInteger", "isInteger", "add", "sub"),
    *("isGreaterThan", "isLessThan", "compareTo"),
)
_ADDRESSES = (
    *("ip", "isIP", "ip.isCanonical", "family", "isUnspecified", "isLoopback", "isLinkLocalMulticast"),
    *("isLinkLocalUnicast", "isGlobalUnicast", "cidr", "isCIDR", "containsIP", "containsCIDR", "prefixLength"),
    "masked",
)
_SINCE = {  # minor release → what came with it; all else is older than custom resources' rules
    28: _Library(
        (*_OPTIONALS, *_QUANTITIES),
        ("optional_list_index_int", "optional_map_index_value", *_MIXED),
        (("optMap", 2), ("optFlatMap", 2)),
        ("optional_type", "kubernetes.Quantity"),
    ),
    29: _Library(("format", "strings.quote", "sets.contains", "sets.equivalent", "sets.intersects")),
    30: _Library(_ADDRESSES, ("ip_to_string", "cidr_to_string"), types=("net.IP", "net.CIDR")),
    31: _Library(
        ("validate", "format.named", *(f"format.{name}" for name in FORMATS)), types=("kubernetes.NamedFormat",)
    ),
    32: _Library(
        ("cel.@mapInsert",),
        macros=(
            *((name, 3) for name in _QUANTIFIERS),
            *((name, count) for name in _TRANSFORMATIONS for count in (3, 4)),
        ),
    ),
    33: _Library(
        ("semver", "isSemver", "major", "minor", "patch"),
        ("semver_is_greater_than", "semver_is_less_than", "semver_compare_to"),
        types=("kubernetes.Semver",),
    ),
    34: _Library(
        ("slice", "flatten", "sort", "lists.range", "reverse", "distinct", "@sortByAssociatedKeys"),
        macros=(("sortBy", 2),),
    ),
}
_OPTIONAL_SYNTAX, _LITERALS_CHECKED, _KEYWORDS_AS_FIELDS = 28, 29, 31


@dataclass(frozen=True, slots=True)
class Environment:
    """What expressions may use.

    Attributes:
        functions: name → overloads.
        types: names that stand for types.
        unknown_macros: those that are calls like any other.
        optional_syntax: whether there are `.?`, `[?` and the like.
        checks_literals: whether literals that are patterns, times, durations and formats are looked at.
        keywords_as_fields: whether a field may be called as a keyword is, without being written out.
    """

    functions: Mapping[str, tuple[Overload, ...]]
    types: Mapping[str, CelType]
    unknown_macros: frozenset[tuple[str, int]] = frozenset()
    optional_syntax: bool = True
    checks_literals: bool = True
    keywords_as_fields: bool = True


STORED = Environment(functions(), TYPES)
"""That of expressions which are stored."""


@lru_cache(maxsize=32)
def of_new(release: int) -> Environment:
    """That of expressions which are new to a release, such as 34."""
    known = release - 1
    later = [library for since, library in _SINCE.items() if since > known]
    names = frozenset(name for library in later for name in library.functions)
    overloads = frozenset(name for library in later for name in library.overloads)
    types = frozenset(name for library in later for name in library.types)
    return Environment(
        {
            name: tuple(overload for overload in each if overload.id not in overloads)
            for name, each in functions().items()
            if name not in names
        },
        {name: kind for name, kind in TYPES.items() if name not in types},
        frozenset(macro for library in later for macro in library.macros),
        known >= _OPTIONAL_SYNTAX,
        known >= _LITERALS_CHECKED,
        known >= _KEYWORDS_AS_FIELDS,
    )
