"""The manager's settings, and their validation."""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from apiserver.api.quantity import QuantityError, parse
from controller_manager.known_controllers import CONTROLLERS
from controller_manager.kubelet.addresses import parse_network, prefix_for
from controller_manager.kubelet.streams.settings import StreamSettings
from controller_manager.reconcile.contract import ControllerSpec, Settings
from controller_manager.reconcile.profile import PROFILES
from controller_manager.runtime.leader_election import ElectionTimes


class ConfigError(Exception):
    """A setting that is invalid; the message says which, why, and what to do."""


@dataclass(frozen=True, slots=True)
class Election:
    """The settings of leader election among several managers (client-go's leaderelection).

    Attributes:
        namespace, name: of the Lease.
    """

    namespace: str = "kube-system"
    name: str = "kube-controller-manager"
    times: ElectionTimes = field(default_factory=ElectionTimes)


@dataclass(frozen=True, slots=True)
class Config:
    """The settings of one controller manager.

    Attributes:
        kubeconfig: how to reach the server; None for the credentials of a pod's service account.
        context: the context in it, "" for its current one.
        controllers: the value of --controllers: "*", names, and names with "-" before them.
        workers: controller → number of keys handled at a time, if it differs from the controller's default.
        resync: controller → seconds after which all its objects are handled again, 0 for never.
        use_account_credentials: True if each controller acts as a ServiceAccount of its own.
        qps, burst: the limit of requests per second, and at once; below 0 there is no limit.
        metrics_any_port: True to use any free port if that one is taken.
        metrics_host, metrics_port: the address of /metrics, /healthz and /readyz; port 0 is any free one, None
            disables them.
        election: None to work at once, without leader election.
        streams: the settings of the simulated kubelets' server, None to disable it.
        settings: the settings of controllers.
        compatibility: a key of PROFILES.
        until_stdin_ends: stop when standard input ends, as it does when a supervisor dies.
    """

    kubeconfig: Path | None = None
    context: str = ""
    controllers: tuple[str, ...] = ("*",)
    workers: Mapping[str, int] = field(default_factory=dict)
    resync: Mapping[str, float] = field(default_factory=dict)
    use_account_credentials: bool = False
    qps: float = -1.0
    burst: int = 0
    metrics_host: str = "127.0.0.1"
    metrics_port: int | None = 10252
    metrics_any_port: bool = False
    election: Election | None = field(default_factory=Election)
    streams: StreamSettings | None = None
    settings: Settings = field(default_factory=Settings)
    compatibility: str = "1.35"
    until_stdin_ends: bool = False

    def selected_controllers(self) -> list[ControllerSpec]:
        """Return the controllers to run; nodes are only simulated together with kubelets, unless they are named."""
        selection = self.controllers
        if not is_enabled("kubelet", selection) and "node" not in selection:
            selection = (*selection, "-node")
        return [spec for name, spec in CONTROLLERS.items() if is_enabled(name, selection)]

    @property
    def nodes(self) -> int:
        """The number of simulated nodes."""
        return self.settings.nodes if any(spec.name == "node" for spec in self.selected_controllers()) else 0


def is_enabled(name: str, selection: Iterable[str]) -> bool:
    """Return True if a controller runs (IsControllerEnabled): it is named, or "*" is and it is not named with "-"."""
    words = list(selection)
    if name in words or f"-{name}" in words:
        return name in words
    return "*" in words


def check(config: Config) -> Config:
    """Return the settings after checking them.

    Raises:
        ConfigError: one is invalid.
    """
    for word in config.controllers:
        if word.removeprefix("-") not in {"*", *CONTROLLERS}:
            known = ", ".join(sorted(CONTROLLERS))
            raise ConfigError(f'--controllers: "{word}" is no controller; these are: {known}')
    for name, count in config.workers.items():
        if count < 1:
            raise ConfigError(
                f"--concurrent-{CONTROLLERS[name].flag}-syncs: {count} workers do nothing: give 1 or more"
            )
    if math.isnan(config.qps):
        raise ConfigError("--kube-api-qps: it is no number: give requests per second, or -1 for no limit")
    _check_nodes(config.settings)
    _check_signing(config.settings)
    times = config.election.times if config.election else ElectionTimes()
    if not times.lease_duration > times.renew_deadline > times.retry_period > 0:
        raise ConfigError(
            "--leader-elect-lease-duration must be greater than --leader-elect-renew-deadline, "
            "and that greater than --leader-elect-retry-period"
        )
    if config.compatibility not in PROFILES:
        raise ConfigError(f"--compatibility: {config.compatibility} is not one of {', '.join(PROFILES)}")
    if config.streams is not None and not 0 <= config.streams.port < 65536:
        raise ConfigError(f"--kubelet-port: {config.streams.port} is no port: give a number from 0 to 65535")
    for flag, path in _stream_files(config.streams):
        if not path.is_file():
            raise ConfigError(f"--{flag}: {path} is not a file")
    if config.kubeconfig is not None and not config.kubeconfig.is_file():
        raise ConfigError(f"--kubeconfig: {config.kubeconfig} is not a file")
    return config


def _check_signing(settings: Settings) -> None:
    certificate, key = settings.cluster_signing_cert, settings.cluster_signing_key
    if bool(certificate) != bool(key):
        raise ConfigError("--cluster-signing-cert-file and --cluster-signing-key-file: give both or none")
    for flag, text, label in (("cert", certificate, "CERTIFICATE"), ("key", key, "PRIVATE KEY")):
        if text and f"{label}-----" not in text:
            raise ConfigError(f"--cluster-signing-{flag}-file: it holds no {label.lower()} as PEM")


def _check_nodes(settings: Settings) -> None:
    for flag, number in (("nodes", settings.nodes), ("node-pods", settings.node_pods)):
        if number < 0:
            raise ConfigError(f"--{flag}: {number} is too few: give 0 or more")
    for flag, text in (("node-cpu", settings.node_cpu), ("node-memory", settings.node_memory)):
        try:
            parse(text)
        except QuantityError as error:
            raise ConfigError(f'--{flag}: "{text}" is no quantity: give one such as 32 or 256Gi') from error
    whole, prefix = parse_network(settings.cluster_cidr), prefix_for(settings.node_pods)
    if whole is None:
        raise ConfigError(
            f'--cluster-cidr: "{settings.cluster_cidr}" is no IPv4 network: give one such as 10.244.0.0/14'
        )
    room = 1 << (prefix - whole.prefixlen) if prefix >= whole.prefixlen else 0
    if settings.nodes > room:
        raise ConfigError(
            f"--cluster-cidr: {whole} has room for {room} nodes of {settings.node_pods} pods, "
            f"not for {settings.nodes}: "
            "give a larger network, or fewer --nodes or --node-pods"
        )


def _stream_files(streams: StreamSettings | None) -> Iterator[tuple[str, Path]]:
    if streams is not None:
        yield "kubelet-tls-cert-file", streams.certificate
        yield "kubelet-tls-private-key-file", streams.key
        yield "kubelet-client-ca-file", streams.client_authority
