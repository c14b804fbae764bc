"""The server's settings, and kube-apiserver's flag names for them."""

import argparse
import ipaddress
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from apiserver.admission.plugins import SWITCHABLE, plugin_errors
from apiserver.api.golang.durations import duration_text
from apiserver.api.golang.strings import quoted, quoted_list
from apiserver.api.schema import available_versions
from apiserver.auth.authorization import MODES
from apiserver.component_base.flags import Help, add_process_flags, boolean, duration
from apiserver.endpoints.kubelet_proxy import KubeletClientConfig
from apiserver.endpoints.server import InflightLimits
from apiserver.registry.options import TokenLimits

MIN_ADDRESSES = 8
"""The smallest range of Service addresses (kube-apiserver's limit on the size of its mask)."""


class ConfigError(Exception):
    """A setting is invalid; the message says which, why, and what to do."""


@dataclass(frozen=True, slots=True)
class EtcdAccess:
    """Settings for the use of an etcd cluster.

    Attributes:
        prefix: the prefix of all keys.
        authority: the CA file for the members' certificates; None for the system's CAs.
        certificate, key: files of the server's client certificate; None for none.
        user: the etcd user, "" for none.
        password_file: a file with that user's password.
        compaction: seconds after which history is compacted, 0 for never.
    """

    prefix: str = "/registry"
    authority: Path | None = None
    certificate: Path | None = None
    key: Path | None = None
    user: str = ""
    password_file: Path | None = None
    compaction: float = 300.0


@dataclass(frozen=True, slots=True)
class Config:
    """The settings of one API server.

    Attributes:
        store: URL of the store: "memory://", "sqlite:///DIRECTORY", or "https://HOST:PORT,…" for members of etcd.
        etcd: settings for the use of etcd.
        bind_address: the address to listen on; loopback by default.
        secure_port: the port, 0 for any free one.
        permit_port_sharing: whether other servers may listen on the same port: the system spreads connections.
        tls_cert_file, tls_private_key_file: the server's certificate; None serves plain HTTP (embedding and tests).
        client_ca_file: the CA of client certificates, None for none.
        token_auth_file: the static tokens, None for none.
        service_account_key_file: signs service account tokens; created if absent, None for a key that is not kept.
        service_account_issuer: the issuer of those tokens.
        token_limits: how long those tokens last.
        api_audiences: the audiences of this server, empty for the issuer alone.
        enable_bootstrap_token_auth: whether Secrets of kube-system may hold tokens by which nodes join.
        authorization_modes: the authorizers in their order; the first decision counts.
        enable_admission_plugins: admission plug-ins that run beside those that do by default.
        disable_admission_plugins: admission plug-ins that run by default, and are not to.
        service_cluster_ip_range: the ranges of cluster IPs.
        service_node_port_range: first and last port for NodePort Services.
        event_ttl: seconds that Events are kept after their last write.
        empties_namespaces: the server itself deletes the contents of deleted namespaces, and nothing protects volumes
            in use; False if controllers do both.
        kubernetes_version: the release whose kinds are served, such as "1.34"; "" for the newest.
        limits: the limits of requests in flight.
        kubelets: settings for connections to the nodes' kubelets.
        kruise: whether missing definitions of OpenKruise's workloads are created.
        warn_unsupported: whether writers of objects that have no effect here are warned.
        until_stdin_ends: stop at the end of standard input, which comes when a supervisor dies.
    """

    store: str = "memory://"
    etcd: EtcdAccess = field(default_factory=EtcdAccess)
    bind_address: str = "127.0.0.1"
    secure_port: int = 6443
    permit_port_sharing: bool = False
    tls_cert_file: Path | None = None
    tls_private_key_file: Path | None = None
    client_ca_file: Path | None = None
    token_auth_file: Path | None = None
    service_account_key_file: Path | None = None
    service_account_issuer: str = "https://kubernetes.default.svc.cluster.local"
    token_limits: TokenLimits = field(default_factory=TokenLimits)
    api_audiences: tuple[str, ...] = ()
    enable_bootstrap_token_auth: bool = False
    authorization_modes: tuple[str, ...] = ("AlwaysAllow",)
    enable_admission_plugins: tuple[str, ...] = ()
    disable_admission_plugins: tuple[str, ...] = ()
    service_cluster_ip_range: str = "10.96.0.0/12"
    service_node_port_range: tuple[int, int] = (30000, 32767)
    kubernetes_version: str = ""
    limits: InflightLimits = field(default_factory=InflightLimits)
    event_ttl: float = 3600.0
    empties_namespaces: bool = True
    kubelets: KubeletClientConfig = field(default_factory=KubeletClientConfig)
    kruise: bool = False
    warn_unsupported: bool = True
    until_stdin_ends: bool = False

    @property
    def version(self) -> str:
        """The release, the newest if none is named."""
        return self.kubernetes_version or available_versions()[-1]


