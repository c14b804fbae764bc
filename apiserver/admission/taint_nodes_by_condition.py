"""TaintNodesByCondition: a new node is not ready until its kubelet says so, and takes no pods before."""

from apiserver.registry.admission import CREATE, Attributes, Handles

NOT_READY = "node.kubernetes.io/not-ready"


class TaintNodesByCondition:
    """The plug-in of that name (plugin/pkg/admission/nodetaint); the node lifecycle controller removes the taint."""

    name = "TaintNodesByCondition"
    handles = (Handles(CREATE, frozenset((("", "Node"),))),)

    async def admit(self, attributes: Attributes) -> None:
        """Add the taint to a new node."""
        assert attributes.obj is not None
        spec = attributes.obj.setdefault("spec", {})
        taints = spec.get("taints") or []
        if not any(taint.get("key") == NOT_READY and taint.get("effect") == "NoSchedule" for taint in taints):
            spec["taints"] = [*taints, {"key": NOT_READY, "effect": "NoSchedule"}]
