"""The way to the kubelets: logs are passed on as they come, and connections that change their protocol byte by byte.

As kube-apiserver's UpgradeAwareHandler and LocationStreamer have it, this server does not look into what passes.
"""

import asyncio
import os
import socket
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import aiohttp
from aiohttp import web
from multidict import CIMultiDict
from yarl import URL

from apiserver.api import errors
from apiserver.api.errors import ApiError
from apiserver.endpoints.handlers import RequestContext
from apiserver.endpoints.http_response import Answer, Reply, Upgraded
from apiserver.endpoints.relay import Backend, Relay
from apiserver.endpoints.responses import response
from apiserver.registry.subresources import Location

MOST = 50_000
"""Bytes of a kubelet's error that are passed on (response_checker.go's maxReadLength)."""
PASSED_ON = (
    "Connection",
    "Upgrade",
    "Sec-WebSocket-Extensions",
    "Sec-WebSocket-Key",
    "Sec-WebSocket-Protocol",
    "Sec-WebSocket-Version",
    "User-Agent",
    "X-Stream-Protocol-Version",
)
"""Headers that kubelets get; who the client is, they are not told."""


@dataclass(frozen=True, slots=True)
class KubeletAccess:
    """How kubelets are reached.

    Attributes:
        certificate, key: of this server as their client; None for none.
        authority: who signs theirs; None trusts any.
        timeout: seconds that a connection may take.
    """

    certificate: Path | None = None
    key: Path | None = None
    authority: Path | None = None
    timeout: float = 5.0


class Kubelets:
    """Everything that is under way between clients and kubelets."""

    def __init__(self, access: KubeletAccess) -> None:
        """Read the files.

        Raises:
            OSError: one cannot be read, or is not what it should be (ssl.SSLError).
        """
        self._timeout = access.timeout
        self._blind_tls = _context(access, verified=False)
        self._tls = _context(access, verified=True) if access.authority else self._blind_tls
        self._session: aiohttp.ClientSession | None = None
        self._open: set[asyncio.Task[object]] = set()

    async def carry(self, asked: RequestContext, location: Location) -> Reply:
        """Let a kubelet answer, as long as that takes.

        Raises:
            ApiError: 400, 500, and what the kubelet says.
        """
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        try:
            if location.upgrades:
                return await self._upgraded(asked, location)
            return await self._log(asked, location)
        finally:
            self._open.discard(task)

    async def stop(self) -> None:
        """End all of it."""
        for task in list(self._open):
            task.cancel()
        if self._open:
            await asyncio.wait(list(self._open), timeout=1.0)
        if self._session is not None:
            await self._session.close()

    # -- logs

    async def _log(self, asked: RequestContext, location: Location) -> web.StreamResponse:
        url = f"https://{location.authority}{location.path}"
        try:
            found = await self._client().get(URL(url, encoded=True), ssl=self._tls_for(location))
        except (aiohttp.ClientError, OSError, TimeoutError, ValueError) as error:  # ValueError: no name of a host
            raise ApiError(500, "", f'Get "{url}": {_dial_words(error, location)}') from error
        async with found:
            if not 200 <= found.status <= 206:
                raise _refusal(found.status, await found.content.read(MOST), asked)
            headers = CIMultiDict(
                {"Audit-Id": asked.audit_id, "Cache-Control": "no-cache, private", "Content-Type": "text/plain"}
            )
            answer = web.StreamResponse(headers=headers)
            if asked.request.version >= (1, 1):
                answer.enable_chunked_encoding()
            await answer.prepare(asked.request)
            try:
                async for piece in found.content.iter_any():
                    await answer.write(piece)
            except aiohttp.ClientError as error:
                raise ConnectionResetError("the kubelet is gone") from error
            await answer.write_eof()
        return answer

    def _client(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0),
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=self._timeout),
                auto_decompress=False,
                skip_auto_headers=("Accept-Encoding",),
            )
        return self._session

    # -- connections that change their protocol

    async def _upgraded(self, asked: RequestContext, location: Location) -> Reply:
        request = asked.request
        if "upgrade" not in request.headers.get("Connection", "").lower():
            raise errors.bad_request("Upgrade request required")
        backend = await self._dial(location)
        try:
            backend.write(_head(request, location))
            if await backend.status() != 101:
                return await _declined(backend, asked)
            client = request.transport
            if client is None:
                raise ConnectionResetError("the client is gone")
            await Relay(client, request.protocol, backend).run()
        except EOFError as error:
            raise ApiError(500, "", "error sending request: unexpected EOF") from error
        finally:
            backend.close()
        return Upgraded()

    async def _dial(self, location: Location) -> Backend:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(self._timeout):
                _, backend = await loop.create_connection(
                    Backend, location.host, location.port, ssl=self._tls_for(location)
                )
        except (OSError, TimeoutError, ValueError) as error:
            raise ApiError(500, "", f"error dialing backend: {_dial_words(error, location)}") from error
        return backend

    def _tls_for(self, location: Location) -> ssl.SSLContext:
        return self._tls if location.verified else self._blind_tls