DEFAULT = Config()
"""The defaults."""


def check(config: Config) -> Config:
    """Return the same settings, if they are valid, with the release filled in.

    Raises:
        ConfigError: a setting is invalid.
    """
    known = available_versions()
    if config.version not in known:
        raise ConfigError(f"Kubernetes {config.version} is not known here: choose one of {known[0]} to {known[-1]}")
    try:
        for cidr in config.service_cluster_ip_range.split(","):
            if ipaddress.ip_network(cidr).num_addresses < MIN_ADDRESSES:
                raise ConfigError(
                    f"--service-cluster-ip-range: {cidr} has no room for Services: give a network of at least "
                    f"{MIN_ADDRESSES} addresses"
                )
    except ValueError as error:
        raise ConfigError(f"--service-cluster-ip-range: {error}") from error
    _check_modes(config.authorization_modes)
    _check_files(config)
    _check_tokens(config.token_limits)
    _check_etcd(config.etcd)
    if problems := plugin_errors(config.enable_admission_plugins, config.disable_admission_plugins):
        raise ConfigError("; ".join(problems))
    if config.kubelets.timeout <= 0:
        raise ConfigError("--kubelet-timeout: give more than 0s")
    if min(config.limits.reading, config.limits.mutating) < 0:
        raise ConfigError("--max-requests-inflight and --max-mutating-requests-inflight: give 0 or more")
    if not _is_host(config.bind_address):
        raise ConfigError(f"cannot listen on {config.bind_address!r}: it is neither an IP address nor a host name")
    if not 0 <= config.secure_port <= 65535:
        raise ConfigError(f"--secure-port: {config.secure_port} is no port: give a number from 0 to 65535")
    return replace(config, kubernetes_version=config.version)


def _check_modes(modes: tuple[str, ...]) -> None:
    """Refuse unknown and repeated modes in upstream's words (BuiltInAuthorizationOptions.Validate)."""
    if not modes:
        raise ConfigError("at least one authorization-mode must be passed")
    for mode in modes:
        if mode not in MODES:
            raise ConfigError(f"authorization-mode {quoted(mode)} is not a valid mode: choose among {', '.join(MODES)}")
    if len(set(modes)) < len(modes):
        raise ConfigError(f"authorization-mode {quoted_list(modes)} has mode specified more than once")


def _check_tokens(limits: TokenLimits) -> None:
    if limits.longest and not 3600 <= limits.longest <= 1 << 32:
        raise ConfigError(
            "--service-account-max-token-expiration: the service-account-max-token-expiration must be between 1 hour "
            "and 2^32 seconds"
        )


def _check_etcd(etcd: EtcdAccess) -> None:
    if bool(etcd.user) != bool(etcd.password_file):
        raise ConfigError("--etcd-user and --etcd-password-file: give both or none")
    if etcd.key and not etcd.certificate:
        raise ConfigError("--etcd-keyfile: give --etcd-certfile as well")
    if not etcd.prefix.startswith("/") or etcd.prefix.endswith("/"):
        raise ConfigError(f"--etcd-prefix: {etcd.prefix!r} has to begin with a slash, and to end with none")
    if etcd.compaction < 0:
        raise ConfigError("--etcd-compaction-interval: give 0s or more")


def _check_files(config: Config) -> None:
    files = {
        "--tls-cert-file": config.tls_cert_file,
        "--tls-private-key-file": config.tls_private_key_file,
        "--client-ca-file": config.client_ca_file,
        "--etcd-cafile": config.etcd.authority,
        "--etcd-certfile": config.etcd.certificate,
        "--etcd-keyfile": config.etcd.key,
        "--kubelet-client-certificate": config.kubelets.certificate,
        "--kubelet-client-key": config.kubelets.key,
        "--kubelet-certificate-authority": config.kubelets.authority,
    }
    others = {"--token-auth-file": config.token_auth_file, "--etcd-password-file": config.etcd.password_file}
    for flag, path in {**files, **others}.items():
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
    """Return whether an address may be valid: an IP address is checked, a host name is left to the system."""
    if not (bind[:1].isdigit() or ":" in bind):
        return bool(bind)
    try:
        ipaddress.ip_address(bind)
    except ValueError:
        return False
    return True


