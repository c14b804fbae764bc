"""A webhook: an HTTPS server on the test's loop, whose certificate mockube's own authority has signed."""

import base64
import json
import ssl
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiohttp import web

from mockube.ca import make_certificates

Obj = dict[str, Any]
Answer = Callable[[Obj], Any]
"""Returns the response of a review's request: an object, or what an aiohttp handler returns."""


def HANG_UP(_review: Obj) -> None:  # noqa: N802 - a mark among answers
    """Close the connection."""


NAMES = ("127.0.0.1", "localhost", "hook.default.svc")


@dataclass
class HookServer:
    """A webhook.

    Attributes:
        port: its port on loopback.
        folder: the folder of its certificates.
        answers: path → how it answers.
        reviews: path → the reviews that came.
        peers: the addresses of the clients' connections, one for each request.
    """

    port: int
    folder: Path
    answers: dict[str, Answer] = field(default_factory=dict)
    reviews: dict[str, list[Obj]] = field(default_factory=dict)
    peers: list[Any] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    @property
    def ca_bundle(self) -> str:
        return base64.b64encode((self.folder / "ca.crt").read_bytes()).decode()

    def requests(self, path: str) -> list[Obj]:
        """Return the requests that came to a path."""
        return [review["request"] for review in self.reviews.get(path, [])]

    async def handle(self, request: web.Request) -> web.StreamResponse:
        review = json.loads(await request.read() or b"{}")
        self.reviews.setdefault(request.path, []).append(review)
        assert request.transport is not None
        self.peers.append(request.transport.get_extra_info("peername"))
        make_answer = self.answers[request.path]
        if make_answer is HANG_UP:
            request.transport.abort()
            raise ConnectionResetError
        answer = make_answer(review)
        if hasattr(answer, "__await__"):
            answer = await answer
        if isinstance(answer, web.StreamResponse):
            return answer
        if isinstance(answer, bytes):
            return web.Response(body=answer, content_type="application/json")
        response = {"uid": review["request"]["uid"]} | answer
        return web.json_response({name: review[name] for name in ("kind", "apiVersion")} | {"response": response})


def certificates(folder: Path, names: tuple[str, ...] = NAMES) -> Path:
    """Make an authority and a certificate in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    make_certificates(folder, names, now=time.time(), write=lambda name, data: _write(folder / name, data))
    return folder


def _write(path: Path, data: bytes) -> None:
    path.write_bytes(data)


@asynccontextmanager
async def hook_server(folder: Path, *, port: int = 0, names: tuple[str, ...] = NAMES) -> AsyncIterator[HookServer]:
    """Run a webhook for as long as the context lasts."""
    if not (folder / "ca.crt").exists():
        certificates(folder, names)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(folder / "apiserver.crt", folder / "apiserver.key")
    app = web.Application(client_max_size=2**26)
    server = HookServer(port, folder)
    app.router.add_route("*", "/{path:.*}", server.handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1, access_log=None, handler_cancellation=True)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", port, ssl_context=context)
    await site.start()
    assert site._server is not None
    server.port = site._server.sockets[0].getsockname()[1]  # type: ignore[attr-defined]
    try:
        yield server
    finally:
        transports = [connection.transport for connection in runner.server.connections] if runner.server else []
        await runner.cleanup()
        for transport in transports:
            if transport is not None:
                transport.abort()


def allow(_review: Obj) -> Obj:
    """Allow the request."""
    return {"allowed": True}


def deny(**status: Any) -> Answer:
    """Deny the request, with a status."""
    return lambda _review: {"allowed": False} | ({"status": status} if status else {})


def patch(*operations: Obj) -> Answer:
    """Allow the request, and patch its object."""
    text = base64.b64encode(json.dumps(operations).encode()).decode()
    return lambda _review: {"allowed": True, "patchType": "JSONPatch", "patch": text}


def add(path: str, value: Any) -> Obj:
    """Return an operation of a patch."""
    return {"op": "add", "path": path, "value": value}
