"""Validation of a Service's cluster addresses and IP families, and of their changes.

It runs before addresses are allocated and again in validation (ValidateServiceClusterIPsRelatedFields).
All paths are relative to the spec.
"""

from collections.abc import Iterator

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj
from apiserver.api.validation import checks

FAMILIES = frozenset({"IPv4", "IPv6"})

_FAMILY_POLICIES = frozenset({"PreferDualStack", "RequireDualStack", "SingleStack"})

_NO_CHANGE = "may not change once set"


def headless(spec: Obj) -> bool:
    """Return whether the Service has no cluster address by choice."""
    return (spec.get("clusterIPs") or ()) == ["None"]


def family_of(address: str) -> str:
    """Return the family of a well-formed address: only IPv6 addresses have colons."""
    return "IPv6" if ":" in address else "IPv4"


def validate_addresses(spec: Obj) -> Iterator[FieldError]:
    """Yield the errors of clusterIP, clusterIPs, ipFamilies and ipFamilyPolicy; not for ExternalName Services."""
    addresses, families = spec.get("clusterIPs") or [], spec.get("ipFamilies") or []
    yield from _both_forms(spec.get("clusterIP") or "", addresses)
    for index, family in enumerate(families):
        yield from checks.one_of(f"ipFamilies[{index}]", family, FAMILIES)
        if family in families[:index]:
            yield field.duplicate(f"ipFamilies[{index}]", family)
    yield from checks.optional_one_of("ipFamilyPolicy", spec.get("ipFamilyPolicy"), _FAMILY_POLICIES)
    malformed = tuple(_malformed(addresses))
    yield from malformed
    if len(addresses) > 2:
        yield field.invalid("clusterIPs", addresses, "may only hold up to 2 values")
    if not malformed:
        yield from _matching(addresses, families)


def _both_forms(address: str, addresses: list[str]) -> Iterator[FieldError]:
    if address and not addresses:
        yield field.required("clusterIPs")
    elif address and addresses[0] != address:
        yield field.invalid("clusterIPs", addresses, "first value must match `clusterIP`")
    elif addresses and not address:
        yield field.invalid("clusterIPs", addresses, "must be empty when `clusterIP` is not specified")


def _malformed(addresses: list[str]) -> Iterator[FieldError]:
    for index, address in enumerate(addresses):
        if index or address != "None":
            yield from checks.address(f"clusterIPs[{index}]", address)
        elif len(addresses) > 1:
            yield field.invalid("clusterIPs", addresses, "'None' must be the first and only value")


def _matching(addresses: list[str], families: list[str]) -> Iterator[FieldError]:
    if addresses == ["None"]:
        return
    actual = [family_of(address) for address in addresses]
    if len(addresses) > 1 and set(actual) != FAMILIES:
        yield field.invalid("clusterIPs", addresses, "may specify no more than one IP for each IP family")
    for index, (address, family, expected) in enumerate(zip(addresses, actual, families, strict=False)):
        if family != expected and expected in FAMILIES:
            detail = f"expected an {expected} value as indicated by `ipFamilies[{index}]`"
            yield field.invalid(f"clusterIPs[{index}]", address, detail)


def validate_addresses_update(spec: Obj, before: Obj) -> Iterator[FieldError]:
    """Yield the errors of changed addresses: the first stays; the second may come, or go with policy SingleStack."""
    new, old = spec.get("clusterIPs") or [], before.get("clusterIPs") or []
    if headless(spec) and headless(before):
        return
    if len(new) == len(old):
        for index, address in enumerate(old):
            if address != new[index]:
                yield field.invalid(f"clusterIPs[{index}]", new, _NO_CHANGE)
        return
    if old and not new:
        yield field.invalid("clusterIPs[0]", new or None, "primary clusterIP can not be unset")
    if old and new and old[0] != new[0]:
        yield field.invalid("clusterIPs[0]", new, _NO_CHANGE)
    if len(old) > len(new) == 1:
        yield from _released(spec, "clusterIP")


def validate_families_update(spec: Obj, before: Obj) -> Iterator[FieldError]:
    """Yield the errors of changed IP families, by the same rule; a headless Service may change them freely."""
    if headless(spec) or headless(before):
        return
    new, old = spec.get("ipFamilies") or [], before.get("ipFamilies") or []
    if len(new) == len(old):
        for family, other in zip(new, old, strict=True):
            if family != other:
                yield field.invalid("ipFamilies[0]", new, _NO_CHANGE)
        return
    if len(old) > len(new) and not spec.get("clusterIPs"):
        yield field.invalid("ipFamilies[0]", new or None, "primary ipFamily can not be unset")
    if new and old and new[0] != old[0]:
        yield field.invalid("ipFamilies[0]", spec.get("clusterIPs"), _NO_CHANGE)
    if len(old) > len(new) == 1:
        yield from _released(spec, "ipFamily")


def _released(spec: Obj, noun: str) -> Iterator[FieldError]:
    policy = spec.get("ipFamilyPolicy")
    if policy != "SingleStack":
        detail = f"must be set to 'SingleStack' when releasing the secondary {noun}"
        yield field.invalid("ipFamilyPolicy", policy, detail)
