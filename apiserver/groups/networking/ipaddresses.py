"""IPAddresses (networking.k8s.io): validation and columns."""

from collections.abc import Iterator

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj, name_of
from apiserver.api.validation import checks, names
from apiserver.api.validation.contract import Errors, Validator
from apiserver.groups.cell_format import age
from apiserver.groups.cells import NONE, Cells, mapping, text_of
from apiserver.groups.columns import NAME, NETWORKING, Column, Printer
from apiserver.groups.kind import BuiltinKind
from apiserver.groups.notices import NO_CIDRS, stored
from apiserver.groups.strategy import PLAIN


def _address(address: Obj) -> Iterator[FieldError]:
    parent = (address.get("spec") or {}).get("parentRef")
    if parent is None:
        yield field.required("spec.parentRef")
        return
    path = "spec.parentRef"
    yield from checks.optional_name(f"{path}.group", parent.get("group"), names.dns1123_subdomain)
    yield from checks.required_name(f"{path}.resource", parent.get("resource"), names.path_segment)
    yield from checks.required_name(f"{path}.name", parent.get("name"), names.path_segment)
    yield from checks.optional_name(f"{path}.namespace", parent.get("namespace"), names.path_segment)


def _address_update(new: Obj, old: Obj) -> Errors:
    return checks.immutable("spec.parentRef", *((obj.get("spec") or {}).get("parentRef") for obj in (new, old)))


def _ip_address(obj: Obj) -> Cells:
    # One cell more than columns: upstream computes an age that it has no column for, and clients ignore it.
    parent = mapping(obj, "spec").get("parentRef")
    return [name_of(obj), _parent_text(parent) if isinstance(parent, dict) else NONE, age(obj)]


def _parent_text(parent: Obj) -> str:
    group = f".{text_of(parent, 'group')}" if text_of(parent, "group") else ""
    namespace = f"/{text_of(parent, 'namespace')}" if text_of(parent, "namespace") else ""
    return f"{text_of(parent, 'resource')}{group}".lower() + f"{namespace}/{text_of(parent, 'name')}"


IP_ADDRESS = BuiltinKind(
    "networking.k8s.io",
    "IPAddress",
    ("ip",),
    namespaced=False,
    strategy=PLAIN,
    validator=Validator(_address, _address_update),
    printer=Printer(
        columns=(NAME, Column("ParentRef", f"{NETWORKING}IPAddressSpec#parentRef")),
        cells=_ip_address,
    ),
    name_rule=names.canonical_ip,
    notices=stored("IPAddress", NO_CIDRS, "reserves nothing"),
)