def parser() -> argparse.ArgumentParser:
    """Return the parser for the flags of `python -m apiserver`, which have kube-apiserver's names."""
    flags = argparse.ArgumentParser(
        prog="python -m apiserver",
        description="mockube's API server: Kubernetes' REST and watch protocol over a versioned store.",
        formatter_class=Help,
    )
    add = flags.add_argument
    add(
        "--etcd-servers",
        default=DEFAULT.store,
        metavar="URL",
        help="memory://, sqlite:///DIRECTORY, or members of an etcd cluster: https://HOST:PORT,https://HOST:PORT",
    )
    _etcd_flags(flags)
    add("--bind-address", default=DEFAULT.bind_address, metavar="ADDRESS", help="the address to listen on")
    add(
        "--secure-port",
        type=int,
        default=DEFAULT.secure_port,
        metavar="PORT",
        help="the port to listen on, 0 for any free one",
    )
    add("--permit-port-sharing", action="store_true", help="let other servers listen on the same port (SO_REUSEPORT)")
    add("--tls-cert-file", type=Path, metavar="FILE", help="the server's certificate; without it plain HTTP is served")
    add("--tls-private-key-file", type=Path, metavar="FILE", help="the key of that certificate")
    add("--client-ca-file", type=Path, metavar="FILE", help="who signs client certificates")
    add("--token-auth-file", type=Path, metavar="FILE", help='lines of token,user,uid,"group1,group2"')
    add(
        "--enable-bootstrap-token-auth",
        type=boolean,
        nargs="?",
        const=True,
        default=False,
        metavar="BOOL",
        help="take the tokens in Secrets of type bootstrap.kubernetes.io/token in kube-system",
    )
    add(
        "--authorization-mode",
        default=",".join(DEFAULT.authorization_modes),
        metavar="MODE,...",
        help=f"who may do what, in the order in which they are asked: {', '.join(MODES)}",
    )
    _admission_flags(flags)
    _service_flags(flags)
    _limit_flags(flags)
    _kubelet_flags(flags)
    add("--kubernetes-version", default="", metavar="1.N", help="the release to serve; the newest known if not given")
    add_process_flags(flags, verbosity="how much to log; from 1 on every request")
    return flags


def _etcd_flags(flags: argparse.ArgumentParser) -> None:
    add, etcd = flags.add_argument, DEFAULT.etcd
    add("--etcd-prefix", default=etcd.prefix, metavar="PREFIX", help="the prefix of all keys in etcd")
    add(
        "--etcd-cafile",
        type=Path,
        metavar="FILE",
        help="CA certificates that signed etcd's certificate (default: the system's)",
    )
    add("--etcd-certfile", type=Path, metavar="FILE", help="the client certificate for etcd")
    add("--etcd-keyfile", type=Path, metavar="FILE", help="the key of that certificate")
    add("--etcd-user", default="", metavar="NAME", help="the user of etcd")
    add("--etcd-password-file", type=Path, metavar="FILE", help="a file with that user's password")
    add(
        "--etcd-compaction-interval",
        type=duration,
        default=duration_text(int(etcd.compaction)),
        metavar="DURATION",
        help="how long etcd keeps history; 0: forever",
    )


def _admission_flags(flags: argparse.ArgumentParser) -> None:
    names = ", ".join(SWITCHABLE)
    for verb, which in (("enable", "run beside the default ones"), ("disable", "run by default, and are not to")):
        flags.add_argument(
            f"--{verb}-admission-plugins",
            action="append",
            default=[],
            metavar="NAMES",
            help=f"admission plug-ins that {which}, separated by commas: {names}",
        )


def _service_flags(flags: argparse.ArgumentParser) -> None:
    add = flags.add_argument
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
    add(
        "--service-account-signing-key-file",
        type=Path,
        metavar="FILE",
        help="the key that signs tokens; created if the file does not exist",
    )
    add(
        "--service-account-max-token-expiration",
        type=duration,
        default="0s",
        metavar="DURATION",
        help="the longest life of a token that may be requested, 0s for any",
    )
    add(
        "--service-account-extend-token-expiration",
        type=boolean,
        nargs="?",
        const=True,
        default=True,
        metavar="BOOL",
        help="let the tokens of pods last a year, for clients that do not read them again after an hour",
    )
    add(
        "--api-audiences",
        type=lambda text: tuple(text.split(",")),
        default=(),
        metavar="NAMES",
        help="the audiences of this server (default: the issuer)",
    )


