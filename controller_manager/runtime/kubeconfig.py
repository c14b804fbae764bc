"""The server's address and credentials, from a kubeconfig or from a pod's service account."""

import ssl
import tempfile
from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
"""The directory of a pod's token and the cluster's certificate (client-go rest.InClusterConfig)."""

_UNSUPPORTED_USER_FIELDS = ("exec", "auth-provider", "tokenFile", "username", "password", "as")
_UNSUPPORTED_CLUSTER_FIELDS = ("proxy-url",)


class ClientConfigError(Exception):
    """The server cannot be accessed; the message says what is missing or invalid, and where."""


@dataclass(frozen=True, slots=True)
class ClientConfig:
    """The address of a server, and the credentials for it.

    Attributes:
        server: the server's URL.
        ca: the CA certificates, as PEM, that verify the server; empty for those of the system.
        token: a bearer token, "" for none.
        token_file: a file from which the token is read repeatedly, as it is rotated.
        client_cert: a certificate as PEM, with its key in `client_key`.
        insecure: True if the server's certificate is not verified.
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

    def bearer_token(self) -> str:
        """Return the current token.

        Raises:
            ClientConfigError: its file cannot be read.
        """
        return self.token if self.token_file is None else _read(self.token_file, "the token").decode().strip()

    def tls_context(self) -> ssl.SSLContext | None:
        """Return the TLS context for connections, or None if the URL is plain HTTP.

        Raises:
            ClientConfigError: a certificate or key is invalid.
        """
        if not self.server.startswith("https://"):
            return None
        try:
            context = ssl.create_default_context(cadata=self.ca.decode() or None)
            if self.insecure:
                context.check_hostname = False
                context.verify_mode = ssl.CERT_NONE
            if self.client_cert:
                _without_missing(context, self.client_cert + b"\n" + self.client_key)
        except (ssl.SSLError, UnicodeDecodeError, ValueError) as error:
            raise ClientConfigError(f"the certificates for {self.server} cannot be used: {error}") from error
        return context


def load_kubeconfig(path: Path | str, context: str = "") -> ClientConfig:
    """Read the access from a kubeconfig.

    Args:
        path: the kubeconfig's path.
        context: the name of its context, "" for the current one.

    Raises:
        ClientConfigError: the file cannot be read, is not a kubeconfig, lacks what the context names, or needs
            credentials of an unsupported kind.
    """
    file = Path(path).expanduser()
    config = _parsed(file)
    name = context or config.get("current-context") or ""
    if not name:
        raise ClientConfigError(f"{file} has no current-context; choose one with --context")
    chosen = _named(file, config, "context", name)
    cluster = _named(file, config, "cluster", chosen.get("cluster", ""))
    user = _named(file, config, "user", chosen["user"]) if chosen.get("user") else {}
    _reject_unsupported(file, user, _UNSUPPORTED_USER_FIELDS)
    _reject_unsupported(file, cluster, _UNSUPPORTED_CLUSTER_FIELDS)
    server = str(cluster.get("server", "")).rstrip("/")
    if not server.startswith(("https://", "http://")):
        raise ClientConfigError(f"{file}: the server of cluster {chosen.get('cluster')!r} is no URL: {server!r}")
    return ClientConfig(
        server,
        ca=_data(file, cluster, "certificate-authority"),
        token=str(user.get("token") or ""),
        client_cert=_data(file, user, "client-certificate"),
        client_key=_data(file, user, "client-key"),
        insecure=bool(cluster.get("insecure-skip-tls-verify")),
        server_name=str(cluster.get("tls-server-name") or ""),
    )


def in_cluster(environment: Mapping[str, str], directory: Path = SERVICE_ACCOUNT) -> ClientConfig:
    """Return the access that a cluster gives its pods.

    Args:
        environment: the variables, with KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT.
        directory: where the token and the certificate are.

    Raises:
        ClientConfigError: this process does not run in a pod.
    """
    host, port = (environment.get(f"KUBERNETES_SERVICE_{part}", "") for part in ("HOST", "PORT"))
    if not host or not port:
        raise ClientConfigError(
            "this is no pod of a cluster (KUBERNETES_SERVICE_HOST is not set); give --kubeconfig FILE"
        )
    ca, token = directory / "ca.crt", directory / "token"
    _read(token, "the token")
    return ClientConfig(
        f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}",
        ca=_read(ca, "the certificate of the cluster"),
        token_file=token,
    )


def _without_missing(context: ssl.SSLContext, chain: bytes) -> None:
    """Load a certificate and its key; Python's ssl only reads them from files."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(chain)
        file.flush()
        context.load_cert_chain(file.name)


def _parsed(file: Path) -> dict[str, Any]:
    try:
        config = yaml.load(_read(file, "the kubeconfig"), yaml.CSafeLoader)
    except yaml.YAMLError as error:
        raise ClientConfigError(f"{file} is no kubeconfig: {error}") from error
    if not isinstance(config, dict):
        raise ClientConfigError(f"{file} is no kubeconfig: it holds no mapping")
    return config


def _named(file: Path, config: dict[str, Any], word: str, name: str) -> dict[str, Any]:
    rows = config.get(f"{word}s")
    for row in rows if isinstance(rows, list) else ():
        if isinstance(row, dict) and row.get("name") == name and isinstance(row.get(word), dict):
            entry: dict[str, Any] = row[word]
            return entry
    raise ClientConfigError(f"{file} has no {word} named {name!r}")


def _reject_unsupported(file: Path, section: dict[str, Any], fields: tuple[str, ...]) -> None:
    for name in fields:
        if section.get(name):
            raise ClientConfigError(f"{file}: {name} is not known here; give a token or a client certificate")


def _data(file: Path, section: dict[str, Any], name: str) -> bytes:
    inline = section.get(f"{name}-data")
    if inline:
        try:
            return b64decode(str(inline), validate=True)
        except ValueError as error:
            raise ClientConfigError(f"{file}: {name}-data is no base64: {error}") from error
    file_name = section.get(name)
    return _read(file.parent / str(file_name), name) if file_name else b""


def _read(file: Path, subject: str) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise ClientConfigError(f"{subject} cannot be read: {file}: {error.strerror or error}") from error
