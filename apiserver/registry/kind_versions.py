"""The versions of a built-in or custom kind, and the conversion of objects between them (versionconverter.go)."""

import orjson

from apiserver.api.managedfields.typed_validation import TypedValueError, check_types
from apiserver.api.managedfields.value_types import Struct
from apiserver.api.meta import Obj, group_version
from apiserver.api.resources import Resource
from apiserver.registry.codec import Codec, IndexAttrs
from apiserver.registry.context import Registry
from etcd.store import KeyValue


class KindVersions:
    """The versions of one kind.

    Args:
        registry: the server's collaborators.
        resource: the kind's row, in any of its versions.
    """

    def __init__(self, registry: Registry, resource: Resource) -> None:
        self._registry = registry
        self._resource = resource

    def kind(self, api_version: str) -> Struct | None:
        """Return the kind in a version, None if there is no such version of a built-in kind (any longer).

        Raises:
            TypedValueError: there is no such version of a custom kind.
        """
        resource, (group, version) = self._resource, group_version(api_version)
        custom = self._registry.customs.find(resource)
        if custom is not None:
            fields = custom.versions.fields(version) if group == resource.group else None
            if fields is None:
                raise TypedValueError(f"request to convert CR to an invalid group/version: {api_version}")
            return fields
        if group != resource.group:
            return None
        row = self._registry.table.find(group, version, resource.plural)
        return None if row is None else self._registry.fields_of(row)

    def convert(self, obj: Obj, api_version: str) -> Obj:
        """Return an object in another version, which there is; the argument does not change.

        Raises:
            TypedValueError: the outcome does not fit the version's schema.
            ApiError: 500, only a webhook could convert it.
        """
        copied: Obj = orjson.loads(orjson.dumps(obj))
        custom = self._registry.customs.find(self._resource)
        if custom is None:
            return self._convert_builtin(copied, api_version)
        source, target = group_version(obj["apiVersion"])[1], group_version(api_version)[1]
        converted = custom.convert(copied, source, target) | {"apiVersion": api_version}
        kind = self.kind(api_version)
        assert kind is not None, "it is converted to a version that there is"
        check_types(kind, converted, allow_duplicates=True)
        return converted

    def _convert_builtin(self, obj: Obj, api_version: str) -> Obj:
        """Return an object of a built-in kind by way of the stored version."""
        version = obj["metadata"].get("resourceVersion")
        stored = KeyValue("", self._codec(obj["apiVersion"]).encode(obj), 0, 0, IndexAttrs({}, {}))
        converted = self._codec(api_version).decode(stored)
        if version:
            converted["metadata"]["resourceVersion"] = version
        return converted

    def _codec(self, api_version: str) -> Codec:
        row = self._registry.table.find(*group_version(api_version), self._resource.plural)
        assert row is not None, "the version exists"
        return self._registry.codecs.codec_of(row)
