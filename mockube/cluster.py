"""`Cluster`: a control plane inside this process, for tests and for programs that want a cluster of their own.

It speaks TLS, as real clusters do: kubectl and client-go send no credentials at all over plain HTTP.
"""

import tempfile
from collections.abc import AsyncIterator, Collection
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Self

from apiserver.config import Config, check
from mockube.control_plane import RunningControlPlane, control_plane
from mockube.manager import ManagerOptions, manager_in_process
from mockube.threads import in_thread


class Cluster:
    """A cluster for as long as a `with` or an `async with` lasts: a free port, objects in memory, nothing left behind.

    With `async with` it runs on the caller's event loop; with `with` on one of its own, in a thread.

    Args:
        kubernetes_version: the release to emulate, such as "1.34"; the newest known if not given.
        nodes: how many nodes to simulate; without nodes no controller runs either, and the cluster starts faster.
        controllers: the controllers that run if there are nodes, as `mockube up --controllers` takes them.
        kruise: whether to serve OpenKruise's workloads (apps.kruise.io); None means only if there are nodes.
        warn_unsupported: whether to warn clients that write fields which are stored but have no effect here.
        enable_admission_plugins: admission plug-ins that are off by default, and are to run.
        disable_admission_plugins: admission plug-ins that are on by default, and are not to run.

    Raises:
        ConfigError: the release, or a controller, is unknown.
    """

    def __init__(  # noqa: PLR0913 - keyword arguments alone, each with a default
        self,
        *,
        kubernetes_version: str = "",
        nodes: int = 0,
        controllers: str = "*",
        kruise: bool | None = None,
        warn_unsupported: bool = True,
        enable_admission_plugins: Collection[str] = (),
        disable_admission_plugins: Collection[str] = (),
    ) -> None:
        version = kubernetes_version.removeprefix("v")
        self._config = check(
            Config(
                secure_port=0,
                kubernetes_version=version,
                empties_namespaces=not nodes,
                kruise=bool(nodes) if kruise is None else kruise,
                warn_unsupported=warn_unsupported,
                enable_admission_plugins=tuple(enable_admission_plugins),
                disable_admission_plugins=tuple(disable_admission_plugins),
            )
        )
        self._manager_options = _manager_options(nodes, controllers) if nodes else None
        self._async_exit_stack = AsyncExitStack()
        self._exit_stack = ExitStack()
        self._running: RunningControlPlane | None = None

    @property
    def url(self) -> str:
        """The server's URL, such as "https://127.0.0.1:40123"."""
        return self._started.url

    @property
    def kubeconfig(self) -> Path:
        """A kubeconfig of this cluster alone, readable to its owner alone; deleted with the cluster."""
        return self._started.kubeconfig

    @property
    def token(self) -> str:
        """The administrator's bearer token."""
        return self._started.certificates.token

    @property
    def ca_file(self) -> Path:
        """The CA certificate (PEM) with which clients verify the server."""
        return self._started.certificates.authority

    @property
    def kubernetes_version(self) -> str:
        """The release, such as "1.34"."""
        return self._config.version

    @property
    def client_settings(self) -> dict[str, Any]:
        """Arguments for the clients kubernetes and kubernetes-asyncio: `Configuration(**cluster.client_settings)`."""
        return {
            "host": self.url,
            "api_key": dict.fromkeys(("authorization", "BearerToken"), f"Bearer {self.token}"),  # each knows one
            "ssl_ca_cert": str(self.ca_file),
        }

    @property
    def _started(self) -> RunningControlPlane:
        if self._running is None:
            raise RuntimeError("the cluster does not run: use it within `with Cluster() as cluster`")
        return self._running

    async def __aenter__(self) -> Self:
        self._running = await self._async_exit_stack.enter_async_context(
            _temporary(self._config, self._manager_options)
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        self._running = None
        await self._async_exit_stack.aclose()

    def __enter__(self) -> Self:
        self._running = self._exit_stack.enter_context(in_thread(_temporary(self._config, self._manager_options)))
        return self

    def __exit__(self, *_: object) -> None:
        self._running = None
        self._exit_stack.close()


@asynccontextmanager
async def _temporary(config: Config, manager_options: ManagerOptions | None) -> AsyncIterator[RunningControlPlane]:
    """Run a control plane in a temporary directory, and the controllers if `manager_options` are given."""
    with tempfile.TemporaryDirectory(prefix="mockube-") as directory:
        async with control_plane(config, Path(directory)) as running, AsyncExitStack() as stack:
            if manager_options is not None:
                await stack.enter_async_context(manager_in_process(running, manager_options))
            yield running


def _manager_options(nodes: int, controllers: str) -> ManagerOptions:
    return ManagerOptions(nodes=nodes, controllers=controllers)
