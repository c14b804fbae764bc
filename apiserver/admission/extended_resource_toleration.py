"""ExtendedResourceToleration: pods that request a device tolerate the taint of the nodes that are kept for it."""

from apiserver.api.validation.resource_lists import is_extended
from apiserver.registry.admission import WRITES, Attributes, Handles


class ExtendedResourceToleration:
    """The plug-in of that name (plugin/pkg/admission/extendedresourcetoleration)."""

    name = "ExtendedResourceToleration"
    handles = (Handles(WRITES, frozenset((("", "Pod"),))),)

    async def admit(self, attributes: Attributes) -> None:
        """Add a toleration for each extended resource that a container requests."""
        assert attributes.obj is not None
        spec = attributes.obj["spec"]
        containers = (*(spec.get("containers") or ()), *(spec.get("initContainers") or ()))
        requested = {name for each in containers for name in (each.get("resources") or {}).get("requests") or ()}
        own = spec.get("tolerations") or []
        tolerations = [
            {"key": name, "operator": "Exists", "effect": "NoSchedule"}
            for name in sorted(filter(is_extended, requested))
        ]
        missing = [each for each in tolerations if each not in own]
        if missing:
            spec["tolerations"] = [*own, *missing]
