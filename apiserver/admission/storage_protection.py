"""StorageObjectInUseProtection: claims and volumes do not go while they are in use; controllers see to when they do."""

from apiserver.api.storage_classes import CLAIM_FINALIZER, VOLUME_FINALIZER
from apiserver.registry.admission import Attributes

FINALIZERS = {
    "PersistentVolumeClaim": CLAIM_FINALIZER,
    "PersistentVolume": VOLUME_FINALIZER,
}


class StorageObjectInUseProtection:
    """The plug-in of that name; it is of use only where controllers take its finalizers away again."""

    name = "StorageObjectInUseProtection"
    kinds: frozenset[tuple[str, str]] | None = frozenset(("", kind) for kind in FINALIZERS)

    async def admit(self, attributes: Attributes) -> None:
        """Put the finalizer on a new claim or volume."""
        obj = attributes.obj
        if attributes.operation != "CREATE" or obj is None or attributes.target.subresource:
            return
        meta, finalizer = obj["metadata"], FINALIZERS[attributes.target.resource.kind]
        if finalizer not in (meta.get("finalizers") or ()):
            meta["finalizers"] = [*(meta.get("finalizers") or ()), finalizer]
