"""The command line flags: kube-controller-manager's, and those of the simulation."""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import cache, partial
from pathlib import Path

from apiserver.api.golang.durations import duration_text
from apiserver.api.meta import Obj
from apiserver.component_base.flags import Help, add_process_flags, boolean, duration
from apiserver.component_base.signing import SigningKey
from controller_manager.config import Config, ConfigError, Election, check
from controller_manager.known_controllers import CONTROLLERS
from controller_manager.kubelet.streams.settings import StreamSettings
from controller_manager.reconcile.contract import ControllerSpec, Settings
from controller_manager.reconcile.profile import PROFILES
from controller_manager.runtime.leader_election import ElectionTimes

CONFIG, SETTINGS, ELECTION = Config(), Settings(), Election()
STREAMS = {each.name: each.default for each in fields(StreamSettings)}
"""The defaults."""
LARGE_CLUSTER_CIDR = "10.128.0.0/9"
"""The default network of pods for more than MANY_NODES nodes; like SETTINGS', it does not overlap with Services."""
MANY_NODES = 1000


def from_arguments(arguments: Sequence[str] | None = None) -> tuple[Config, int]:
    """Parse a command line; return the settings and the log level. argparse exits if it is invalid.

    Raises:
        ConfigError: a setting is invalid.
    """
    parsed = parser().parse_args(arguments)
    root_ca = _text("--root-ca-file", parsed.root_ca_file)
    config = Config(
        kubeconfig=parsed.kubeconfig,
        context=parsed.context,
        controllers=tuple(parsed.controllers),
        workers={spec.name: getattr(parsed, _workers(spec)) for spec in CONTROLLERS.values() if spec.flag},
        resync={"deployment": parsed.deployment_controller_sync_period},
        use_account_credentials=parsed.use_service_account_credentials,
        qps=parsed.kube_api_qps,
        burst=parsed.kube_api_burst,
        metrics_host=parsed.metrics_bind_address.host,
        metrics_port=parsed.metrics_bind_address.port,
        metrics_any_port=parsed.metrics_any_port,
        election=_election(parsed) if parsed.leader_elect else None,
        streams=_streams(parsed, root_ca),
        settings=_settings(parsed, root_ca),
        compatibility=parsed.compatibility,
        until_stdin_ends=parsed.until_stdin_ends,
    )
    return check(config), parsed.v


def _election(arguments: argparse.Namespace) -> Election:
    times = ElectionTimes(
        lease_duration=arguments.leader_elect_lease_duration,
        renew_deadline=arguments.leader_elect_renew_deadline,
        retry_period=arguments.leader_elect_retry_period,
    )
    return Election(arguments.leader_elect_resource_namespace, arguments.leader_elect_resource_name, times)


def _streams(arguments: argparse.Namespace, root_ca: str) -> StreamSettings | None:
    files = (arguments.kubelet_tls_cert_file, arguments.kubelet_tls_private_key_file, arguments.kubelet_client_ca_file)
    if not any(files):
        return None
    if not all(files):
        raise ConfigError(
            "--kubelet-tls-cert-file, --kubelet-tls-private-key-file and --kubelet-client-ca-file belong together: "
            "give all of them, or none"
        )
    return StreamSettings(*files, arguments.kubelet_bind_address, arguments.kubelet_port, root_ca)


def _settings(arguments: argparse.Namespace, root_ca: str) -> Settings:
    return Settings(
        root_ca=root_ca,
        cluster_signing_cert=_text("--cluster-signing-cert-file", arguments.cluster_signing_cert_file),
        cluster_signing_key=_text("--cluster-signing-key-file", arguments.cluster_signing_key_file),
        cluster_signing_seconds=arguments.cluster_signing_duration,
        sign_token=_token_signer(arguments.service_account_private_key_file),
        nodes=arguments.nodes,
        node_cpu=arguments.node_cpu,
        node_memory=arguments.node_memory,
        node_pods=arguments.node_pods,
        node_version=arguments.node_version,
        cluster_cidr=arguments.cluster_cidr
        or (LARGE_CLUSTER_CIDR if arguments.nodes > MANY_NODES else SETTINGS.cluster_cidr),
        node_monitor_grace=arguments.node_monitor_grace_period,
        terminated_pod_gc_threshold=arguments.terminated_pod_gc_threshold,
    )


