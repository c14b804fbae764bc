"""DefaultIngressClass: sets the default class, if there is one, on Ingresses that name none."""

from collections.abc import Iterable

import orjson

from apiserver.admission.latest import ComputedValue, RangeWatcher
from apiserver.registry.admission import CREATE, Attributes, Handles
from etcd.store import KeyValue

CLASSES = "/registry/ingressclasses/"
MARK = "ingressclass.kubernetes.io/is-default-class"
OLD_ANNOTATION = "kubernetes.io/ingress.class"
"""The annotation for the class from before there was a field."""


class DefaultIngressClass:
    """The plug-in of that name (plugin/pkg/admission/network/defaultingressclass)."""

    name = "DefaultIngressClass"
    handles = (Handles(CREATE, frozenset((("networking.k8s.io", "Ingress"),))),)

    def __init__(self, store: RangeWatcher) -> None:
        self._default = ComputedValue(store, CLASSES, _default)

    async def admit(self, attributes: Attributes) -> None:
        """Set the default class on a new Ingress."""
        assert attributes.obj is not None
        annotations = attributes.obj["metadata"].get("annotations") or {}
        spec = attributes.obj.setdefault("spec", {})
        is_named = spec.get("ingressClassName") is not None or OLD_ANNOTATION in annotations
        if not is_named and (name := self._default.get()):
            spec["ingressClassName"] = name


def _default(classes: Iterable[KeyValue]) -> str:
    """Return the name of the newest default class, the first by name if equally old, "" if there is none."""
    mark = MARK.encode()
    metas = [orjson.loads(kv.value)["metadata"] for kv in classes if mark in kv.value]
    marked = sorted(
        (meta for meta in metas if (meta.get("annotations") or {}).get(MARK) == "true"), key=lambda meta: meta["name"]
    )
    return str(max(marked, key=lambda meta: meta.get("creationTimestamp") or "", default={"name": ""})["name"])
