"""ClusterCIDRs (networking.k8s.io): validation and columns; of 1.25 to 1.28."""

from collections.abc import Iterator

from apiserver.api import field
from apiserver.api.addresses import is_cidr
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj, name_of
from apiserver.api.validation import checks, names
from apiserver.api.validation.contract import Validator
from apiserver.groups.cell_format import age
from apiserver.groups.cells import NONE, Cells, mapping, mappings, number_of, text_of, texts
from apiserver.groups.columns import AGE, NAME, Column, Printer
from apiserver.groups.core.pods.scheduling import node_selector
from apiserver.groups.kind import BuiltinKind
from apiserver.groups.notices import stored
from apiserver.groups.strategy import PLAIN

_SPEC = "io.k8s.api.networking.v1alpha1.ClusterCIDRSpec"

_MIN_HOST_BITS = 4

_FAMILIES = (("ipv4", "IPv4", 32), ("ipv6", "IPv6", 128))
"""The fields of ranges: the name, the family, which the paths of errors have instead, and the bits of an address."""


def _cluster_cidr(cluster_cidr: Obj) -> Iterator[FieldError]:
    """Yield the errors of a ClusterCIDR (ValidateClusterCIDRSpec)."""
    spec = cluster_cidr.get("spec") or {}
    if spec.get("nodeSelector") is not None:
        yield from checks.prefix_errors("spec.nodeSelector", node_selector(spec["nodeSelector"]))
    ranges = [(family, spec[name], bits) for name, family, bits in _FAMILIES if spec.get(name)]
    if not ranges:
        yield field.required("spec", "one or both of `ipv4` and `ipv6` must be specified")
    for family, cidr, bits in ranges:
        yield from checks.prefix_errors("spec", _range(family, cidr, bits, spec.get("perNodeHostBits") or 0))


def _range(family: str, cidr: str, bits: int, host_bits: int) -> Iterator[FieldError]:
    """Yield the errors of a range, and of the bits that each node gets of it (validateCIDRConfig)."""
    if not is_cidr(cidr):
        yield field.invalid(family, cidr, f"must be a valid CIDR: {cidr}")
        return
    address, _, length = cidr.partition("/")
    if ("." in address) != (family == "IPv4"):
        yield field.invalid(family, cidr, f"must be a valid {family} CIDR")
    if host_bits < _MIN_HOST_BITS:
        yield field.invalid("perNodeHostBits", host_bits, f"must be greater than or equal to {_MIN_HOST_BITS}")
    most = bits - int(length)
    if host_bits > most:
        yield field.invalid("perNodeHostBits", host_bits, f"must be less than or equal to {most}")


def _cluster_cidr_update(new: Obj, old: Obj) -> Iterator[FieldError]:
    """Yield the errors of the new object, then those of the change."""
    yield from _cluster_cidr(new)
    spec, before = new.get("spec") or {}, old.get("spec") or {}
    for name in ("nodeSelector", "perNodeHostBits", "ipv4", "ipv6"):
        yield from checks.immutable(f"spec.{name}", spec.get(name), before.get(name))


def _cluster_cidr_cells(obj: Obj) -> Cells:
    spec = mapping(obj, "spec")
    ranges = [text_of(spec, name) or NONE for name, _, _ in _FAMILIES]
    return [name_of(obj), str(number_of(spec, "perNodeHostBits")), *ranges, age(obj), _selector_text(spec)]


def _selector_text(spec: Obj) -> str:
    """Return the terms of the node selector, as Go prints them."""
    if spec.get("nodeSelector") is None:
        return NONE
    return ",".join(
        f"{title}: [{' '.join(map(_requirement_text, requirements))}]"
        for term in mappings(mapping(spec, "nodeSelector"), "nodeSelectorTerms")
        for title, name in (("MatchExpressions", "matchExpressions"), ("MatchFields", "matchFields"))
        if (requirements := mappings(term, name))
    )


def _requirement_text(requirement: Obj) -> str:
    values = " ".join(texts(requirement, "values"))
    return f"{{{text_of(requirement, 'key')} {text_of(requirement, 'operator')} [{values}]}}"


CLUSTER_CIDR = BuiltinKind(
    "networking.k8s.io",
    "ClusterCIDR",
    ("cc",),
    namespaced=False,
    strategy=PLAIN,
    validator=Validator(_cluster_cidr, _cluster_cidr_update),
    printer=Printer(
        columns=(
            NAME,
            Column("PerNodeHostBits", f"{_SPEC}#perNodeHostBits"),
            Column("IPv4", f"{_SPEC}#ipv4"),
            Column("IPv6", f"{_SPEC}#ipv6"),
            AGE,
            Column("NodeSelector", f"{_SPEC}#nodeSelector", priority=1),
        ),
        cells=_cluster_cidr_cells,
    ),
    name_rule=names.dns1123_label,
    notices=stored("ClusterCIDR", "has no controller for ClusterCIDRs", "gives no Node its podCIDRs"),
)