def _context(access: KubeletAccess, *, verified: bool) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if verified:
        context.load_verify_locations(access.authority)
    else:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if access.certificate is not None:
        context.load_cert_chain(access.certificate, access.key)
    return context


def _head(request: web.BaseRequest, location: Location) -> bytes:
    """Return the request as the kubelet gets it."""
    lines = [f"{request.method} {location.path} HTTP/1.1", f"Host: {location.authority}", "Content-Length: 0"]
    lines += [f"{name}: {value}" for name in PASSED_ON for value in request.headers.getall(name, ())]
    lines.append(f"X-Forwarded-For: {request.remote}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("utf-8", "surrogateescape")


async def _declined(backend: Backend, asked: RequestContext) -> Answer:
    """What a kubelet says instead of changing the protocol, passed on as it is.

    Raises:
        ApiError: 500, it says that all is well.
    """
    found = await backend.declined(MOST)
    if found.status < 400:
        raise ApiError(500, "", f"invalid upgrade response: status code {found.status}")
    return response(found.body, code=found.status, media=found.media, audit_id=asked.audit_id)


def _refusal(status: int, body: bytes, asked: RequestContext) -> ApiError:
    """A kubelet's error as the API tells it (response_checker.go, NewGenericServerResponse)."""
    text = body.decode("utf-8", "replace")
    if status == 400:
        return errors.bad_request(text)
    if status == 500:
        return errors.internal(text)
    unknown = f"the server responded with the status code {status} but did not return more information"
    reason, words = _GENERIC.get(status, ("", unknown))
    if status > 500:
        reason, words = "InternalError", f'an error on the server ("{text}") has prevented the request from succeeding'
    if status == 403:
        words = text
    name = asked.target.name
    details = {"name": name, "kind": "pods/log"}
    return ApiError(status, reason, f"{words} ( pods/log {name})", details=details)


_GENERIC: Mapping[int, tuple[str, str]] = {
    401: ("Unauthorized", "the server has asked for the client to provide credentials"),
    403: ("Forbidden", ""),
    404: ("NotFound", "the server could not find the requested resource"),
    405: ("MethodNotAllowed", "the server does not allow this method on the requested resource"),
}


_VERIFIED: Mapping[int, str] = {
    **dict.fromkeys((18, 19, 20, 21), "certificate signed by unknown authority"),
    **dict.fromkeys((9, 10), "certificate has expired or is not yet valid"),
}
"""What OpenSSL finds wrong with a certificate, in Go's words."""


def _dial_words(error: BaseException, location: Location) -> str:
    """Why a connection cannot be had, in the words of Go's net package."""
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        error = error.certificate_error
    elif isinstance(error, aiohttp.ClientConnectorError):
        error = error.os_error
    match error:
        case ssl.SSLCertVerificationError():
            words = _VERIFIED.get(error.verify_code, error.verify_message)
            why = f"tls: failed to verify certificate: x509: {words}"
        case ssl.SSLError():
            why = f"tls: {error.reason or error}"
        case socket.gaierror() | ValueError():
            why = f"dial tcp: lookup {location.host}: no such host"
        case TimeoutError():
            why = f"dial tcp {location.authority}: i/o timeout"
        case OSError() if error.errno and error.errno > 0:
            why = f"dial tcp {location.authority}: connect: {os.strerror(error.errno).lower()}"
        case _:
            why = f"dial tcp {location.authority}: {error}"
    return why
