"""ServiceCIDRs (networking.k8s.io): strategy, validation and columns."""

from collections.abc import Iterator
from ipaddress import ip_network

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj, name_of
from apiserver.api.validation import checks, names
from apiserver.api.validation.contract import Validator
from apiserver.groups.cell_format import age
from apiserver.groups.cells import Cells, mapping, texts
from apiserver.groups.columns import AGE, NAME, NETWORKING, Column, Printer
from apiserver.groups.kind import BuiltinKind
from apiserver.groups.notices import NO_CIDRS, stored
from apiserver.groups.strategy import METADATA_OF_STATUS, Strategy, nothing, status_updating, unchanged

_OWN_STATUS = Strategy(nothing, unchanged, status_updating(*METADATA_OF_STATUS))
"""The strategy of a kind whose main resource writes the status too."""


def _validate_service_cidr(service_cidr: Obj) -> Iterator[FieldError]:
    path, spec = "spec.cidrs", service_cidr.get("spec") or {}
    cidrs = spec.get("cidrs") or ()
    if not cidrs:
        yield field.required(path, "at least one CIDR required")
    elif len(cidrs) > 2:
        yield field.invalid(path, {"CIDRs": cidrs}, "may only hold up to 2 values")
    else:
        yield from checks.each_invalid(path, cidrs, _canonical_cidr)
        families = {":" in cidr for cidr in cidrs if not names.cidr(cidr)}
        if len(cidrs) == 2 and len(families) == 1 and not any(map(names.cidr, cidrs)):
            detail = "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"
            yield field.invalid(path, cidrs, detail)


def _canonical_cidr(cidr: str) -> names.Messages:
    messages = names.cidr(cidr)
    if messages or (canonical := str(ip_network(cidr))) == cidr:
        return messages
    return (f'must be in canonical form ("{canonical}")',)


def _service_cidr_update(new: Obj, old: Obj) -> Iterator[FieldError]:
    cidrs, before = ((obj.get("spec") or {}).get("cidrs") or [] for obj in (new, old))
    if len(cidrs) == len(before):
        for index, cidr in enumerate(cidrs):
            yield from checks.immutable(f"spec.cidrs[{index}]", cidr, before[index])
    elif (len(before), len(cidrs)) == (1, 2):
        yield from checks.immutable("spec.cidrs[0]", cidrs[0], before[0])
        yield from _validate_service_cidr(new)
    else:
        yield field.invalid("spec.cidrs", cidrs, checks.IMMUTABLE)


def _service_cidr_cells(obj: Obj) -> Cells:
    return [name_of(obj), ",".join(texts(mapping(obj, "spec"), "cidrs")), age(obj)]


SERVICE_CIDR = BuiltinKind(
    "networking.k8s.io",
    "ServiceCIDR",
    namespaced=False,
    strategy=_OWN_STATUS,
    validator=Validator(_validate_service_cidr, _service_cidr_update),
    printer=Printer(
        columns=(NAME, Column("CIDRs", f"{NETWORKING}ServiceCIDRSpec#cidrs"), AGE),
        cells=_service_cidr_cells,
    ),
    notices=stored("ServiceCIDR", NO_CIDRS, "no Service gets an address from it"),
)
