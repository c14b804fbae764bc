"""Declarations: every function that rules may call, and the names of types.

The standard library and cel-go's extensions optional, strings 2, sets, lists 3 and comprehensions, and Kubernetes' own
libraries, as k8s.io/apiserver/pkg/cel/environment gives them to new expressions of the newest release.
"""

from functools import cache

from apiserver.cel.signatures import Overload, overloads
from apiserver.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    NULL,
    STRING,
    TIMESTAMP,
    TYPE,
    UINT,
    CelType,
    list_of,
    map_of,
    optional_of,
    param,
    struct,
)

_NUMBERS = {"int64": "int", "uint64": "uint", "double": "double"}
_COMPARABLE = ("int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes")
_SUMMABLE = ("int", "uint", "double", "duration")
_GOOGLE = {"duration": "google.protobuf.Duration", "timestamp": "google.protobuf.Timestamp"}


def _comparison(name: str) -> list[str]:
    numeric = [
        f"{name}_{one}{'' if one == two else f'_{two}'}({_NUMBERS[one]}, {_NUMBERS[two]}) bool"
        for one in _NUMBERS
        for two in sorted(_NUMBERS, key=lambda n: n != one)
    ]
    others = [f"{name}_{kind}({kind}, {kind}) bool" for kind in ("string", "bytes", "timestamp", "duration")]
    return [f"{name}_bool(bool, bool) bool", *numeric, *others]


def _arithmetic(name: str, *more: str) -> list[str]:
    return [f"{name}_{kind}({_NUMBERS[kind]}, {_NUMBERS[kind]}) {_NUMBERS[kind]}" for kind in _NUMBERS] + list(more)


def _getter(name: str, *, of_duration: str = "") -> list[str]:
    zone = f"{name}_tz" if name == "timestamp_to_seconds" else f"{name}_with_tz"
    lines = [f".{name}(timestamp) int", f".{zone}(timestamp, string) int"]
    return [*lines, f".{of_duration}(duration) int"] if of_duration else lines


_OPERATORS = {
    "_?_:_": ["conditional(bool, A, A) A"],
    "_&&_": ["logical_and(bool, bool) bool"],
    "_||_": ["logical_or(bool, bool) bool"],
    "!_": ["logical_not(bool) bool"],
    "@not_strictly_false": ["not_strictly_false(bool) bool"],
    "_==_": ["equals(A, A) bool"],
    "_!=_": ["not_equals(A, A) bool"],
    "_<_": _comparison("less"),
    "_<=_": _comparison("less_equals"),
    "_>_": _comparison("greater"),
    "_>=_": _comparison("greater_equals"),
    "_+_": _arithmetic(
        "add",
        "add_bytes(bytes, bytes) bytes",
        "add_duration_duration(duration, duration) duration",
        "add_duration_timestamp(duration, timestamp) timestamp",
        "add_timestamp_duration(timestamp, duration) timestamp",
        "add_list(list(A), list(A)) list(A)",
        "add_string(string, string) string",
    ),
    "_-_": _arithmetic(
        "subtract",
        "subtract_duration_duration(duration, duration) duration",
        "subtract_timestamp_duration(timestamp, duration) timestamp",
        "subtract_timestamp_timestamp(timestamp, timestamp) duration",
    ),
    "_*_": _arithmetic("multiply"),
    "_/_": _arithmetic("divide"),
    "_%_": ["modulo_int64(int, int) int", "modulo_uint64(uint, uint) uint"],
    "-_": ["negate_double(double) double", "negate_int64(int) int"],
    "@in": ["in_list(A, list(A)) bool", "in_map(A, map(A, B)) bool"],
    "_[_]": [
        "index_list(list(A), int) A",
        "index_map(map(A, B), A) B",
        "optional_list_index_int(optional(list(V)), int) optional(V)",
        "optional_map_index_value(optional(map(K, V)), K) optional(V)",
    ],
    "_?._": ["select_optional_field(dyn, string) optional(V)"],
    "_[?_]": [
        "list_optindex_optional_int(list(V), int) optional(V)",
        "optional_list_optindex_optional_int(optional(list(V)), int) optional(V)",
        "map_optindex_optional_value(map(K, V), K) optional(V)",
        "optional_map_optindex_optional_value(optional(map(K, V)), K) optional(V)",
    ],
    "cel.@mapInsert": [
        "@mapInsert_map_key_value(map(K, V), K, V) map(K, V)",
        "@mapInsert_map_map(map(K, V), map(K, V)) map(K, V)",
    ],
    "@sortByAssociatedKeys": [
        f".list_{_GOOGLE.get(k, k)}_sortByAssociatedKeys(list(T), list({k})) list(T)" for k in _COMPARABLE
    ],
}

