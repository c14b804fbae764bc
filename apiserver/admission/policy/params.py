"""The parameters of a policy, as a binding chooses them (CollectParams of ../generic/policy_dispatcher.go)."""

from collections.abc import Mapping, Sequence
from typing import Any

from apiserver.admission.latest import get_synced
from apiserver.api.meta import Obj, group_version
from apiserver.api.resources import Resource
from apiserver.api.selectors import SelectorError, label_selector_of
from apiserver.registry.context import Registry
from apiserver.registry.storage import key_of, prefix_of

NO_PARAMS: Sequence[Obj | None] = (None,)
"""The parameters of a policy without a paramKind, or of a binding without a paramRef: expressions see null."""


class ConfigurationError(Exception):
    """A policy or a binding that cannot be used; the message is upstream's."""


class ParamCollector:
    """Finds parameters in the store.

    Args:
        registry: has the store, the resources and their codecs.
    """

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def resource_of(self, kind: Obj | None) -> Resource | None:
        """Return the resource of a policy's paramKind, None if it has none.

        Raises:
            ConfigurationError: nothing of that kind is served.
        """
        if kind is None:
            return None
        (group, version), name = group_version(kind.get("apiVersion") or ""), kind.get("kind") or ""
        for row in self._registry.table:
            if (row.group, row.version, row.kind) == (group, version, name) and row.storage_prefix:
                return row
        raise ConfigurationError(f"failed to find resource referenced by paramKind: '{group}/{version}, Kind={name}'")

    async def collect(
        self, resource: Resource | None, reference: Mapping[str, Any] | None, namespace: str
    ) -> Sequence[Obj | None]:
        """Return the parameters with which a policy is evaluated, one after the other.

        Args:
            resource: that of the policy's paramKind.
            reference: the paramRef of the binding.
            namespace: the namespace of the request, "" for none.

        Raises:
            ConfigurationError: they cannot be found, or there are none and the binding denies that.
        """
        if resource is None or reference is None:
            return NO_PARAMS
        params = await self._find(resource, reference, self._namespace(resource, reference, namespace))
        if not params and reference.get("parameterNotFoundAction") == "Deny":
            raise ConfigurationError("no params found for policy binding with `Deny` parameterNotFoundAction")
        return params

    def _namespace(self, resource: Resource, reference: Mapping[str, Any], namespace: str) -> str:
        named = reference.get("namespace") or ""
        if not resource.namespaced:
            if named:
                raise ConfigurationError("paramRef.namespace must not be provided for a cluster-scoped `paramKind`")
            return ""
        if not named and not namespace:
            raise ConfigurationError(
                "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"
            )
        return named or namespace

    async def _find(self, resource: Resource, reference: Mapping[str, Any], namespace: str) -> list[Obj]:
        store, decode = self._registry.storage.store, self._registry.decode
        name = reference.get("name")
        if name:
            kv = await get_synced(store, key_of(resource, namespace, name))
            return [] if kv is None else [await decode(resource, kv)]
        try:
            selector = label_selector_of(reference.get("selector") or {})
        except SelectorError as error:
            raise ConfigurationError(str(error)) from error
        stored = store.range(prefix_of(resource, namespace)).items
        return [await decode(resource, kv) for kv in stored if selector.matches(kv.index_attrs.labels)]
