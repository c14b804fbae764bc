"""PodNodeSelector: pods get the node selector that an annotation of their namespace has."""

import orjson

from apiserver.admission.latest import ParsedObjects
from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj
from apiserver.registry.admission import CREATE, Attributes, Handles, forbidden
from etcd.store import KeyValue, Store

ANNOTATION = "scheduler.alpha.kubernetes.io/node-selector"
CONFLICT = "pod node label selector conflicts with its namespace node label selector"


class PodNodeSelector:
    """The plug-in of that name (plugin/pkg/admission/podnodeselector), without a configuration file."""

    name = "PodNodeSelector"
    handles = (Handles(CREATE, frozenset((("", "Pod"),))),)

    def __init__(self, store: Store) -> None:
        self._store = store
        self._selectors = ParsedObjects(_selector)

    async def admit(self, attributes: Attributes) -> None:
        """Add the selector of the namespace to a pod's.

        Raises:
            ApiError: 403, the two contradict each other; 500, the annotation is no selector.
        """
        selector = self._selector(attributes)
        assert attributes.obj is not None
        spec: Obj = attributes.obj["spec"]
        own = spec.get("nodeSelector") or {}
        if any(own.get(key, value) != value for key, value in selector.items()):
            raise forbidden(attributes, CONFLICT)
        if selector:
            spec["nodeSelector"] = {**selector, **own}

    async def validate(self, attributes: Attributes) -> None:
        """Refuse a pod that another plug-in has given a selector that contradicts its namespace's."""
        assert attributes.obj is not None
        own = attributes.obj["spec"].get("nodeSelector") or {}
        if any(own.get(key, value) != value for key, value in self._selector(attributes).items()):
            raise forbidden(attributes, CONFLICT)

    def _selector(self, attributes: Attributes) -> dict[str, str]:
        kv = self._store.get(f"/registry/namespaces/{attributes.target.namespace}")
        selector = self._selectors.get(kv) if kv is not None else {}
        if isinstance(selector, str):
            raise ApiError(500, "InternalError", f"Internal error occurred: {selector}")
        return selector


def _selector(namespace: KeyValue) -> dict[str, str] | str:
    """Return the selector in a namespace's annotation, or what is wrong with it (ConvertSelectorToLabelsMap)."""
    annotations = orjson.loads(namespace.value)["metadata"].get("annotations") or {}
    selector: dict[str, str] = {}
    for term in (annotations.get(ANNOTATION) or "").split(","):
        key, separator, value = term.partition("=")
        if separator and "=" not in value:
            selector[key.strip()] = value.strip()
        elif term.strip():
            return f"invalid selector: [{term}]"
    return selector
