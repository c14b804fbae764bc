"""The settings of the kubelets' server: where to listen, with which certificate, and who may connect."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class StreamSettings:
    """The settings of the kubelets' server.

    Attributes:
        certificate, key: the server's, as PEM files.
        client_authority: the CA that signs the certificates of clients, as a PEM file.
        host: the address to listen on.
        port: the port, 0 for any free one.
        root_ca: the CA certificate of the API server, as PEM, for the files of containers.
    """

    certificate: Path
    key: Path
    client_authority: Path
    host: str = "127.0.0.1"
    port: int = 0
    root_ca: str = ""
