"""What the kubelets' server is told: where to listen, with which certificate, and who may call."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class StreamSettings:
    """The settings of the kubelets' server.

    Attributes:
        certificate, key: the server's, as PEM files.
        client_authority: who signs the certificates of those who may call, as a PEM file.
        host: the address to listen on.
        port: the port, 0 for any free one.
        root_ca: the certificate of the API server's authority, as PEM, for the files of containers.
    """

    certificate: Path
    key: Path
    client_authority: Path
    host: str = "127.0.0.1"
    port: int = 0
    root_ca: str = ""
