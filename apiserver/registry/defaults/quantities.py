"""Resource lists: amounts finer than a thousandth are rounded up, as the API stores none."""

from apiserver.api.meta import Obj

_STEPS_PER_MILLI = {"u": 10**3, "n": 10**6}
_SUFFIXES = ("m", "", "k", "M", "G", "T", "P", "E")


def round_up_to_milli(resources: Obj | None) -> None:
    """Rounds a resource list's canonical quantities up to thousandths, in place (SetDefaults_ResourceList)."""
    if not resources:
        return
    for name, amount in resources.items():
        steps = _STEPS_PER_MILLI.get(amount[-1:])
        if steps is not None:
            resources[name] = _canonical_milli(-(-int(amount[:-1]) // steps))


def _canonical_milli(amount: int) -> str:
    """So many thousandths, written with the largest decimal suffix that leaves a whole number."""
    suffix = 0
    while amount and amount % 1000 == 0 and suffix < len(_SUFFIXES) - 1:
        amount //= 1000
        suffix += 1
    return f"{amount}{_SUFFIXES[suffix]}" if amount else "0"
