"""Which IP families a Service has addresses of (pkg/registry/core/service/storage/alloc.go, initIPFamilyFields)."""

from collections.abc import Iterator, Sequence

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj
from apiserver.api.validation.checks import same
from apiserver.groups.core.services.addresses import FAMILIES, family_of, headless, validate_addresses

_MANY = "must be 'RequireDualStack' or 'PreferDualStack' when multiple {} are specified"
_RELEASE = "must be 'SingleStack' to release the secondary {}"


def fill_families(spec: Obj, before: Obj | None, families: Sequence[str]) -> list[FieldError]:
    """Fill in ipFamilyPolicy and ipFamilies of a Service, by what was before and what the cluster has.

    Args:
        spec: of a Service with addresses or a headless one; changed in place.
        before: the old spec, None at creation.
        families: the cluster's, the preferred one first.

    Returns:
        What is wrong with the fields, which leaves the Service without families.
    """
    if before is not None and keeps_both(spec, before):
        return []
    if spec.get("ipFamilyPolicy") is None:
        spec["ipFamilyPolicy"] = (before or {}).get("ipFamilyPolicy") or _default_policy(spec)
    errors = [_within_spec(error) for error in validate_addresses(spec)]
    if errors:
        return errors
    if before is not None:
        errors += _reduced(spec, before)
    errors += _too_many(spec)
    errors += _inferred(spec, families)
    if errors:
        return errors
    if headless(spec) and not spec.get("selector"):
        _complete(spec, families[0], both=True)
        return []
    errors += _unknown(spec, families)
    if not errors:
        _complete(spec, families[0], both=len(families) > 1)
    return errors


def keeps_both(spec: Obj, before: Obj) -> bool:
    """Is this a PreferDualStack Service left as it is, which never grows or shrinks with the cluster by itself?"""
    return (
        spec.get("ipFamilyPolicy") == "PreferDualStack"
        and before.get("ipFamilyPolicy") in {None, "PreferDualStack"}
        and spec.get("type") == before.get("type")
        and spec.get("type") != "ExternalName"
        and same(spec.get("clusterIPs"), before.get("clusterIPs"))
        and same(spec.get("ipFamilies"), before.get("ipFamilies"))
    )


def _within_spec(error: FieldError) -> FieldError:
    return FieldError(error.reason, f"spec.{error.path}", error.message)


def _default_policy(spec: Obj) -> str:
    """Headless without a selector means that somebody else makes the endpoints, of any family."""
    return "RequireDualStack" if headless(spec) and not spec.get("selector") else "SingleStack"


def _reduced(spec: Obj, before: Obj) -> Iterator[FieldError]:
    """The secondary address and family go with the policy SingleStack, and not without."""
    policy = spec["ipFamilyPolicy"]
    for name, what in (("clusterIPs", "cluster IP"), ("ipFamilies", "IP family")):
        values, was = spec.get(name) or [], before.get(name) or []
        if policy == "SingleStack":
            if values == was and len(values) > 1:
                spec[name] = values[:1]
        elif len(was) > 1 and values == was[:1]:
            yield field.invalid("spec.ipFamilyPolicy", policy, _RELEASE.format(what))


def _too_many(spec: Obj) -> Iterator[FieldError]:
    for name, what in (("clusterIPs", "cluster IPs"), ("ipFamilies", "IP families")):
        if spec["ipFamilyPolicy"] == "SingleStack" and len(spec.get(name) or ()) == 2:
            yield field.invalid("spec.ipFamilyPolicy", "SingleStack", _MANY.format(what))


def _inferred(spec: Obj, families: Sequence[str]) -> Iterator[FieldError]:
    """An address that the client chose has its family with it."""
    addresses, found = spec.get("clusterIPs") or [], list(spec.get("ipFamilies") or ())
    for index, address in enumerate(addresses):
        if address == "None" or index < len(found):
            continue
        family = family_of(address)
        if family in families:
            found.append(family)
        else:
            words = f"{family} is not configured on this cluster"
            yield field.invalid(f"spec.clusterIPs[{index}]", addresses, words)
    if found:
        spec["ipFamilies"] = found


def _unknown(spec: Obj, families: Sequence[str]) -> Iterator[FieldError]:
    policy = spec["ipFamilyPolicy"]
    if policy == "RequireDualStack" and len(families) < 2:
        words = "this cluster is not configured for dual-stack services"
        yield field.invalid("spec.ipFamilyPolicy", policy, words)
    for index, family in enumerate(spec.get("ipFamilies") or ()):
        if family not in families:
            yield field.invalid(f"spec.ipFamilies[{index}]", family, "not configured on this cluster")


def _complete(spec: Obj, preferred: str, *, both: bool) -> None:
    found = spec.get("ipFamilies") or [preferred]
    if both and spec["ipFamilyPolicy"] != "SingleStack" and len(found) == 1:
        found = [*found, *FAMILIES.difference(found)]
    spec["ipFamilies"] = found
