"""DefaultTolerationSeconds: lets pods stay on a node that is not ready or unreachable for five minutes."""

from apiserver.api.meta import Obj
from apiserver.registry.admission import WRITES, Attributes, Handles

NOT_READY, UNREACHABLE = "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"
SECONDS = 300
"""The default of --default-not-ready-toleration-seconds and --default-unreachable-toleration-seconds."""


class DefaultTolerationSeconds:
    """The plug-in of that name (plugin/pkg/admission/defaulttolerationseconds)."""

    name = "DefaultTolerationSeconds"
    handles = (Handles(WRITES, frozenset((("", "Pod"),))),)

    def __init__(self, not_ready_seconds: int = SECONDS, unreachable_seconds: int = SECONDS) -> None:
        self._defaults = [_toleration(NOT_READY, not_ready_seconds), _toleration(UNREACHABLE, unreachable_seconds)]

    async def admit(self, attributes: Attributes) -> None:
        """Add the tolerations that a pod lacks; they are shared by all pods, and never changed in place."""
        assert attributes.obj is not None
        spec: Obj = attributes.obj["spec"]
        tolerations = spec.get("tolerations")
        if not tolerations:
            missing = self._defaults
        else:
            missing = [each for each in self._defaults if not _has(tolerations, each["key"])]
        if missing:
            spec["tolerations"] = [*(tolerations or ()), *missing]


def _toleration(key: str, seconds: int) -> Obj:
    return {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds}


def _has(tolerations: list[Obj], key: str) -> bool:
    """Return whether one of the tolerations is for the NoExecute taint of this key."""
    return any(
        each.get("key") in (key, "", None) and each.get("effect") in ("NoExecute", "", None) for each in tolerations
    )
