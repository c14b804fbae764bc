"""Owners that are named twice: kept once, with a warning (endpoints/handlers/rest.go's dedupOwnerReferences)."""

from apiserver.api.meta import Obj

WARNING = (
    ".metadata.ownerReferences contains duplicate entries{when}; API server dedups owner references in 1.20+, and may "
    "reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {uids}"
)
AFTER_ADMISSION = " after mutating admission happens"


def deduplicate_owners(meta: Obj, *, patched: bool = False) -> tuple[str, ...]:
    """Keep of equal owner references the first.

    Args:
        meta: the metadata, changed in place.
        patched: whether they come out of a patch, of which the warning says more.

    Returns:
        The warning, if there is one.
    """
    given = meta.get("ownerReferences")
    if not given or len(given) == 1:
        return ()
    kept: list[Obj] = []
    doubles: list[str] = []
    for reference in given:
        if reference in kept:
            doubles.append(reference["uid"])
        else:
            kept.append(reference)
    if not doubles:
        return ()
    meta["ownerReferences"] = kept
    return (WARNING.format(when=AFTER_ADMISSION if patched else "", uids=", ".join(doubles)),)
