"""The server's settings, and kube-apiserver's flag names for them."""

import argparse
import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from apiserver.api.go_durations import duration_text, parse_duration
from apiserver.api.schema import available_versions
from apiserver.auth.authorization import MODES
from apiserver.endpoints.kubelets import KubeletAccess
from apiserver.endpoints.server import Limits

FEWEST_ADDRESSES = 8
"""What a range of Service addresses has at least (kube-apiserver's limit on the size of its mask)."""


class ConfigError(Exception):
    """A setting that cannot be used; the message says which, why, and what to do."""


@dataclass(frozen=True, slots=True)
class Config:
    """The settings of one API server.

    Attributes:
        store: URL of the store: "memory://", "sqlite:///DIRECTORY", "http://HOST:PORT,…" for etcd.
        bind_address: where to listen; loopback unless told otherwise.
        secure_port: the port, 0 for any free one.
        tls_cert_file, tls_private_key_file: of the server; None serves plain HTTP (embedding and tests).
        client_ca_file: who signs client certificates, None for none.
        token_auth_file: the static tokens, None for none.
        service_account_key_file: signs tokens of service accounts; made if absent, None for a key that is not kept.
        service_account_issuer: who those tokens say they are from.
        authorization_mode: a key of MODES.
        service_cluster_ip_range: where Services get their addresses.
        service_node_port_range: first and last port for NodePort Services.
        event_ttl: seconds that Events are kept after their last write.
        empties_namespaces: the server itself deletes what is in a deleted namespace, and nothing holds volumes in use;
            False where controllers see to both.
        kubernetes_version: the release whose kinds are served, such as "1.34"; "" for the newest.
        limits: how many requests may be under way.
        kubelets: how the nodes' kubelets are reached.
        kruise: whether the definitions of OpenKruise's workloads are made where they are missing.
    """

    store: str = "memory://"
    bind_address: str = "127.0.0.1"
    secure_port: int = 6443
    tls_cert_file: Path | None = None
    tls_private_key_file: Path | None = None
    client_ca_file: Path | None = None
    token_auth_file: Path | None = None
    service_account_key_file: Path | None = None
    service_account_issuer: str = "https://kubernetes.default.svc.cluster.local"
    authorization_mode: str = "AlwaysAllow"
    service_cluster_ip_range: str = "10.96.0.0/12"
    service_node_port_range: tuple[int, int] = (30000, 32767)
    kubernetes_version: str = ""
    limits: Limits = field(default_factory=Limits)
    event_ttl: float = 3600.0
    empties_namespaces: bool = True
    kubelets: KubeletAccess = field(default_factory=KubeletAccess)
    kruise: bool = False

    @property
    def version(self) -> str:
        """The release, the newest where none is named."""
        return self.kubernetes_version or available_versions()[-1]


DEFAULT = Config()
"""What holds if nothing is said."""


def check(config: Config) -> Config:
    """The same settings, if they can be used, with the release filled in.

    Raises:
        ConfigError: one cannot.
    """
    known = available_versions()
    if config.version not in known:
        raise ConfigError(f"Kubernetes {config.version} is not known here: choose one of {known[0]} to {known[-1]}")
    try:
        for cidr in config.service_cluster_ip_range.split(","):
            if ipaddress.ip_network(cidr).num_addresses < FEWEST_ADDRESSES:
                raise ConfigError(
                    f"--service-cluster-ip-range: {cidr} has no room for Services: give a network of at least "
                    f"{FEWEST_ADDRESSES} addresses"
                )
    except ValueError as error:
        raise ConfigError(f"--service-cluster-ip-range: {error}") from error
    _check_files(config)
    if config.kubelets.timeout <= 0:
        raise ConfigError("--kubelet-timeout: give more than 0s")
    if min(config.limits.reading, config.limits.mutating) < 0:
        raise ConfigError("--max-requests-inflight and --max-mutating-requests-inflight: give 0 or more")
    if not _is_host(config.bind_address):
        raise ConfigError(f"cannot listen on {config.bind_address!r}: it is neither an IP address nor a host name")
    if not 0 <= config.secure_port <= 65535:
        raise ConfigError(f"--secure-port: {config.secure_port} is no port: give a number from 0 to 65535")
    return replace(config, kubernetes_version=config.version)


def _check_files(config: Config) -> None:
    files = {
        "--tls-cert-file": config.tls_cert_file,
        "--tls-private-key-file": config.tls_private_key_file,
        "--client-ca-file": config.client_ca_file,
        "--kubelet-client-certificate": config.kubelets.certificate,
        "--kubelet-client-key": config.kubelets.key,
        "--kubelet-certificate-authority": config.kubelets.authority,
    }
    for flag, path in {**files, "--token-auth-file": config.token_auth_file}.items():
        if path is not None and not path.is_file():
            raise ConfigError(f"{flag}: {path} is not a file")
    for flag, path in files.items():
        if path is not None and not _is_pem(path):
            raise ConfigError(f"{flag}: {path} cannot be read as PEM: name a file of that form")


def _is_pem(path: Path) -> bool:
    try:
        text = path.read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError):
        return False
    return "-----BEGIN " in text