_STANDARD = {
    "size": [
        *(f"size_{kind.partition('(')[0]}({kind}) int" for kind in ("bytes", "list(A)", "map(A, B)", "string")),
        *(f".{kind.partition('(')[0]}_size({kind}) int" for kind in ("bytes", "list(A)", "map(A, B)", "string")),
    ],
    "type": ["type(A) type(A)"],
    "dyn": ["to_dyn(A) dyn"],
    "bool": ["bool_to_bool(bool) bool", "string_to_bool(string) bool"],
    "bytes": ["bytes_to_bytes(bytes) bytes", "string_to_bytes(string) bytes"],
    "double": [
        "double_to_double(double) double",
        "int64_to_double(int) double",
        "string_to_double(string) double",
        "uint64_to_double(uint) double",
    ],
    "duration": ["duration_to_duration(duration) duration", "string_to_duration(string) duration"],
    "int": [
        "int64_to_int64(int) int",
        "double_to_int64(double) int",
        "duration_to_int64(duration) int",
        "string_to_int64(string) int",
        "timestamp_to_int64(timestamp) int",
        "uint64_to_int64(uint) int",
    ],
    "string": [
        "string_to_string(string) string",
        "bool_to_string(bool) string",
        "bytes_to_string(bytes) string",
        "double_to_string(double) string",
        "duration_to_string(duration) string",
        "int64_to_string(int) string",
        "timestamp_to_string(timestamp) string",
        "uint64_to_string(uint) string",
        "ip_to_string(net.IP) string",
        "cidr_to_string(net.CIDR) string",
    ],
    "timestamp": [
        "timestamp_to_timestamp(timestamp) timestamp",
        "int64_to_timestamp(int) timestamp",
        "string_to_timestamp(string) timestamp",
    ],
    "uint": [
        "uint64_to_uint64(uint) uint",
        "double_to_uint64(double) uint",
        "int64_to_uint64(int) uint",
        "string_to_uint64(string) uint",
    ],
    "contains": [".contains_string(string, string) bool"],
    "endsWith": [".ends_with_string(string, string) bool"],
    "startsWith": [".starts_with_string(string, string) bool"],
    "matches": ["matches(string, string) bool", ".matches_string(string, string) bool"],
    "getFullYear": _getter("timestamp_to_year"),
    "getMonth": _getter("timestamp_to_month"),
    "getDayOfYear": _getter("timestamp_to_day_of_year"),
    "getDayOfMonth": _getter("timestamp_to_day_of_month"),
    "getDate": _getter("timestamp_to_day_of_month_1_based"),
    "getDayOfWeek": _getter("timestamp_to_day_of_week"),
    "getHours": _getter("timestamp_to_hours", of_duration="duration_to_hours"),
    "getMinutes": _getter("timestamp_to_minutes", of_duration="duration_to_minutes"),
    "getSeconds": _getter("timestamp_to_seconds", of_duration="duration_to_seconds"),
    "getMilliseconds": _getter("timestamp_to_milliseconds", of_duration="duration_to_milliseconds"),
}

_EXTENSIONS = {
    "optional.of": ["optional_of(V) optional(V)"],
    "optional.ofNonZeroValue": ["optional_ofNonZeroValue(V) optional(V)"],
    "optional.none": ["optional_none() optional(V)"],
    "optional.unwrap": ["optional_unwrap(list(optional(V))) list(V)"],
    "unwrapOpt": [".optional_unwrapOpt(list(optional(V))) list(V)"],
    "value": [".optional_value(optional(V)) V"],
    "hasValue": [".optional_hasValue(optional(V)) bool"],
    "or": [".optional_or_optional(optional(V), optional(V)) optional(V)"],
    "orValue": [".optional_orValue_value(optional(V), V) V"],
    "first": [".list_first(list(V)) optional(V)"],
    "last": [".list_last(list(V)) optional(V)"],
    "charAt": [".string_char_at_int(string, int) string"],
    "indexOf": [
        ".string_index_of_string(string, string) int",
        ".string_index_of_string_int(string, string, int) int",
        ".list_a_index_of_int(list(A), A) int",
    ],
    "lastIndexOf": [
        ".string_last_index_of_string(string, string) int",
        ".string_last_index_of_string_int(string, string, int) int",
        ".list_a_last_index_of_int(list(A), A) int",
    ],
    "lowerAscii": [".string_lower_ascii(string) string"],
    "upperAscii": [".string_upper_ascii(string) string"],
    "replace": [
        ".string_replace_string_string(string, string, string) string",
        ".string_replace_string_string_int(string, string, string, int) string",
    ],
    "split": [
        ".string_split_string(string, string) list(string)",
        ".string_split_string_int(string, string, int) list(string)",
    ],
    "substring": [
        ".string_substring_int(string, int) string",
        ".string_substring_int_int(string, int, int) string",
    ],
    "trim": [".string_trim(string) string"],
    "format": [".string_format(string, list(dyn)) string"],
    "strings.quote": ["strings_quote(string) string"],
    "join": [".list_join(list(string)) string", ".list_join_string(list(string), string) string"],
    "sets.contains": ["list_sets_contains_list(list(T), list(T)) bool"],
    "sets.equivalent": ["list_sets_equivalent_list(list(T), list(T)) bool"],
    "sets.intersects": ["list_sets_intersects_list(list(T), list(T)) bool"],
    "slice": [".list_slice(list(T), int, int) list(T)"],
    "flatten": [".list_flatten(list(list(T))) list(T)", ".list_flatten_int(list(dyn), int) list(dyn)"],
    "sort": [f".list_{_GOOGLE.get(k, k)}_sort(list({k})) list({k})" for k in _COMPARABLE],
    "lists.range": ["lists_range(int) list(int)"],
    "reverse": [".list_reverse(list(T)) list(T)"],
    "distinct": [".list_distinct(list(T)) list(T)"],
}

