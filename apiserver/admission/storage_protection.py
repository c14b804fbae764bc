"""StorageObjectInUseProtection: finalizers keep claims and volumes that are in use; controllers remove them."""

from apiserver.api.storage_classes import CLAIM_FINALIZER, VOLUME_FINALIZER
from apiserver.registry.admission import CREATE, Attributes, Handles

FINALIZERS = {
    "PersistentVolumeClaim": CLAIM_FINALIZER,
    "PersistentVolume": VOLUME_FINALIZER,
}


class StorageObjectInUseProtection:
    """The plug-in of that name; only for servers with controllers that remove its finalizers."""

    name = "StorageObjectInUseProtection"
    handles = (Handles(CREATE, frozenset(("", kind) for kind in FINALIZERS)),)

    async def admit(self, attributes: Attributes) -> None:
        """Add the finalizer to a new claim or volume."""
        assert attributes.obj is not None
        meta, finalizer = attributes.obj["metadata"], FINALIZERS[attributes.target.resource.kind]
        if finalizer not in (meta.get("finalizers") or ()):
            meta["finalizers"] = [*(meta.get("finalizers") or ()), finalizer]
