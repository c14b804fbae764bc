"""A control plane in a directory: its certificates, its server, and the kubeconfig with which clients reach it."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from apiserver.app import serving
from apiserver.config import Config
from mockube.certificates import Certificates, ensure_certificates, server_names
from mockube.files import locked, make_private_directory
from mockube.kubeconfig import ClusterAccess, write_kubeconfig

AUTHORIZATION_MODES = ("Node", "RBAC")
"""The authorizers of every control plane; the administrator is in system:masters, and may do everything."""
_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - addresses that a user may give
"""The wildcard addresses, and the loopback address by which this machine reaches each."""


@dataclass(frozen=True, slots=True)
class RunningControlPlane:
    """A control plane that is running.

    Attributes:
        url: the server's URL.
        version: the Kubernetes release that it emulates, such as "1.37".
        directory: the directory of all its files.
        kubeconfig: the file with which clients reach it.
    """

    url: str
    version: str
    directory: Path
    kubeconfig: Path
    certificates: Certificates


@asynccontextmanager
async def control_plane(
    config: Config, directory: Path, *, kubeconfig: Path | None = None
) -> AsyncIterator[RunningControlPlane]:
    """Run a control plane for as long as the context lasts.

    Args:
        config: the server's settings, checked; those of TLS, tokens and authorization are filled in here.
        directory: for its certificates and, by default, its kubeconfig; created if it does not exist.
        kubeconfig: the file to add the cluster to.

    Raises:
        ConfigError: a setting cannot be used, the store cannot be opened, or the address is not available.
        InUseError: another process has the directory.
        KubeconfigError: the file to add to is not a kubeconfig.
        OSError: a file cannot be read or written.
    """
    make_private_directory(directory)
    with locked(directory):
        names = server_names(config.bind_address, config.service_cluster_ip_range)
        certificates = ensure_certificates(directory / "pki", names, now=time.time())
        async with serving(_secured(config, certificates)) as server:
            host = _EVERYWHERE.get(server.host, server.host)
            url = replace(server, host=host).url
            path = (kubeconfig or directory / "kubeconfig").expanduser().absolute()
            write_kubeconfig(path, ClusterAccess(url, certificates.authority.read_bytes(), certificates.token))
            yield RunningControlPlane(url, config.version, directory, path, certificates)


def _secured(config: Config, certificates: Certificates) -> Config:
    return replace(
        config,
        authorization_modes=AUTHORIZATION_MODES,
        tls_cert_file=certificates.server,
        tls_private_key_file=certificates.server_key,
        client_ca_file=certificates.authority,
        token_auth_file=certificates.tokens,
        service_account_key_file=certificates.service_account_key,
        enable_bootstrap_token_auth=True,
        kubelets=replace(
            config.kubelets,
            certificate=certificates.kubelet_client,
            key=certificates.kubelet_client_key,
            authority=certificates.authority,
        ),
    )
