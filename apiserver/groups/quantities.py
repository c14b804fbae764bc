"""Rounding of resource lists: amounts finer than a thousandth are rounded up, as the API does not store them."""

from apiserver.api.meta import Obj
from apiserver.api.quantity import Quantity, parse

_MILLI = 10**6
"""A thousandth in billionths."""


def round_up_to_milli(resources: Obj | None) -> None:
    """Round a resource list's canonical quantities up to thousandths, in place (SetDefaults_ResourceList)."""
    if not resources:
        return
    for name, amount in resources.items():
        if amount[-1:] in "nu" or "e-" in amount:
            exact = parse(amount)
            resources[name] = str(Quantity(-(-exact.nanos // _MILLI) * _MILLI, exact.format))