_KUBERNETES = {
    "isSorted": [f".list_{kind}_is_sorted_bool(list({kind})) bool" for kind in _COMPARABLE],
    "sum": [f".list_{kind}_sum_{kind}(list({kind})) {kind}" for kind in _SUMMABLE],
    "max": [f".list_{kind}_max_{kind}(list({kind})) {kind}" for kind in _COMPARABLE],
    "min": [f".list_{kind}_min_{kind}(list({kind})) {kind}" for kind in _COMPARABLE],
    "find": [".string_find_string(string, string) string"],
    "findAll": [
        ".string_find_all_string(string, string) list(string)",
        ".string_find_all_string_int(string, string, int) list(string)",
    ],
    "url": ["string_to_url(string) kubernetes.URL"],
    "isURL": ["is_url_string(string) bool"],
    "getScheme": [".url_get_scheme(kubernetes.URL) string"],
    "getHost": [".url_get_host(kubernetes.URL) string"],
    "getHostname": [".url_get_hostname(kubernetes.URL) string"],
    "getPort": [".url_get_port(kubernetes.URL) string"],
    "getEscapedPath": [".url_get_escaped_path(kubernetes.URL) string"],
    "getQuery": [".url_get_query(kubernetes.URL) map(string, list(string))"],
    "quantity": ["string_to_quantity(string) kubernetes.Quantity"],
    "isQuantity": ["is_quantity_string(string) bool"],
    "sign": ["quantity_sign(kubernetes.Quantity) int"],
    "asApproximateFloat": [".quantity_get_float(kubernetes.Quantity) double"],
    "asInteger": [".quantity_get_int(kubernetes.Quantity) int"],
    "isInteger": [".quantity_is_integer(kubernetes.Quantity) bool"],
    "add": [
        ".quantity_add(kubernetes.Quantity, kubernetes.Quantity) kubernetes.Quantity",
        ".quantity_add_int(kubernetes.Quantity, int) kubernetes.Quantity",
    ],
    "sub": [
        ".quantity_sub(kubernetes.Quantity, kubernetes.Quantity) kubernetes.Quantity",
        ".quantity_sub_int(kubernetes.Quantity, int) kubernetes.Quantity",
    ],
    "isGreaterThan": [
        ".quantity_is_greater_than(kubernetes.Quantity, kubernetes.Quantity) bool",
        ".semver_is_greater_than(kubernetes.Semver, kubernetes.Semver) bool",
    ],
    "isLessThan": [
        ".quantity_is_less_than(kubernetes.Quantity, kubernetes.Quantity) bool",
        ".semver_is_less_than(kubernetes.Semver, kubernetes.Semver) bool",
    ],
    "compareTo": [
        ".quantity_compare_to(kubernetes.Quantity, kubernetes.Quantity) int",
        ".semver_compare_to(kubernetes.Semver, kubernetes.Semver) int",
    ],
    "ip": ["string_to_ip(string) net.IP", ".cidr_ip(net.CIDR) net.IP"],
    "isIP": ["is_ip(string) bool"],
    "ip.isCanonical": ["ip_is_canonical(string) bool"],
    "family": [".ip_family(net.IP) int"],
    "isUnspecified": [".ip_is_unspecified(net.IP) bool"],
    "isLoopback": [".ip_is_loopback(net.IP) bool"],
    "isLinkLocalMulticast": [".ip_is_link_local_multicast(net.IP) bool"],
    "isLinkLocalUnicast": [".ip_is_link_local_unicast(net.IP) bool"],
    "isGlobalUnicast": [".ip_is_global_unicast(net.IP) bool"],
    "cidr": ["string_to_cidr(string) net.CIDR"],
    "isCIDR": ["is_cidr(string) bool"],
    "containsIP": [".cidr_contains_ip_string(net.CIDR, string) bool", ".cidr_contains_ip_ip(net.CIDR, net.IP) bool"],
    "containsCIDR": [
        ".cidr_contains_cidr_string(net.CIDR, string) bool",
        ".cidr_contains_cidr(net.CIDR, net.CIDR) bool",
    ],
    "prefixLength": [".cidr_prefix_length(net.CIDR) int"],
    "masked": [".cidr_masked(net.CIDR) net.CIDR"],
    "semver": ["string_to_semver(string) kubernetes.Semver", "string_bool_to_semver(string, bool) kubernetes.Semver"],
    "isSemver": ["is_semver_string(string) bool", "is_semver_string_bool(string, bool) bool"],
    "major": [".semver_major(kubernetes.Semver) int"],
    "minor": [".semver_minor(kubernetes.Semver) int"],
    "patch": [".semver_patch(kubernetes.Semver) int"],
    "validate": [".format-validate(kubernetes.NamedFormat, string) optional(list(string))"],
    "format.named": ["format-named(string) optional(kubernetes.NamedFormat)"],
}

