"""PersistentVolumeClaimResize: only bound claims grow, and only if their class allows it."""

import orjson

from apiserver.admission.latest import Reader
from apiserver.api.meta import Obj
from apiserver.api.pod_resources import amounts
from apiserver.api.quantity import Quantity
from apiserver.api.storage_classes import CLASS_ANNOTATION
from apiserver.registry.admission import UPDATE, Attributes, Handles, forbidden

NOT_BOUND = "Only bound persistent volume claims can be expanded"
NOT_RESIZABLE = (
    "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize"
)


class PersistentVolumeClaimResize:
    """The plug-in of that name (plugin/pkg/admission/storage/persistentvolume/resize)."""

    name = "PersistentVolumeClaimResize"
    handles = (Handles(UPDATE, frozenset((("", "PersistentVolumeClaim"),))),)

    def __init__(self, store: Reader) -> None:
        self._store = store

    async def validate(self, attributes: Attributes) -> None:
        """Refuse a claim that grows although it must not.

        Raises:
            ApiError: 403.
        """
        claim, old = attributes.obj, attributes.old
        assert claim is not None
        assert old is not None
        if _size(claim).nanos <= _size(old).nanos:
            return
        if (old.get("status") or {}).get("phase") != "Bound":
            raise forbidden(attributes, NOT_BOUND)
        if not self._allows_resize(_class(claim), _class(old)):
            raise forbidden(attributes, NOT_RESIZABLE)

    def _allows_resize(self, name: str, former: str) -> bool:
        kv = self._store.get(f"/registry/storageclasses/{name}") if name and name == former else None
        return kv is not None and bool(orjson.loads(kv.value).get("allowVolumeExpansion"))


def _size(claim: Obj) -> Quantity:
    requests = amounts(((claim.get("spec") or {}).get("resources") or {}).get("requests"))
    return requests.get("storage", Quantity(0))


def _class(claim: Obj) -> str:
    annotations = claim["metadata"].get("annotations") or {}
    return str(annotations.get(CLASS_ANNOTATION, (claim.get("spec") or {}).get("storageClassName") or ""))
