"""`Cluster`: a control plane inside this process, for tests and for programs that want one of their own.

It speaks TLS, as real clusters do: kubectl and client-go send no credentials at all over plain HTTP.
"""

import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from apiserver.config import Config, check
from mockube.control_plane import Running, control_plane
from mockube.threads import in_thread

if TYPE_CHECKING:
    from mockube.manager import ManagerOptions


class Cluster:
    """A cluster for as long as a `with` or an `async with` lasts: a free port, objects in memory, nothing left behind.

    With `async with` it runs on the caller's event loop; with `with` on one of its own, in a thread.

    Args:
        kubernetes_version: the release to be, such as "1.34"; the newest known if not given.
        nodes: how many nodes to simulate; without any no controller runs either, and it is up in no time.
        controllers: which run where there are nodes, as `mockube up --controllers` takes them.
        kruise: whether there are OpenKruise's workloads (apps.kruise.io); where nothing is said, if there are nodes.
        warn_unsupported: whether clients are warned that write what is stored and not carried out.

    Raises:
        ConfigError: the release, or a controller, is not known.
    """

    def __init__(
        self,
        *,
        kubernetes_version: str = "",
        nodes: int = 0,
        controllers: str = "*",
        kruise: bool | None = None,
        warn_unsupported: bool = True,
    ) -> None:
        version = kubernetes_version.removeprefix("v")
        self._config = check(
            Config(
                secure_port=0,
                kubernetes_version=version,
                empties_namespaces=not nodes,
                kruise=bool(nodes) if kruise is None else kruise,
                warn_unsupported=warn_unsupported,
            )
        )
        self._wanted = _wanted(nodes, controllers) if nodes else None
        self._here = AsyncExitStack()
        self._elsewhere = ExitStack()
        self._running: Running | None = None

    @property
    def url(self) -> str:
        """Where the server is: "https://127.0.0.1:40123"."""
        return self._found.url

    @property
    def kubeconfig(self) -> Path:
        """A kubeconfig of this cluster alone, readable to its owner alone; gone with the cluster."""
        return self._found.kubeconfig

    @property
    def token(self) -> str:
        """The administrator's bearer token."""
        return self._found.certificates.token

    @property
    def ca_file(self) -> Path:
        """The certificate, as PEM, by which clients know the server."""
        return self._found.certificates.authority

    @property
    def kubernetes_version(self) -> str:
        """The release: "1.34"."""
        return self._config.version

    @property
    def client_settings(self) -> dict[str, Any]:
        """What `Configuration` of the clients kubernetes and kubernetes-asyncio takes: `Configuration(**settings)`."""
        return {
            "host": self.url,
            "api_key": dict.fromkeys(("authorization", "BearerToken"), f"Bearer {self.token}"),  # each knows one
            "ssl_ca_cert": str(self.ca_file),
        }

    @property
    def _found(self) -> Running:
        if self._running is None:
            raise RuntimeError("the cluster does not run: use it within `with Cluster() as cluster`")
        return self._running

    async def __aenter__(self) -> Self:
        self._running = await self._here.enter_async_context(_temporary(self._config, self._wanted))
        return self

    async def __aexit__(self, *_: object) -> None:
        self._running = None
        await self._here.aclose()

    def __enter__(self) -> Self:
        self._running = self._elsewhere.enter_context(in_thread(_temporary(self._config, self._wanted)))
        return self

    def __exit__(self, *_: object) -> None:
        self._running = None
        self._elsewhere.close()


@asynccontextmanager
async def _temporary(config: Config, wanted: "ManagerOptions | None") -> AsyncIterator[Running]:
    """A control plane in a directory that goes with it, and the controllers that are wanted."""
    with tempfile.TemporaryDirectory(prefix="mockube-") as directory:
        async with control_plane(config, Path(directory)) as running, AsyncExitStack() as stack:
            if wanted is not None:
                from mockube.manager import manager_here

                await stack.enter_async_context(manager_here(running, wanted))
            yield running


def _wanted(nodes: int, controllers: str) -> "ManagerOptions":
    from mockube.manager import ManagerOptions

    return ManagerOptions(nodes=nodes, controllers=controllers)
