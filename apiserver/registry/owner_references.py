"""Removes duplicate owner references, with a warning (endpoints/handlers/rest.go's dedupOwnerReferences)."""

from apiserver.api.meta import Obj

WARNING = (
    ".metadata.ownerReferences contains duplicate entries{when}; API server dedups owner references in 1.20+, and may "
    "reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {uids}"
)
AFTER_ADMISSION = " after mutating admission happens"


def deduplicate_owners(meta: Obj, *, patched: bool = False) -> tuple[str, ...]:
    """Keep only the first of equal owner references.

    Args:
        meta: the metadata, changed in place.
        patched: whether they are the outcome of a patch, which the warning mentions.

    Returns:
        The warning, if there is one.
    """
    references = meta.get("ownerReferences")
    if not references or len(references) == 1:
        return ()
    kept: list[Obj] = []
    duplicate_uids: list[str] = []
    for reference in references:
        if reference in kept:
            duplicate_uids.append(reference["uid"])
        else:
            kept.append(reference)
    if not duplicate_uids:
        return ()
    meta["ownerReferences"] = kept
    return (WARNING.format(when=AFTER_ADMISSION if patched else "", uids=", ".join(duplicate_uids)),)
