"""What a person touches: the command line, certificates and kubeconfig, `Cluster` for embedding, the pytest plugin.

Nothing of Kubernetes is decided here: that is the server's. Nobody in this project imports this package.
Imports are late on purpose: what a command does not need costs its start nothing.
"""

from typing import Any

__all__ = ["Cluster"]


def __getattr__(name: str) -> Any:
    if name == "Cluster":
        from mockube.cluster import Cluster

        return Cluster
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
