import json
import logging
import socket
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field

import pytest
import yaml
from hypothesis import HealthCheck, Phase, settings
from patience import SECONDS

from apiserver.app import serving
from apiserver.config import Config, check
from mockube.threads import in_thread

TOKEN = "secret"


@dataclass(frozen=True)
class Answer:
    code: int
    headers: dict[str, str]
    body: bytes


@dataclass(repr=False)
class RawClient:
    """A client that sends any bytes at all, over a connection that it keeps as long as the server does."""

    host: str
    port: int
    connection: socket.socket | None = None
    buffer: bytes = b""

    def send(self, method: str, *, path: bytes, headers: dict[str, bytes], body: bytes = b"") -> Answer:
        lines = [b"%b %b HTTP/1.1" % (method.encode(), path), b"Host: a"]
        lines += [b"%b: %b" % (name.encode(), value) for name, value in headers.items()]
        if body or method in ("POST", "PUT", "PATCH"):
            lines.append(b"Content-Length: %d" % len(body))
        whole = b"\r\n".join([*lines, b"", body])
        try:
            return self._exchange(method, whole)
        except ConnectionError:  # the server had closed a connection that was kept: clients try another
            return self._exchange(method, whole)

    def _exchange(self, method: str, whole: bytes) -> Answer:
        if self.connection is None:
            self.connection, self.buffer = socket.create_connection((self.host, self.port), timeout=SECONDS), b""
        try:
            with suppress(BrokenPipeError):  # refused before all of it was read: the answer is there
                self.connection.sendall(whole)
            return self._receive(method)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        if self.connection is not None:
            self.connection.close()
            self.connection = None

    def _receive(self, method: str) -> Answer:
        head = self._until(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        pairs = (line.partition(": ") for line in lines if line)
        headers = {name.lower(): value for name, _, value in pairs}
        answer = Answer(int(first.split()[1]), headers, b"" if method == "HEAD" else self._body(headers))
        if headers.get("connection") == "close":
            self.close()
        return answer

    def _body(self, headers: dict[str, str]) -> bytes:
        if headers.get("transfer-encoding") == "chunked":  # a watch: its beginning is enough
            self.close()
            return b""
        length = int(headers.get("content-length", 0))
        while len(self.buffer) < length:
            self._more()
        body, self.buffer = self.buffer[:length], self.buffer[length:]
        return body

    def _until(self, end: bytes) -> bytes:
        while end not in self.buffer:
            self._more()
        line, _, self.buffer = self.buffer.partition(end)
        return line

    def _more(self) -> None:
        assert self.connection
        received = self.connection.recv(1 << 20)
        if not received:
            raise ConnectionError(f"the server closed the connection after {self.buffer!r}")
        self.buffer += received


@dataclass(repr=False)
class Complaints(logging.Handler):
    """A handler that keeps what the server logs as an error."""

    said: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(logging.ERROR)

    def __hash__(self) -> int:
        return id(self)

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(self.format(record))

    def take(self) -> list[str]:
        said, self.said = self.said, []
        return said


def well_formed(answer: Answer, path: str) -> None:
    """Check that an answer is an object, or a Status that agrees with the HTTP status; text where upstream has text."""
    media = answer.headers.get("content-type", "").partition(";")[0]
    if answer.code in (204, 304) or "transfer-encoding" in answer.headers or not answer.body:
        assert answer.code < 300 or answer.code == 304 or answer.headers.get("content-length")
        return
    if media == "text/plain" and (answer.code in (200, 400, 404) or path.startswith(("/healthz", "/livez", "/readyz"))):
        return
    if media == "application/vnd.kubernetes.protobuf":  # errors alone
        assert answer.code >= 400
        assert answer.body.startswith(b"k8s\x00\n\x0c\n\x02v1\x12\x06Status\x12")
        assert b"Failure" in answer.body
        assert b"could not be served" not in answer.body, answer
        return
    assert media in ("application/json", "application/yaml", "application/jwk-set+json"), answer
    body = json.loads(answer.body) if media != "application/yaml" else yaml.load(answer.body, yaml.CSafeLoader)
    assert isinstance(body, dict)
    if answer.code >= 400:
        assert (body["kind"], body["status"], body["code"]) == ("Status", "Failure", answer.code), answer
        assert body.get("message") or body.get("reason")
        assert "could not be served" not in body.get("message", ""), answer


@pytest.fixture(scope="module")
def complaints() -> Iterator[Complaints]:
    handler = Complaints()
    loggers = [logging.getLogger(name) for name in ("apiserver", "aiohttp", "asyncio")]
    for logger in loggers:
        logger.addHandler(handler)
    yield handler
    for logger in loggers:
        logger.removeHandler(handler)


Ask = Callable[..., Answer]


@pytest.fixture(scope="module")
def ask(complaints: Complaints, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ask]:
    """Return a function that asks a server of the newest release; the answer is well-formed, and no error is logged.

    At the end the server is ready, and serves.
    """
    tokens = tmp_path_factory.mktemp("fuzz") / "tokens.csv"
    tokens.write_text(f'{TOKEN},admin,1,"system:masters"\n')
    config = check(Config(secure_port=0, token_auth_file=tokens))
    with in_thread(serving(config)) as running, closing(RawClient(running.host, running.port)) as client:

        def asked(method: str, path: str, *, body: bytes = b"", **headers: str) -> Answer:
            given = {name.replace("_", "-"): value.encode("latin-1") for name, value in headers.items() if value}
            sent = {"Authorization": f"Bearer {TOKEN}".encode()} | given
            answer = client.send(method, path=path.encode("latin-1"), headers=sent, body=body)
            assert complaints.take() == []
            well_formed(answer, path)
            return answer

        yield asked
        path, body = "/api/v1/namespaces/default/configmaps", b'{"metadata":{"name":"afterwards"},"data":{"a":"b"}}'
        assert asked("GET", "/readyz").body == b"ok"
        assert asked("POST", path, body=body, Content_Type="application/json").code == 201
        assert json.loads(asked("GET", f"{path}/afterwards").body)["data"] == {"a": "b"}


settings.register_profile(
    "odd requests",
    database=None,
    deadline=None,
    phases=(Phase.generate, Phase.shrink),
    suppress_health_check=list(HealthCheck),
)
