"""The objects that webhooks see: in the version of their rule, and of a subresource's own kind.

Source: k8s.io/apiserver/pkg/admission/conversion.go.
"""

from dataclasses import replace

import orjson

from apiserver.api import errors
from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj
from apiserver.api.resources import Resource
from apiserver.registry.admission import Attributes
from apiserver.registry.codec import IndexAttrs
from apiserver.registry.context import Registry
from apiserver.registry.decoding import Body
from apiserver.registry.subresources.scale import scale_functions
from apiserver.registry.subresources.scaling import SCALE
from etcd.store import KeyValue


class ReviewObjects:
    """Converts the objects of requests for webhooks, and back.

    Args:
        registry: has the codecs and the decoder.
    """

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def attributes_for(self, attributes: Attributes) -> Attributes:
        """Return a request as webhooks see it: one to scale an object has Scales, not the object.

        The stored object itself is what the verbs of this server pass to admission.
        """
        if attributes.target.subresource != "scale" or attributes.obj is None:
            return attributes
        scaling = scale_functions(self._registry, attributes.target.resource)
        old = None if attributes.old is None else scaling.scale_before_write(attributes.old)
        return replace(attributes, obj=scaling.scale_before_write(attributes.obj), old=old)

    async def converted(self, obj: Obj | None, source: Resource, target: Resource) -> Obj | None:
        """Return an object in another version of its kind; the argument stays as it is.

        Raises:
            ApiError: 500, it cannot be converted.
        """
        if obj is None or source is target or obj.get("apiVersion") != source.api_version:
            return obj  # of a subresource's own kind, which is the same in all versions
        copy: Obj = orjson.loads(orjson.dumps(obj))
        version = copy["metadata"].get("resourceVersion")
        codecs = self._registry.codecs
        try:
            value = await codecs.codec_of(source).encode_prepared(copy)
            converted = await self._registry.decode(target, KeyValue("", value, 0, 0, IndexAttrs({}, {})))
        except ApiError as error:
            raise errors.internal(error.message) from error
        if version:
            converted["metadata"]["resourceVersion"] = version
        return converted

    async def replace(self, attributes: Attributes, patched: Obj, resource: Resource) -> bool:
        """Put the object that a webhook has patched into the request, and return whether it has changed.

        Args:
            attributes: the request; its object is changed in place.
            patched: the object as the webhook saw it, patched.
            resource: the resource in whose version that is.

        Raises:
            ApiError: 500, it is no such object any more.
        """
        obj, target = attributes.obj, attributes.target
        assert obj is not None
        if target.subresource == "scale":
            scaling = scale_functions(self._registry, target.resource)
            return _replace(obj, scaling.apply_scale(obj, self._decoded(SCALE, patched)))
        if patched.get("apiVersion") != resource.api_version or patched.get("kind") != resource.kind:
            return _replace(obj, patched)  # an Eviction and the like
        new = await self.converted(self._decoded(resource, patched), resource, target.resource)
        assert new is not None
        return _replace(obj, new)

    def _decoded(self, resource: Resource, patched: Obj) -> Obj:
        """Return a patched object with its types checked, unknown fields pruned and defaults set.

        Raises:
            ApiError: 500, it is no object of the kind.
        """
        try:
            return self._registry.decoder.decode(resource, Body(patched), validation="Ignore").obj
        except ApiError as error:
            raise errors.internal(error.message.rpartition(f"as a {resource.kind}: ")[2]) from error


def _replace(obj: Obj, new: Obj) -> bool:
    """Make one object equal to another, and return whether it was different; who holds its metadata keeps it."""
    if obj == new:
        return False
    meta, new_meta = obj.get("metadata"), new.get("metadata")
    if meta is not None and new_meta is not None:
        if not new_meta.get("managedFields") and meta.get("managedFields"):
            # a webhook may not clear them (NewManagedFieldsValidatingAdmissionController)
            new_meta = new_meta | {"managedFields": meta["managedFields"]}
        if meta is not new_meta:
            meta.clear()
            meta.update(new_meta)
        new = new | {"metadata": meta}
    obj.clear()
    obj.update(new)
    return True
