"""The controller manager of a control plane: in a process of its own, or in this one."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from mockube.control_plane import RunningControlPlane
from mockube.kubeconfig import ClusterAccess, write_kubeconfig
from mockube.supervisor import Callbacks, module_command, supervise

METRICS_PORT = 10252
"""The port of kube-controller-manager, where Prometheus expects its metrics."""


@dataclass(frozen=True, slots=True)
class ManagerOptions:
    """The options of the controller manager.

    Attributes:
        nodes: how many nodes to simulate.
        controllers: the value of --controllers.
        metrics_port: 0 for any free one; None for the usual one if it is free.
        several: whether other managers run too, so that one of them has to be elected leader.
        more: further flags of the manager, passed on unchanged.
        verbosity: how much it logs.
    """

    nodes: int = 3
    controllers: str = "*"
    metrics_port: int | None = None
    elect_leader: bool = False
    extra_flags: tuple[str, ...] = ()
    verbosity: int = 0


@asynccontextmanager
async def manager_process(
    running: RunningControlPlane, options: ManagerOptions, callbacks: Callbacks
) -> AsyncIterator[None]:
    """Run a manager in a process of its own, restarted when it dies, for as long as the context lasts."""
    async with supervise(
        module_command("controller_manager", *arguments(running, options), "--until-stdin-ends"), callbacks
    ):
        yield


@asynccontextmanager
async def manager_in_process(running: RunningControlPlane, options: ManagerOptions) -> AsyncIterator[None]:
    """Run a manager on this event loop; it is ready when the context begins."""
    # only here: a manager in a process of its own needs none of this in ours
    from controller_manager.flags import from_arguments
    from controller_manager.manager import run_manager
    from controller_manager.runtime.kubeconfig import load_kubeconfig

    config, _ = from_arguments([*arguments(running, options), "--metrics-bind-address=0"])
    assert config.kubeconfig is not None, "the arguments name one"
    async with run_manager(config, load_kubeconfig(config.kubeconfig)) as manager:
        await manager.wait_until_ready()
        yield


def arguments(running: RunningControlPlane, options: ManagerOptions) -> list[str]:
    """Return the manager's flags."""
    return [
        f"--kubeconfig={_own_kubeconfig(running)}",
        "--use-service-account-credentials",
        f"--root-ca-file={running.certificates.authority}",
        f"--cluster-signing-cert-file={running.certificates.authority}",
        f"--cluster-signing-key-file={running.certificates.authority_key}",
        f"--service-account-private-key-file={running.certificates.service_account_key}",
        f"--controllers={options.controllers}",
        f"--nodes={options.nodes}",
        f"--node-version=v{running.version}.0",
        # a single manager elects nobody: after its death the next one need not wait for the lease to expire
        f"--leader-elect={'true' if options.elect_leader else 'false'}",
        f"--metrics-bind-address=127.0.0.1:{METRICS_PORT if options.metrics_port is None else options.metrics_port}",
        *(["--metrics-any-port"] if options.metrics_port is None else []),
        f"-v={options.verbosity}",
        f"--kubelet-tls-cert-file={running.certificates.kubelet}",
        f"--kubelet-tls-private-key-file={running.certificates.kubelet_key}",
        f"--kubelet-client-ca-file={running.certificates.authority}",
        *options.extra_flags,
    ]


def _own_kubeconfig(running: RunningControlPlane) -> Path:
    """Write a kubeconfig that has only this server, whatever else the user's own has, and return its path."""
    path = running.directory / "controller-manager.kubeconfig"
    certificates = running.certificates
    write_kubeconfig(path, ClusterAccess(running.url, certificates.authority.read_bytes(), certificates.manager_token))
    return path
