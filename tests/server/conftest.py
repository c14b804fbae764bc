import base64
import datetime as dt
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from patience import SECONDS

from apiserver.api.meta import Obj
from apiserver.api.resources import Resource
from apiserver.app import serving
from apiserver.config import Config, check
from mockube.threads import in_thread

TOKEN = "secret"
MERGE = "application/merge-patch+json"


@dataclass(frozen=True)
class Answer:
    code: int
    media: str
    body: bytes
    warnings: tuple[str, ...] = ()

    @property
    def obj(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Wire:
    """A keep-alive connection to a server."""

    connection: HTTPConnection

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        return self.send(method, path, None if body is None else json.dumps(body).encode(), **headers)

    def send(self, method: str, path: str, body: bytes | None, **headers: str) -> Answer:
        """Send a request; the names of headers have underscores for their dashes."""
        sent = {"Authorization": f"Bearer {TOKEN}"} | {k.replace("_", "-"): v for k, v in headers.items()}
        self.connection.request(method, path, body, sent)
        response = self.connection.getresponse()
        warnings = tuple(response.headers.get_all("Warning") or ())
        return Answer(response.status, response.headers.get("Content-Type", ""), response.read(), warnings)

    def get(self, path: str, **headers: str) -> Any:
        return self.expect(200, "GET", path, **headers)

    def expect(self, code: int, method: str, path: str, body: Any = None, **headers: str) -> Any:
        """Return the answer's object; its HTTP status must be this one."""
        answer = self.ask(method, path, body, **headers)
        assert answer.code == code, (method, path, answer)
        return answer.obj if answer.body else None

    def patch(self, path: str, change: Obj) -> Any:
        return self.expect(200, "PATCH", path, change, Content_Type=MERGE)

    def events_until_deleted(self, path: str) -> list[Obj]:
        """Return the events of a watch up to the first deletion, on a connection of its own."""
        events: list[Obj] = [{"type": "none yet"}]
        with closing(HTTPConnection(self.connection.host, self.connection.port, timeout=SECONDS)) as connection:
            connection.request("GET", path, headers={"Authorization": f"Bearer {TOKEN}"})
            with connection.getresponse() as stream:
                while events[-1]["type"] != "DELETED":
                    events.append(json.loads(stream.readline()))
        return events[1:]


@contextmanager
def wire_to(url: str) -> Iterator[Wire]:
    with closing(HTTPConnection(url.removeprefix("http://"), timeout=SECONDS)) as connection:
        yield Wire(connection)


@pytest.fixture(scope="session")
def tokens(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file by which TOKEN is an administrator's."""
    path = tmp_path_factory.mktemp("server") / "tokens.csv"
    path.write_text(f'{TOKEN},admin,1,"system:masters"\n')
    return path


@pytest.fixture(scope="session")
def wires(tokens: Path) -> Iterator[Callable[[str], Wire]]:
    """Release → a connection to the session's server of that release."""
    with ExitStack() as stack:
        made: dict[str, Wire] = {}

        def wire(version: str) -> Wire:
            if version not in made:
                config = check(Config(secure_port=0, token_auth_file=tokens, kubernetes_version=version))
                made[version] = stack.enter_context(wire_to(stack.enter_context(in_thread(serving(config))).url))
            return made[version]

        yield wire


@pytest.fixture
def connect() -> Callable[[str], AbstractContextManager[Wire]]:
    """URL → a connection to the server there."""
    return wire_to


@pytest.fixture
def serve(tokens: Path) -> Callable[[Path], AbstractContextManager[tuple[subprocess.Popen[str], str]]]:
    """Directory → a server process that keeps its data there, and its URL; killed at the end."""

    @contextmanager
    def server(data: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
        flags = ("--etcd-servers", f"sqlite://{data}", "--token-auth-file", tokens, "--secure-port", "0")
        with subprocess.Popen(
            [sys.executable, "-m", "apiserver", *flags], stderr=subprocess.PIPE, text=True
        ) as process:
            assert process.stderr
            try:
                line = next(line for line in process.stderr if " at http" in line)
                yield process, line.split()[-1].strip('"')
            finally:
                process.kill()

    return server


@pytest.fixture(scope="session")
def minimal() -> Callable[[Resource], Obj]:
    """A body that the server takes for a new object of a row."""
    samples = yaml.safe_load(_filled(Path(__file__).with_name("minimal.yaml").read_text()))

    def make(row: Resource) -> Obj:
        kind = samples.get(f"{row.plural}.{row.group}", {})
        sample = samples.get(f"{row.plural}.{row.version}.{row.group}", kind)
        obj: Obj = {"kind": row.kind, "apiVersion": row.api_version, "metadata": {"name": "x"}} | sample
        return obj

    return make


def _filled(text: str) -> str:
    """Return the samples with the certificates and keys that some of them need."""
    key, proven = ec.generate_private_key(ec.SECP256R1()), ed25519.Ed25519PrivateKey.generate()
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "a")])
    request = x509.CertificateSigningRequestBuilder().subject_name(name).sign(key, hashes.SHA256())
    began = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    authority = (
        x509.CertificateBuilder(name, name, key.public_key(), 1, began, began + dt.timedelta(days=36500))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    public = proven.public_key().public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    values = {
        "REQUEST,": base64.b64encode(_pem(request)).decode() + ",",
        "STUB\n": base64.b64encode(request.public_bytes(serialization.Encoding.DER)).decode() + "\n",
        "CERTIFICATE}": json.dumps(_pem(authority).decode()) + "}",
        "PUBLIC_KEY\n": base64.b64encode(public).decode() + "\n",
        "PROOF\n": base64.b64encode(proven.sign(b"11111111-1111-1111-1111-111111111111")).decode() + "\n",
    }
    for placeholder, value in values.items():
        text = text.replace(placeholder, value)
    return text


def _pem(signed: x509.Certificate | x509.CertificateSigningRequest) -> bytes:
    return signed.public_bytes(serialization.Encoding.PEM)
