"""The flags of `mockube certificates`."""

import argparse
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from mockube.flags.stores import default_data_dir

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
    from mockube.commands import certificates  # the one command that runs: help and errors come without it

    return certificates.run(options)


def _hosts(text: str) -> list[str]:
    hosts = text.split(",")
    if not all(hosts) or not all(_is_host(host) for host in hosts):
        raise argparse.ArgumentTypeError(f'"{text}" is no list of names and addresses: give one such as a,10.0.0.1')
    return hosts


def _is_host(text: str) -> bool:
    from mockube.certificate_names import is_address  # only where a host is named: help comes without it

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
    from ipaddress import ip_network  # as above

    try:
        fits = ip_network(text).num_addresses > 1
    except ValueError:
        fits = False
    if not fits:
        raise argparse.ArgumentTypeError(f"{text} is no network with room for Services: give one such as 10.96.0.0/12")
    return text
