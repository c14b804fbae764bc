"""How the manager gets in: a kubeconfig, or what a cluster gives its pods."""

import ssl
import tempfile
from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
"""Where a pod finds its token and the cluster's certificate (client-go rest.InClusterConfig)."""

_UNKNOWN = ("exec", "auth-provider", "tokenFile", "username", "password", "as")
_CLUSTER_UNKNOWN = ("proxy-url",)


class AccessError(Exception):
    """There is no way in; the message says what is missing or cannot be used, and where."""


@dataclass(frozen=True, slots=True)
class Access:
    """A way in.

    Attributes:
        server: the URL.
        ca: the certificates, as PEM, by which the server is known; empty for those of the system.
        token: a bearer token, "" for none.
        token_file: where the token is read again and again, as it is replaced there.
        client_cert: a certificate as PEM, with its key in `client_key`.
        insecure: whether any server will do.
        server_name: the name that the server's certificate must have, "" for that in the URL.
    """

    server: str
    ca: bytes = b""
    token: str = ""
    token_file: Path | None = None
    client_cert: bytes = b""
    client_key: bytes = b""
    insecure: bool = False
    server_name: str = ""

    def bearer(self) -> str:
        """The token as it is now.

        Raises:
            AccessError: its file cannot be read.
        """
        return self.token if self.token_file is None else _read(self.token_file, "the token").decode().strip()

    def tls(self) -> ssl.SSLContext | None:
        """What a connection needs, None where the URL is plain.

        Raises:
            AccessError: a certificate or key is none.
        """
        if not self.server.startswith("https://"):
            return None
        try:
            context = ssl.create_default_context(cadata=self.ca.decode() or None)
            if self.insecure:
                context.check_hostname = False
                context.verify_mode = ssl.CERT_NONE
            if self.client_cert:
                _present(context, self.client_cert + b"\n" + self.client_key)
        except (ssl.SSLError, UnicodeDecodeError, ValueError) as error:
            raise AccessError(f"the certificates for {self.server} cannot be used: {error}") from error
        return context


def load(path: Path | str, context: str = "") -> Access:
    """The way that a kubeconfig shows.

    Args:
        path: the file.
        context: which of its contexts, "" for the current one.

    Raises:
        AccessError: the file cannot be read, is no kubeconfig, lacks what the context names, or asks for a kind of
            credentials that is not known here.
    """
    file = Path(path).expanduser()
    config = _parsed(file)
    name = context or config.get("current-context") or ""
    if not name:
        raise AccessError(f"{file} has no current-context; choose one with --context")
    chosen = _named(file, config, "context", name)
    cluster = _named(file, config, "cluster", chosen.get("cluster", ""))
    user = _named(file, config, "user", chosen["user"]) if chosen.get("user") else {}
    _refuse(file, user, _UNKNOWN)
    _refuse(file, cluster, _CLUSTER_UNKNOWN)
    server = str(cluster.get("server", "")).rstrip("/")
    if not server.startswith(("https://", "http://")):
        raise AccessError(f"{file}: the server of cluster {chosen.get('cluster')!r} is no URL: {server!r}")
    return Access(
        server,
        ca=_data(file, cluster, "certificate-authority"),
        token=str(user.get("token") or ""),
        client_cert=_data(file, user, "client-certificate"),
        client_key=_data(file, user, "client-key"),
        insecure=bool(cluster.get("insecure-skip-tls-verify")),
        server_name=str(cluster.get("tls-server-name") or ""),
    )


def in_cluster(environment: Mapping[str, str], directory: Path = SERVICE_ACCOUNT) -> Access:
    """The way that a cluster gives its pods.

    Args:
        environment: with KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT.
        directory: where the token and the certificate are.

    Raises:
        AccessError: this is no pod.
    """
    host, port = (environment.get(f"KUBERNETES_SERVICE_{part}", "") for part in ("HOST", "PORT"))
    if not host or not port:
        raise AccessError("this is no pod of a cluster (KUBERNETES_SERVICE_HOST is not set); give --kubeconfig FILE")
    ca, token = directory / "ca.crt", directory / "token"
    _read(token, "the token")
    return Access(
        f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}",
        ca=_read(ca, "the certificate of the cluster"),
        token_file=token,
    )


def _present(context: ssl.SSLContext, chain: bytes) -> None:
    """Load a certificate and its key, which Python's ssl takes from files alone."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(chain)
        file.flush()
        context.load_cert_chain(file.name)


def _parsed(file: Path) -> dict[str, Any]:
    try:
        config = yaml.load(_read(file, "the kubeconfig"), yaml.CSafeLoader)
    except yaml.YAMLError as error:
        raise AccessError(f"{file} is no kubeconfig: {error}") from error
    if not isinstance(config, dict):
        raise AccessError(f"{file} is no kubeconfig: it holds no mapping")
    return config


def _named(file: Path, config: dict[str, Any], word: str, name: str) -> dict[str, Any]:
    rows = config.get(f"{word}s")
    for row in rows if isinstance(rows, list) else ():
        if isinstance(row, dict) and row.get("name") == name and isinstance(row.get(word), dict):
            found: dict[str, Any] = row[word]
            return found
    raise AccessError(f"{file} has no {word} named {name!r}")


def _refuse(file: Path, section: dict[str, Any], fields: tuple[str, ...]) -> None:
    for name in fields:
        if section.get(name):
            raise AccessError(f"{file}: {name} is not known here; give a token or a client certificate")


def _data(file: Path, section: dict[str, Any], name: str) -> bytes:
    inline = section.get(f"{name}-data")
    if inline:
        try:
            return b64decode(str(inline), validate=True)
        except ValueError as error:
            raise AccessError(f"{file}: {name}-data is no base64: {error}") from error
    where = section.get(name)
    return _read(file.parent / str(where), name) if where else b""


def _read(file: Path, what: str) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise AccessError(f"{what} cannot be read: {file}: {error.strerror or error}") from error