def _is_host(bind: str) -> bool:
    """Whether an address can be one: what begins like an IP address has to be one, names are for the system to know."""
    if not (bind[:1].isdigit() or ":" in bind):
        return bool(bind)
    try:
        ipaddress.ip_address(bind)
    except ValueError:
        return False
    return True


def parser() -> argparse.ArgumentParser:
    """The command line of `python -m apiserver`, with kube-apiserver's names."""
    flags = argparse.ArgumentParser(
        prog="python -m apiserver",
        description="mockube's API server: Kubernetes' REST and watch protocol over a versioned store.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = flags.add_argument
    add(
        "--etcd-servers",
        default=DEFAULT.store,
        metavar="URL",
        help="memory://, sqlite:///DIRECTORY or http://HOST:PORT,…",
    )
    add("--bind-address", default=DEFAULT.bind_address, help="the address to listen on")
    add("--secure-port", type=int, default=DEFAULT.secure_port, help="the port to listen on, 0 for any free one")
    add("--tls-cert-file", type=Path, help="the server's certificate; without it plain HTTP is served")
    add("--tls-private-key-file", type=Path, help="the key of that certificate")
    add("--client-ca-file", type=Path, help="who signs client certificates")
    add("--token-auth-file", type=Path, help='lines of token,user,uid,"group1,group2"')
    add("--authorization-mode", choices=sorted(MODES), default=DEFAULT.authorization_mode, help="who may do what")
    add(
        "--service-cluster-ip-range",
        default=DEFAULT.service_cluster_ip_range,
        metavar="CIDR",
        help="where Services get addresses",
    )
    add(
        "--service-node-port-range",
        type=_ports,
        default="{}-{}".format(*DEFAULT.service_node_port_range),
        metavar="N-M",
        help="ports of NodePort Services",
    )
    add("--service-account-issuer", default=DEFAULT.service_account_issuer, metavar="URL", help="who signs tokens")
    add("--service-account-signing-key-file", type=Path, help="the key that signs tokens; made anew where absent")
    _limit_flags(flags)
    _kubelet_flags(flags)
    add("--kubernetes-version", default="", metavar="1.N", help="the release to serve; the newest known if not given")
    add("-v", "--v", type=int, default=0, metavar="LEVEL", help="how much to log; from 1 on every request")
    return flags


def _limit_flags(flags: argparse.ArgumentParser) -> None:
    add, limits = flags.add_argument, DEFAULT.limits
    add(
        "--max-requests-inflight",
        type=int,
        default=limits.reading,
        help="reading requests at a time, 0 for any number",
    )
    add(
        "--max-mutating-requests-inflight",
        type=int,
        default=limits.mutating,
        help="writing requests at a time, 0 for any number",
    )
    add(
        "--event-ttl",
        type=_duration,
        default=duration_text(int(DEFAULT.event_ttl)),
        metavar="DURATION",
        help="how long Events are kept",
    )
    add("--install-kruise", action="store_true", help="make the definitions of OpenKruise's workloads (apps.kruise.io)")


def _kubelet_flags(flags: argparse.ArgumentParser) -> None:
    add = flags.add_argument
    add("--kubelet-client-certificate", type=Path, metavar="FILE", help="by which kubelets know this server")
    add("--kubelet-client-key", type=Path, metavar="FILE", help="the key of that certificate")
    add(
        "--kubelet-certificate-authority",
        type=Path,
        metavar="FILE",
        help="who signs kubelets' certificates; any if none",
    )
    add(
        "--kubelet-timeout",
        type=_duration,
        default=duration_text(int(DEFAULT.kubelets.timeout)),
        metavar="DURATION",
        help="how long reaching a kubelet may take",
    )


def from_arguments(arguments: Sequence[str] | None = None) -> tuple[Config, int]:
    """The settings that a command line gives, and how much to log.

    Raises:
        ConfigError: a setting cannot be used.
        SystemExit: the command line cannot be read, or asks for help.
    """
    given = parser().parse_args(arguments)
    config = Config(
        store=given.etcd_servers,
        bind_address=given.bind_address,
        secure_port=given.secure_port,
        tls_cert_file=given.tls_cert_file,
        tls_private_key_file=given.tls_private_key_file,
        client_ca_file=given.client_ca_file,
        token_auth_file=given.token_auth_file,
        service_account_key_file=given.service_account_signing_key_file,
        service_account_issuer=given.service_account_issuer,
        authorization_mode=given.authorization_mode,
        service_cluster_ip_range=given.service_cluster_ip_range,
        service_node_port_range=given.service_node_port_range,
        kubernetes_version=given.kubernetes_version.removeprefix("v"),
        limits=Limits(given.max_requests_inflight, given.max_mutating_requests_inflight),
        event_ttl=given.event_ttl,
        kubelets=KubeletAccess(
            given.kubelet_client_certificate,
            given.kubelet_client_key,
            given.kubelet_certificate_authority,
            given.kubelet_timeout,
        ),
        kruise=given.install_kruise,
    )
    return check(config), given.v


def _ports(text: str) -> tuple[int, int]:
    first, _, last = text.partition("-")
    if not (first.isdigit() and last.isdigit() and 0 < int(first) <= int(last) < 65536):
        raise argparse.ArgumentTypeError(f"{text} is no range of ports such as 30000-32767")
    return int(first), int(last)


def _duration(text: str) -> float:
    try:
        return parse_duration(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