def _token_signer(path: Path | None) -> Callable[[Obj], str] | None:
    """Return a function that signs tokens with the key of a file, which is read for the first token."""
    if path is None:
        return None
    if not path.is_file():
        raise ConfigError(f"--service-account-private-key-file: {path} is not a file")
    load = cache(partial(SigningKey.load, path))
    return lambda claims: load().sign(claims)


def _text(flag: str, path: Path | None) -> str:
    """Return the text of the file that a flag names, "" if it names none."""
    if path is None:
        return ""
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{flag}: {path} cannot be read: {error}") from error


def parser() -> argparse.ArgumentParser:
    """Return the parser, with flags grouped by topic."""
    flags = argparse.ArgumentParser(
        prog="python -m controller_manager",
        description="Run the controllers, the scheduler and the simulated nodes against any Kubernetes API server.",
        formatter_class=Help,
    )
    _server_flags(flags.add_argument_group("the server"))
    _controller_flags(flags.add_argument_group("controllers"))
    _election_flags(flags.add_argument_group("leader election"))
    _simulation_flags(flags.add_argument_group("simulated nodes"))
    return flags


def _server_flags(group: "argparse._ArgumentGroup") -> None:
    add = group.add_argument
    add("--kubeconfig", type=Path, metavar="FILE", help="how to reach the server; without it, as pods do")
    add("--context", default="", help="the context in the kubeconfig, its current one if not given")
    add(
        "--kube-api-qps", type=float, default=CONFIG.qps, metavar="N", help="requests per second, below 0 without limit"
    )
    add(
        "--kube-api-burst",
        type=int,
        default=CONFIG.burst,
        metavar="N",
        help="requests at once where --kube-api-qps is a limit",
    )
    add(
        "--metrics-bind-address",
        type=_address,
        default=f"{CONFIG.metrics_host}:{CONFIG.metrics_port}",
        metavar="HOST:PORT",
        help="where /metrics, /healthz and /readyz are; port 0 is any free one, 0 alone is nowhere",
    )
    add("--metrics-any-port", action="store_true", help="take any free port where that of the metrics is taken")
    add_process_flags(group, verbosity="how much to log: 0 warnings, 1 what goes on, 2 everything")


def _controller_flags(group: "argparse._ArgumentGroup") -> None:
    add = group.add_argument
    add(
        "--controllers",
        type=lambda text: text.split(","),
        default=",".join(CONFIG.controllers),
        metavar="NAMES",
        help=f"* for all, NAME for one, -NAME for all but one: {', '.join(sorted(CONTROLLERS))}",
    )
    for spec in CONTROLLERS.values():
        if spec.flag:
            flag = f"--concurrent-{spec.flag}-syncs"
            add(flag, dest=_workers(spec), type=int, default=spec.workers, metavar="N", help="how many at a time")
    add(
        "--deployment-controller-sync-period",
        type=duration,
        default="0s",
        metavar="TIME",
        help="after which all Deployments are looked at again, 0s for never",
    )
    _credential_flags(group)
    add(
        "--terminated-pod-gc-threshold",
        type=int,
        default=SETTINGS.terminated_pod_gc_threshold,
        metavar="N",
        help="how many ended pods may stay, 0 for any number",
    )
    add(
        "--node-monitor-grace-period",
        type=duration,
        default=duration_text(int(SETTINGS.node_monitor_grace)),
        metavar="TIME",
        help="after which a node that says nothing is lost",
    )
    releases = ", ".join(PROFILES)
    add("--compatibility", default=CONFIG.compatibility, metavar="RELEASE", help=f"whose behaviour: {releases}")


