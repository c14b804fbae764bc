"""The controller manager beside a control plane: a process of its own, or a part of this one."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from mockube.control_plane import Running
from mockube.kubeconfig import Access, write_kubeconfig
from mockube.supervisor import Callbacks, python, supervised

METRICS_PORT = 10252
"""Where Prometheus finds the manager, as it found kube-controller-manager."""


@dataclass(frozen=True, slots=True)
class ManagerOptions:
    """What a person wants of the manager.

    Attributes:
        nodes: how many nodes to simulate.
        controllers: as --controllers says.
        metrics_port: 0 for any free one; None for the usual one if it is free.
        several: whether there are others, of which one leads.
        more: flags of the manager's that are passed on as they are.
        verbosity: how much it logs.
    """

    nodes: int = 3
    controllers: str = "*"
    metrics_port: int | None = None
    several: bool = False
    more: tuple[str, ...] = ()
    verbosity: int = 0


@asynccontextmanager
async def manager_process(running: Running, wanted: ManagerOptions, told: Callbacks) -> AsyncIterator[None]:
    """A manager in a process of its own, started again when it dies, for as long as the context lasts."""
    async with supervised(python("controller_manager", *arguments(running, wanted), "--until-stdin-ends"), told):
        yield


@asynccontextmanager
async def manager_here(running: Running, wanted: ManagerOptions) -> AsyncIterator[None]:
    """A manager on this event loop, at work when the context begins."""
    from controller_manager.flags import from_arguments
    from controller_manager.manager import managing
    from controller_manager.runtime.kubeconfig import load

    config, _ = from_arguments([*arguments(running, wanted), "--metrics-bind-address=0"])
    assert config.kubeconfig is not None, "the arguments name one"
    async with managing(config, load(config.kubeconfig)) as manager:
        await manager.until_ready()
        yield


def arguments(running: Running, wanted: ManagerOptions) -> list[str]:
    """The manager's flags."""
    return [
        f"--kubeconfig={_own_kubeconfig(running)}",
        f"--root-ca-file={running.certificates.authority}",
        f"--controllers={wanted.controllers}",
        f"--nodes={wanted.nodes}",
        f"--node-version=v{running.version}.0",
        # where there is one, the next need not wait for a lease to end after its death
        f"--leader-elect={'true' if wanted.several else 'false'}",
        f"--metrics-bind-address=127.0.0.1:{METRICS_PORT if wanted.metrics_port is None else wanted.metrics_port}",
        *(["--metrics-any-port"] if wanted.metrics_port is None else []),
        f"-v={wanted.verbosity}",
        f"--kubelet-tls-cert-file={running.certificates.kubelet}",
        f"--kubelet-tls-private-key-file={running.certificates.kubelet_key}",
        f"--kubelet-client-ca-file={running.certificates.authority}",
        *wanted.more,
    ]


def _own_kubeconfig(running: Running) -> Path:
    """A file that leads to this server alone, whatever else a person's own holds."""
    path = running.directory / "controller-manager.kubeconfig"
    certificates = running.certificates
    write_kubeconfig(path, Access(running.url, certificates.authority.read_bytes(), certificates.token))
    return path
