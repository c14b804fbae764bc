"""The certificates, keys and the token of a data directory: kept, and made again only if they cannot be used.

    ca.crt ca.key                the CA that signed the others; clients verify the server with it
    apiserver.crt apiserver.key  the server's
    admin.crt admin.key          of kubernetes-admin in system:masters, for clients that prefer a certificate
    kubelet.crt kubelet.key      of the simulated kubelets, which serve logs and exec
    apiserver-kubelet-client.*   with which the API server authenticates to kubelets
    sa.key sa.pub                signs the tokens of service accounts
    tokens.csv                   the tokens of the same administrator and of the controller manager
    made.json                    the contents of the certificates, so that a start need not read (and parse) them

and, in a directory of their own, those of an etcd that requires client certificates:

    ca.crt ca.key                the CA that signed the others
    server.crt server.key        etcd's
    client.crt client.key        with which the API server authenticates to etcd
    made.json                    as above

All of them are readable to their owner alone; the directories are closed to everybody else as well.
"""

import hashlib
import json
import re
import socket
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from ipaddress import ip_network
from pathlib import Path

from mockube.certificate_names import GROUP, MANAGER, RENEW_BEFORE, USER
from mockube.files import make_private_directory, write_private

_SERVICE = ("kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local")
_SIGNED = ("ca", "apiserver", "admin", "kubelet", "apiserver-kubelet-client")
_FILES = (*(f"{name}{suffix}" for name in _SIGNED for suffix in (".crt", ".key")), "sa.key", "sa.pub")
_ETCD_FILES = tuple(f"{name}{suffix}" for name in ("ca", "server", "client") for suffix in (".crt", ".key"))
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_RECORD = "made.json"
_TOKEN = re.compile(r"[A-Za-z0-9._~+/-]+=*")
"""The syntax of a bearer token (RFC 6750); a kubeconfig contains it unquoted."""


@dataclass(frozen=True, slots=True)
class Certificates:
    """The files of a server.

    Attributes:
        directory: the directory that contains them all.
        token: the administrator's token.
        manager_token: the token of the controller manager.
    """

    directory: Path
    token: str
    manager_token: str

    @property
    def authority(self) -> Path:
        """The certificate of the CA that signed the others."""
        return self.directory / "ca.crt"

    @property
    def authority_key(self) -> Path:
        """The key of that CA, with which the controller manager signs requests."""
        return self.directory / "ca.key"

    @property
    def server(self) -> Path:
        """The server's certificate."""
        return self.directory / "apiserver.crt"

    @property
    def server_key(self) -> Path:
        """The key of the server's certificate."""
        return self.directory / "apiserver.key"

    @property
    def kubelet(self) -> Path:
        """The certificate of the simulated kubelets."""
        return self.directory / "kubelet.crt"

    @property
    def kubelet_key(self) -> Path:
        """The key of the simulated kubelets' certificate."""
        return self.directory / "kubelet.key"

    @property
    def kubelet_client(self) -> Path:
        """The client certificate with which the server authenticates to kubelets."""
        return self.directory / "apiserver-kubelet-client.crt"

    @property
    def kubelet_client_key(self) -> Path:
        """The key of the client certificate with which the server authenticates to kubelets."""
        return self.directory / "apiserver-kubelet-client.key"

    @property
    def service_account_key(self) -> Path:
        """The key that signs the tokens of service accounts."""
        return self.directory / "sa.key"

    @property
    def tokens(self) -> Path:
        """The static tokens, as the server reads them."""
        return self.directory / "tokens.csv"


def server_names(bind: str, service_range: str) -> tuple[str, ...]:
    """Return the names and addresses by which clients may call a server.

    Args:
        bind: the address that the server listens on.
        service_range: the addresses of Services; the first of them is the server's own.
    """
    return certificate_hosts((bind, socket.gethostname()), service_range)