def _credential_flags(group: "argparse._ArgumentGroup") -> None:
    add = group.add_argument
    add(
        "--use-service-account-credentials",
        type=boolean,
        nargs="?",
        const=True,
        default=False,
        metavar="BOOL",
        help="let each controller act as a ServiceAccount of its own in kube-system",
    )
    add("--root-ca-file", type=Path, metavar="FILE", help="what kube-root-ca.crt publishes in each namespace")
    add("--service-account-private-key-file", type=Path, metavar="FILE", help="the key for tokens in Secrets")
    add("--cluster-signing-cert-file", type=Path, metavar="FILE", help="the CA that signs approved requests")
    add("--cluster-signing-key-file", type=Path, metavar="FILE", help="its key; without both nothing is signed")
    add(
        "--cluster-signing-duration",
        type=duration,
        default=duration_text(int(SETTINGS.cluster_signing_seconds)),
        metavar="TIME",
        help="how long its certificates last, unless a request asks for less",
    )


def _election_flags(group: "argparse._ArgumentGroup") -> None:
    add = group.add_argument
    add(
        "--leader-elect",
        type=boolean,
        nargs="?",
        const=True,
        default=True,
        metavar="BOOL",
        help="of several managers one works",
    )
    times = (
        ("lease-duration", ELECTION.times.lease_duration, "how long a lease lasts"),
        ("renew-deadline", ELECTION.times.renew_deadline, "how long a leader tries to renew"),
        ("retry-period", ELECTION.times.retry_period, "the time between two tries"),
    )
    for name, default, about in times:
        add(f"--leader-elect-{name}", type=duration, default=duration_text(int(default)), metavar="TIME", help=about)
    add("--leader-elect-resource-namespace", default=ELECTION.namespace, metavar="NAME", help="where the Lease is")
    add("--leader-elect-resource-name", default=ELECTION.name, metavar="NAME", help="the Lease's name")


def _simulation_flags(group: "argparse._ArgumentGroup") -> None:
    add = group.add_argument
    add("--nodes", type=int, default=SETTINGS.nodes, metavar="N", help="how many nodes to simulate")
    add("--node-cpu", default=SETTINGS.node_cpu, metavar="QUANTITY", help="the processors of each")
    add("--node-memory", default=SETTINGS.node_memory, metavar="QUANTITY", help="the memory of each")
    add("--node-pods", type=int, default=SETTINGS.node_pods, metavar="N", help="how many pods fit on each")
    add("--node-version", default=SETTINGS.node_version, metavar="VERSION", help="the release of their kubelets")
    add(
        "--cluster-cidr",
        default="",
        metavar="CIDR",
        help="where pods get addresses; "
        f"{SETTINGS.cluster_cidr}, or {LARGE_CLUSTER_CIDR} for more than {MANY_NODES} nodes",
    )
    add(
        "--kubelet-bind-address",
        default=STREAMS["host"],
        metavar="HOST",
        help="where simulated kubelets answer logs and exec",
    )
    add("--kubelet-port", type=int, default=STREAMS["port"], metavar="PORT", help="their port, 0 for any free one")
    add("--kubelet-tls-cert-file", type=Path, metavar="FILE", help="their certificate; without it nothing is answered")
    add("--kubelet-tls-private-key-file", type=Path, metavar="FILE", help="its key")
    add("--kubelet-client-ca-file", type=Path, metavar="FILE", help="who signs the server's client certificate")


def _workers(spec: ControllerSpec) -> str:
    return f"workers_{spec.name.replace('-', '_')}"


@dataclass(frozen=True, slots=True)
class Address:
    """An address to listen on; port None means not to listen."""

    host: str
    port: int | None


def _address(text: str) -> Address:
    if text == "0":
        return Address("", None)
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 65535:
        raise argparse.ArgumentTypeError(f'"{text}" is no address: give HOST:PORT, such as 127.0.0.1:10252, or 0')
    return Address(host.strip("[]") or "0.0.0.0", int(port))  # noqa: S104 - as kube-controller-manager takes ":8080"
