"""`mockube certificates`: makes, and renews, certificates for servers started by others, such as compose.yaml's."""

import argparse
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from mockube.commands.failures import fail, fail_on_file
from mockube.commands.stores import default_data_dir

if TYPE_CHECKING:
    from mockube.certificates import Certificates

_DESCRIPTION: Final = """\
Make the certificates, keys and the token of an API server, and kubeconfigs that lead to it, and end.
What is there and good stays as it is; certificates are renewed within a week of their end, by the same authority.
All files are their owner's alone (mode 0600), and none of their content is printed.
"""
_EPILOG: Final = """\
example:
  mockube certificates --data-dir certs --host api.example.test --kubeconfig certs/kubeconfig=https://127.0.0.1:6443

exit code: 0 if everything is there, 2 if it cannot be
"""
_LABEL: Final = "[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?"
_NAME: Final = re.compile(rf"(\*\.)?{_LABEL}(\.{_LABEL})*")
"""A host name (RFC 1123), or a wildcard for all names below one."""


@dataclass(frozen=True, slots=True)
class KubeconfigTarget:
    """A kubeconfig to write.

    Attributes:
        file: its path.
        url: the server's URL.
        host: the server's name or address.
    """

    file: Path
    url: str
    host: str


def declare(commands: "argparse._SubParsersAction[Any]") -> None:
    """Add the command and its flags to the command line."""
    command = commands.add_parser(
        "certificates",
        help="make certificates and kubeconfigs for servers that others start",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.set_defaults(run=run)
    add = command.add_argument
    add("--data-dir", type=Path, metavar="DIR", help=f"they go to DIR/pki (default: {default_data_dir()})")
    add(
        "--host",
        type=_hosts,
        action="extend",
        default=[],
        metavar="NAME,...",
        help="names and addresses of the API server and of the kubelets, besides localhost and those in kubeconfigs",
    )
    add(
        "--kubeconfig",
        type=_kubeconfig_target,
        action="append",
        default=[],
        metavar="FILE=URL",
        help="write a kubeconfig that leads to the server there; may be given several times",
    )
    add(
        "--service-cluster-ip-range",
        type=_range,
        default="10.96.0.0/12",
        metavar="CIDR",
        help="where Services get addresses: pods know the server by the first (default: %(default)s)",
    )
    add("--etcd-dir", type=Path, metavar="DIR", help="make those of an etcd and of its client too, in DIR/pki")
    add("--etcd-host", type=_hosts, action="extend", default=[], metavar="NAME,...", help="names of that etcd")


def run(options: argparse.Namespace) -> int:
    """Make what is missing and return the exit code."""
    from mockube.files import InUseError, locked, make_private_directory
    from mockube.kubeconfig import KubeconfigError

    if options.etcd_host and not options.etcd_dir:
        return fail("--etcd-host: give --etcd-dir as well")
    directory = (options.data_dir or default_data_dir()).expanduser().absolute()
    try:
        make_private_directory(directory)
        with locked(directory):
            _make(directory, options)
    except (InUseError, KubeconfigError) as error:
        return fail(error)
    except OSError as error:
        return fail_on_file(error, "name a place that can be written")
    return 0


def _make(directory: Path, options: argparse.Namespace) -> None:
    from mockube.certificates import certificate_hosts, ensure_certificates, ensure_etcd_certificates

    now = time.time()
    hosts = [*options.host, *(target.host for target in options.kubeconfig)]
    names = certificate_hosts(hosts, options.service_cluster_ip_range)
    certificates = ensure_certificates(directory / "pki", names, now=now)
    print(f"Certificates for {', '.join(names)} are in {certificates.directory}.")
    _write_kubeconfigs(options.kubeconfig, certificates)
    if options.etcd_dir:
        directory_of_etcd = options.etcd_dir.expanduser().absolute() / "pki"
        ensure_etcd_certificates(directory_of_etcd, options.etcd_host, now=now)
        print(f"Certificates for etcd are in {directory_of_etcd}.")


def _write_kubeconfigs(kubeconfigs: Sequence[KubeconfigTarget], certificates: "Certificates") -> None:
    """Write the kubeconfigs."""
    from mockube.kubeconfig import ClusterAccess, write_kubeconfig

    for target in kubeconfigs:
        file = target.file.expanduser().absolute()
        write_kubeconfig(file, ClusterAccess(target.url, certificates.authority.read_bytes(), certificates.token))
        print(f"{file} leads to {target.url}.")


def _hosts(text: str) -> list[str]:
    hosts = text.split(",")
    if not all(hosts) or not all(_is_host(host) for host in hosts):
        raise argparse.ArgumentTypeError(f'"{text}" is no list of names and addresses: give one such as a,10.0.0.1')
    return hosts


def _is_host(text: str) -> bool:
    from mockube.certificate_names import is_address

    return is_address(text) or bool(_NAME.fullmatch(text))


def _kubeconfig_target(text: str) -> KubeconfigTarget:
    file, _, url = text.partition("=")
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        host = None
    if not file or not host or parts.scheme != "https" or parts.path.strip("/") or not _is_host(host):
        raise argparse.ArgumentTypeError(f'"{text}" does not say which file leads where: give FILE=https://HOST:PORT')
    return KubeconfigTarget(Path(file), url.rstrip("/"), host)


def _range(text: str) -> str:
    from ipaddress import ip_network

    try:
        fits = ip_network(text).num_addresses > 1
    except ValueError:
        fits = False
    if not fits:
        raise argparse.ArgumentTypeError(f"{text} is no network with room for Services: give one such as 10.96.0.0/12")
    return text