_AUTHORIZER, _PATH_CHECK, _GROUP_CHECK, _RESOURCE_CHECK, _DECISION = (
    f"kubernetes.authorization.{name}"
    for name in ("Authorizer", "PathCheck", "GroupCheck", "ResourceCheck", "Decision")
)
_AUTHORIZATION = {
    "path": [f".authorizer_path({_AUTHORIZER}, string) {_PATH_CHECK}"],
    "group": [f".authorizer_group({_AUTHORIZER}, string) {_GROUP_CHECK}"],
    "serviceAccount": [f".authorizer_serviceaccount({_AUTHORIZER}, string, string) {_AUTHORIZER}"],
    "resource": [f".groupcheck_resource({_GROUP_CHECK}, string) {_RESOURCE_CHECK}"],
    **{
        name: [f".resourcecheck_{name}({_RESOURCE_CHECK}, string) {_RESOURCE_CHECK}"]
        for name in ("subresource", "namespace", "name")
    },
    **{
        name: [f".authorizer_{name.lower()}({_RESOURCE_CHECK}, string) {_RESOURCE_CHECK}"]
        for name in ("fieldSelector", "labelSelector")
    },
    "check": [
        f".pathcheck_check({_PATH_CHECK}, string) {_DECISION}",
        f".resourcecheck_check({_RESOURCE_CHECK}, string) {_DECISION}",
    ],
    "allowed": [f".decision_allowed({_DECISION}) bool"],
    "reason": [f".decision_reason({_DECISION}) string"],
    "errored": [f".decision_errored({_DECISION}) bool"],
    "error": [f".decision_error({_DECISION}) string"],
}

FORMATS = (
    *("dns1123Label", "dns1123Subdomain", "dns1035Label", "qualifiedName", "dns1123LabelPrefix"),
    *("dns1123SubdomainPrefix", "dns1035LabelPrefix", "labelValue", "uri", "uuid", "byte", "date", "datetime"),
)
"""The named formats; each is a function of no arguments, such as format.uuid()."""

TYPES: dict[str, CelType] = {
    "bool": BOOL,
    "bytes": BYTES,
    "double": DOUBLE,
    "duration": DURATION,
    "google.protobuf.Duration": DURATION,
    "google.protobuf.Timestamp": TIMESTAMP,
    "int": INT,
    "list": list_of(DYN),
    "map": map_of(DYN, DYN),
    "null_type": NULL,
    "string": STRING,
    "timestamp": TIMESTAMP,
    "type": TYPE,
    "uint": UINT,
    "optional_type": optional_of(param("V")),
    "net.IP": CelType("opaque", "net.IP"),
    "net.CIDR": CelType("opaque", "net.CIDR"),
    "kubernetes.URL": struct("kubernetes.URL"),
    "kubernetes.Quantity": struct("kubernetes.Quantity"),
    "kubernetes.NamedFormat": struct("kubernetes.NamedFormat"),
    "kubernetes.Semver": struct("kubernetes.Semver"),
    **{name: struct(name) for name in (_AUTHORIZER, _PATH_CHECK, _GROUP_CHECK, _RESOURCE_CHECK, _DECISION)},
}
"""The names of types, which are values in expressions such as type(x) == int."""


@cache
def functions() -> dict[str, tuple[Overload, ...]]:
    """Return every function with its overloads."""
    named = {f"format.{name}": [f"format.{name}() kubernetes.NamedFormat"] for name in FORMATS}
    return overloads({**_OPERATORS, **_STANDARD, **_EXTENSIONS, **_KUBERNETES, **_AUTHORIZATION, **named})
