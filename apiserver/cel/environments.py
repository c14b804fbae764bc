"""Environments: the functions, macros and syntax that expressions of a release may use.

New expressions may only use what the previous release has, so that the server can be downgraded; stored ones may use
everything (k8s.io/apiserver/pkg/cel/environment/base.go).
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
    """The features that came with a release.

    Attributes:
        functions: new functions, with all their overloads.
        overloads: new overloads of older functions.
        macros: new macros, by name and number of arguments.
        types: new names of types.
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
_AUTHORIZATION = (
    *("path", "group", "serviceAccount", "resource", "subresource", "namespace", "name", "check", "allowed", "reason"),
    *("errored", "error"),
)
_AUTHORIZATION_TYPES = tuple(
    f"kubernetes.authorization.{name}"
    for name in ("Authorizer", "PathCheck", "GroupCheck", "ResourceCheck", "Decision")
)
_SINCE = {  # minor release → what came with it; all else is older than custom resources' rules
    26: _Library(_AUTHORIZATION, types=_AUTHORIZATION_TYPES),  # of 1.27, which had no earlier release to fit
    28: _Library(
        (*_OPTIONALS, *_QUANTITIES),
        ("optional_list_index_int", "optional_map_index_value", *_MIXED),
        (("optMap", 2), ("optFlatMap", 2)),
        ("optional_type", "kubernetes.Quantity"),
    ),
    29: _Library(("format", "strings.quote", "sets.contains", "sets.equivalent", "sets.intersects")),
    30: _Library(_ADDRESSES, ("ip_to_string", "cidr_to_string"), types=("net.IP", "net.CIDR")),
    31: _Library(
        ("validate", "format.named", *(f"format.{name}" for name in FORMATS), "fieldSelector", "labelSelector"),
        types=("kubernetes.NamedFormat",),
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
    """The features that expressions may use.

    Attributes:
        functions: name → overloads.
        types: names of types.
        unknown_macros: macros that are calls like any other.
        optional_syntax: whether `.?`, `[?` and the like are allowed.
        checks_literals: whether literal patterns, times, durations and formats are checked.
        keywords_as_fields: whether a keyword may name a field without being escaped.
    """

    functions: Mapping[str, tuple[Overload, ...]]
    types: Mapping[str, CelType]
    unknown_macros: frozenset[tuple[str, int]] = frozenset()
    optional_syntax: bool = True
    checks_literals: bool = True
    keywords_as_fields: bool = True


STORED_EXPRESSIONS = Environment(functions(), TYPES)
"""The environment of stored expressions."""


@lru_cache(maxsize=32)
def new_expressions_environment(release: int) -> Environment:
    """Return the environment of expressions that are new in a release, such as 34."""
    previous = release - 1
    later = [library for since, library in _SINCE.items() if since > previous]
    names = frozenset(name for library in later for name in library.functions)
    overloads = frozenset(name for library in later for name in library.overloads)
    types = frozenset(name for library in later for name in library.types)
    return Environment(
        {
            name: tuple(overload for overload in all_overloads if overload.id not in overloads)
            for name, all_overloads in functions().items()
            if name not in names
        },
        {name: kind for name, kind in TYPES.items() if name not in types},
        frozenset(macro for library in later for macro in library.macros),
        previous >= _OPTIONAL_SYNTAX,
        previous >= _LITERALS_CHECKED,
        previous >= _KEYWORDS_AS_FIELDS,
    )