def certificate_hosts(hosts: Iterable[str], service_range: str) -> tuple[str, ...]:
    """Return these names and addresses, and those by which every server can be called.

    Args:
        hosts: names and addresses.
        service_range: the addresses of Services; the first of them is the server's own.
    """
    service = str(ip_network(service_range)[1])
    return tuple(dict.fromkeys((*_LOOPBACK, *_SERVICE, service, *hosts)))


def ensure_certificates(directory: Path, names: Sequence[str], *, now: float) -> Certificates:
    """Return the certificates in a directory; they are made if absent, near their end, changed, or lacking a name.

    A CA that is still good is kept, so that kubeconfigs that trust it stay good as well.

    Args:
        directory: created if it does not exist.
        names: the names that the certificates of the server and of the kubelets must cover.
        now: seconds since 1970.

    Raises:
        OSError: a file cannot be read or written.
    """
    if not _is_usable(directory, _FILES, names, now):
        from mockube.ca import (
            make_certificates,  # cryptography takes a tenth of the start, and most starts do not need it
        )

        expiry = make_certificates(directory, names, now=now, write=partial(_write, directory))
        _record(directory, _FILES, names, expiry)
    return Certificates(directory, *_tokens(directory / "tokens.csv"))


def ensure_etcd_certificates(directory: Path, names: Iterable[str], *, now: float) -> None:
    """Make the certificates of an etcd server and its client, if they cannot be used; see `ensure_certificates`.

    Args:
        directory: created if it does not exist.
        names: the names that the certificate of etcd must cover, besides this machine's own loopback.
        now: seconds since 1970.

    Raises:
        OSError: a file cannot be read or written.
    """
    covered = tuple(dict.fromkeys((*_LOOPBACK, *names)))
    if not _is_usable(directory, _ETCD_FILES, covered, now):
        from mockube.ca import make_etcd_certificates  # as above

        expiry = make_etcd_certificates(directory, covered, now=now, write=partial(_write, directory))
        _record(directory, _ETCD_FILES, covered, expiry)


def _is_usable(directory: Path, files: Sequence[str], names: Sequence[str], now: float) -> bool:
    """Return True if a directory's files can be used; also make the directory private."""
    make_private_directory(directory)
    directory.chmod(0o700)
    try:
        record = json.loads((directory / _RECORD).read_bytes())
        return (
            now < record["ends"] - RENEW_BEFORE
            and set(names) <= set(record["names"])
            and record["digest"] == _digest(directory, files)
        )
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return False


def _record(directory: Path, files: Sequence[str], names: Sequence[str], ends: float) -> None:
    """Record the contents of the certificates, so that the next start need not read them."""
    record = {"digest": _digest(directory, files), "names": list(names), "ends": ends}
    _write(directory, _RECORD, json.dumps(record).encode())


def _digest(directory: Path, files: Sequence[str]) -> str:
    return hashlib.sha256(b"\0".join((directory / name).read_bytes() for name in files)).hexdigest()


def _write(directory: Path, name: str, content: bytes) -> None:
    write_private(directory / name, content)


def _tokens(path: Path) -> tuple[str, str]:
    """Return the tokens of the administrator, the first in the file, and of the manager; add those that it lacks."""
    try:
        lines = path.read_text().splitlines()
    except (FileNotFoundError, UnicodeDecodeError):
        lines = []
    token = _first_token(lines[:1])
    manager_token = _first_token(line for line in lines[1:] if f",{MANAGER}," in line)
    if not (token and manager_token):
        from secrets import token_urlsafe  # most starts have tokens

        others = [line for line in lines[1:] if f",{MANAGER}," not in line]
        manager_token = manager_token or token_urlsafe(32)
        first = lines[0] if token else f'{token_urlsafe(32)},{USER},{USER},"{GROUP}"'
        write_private(path, "\n".join((first, f"{manager_token},{MANAGER},{MANAGER}", *others, "")))
        token = _first_token([first])
    return token, manager_token


def _first_token(lines: Iterable[str]) -> str:
    """Return the first valid token, "" if there is none."""
    tokens = (line.partition(",")[0] for line in lines)
    return next((token for token in tokens if _TOKEN.fullmatch(token)), "")
