"""The certificates, keys and the token of a data directory: found, and made anew only where they are no good.

    ca.crt ca.key                who signed the others; clients check the server by it
    apiserver.crt apiserver.key  the server's
    admin.crt admin.key          of kubernetes-admin in system:masters, for clients that prefer a certificate
    kubelet.crt kubelet.key      of the simulated kubelets, where they answer logs and exec
    apiserver-kubelet-client.*   by which they know the server
    sa.key sa.pub                signs the tokens of service accounts
    tokens.csv                   the token of the same administrator
    made.json                    what the certificates hold, so that a start need not read (and import) them

and, in a directory of their own, those of an etcd that asks for certificates:

    ca.crt ca.key                who signed the others
    server.crt server.key        etcd's
    client.crt client.key        by which etcd knows the API server
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

from mockube.certificate_names import GROUP, RENEW_BEFORE, USER
from mockube.files import make_private_directory, write_private

_SERVICE = ("kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local")
_SIGNED = ("ca", "apiserver", "admin", "kubelet", "apiserver-kubelet-client")
_FILES = (*(f"{name}{suffix}" for name in _SIGNED for suffix in (".crt", ".key")), "sa.key", "sa.pub")
_ETCD_FILES = tuple(f"{name}{suffix}" for name in ("ca", "server", "client") for suffix in (".crt", ".key"))
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_RECORD = "made.json"
_TOKEN = re.compile(r"[A-Za-z0-9._~+/-]+=*")
"""What a bearer token may be (RFC 6750); a kubeconfig holds it as it is."""


@dataclass(frozen=True, slots=True)
class Certificates:
    """Where the files of a server are.

    Attributes:
        directory: they all lie in it.
        token: the administrator's.
    """

    directory: Path
    token: str

    @property
    def authority(self) -> Path:
        """The certificate that signed the others."""
        return self.directory / "ca.crt"

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
        """The certificate by which kubelets know the server."""
        return self.directory / "apiserver-kubelet-client.crt"

    @property
    def kubelet_client_key(self) -> Path:
        """The key of the certificate by which kubelets know the server."""
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
    """The names and addresses by which clients may call a server.

    Args:
        bind: the address that it listens on.
        service_range: the addresses of Services; the first of them is the server's own.
    """
    return called((bind, socket.gethostname()), service_range)


def called(hosts: Iterable[str], service_range: str) -> tuple[str, ...]:
    """These names and addresses, and those by which every server can be called.

    Args:
        hosts: names and addresses.
        service_range: the addresses of Services; the first of them is the server's own.
    """
    service = str(ip_network(service_range)[1])
    return tuple(dict.fromkeys((*_LOOPBACK, *_SERVICE, service, *hosts)))


def ensure(directory: Path, names: Sequence[str], *, now: float) -> Certificates:
    """The certificates in a directory; made if they are absent, near their end, changed, or lack a name.

    An authority that is still good is kept, so that kubeconfigs that trust it stay good as well.

    Args:
        directory: made if it does not exist.
        names: what the certificates of the server and of the kubelets must cover.
        now: seconds since 1970.

    Raises:
        OSError: a file cannot be read or written.
    """
    if not _is_good(directory, _FILES, names, now):
        from mockube.ca import make  # cryptography takes a tenth of the start, and most starts do not need it

        ends = make(directory, names, now=now, write=partial(_write, directory))
        _remember(directory, _FILES, names, ends)
    return Certificates(directory, _token(directory / "tokens.csv"))


def ensure_etcd(directory: Path, names: Iterable[str], *, now: float) -> None:
    """The certificates of an etcd and its client in a directory, made where `ensure` would make the server's.

    Args:
        directory: made if it does not exist.
        names: what the certificate of etcd must cover, besides this machine's own loopback.
        now: seconds since 1970.

    Raises:
        OSError: a file cannot be read or written.
    """
    covered = tuple(dict.fromkeys((*_LOOPBACK, *names)))
    if not _is_good(directory, _ETCD_FILES, covered, now):
        from mockube.ca import make_etcd

        ends = make_etcd(directory, covered, now=now, write=partial(_write, directory))
        _remember(directory, _ETCD_FILES, covered, ends)


def _is_good(directory: Path, files: Sequence[str], names: Sequence[str], now: float) -> bool:
    """Whether the files of a directory, which is closed to others, can be used."""
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


def _remember(directory: Path, files: Sequence[str], names: Sequence[str], ends: float) -> None:
    """Write down what the next start need not read."""
    record = {"digest": _digest(directory, files), "names": list(names), "ends": ends}
    _write(directory, _RECORD, json.dumps(record).encode())


def _digest(directory: Path, files: Sequence[str]) -> str:
    return hashlib.sha256(b"\0".join((directory / name).read_bytes() for name in files)).hexdigest()


def _write(directory: Path, name: str, content: bytes) -> None:
    write_private(directory / name, content)


def _token(path: Path) -> str:
    """The administrator's token, which is the first in the file; where none is that can be used, a new one."""
    try:
        token = path.read_text().partition(",")[0]
    except (FileNotFoundError, UnicodeDecodeError):
        token = ""
    if not _TOKEN.fullmatch(token):
        from secrets import token_urlsafe

        token = token_urlsafe(32)
        write_private(path, f'{token},{USER},{USER},"{GROUP}"\n')
    return token