def _limit_flags(flags: argparse.ArgumentParser) -> None:
    add, limits = flags.add_argument, DEFAULT.limits
    add(
        "--max-requests-inflight",
        type=int,
        default=limits.reading,
        metavar="N",
        help="reading requests at a time, 0 for any number",
    )
    add(
        "--max-mutating-requests-inflight",
        type=int,
        default=limits.mutating,
        metavar="N",
        help="writing requests at a time, 0 for any number",
    )
    add(
        "--event-ttl",
        type=duration,
        default=duration_text(int(DEFAULT.event_ttl)),
        metavar="DURATION",
        help="how long Events are kept",
    )
    add(
        "--leave-to-controllers",
        action="store_true",
        help="empty deleted namespaces, and hold volumes in use, by a controller manager instead of here",
    )
    add("--install-kruise", action="store_true", help="make the definitions of OpenKruise's workloads (apps.kruise.io)")
    add(
        "--warn-unsupported",
        type=boolean,
        nargs="?",
        const=True,
        default="true",
        metavar="BOOL",
        help="warn clients that write objects which are stored but have no effect",
    )


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
        type=duration,
        default=duration_text(int(DEFAULT.kubelets.timeout)),
        metavar="DURATION",
        help="how long reaching a kubelet may take",
    )


def from_arguments(arguments: Sequence[str] | None = None) -> tuple[Config, int]:
    """Return the settings of a command line, and the verbosity of logs.

    Raises:
        ConfigError: a setting is invalid.
        SystemExit: the command line is invalid, or requests help.
    """
    flags = parser().parse_args(arguments)
    config = Config(
        store=flags.etcd_servers,
        etcd=replace(etcd_of(flags), compaction=flags.etcd_compaction_interval),
        bind_address=flags.bind_address,
        secure_port=flags.secure_port,
        permit_port_sharing=flags.permit_port_sharing,
        tls_cert_file=flags.tls_cert_file,
        tls_private_key_file=flags.tls_private_key_file,
        client_ca_file=flags.client_ca_file,
        token_auth_file=flags.token_auth_file,
        service_account_key_file=flags.service_account_signing_key_file,
        service_account_issuer=flags.service_account_issuer,
        token_limits=TokenLimits(
            flags.service_account_max_token_expiration, flags.service_account_extend_token_expiration
        ),
        api_audiences=flags.api_audiences,
        enable_bootstrap_token_auth=flags.enable_bootstrap_token_auth,
        authorization_modes=tuple(filter(None, flags.authorization_mode.split(","))),
        enable_admission_plugins=listed_names(flags.enable_admission_plugins),
        disable_admission_plugins=listed_names(flags.disable_admission_plugins),
        service_cluster_ip_range=flags.service_cluster_ip_range,
        service_node_port_range=flags.service_node_port_range,
        kubernetes_version=flags.kubernetes_version.removeprefix("v"),
        limits=InflightLimits(flags.max_requests_inflight, flags.max_mutating_requests_inflight),
        event_ttl=flags.event_ttl,
        kubelets=KubeletClientConfig(
            flags.kubelet_client_certificate,
            flags.kubelet_client_key,
            flags.kubelet_certificate_authority,
            flags.kubelet_timeout,
        ),
        kruise=flags.install_kruise,
        warn_unsupported=flags.warn_unsupported,
        empties_namespaces=not flags.leave_to_controllers,
        until_stdin_ends=flags.until_stdin_ends,
    )
    return check(config), flags.v


def etcd_of(flags: argparse.Namespace) -> EtcdAccess:
    """Return the etcd settings of the flags, for every command that has them."""
    return EtcdAccess(
        flags.etcd_prefix,
        flags.etcd_cafile,
        flags.etcd_certfile,
        flags.etcd_keyfile,
        flags.etcd_user,
        flags.etcd_password_file,
    )


def listed_names(values: Iterable[str]) -> tuple[str, ...]:
    """Return the names in a flag that may be repeated, and whose values are lists separated by commas."""
    return tuple(name for value in values for name in value.split(",") if name)


def _ports(text: str) -> tuple[int, int]:
    first, _, last = text.partition("-")
    if not (first.isdigit() and last.isdigit() and 0 < int(first) <= int(last) < 65536):
        raise argparse.ArgumentTypeError(f"{text} is no range of ports such as 30000-32767")
    return int(first), int(last)
