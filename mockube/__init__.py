"""The user's side: the command line, certificates and kubeconfig, `Cluster` for embedding, the pytest plugin.

Nothing of Kubernetes is decided here, but in the API server; no other package of this project imports this one.
Imports are late on purpose: a command's start does not pay for modules that it does not need.
"""

from typing import Any

__all__ = ["Cluster"]


def __getattr__(name: str) -> Any:
    if name == "Cluster":
        from mockube.cluster import Cluster  # the command line starts without it

        return Cluster
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
