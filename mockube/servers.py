"""Further API servers on the same port and over the same etcd cluster as the first, each in a process of its own."""

import os
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from urllib.parse import urlsplit

from apiserver.config import Config, ConfigError, EtcdAccess
from mockube.control_plane import AUTHORIZATION_MODES, RunningControlPlane
from mockube.supervisor import Callbacks, module_command, supervise


def check_shared(config: Config, servers: int) -> None:
    """Refuse several servers over a store that only one can use.

    Raises:
        ConfigError: the store cannot be shared, or the port is taken.
    """
    if servers == 1:
        return
    if not config.store.startswith(("http://", "https://")):
        raise ConfigError(
            f"--apiservers {servers}: several servers need a store that they can share; give --store "
            "http://HOST:PORT of an etcd cluster, or leave it at one server"
        )
    _check_port(config)


def _check_port(config: Config) -> None:
    """Refuse a port in use: servers that share a port would not notice another program that uses it too."""
    family = socket.AF_INET6 if ":" in config.bind_address else socket.AF_INET
    try:
        socket.create_server((config.bind_address, config.secure_port), family=family).close()
    except OSError as error:
        address = f"{config.bind_address}:{config.secure_port}"
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise ConfigError(
            f"cannot listen on {address}: {reason}; choose another port, or 0 for any free one"
        ) from error


@asynccontextmanager
async def more_servers(
    running: RunningControlPlane, config: Config, number: int, callbacks: Callbacks, verbosity: int
) -> AsyncIterator[None]:
    """Run so many further servers for as long as the context lasts; each is restarted when it dies.

    Args:
        running: the first server.
        config: its settings.
        number: the number of further servers.
        callbacks: called for what becomes of them.
        verbosity: how much they log.
    """
    command = module_command("apiserver", *arguments(running, config), f"-v={verbosity}", "--until-stdin-ends")
    async with AsyncExitStack() as stack:
        for _ in range(number):
            await stack.enter_async_context(supervise(command, callbacks))
        yield


def arguments(running: RunningControlPlane, config: Config) -> list[str]:
    """Return the flags of a server that is like the first one."""
    certificates, low_high = running.certificates, "{}-{}".format(*config.service_node_port_range)
    return [
        f"--etcd-servers={config.store}",
        *_etcd(config.etcd),
        f"--bind-address={config.bind_address}",
        f"--secure-port={urlsplit(running.url).port}",
        "--permit-port-sharing",
        f"--tls-cert-file={certificates.server}",
        f"--tls-private-key-file={certificates.server_key}",
        f"--client-ca-file={certificates.authority}",
        f"--token-auth-file={certificates.tokens}",
        f"--authorization-mode={','.join(AUTHORIZATION_MODES)}",
        "--enable-bootstrap-token-auth",
        f"--service-account-signing-key-file={certificates.service_account_key}",
        f"--enable-admission-plugins={','.join(config.enable_admission_plugins)}",
        f"--disable-admission-plugins={','.join(config.disable_admission_plugins)}",
        f"--service-cluster-ip-range={config.service_cluster_ip_range}",
        f"--service-node-port-range={low_high}",
        f"--kubelet-client-certificate={certificates.kubelet_client}",
        f"--kubelet-client-key={certificates.kubelet_client_key}",
        f"--kubelet-certificate-authority={certificates.authority}",
        f"--kubernetes-version={config.version}",
        *(["--install-kruise"] if config.kruise else []),
        *([] if config.empties_namespaces else ["--leave-to-controllers"]),
        *([] if config.warn_unsupported else ["--warn-unsupported=false"]),
    ]


def _etcd(etcd: EtcdAccess) -> list[str]:
    flags = {
        "cafile": etcd.authority,
        "certfile": etcd.certificate,
        "keyfile": etcd.key,
        "user": etcd.user,
        "password-file": etcd.password_file,
    }
    return [
        f"--etcd-prefix={etcd.prefix}",
        f"--etcd-compaction-interval={etcd.compaction:g}s",
        *(f"--etcd-{name}={value}" for name, value in flags.items() if value),
    ]
