"""Sets the IP families of a Service (pkg/registry/core/service/storage/alloc.go, initIPFamilyFields)."""

from collections.abc import Iterator, Sequence

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj
from apiserver.api.validation.checks import equal_or_both_empty
from apiserver.groups.core.services.addresses import FAMILIES, family_of, headless, validate_addresses

_MANY = "must be 'RequireDualStack' or 'PreferDualStack' when multiple {} are specified"
_RELEASE = "must be 'SingleStack' to release the secondary {}"


def fill_families(spec: Obj, before: Obj | None, families: Sequence[str]) -> list[FieldError]:
    """Set ipFamilyPolicy and ipFamilies of a Service from its old spec and the cluster's families.

    Args:
        spec: the spec of a headless Service or one with cluster IPs; changed in place.
        before: the old spec, None at creation.
        families: the cluster's families, the preferred one first.

    Returns:
        The errors; if there are any, the families are not set.
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
    """Return whether a PreferDualStack Service is unchanged: then it keeps its families, whatever the cluster has."""
    return (
        spec.get("ipFamilyPolicy") == "PreferDualStack"
        and before.get("ipFamilyPolicy") in {None, "PreferDualStack"}
        and spec.get("type") == before.get("type")
        and spec.get("type") != "ExternalName"
        and equal_or_both_empty(spec.get("clusterIPs"), before.get("clusterIPs"))
        and equal_or_both_empty(spec.get("ipFamilies"), before.get("ipFamilies"))
    )


def _within_spec(error: FieldError) -> FieldError:
    return FieldError(error.reason, f"spec.{error.path}", error.message)


def _default_policy(spec: Obj) -> str:
    """Return the default policy; without a selector, others make the endpoints of a headless Service, of any family."""
    return "RequireDualStack" if headless(spec) and not spec.get("selector") else "SingleStack"


def _reduced(spec: Obj, before: Obj) -> Iterator[FieldError]:
    """Drop the secondary address and family under the policy SingleStack; refuse to drop them under others."""
    policy = spec["ipFamilyPolicy"]
    for name, what in (("clusterIPs", "cluster IP"), ("ipFamilies", "IP family")):
        values, old_values = spec.get(name) or [], before.get(name) or []
        if policy == "SingleStack":
            if values == old_values and len(values) > 1:
                spec[name] = values[:1]
        elif len(old_values) > 1 and values == old_values[:1]:
            yield field.invalid("spec.ipFamilyPolicy", policy, _RELEASE.format(what))


def _too_many(spec: Obj) -> Iterator[FieldError]:
    for name, what in (("clusterIPs", "cluster IPs"), ("ipFamilies", "IP families")):
        if spec["ipFamilyPolicy"] == "SingleStack" and len(spec.get(name) or ()) == 2:
            yield field.invalid("spec.ipFamilyPolicy", "SingleStack", _MANY.format(what))


def _inferred(spec: Obj, families: Sequence[str]) -> Iterator[FieldError]:
    """Add the families of the addresses that the client requested to ipFamilies."""
    addresses, known_families = spec.get("clusterIPs") or [], list(spec.get("ipFamilies") or ())
    for index, address in enumerate(addresses):
        if address == "None" or index < len(known_families):
            continue
        family = family_of(address)
        if family in families:
            known_families.append(family)
        else:
            message = f"{family} is not configured on this cluster"
            yield field.invalid(f"spec.clusterIPs[{index}]", addresses, message)
    if known_families:
        spec["ipFamilies"] = known_families


def _unknown(spec: Obj, families: Sequence[str]) -> Iterator[FieldError]:
    policy = spec["ipFamilyPolicy"]
    if policy == "RequireDualStack" and len(families) < 2:
        message = "this cluster is not configured for dual-stack services"
        yield field.invalid("spec.ipFamilyPolicy", policy, message)
    for index, family in enumerate(spec.get("ipFamilies") or ()):
        if family not in families:
            yield field.invalid(f"spec.ipFamilies[{index}]", family, "not configured on this cluster")


def _complete(spec: Obj, preferred: str, *, both: bool) -> None:
    families = spec.get("ipFamilies") or [preferred]
    if both and spec["ipFamilyPolicy"] != "SingleStack" and len(families) == 1:
        families = [*families, *FAMILIES.difference(families)]
    spec["ipFamilies"] = families
