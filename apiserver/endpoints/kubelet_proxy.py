"""Proxies requests to kubelets: logs are forwarded as they come, and upgraded connections byte by byte.

Like kube-apiserver's UpgradeAwareHandler and LocationStreamer, it does not parse what it forwards.
"""

import asyncio
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
from apiserver.api.httpstream import Upgraded, is_upgrade_request
from apiserver.endpoints.handlers import RequestContext
from apiserver.endpoints.http_response import Reply, Response
from apiserver.endpoints.relay import Backend, Relay
from apiserver.endpoints.responses import response
from apiserver.registry.subresources import KubeletLocation
from apiserver.webhook.dial_errors import dial_error

MAX_ERROR_BYTES = 50_000
"""The bytes of a kubelet's error that are forwarded (response_checker.go's maxReadLength)."""
FORWARDED_HEADERS = (
    "Connection",
    "Upgrade",
    "Sec-WebSocket-Extensions",
    "Sec-WebSocket-Key",
    "Sec-WebSocket-Protocol",
    "Sec-WebSocket-Version",
    "User-Agent",
    "X-Stream-Protocol-Version",
)
"""The headers that are forwarded to kubelets; the client's credentials are not."""


@dataclass(frozen=True, slots=True)
class KubeletClientConfig:
    """Settings for connections to kubelets.

    Attributes:
        certificate, key: files of this server's client certificate; None for none.
        authority: the CA file for the kubelets' certificates; None trusts any.
        timeout: seconds that connecting may take.
    """

    certificate: Path | None = None
    key: Path | None = None
    authority: Path | None = None
    timeout: float = 5.0


class KubeletProxy:
    """The proxied requests between clients and kubelets."""

    def __init__(self, access: KubeletClientConfig) -> None:
        """Read the files.

        Raises:
            OSError: one cannot be read, or is invalid (ssl.SSLError).
        """
        self._timeout = access.timeout
        self._blind_tls = _ssl_context(access, verified=False)
        self._tls = _ssl_context(access, verified=True) if access.authority else self._blind_tls
        self._session: aiohttp.ClientSession | None = None
        self._open: set[asyncio.Task[object]] = set()

    async def proxy(self, context: RequestContext, location: KubeletLocation) -> Reply:
        """Proxy a request to a kubelet, until the response or the upgraded connection ends.

        Raises:
            ApiError: 400, 500, and the kubelet's own errors.
        """
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        try:
            if location.is_upgrade:
                return await self._forward_upgrade(context, location)
            return await self._forward_log(context, location)
        finally:
            self._open.discard(task)

    async def stop(self) -> None:
        """Cancel all proxied requests, and close the connections."""
        for task in list(self._open):
            task.cancel()
        if self._open:
            await asyncio.wait(list(self._open), timeout=1.0)
        if self._session is not None:
            await self._session.close()

    # -- logs

    async def _forward_log(self, context: RequestContext, location: KubeletLocation) -> web.StreamResponse:
        url = f"https://{location.authority}{location.path}"
        try:
            kubelet_response = await self._client().get(URL(url, encoded=True), ssl=self._tls_for(location))
        except (aiohttp.ClientError, OSError, TimeoutError, ValueError) as error:  # ValueError: an invalid host name
            raise ApiError(500, "", f'Get "{url}": {dial_error(error, location.host, location.port)}') from error
        async with kubelet_response:
            if not 200 <= kubelet_response.status <= 206:
                raise _refusal(kubelet_response.status, await kubelet_response.content.read(MAX_ERROR_BYTES), context)
            headers = CIMultiDict(
                {"Audit-Id": context.audit_id, "Cache-Control": "no-cache, private", "Content-Type": "text/plain"}
            )
            client_response = web.StreamResponse(headers=headers)
            if context.request.version >= (1, 1):
                client_response.enable_chunked_encoding()
            await client_response.prepare(context.request)
            try:
                async for piece in kubelet_response.content.iter_any():
                    await client_response.write(piece)
            except aiohttp.ClientError as error:
                raise ConnectionResetError("the kubelet is gone") from error
            await client_response.write_eof()
        return client_response

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

    # -- upgraded connections

    async def _forward_upgrade(self, context: RequestContext, location: KubeletLocation) -> Reply:
        request = context.request
        if not is_upgrade_request(request.headers):
            raise errors.bad_request("Upgrade request required")
        backend = await self._dial(location)
        try:
            backend.write(_head(request, location))
            if await backend.status() != 101:
                return await _declined(backend, context)
            client = request.transport
            if client is None:
                raise ConnectionResetError("the client is gone")
            await Relay(client, request.protocol, backend).run()
        except EOFError as error:
            raise ApiError(500, "", "error sending request: unexpected EOF") from error
        finally:
            backend.close()
        return Upgraded()

    async def _dial(self, location: KubeletLocation) -> Backend:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(self._timeout):
                _, backend = await loop.create_connection(
                    Backend, location.host, location.port, ssl=self._tls_for(location)
                )
        except (OSError, TimeoutError, ValueError) as error:
            raise ApiError(
                500, "", f"error dialing backend: {dial_error(error, location.host, location.port)}"
            ) from error
        return backend

    def _tls_for(self, location: KubeletLocation) -> ssl.SSLContext:
        return self._tls if location.verify_tls else self._blind_tls


def _ssl_context(access: KubeletClientConfig, *, verified: bool) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if verified:
        context.load_verify_locations(access.authority)
    else:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if access.certificate is not None:
        context.load_cert_chain(access.certificate, access.key)
    return context


def _head(request: web.BaseRequest, location: KubeletLocation) -> bytes:
    """Return the head of the request to the kubelet."""
    lines = [f"{request.method} {location.path} HTTP/1.1", f"Host: {location.authority}", "Content-Length: 0"]
    lines += [f"{name}: {value}" for name in FORWARDED_HEADERS for value in request.headers.getall(name, ())]
    lines.append(f"X-Forwarded-For: {request.remote}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("utf-8", "surrogateescape")


async def _declined(backend: Backend, context: RequestContext) -> Response:
    """Return the response of a kubelet that refuses to upgrade, as it is.

    Raises:
        ApiError: 500, the status is not an error.
    """
    declined = await backend.declined(MAX_ERROR_BYTES)
    if declined.status < 400:
        raise ApiError(500, "", f"invalid upgrade response: status code {declined.status}")
    return response(declined.body, code=declined.status, media=declined.media, audit_id=context.audit_id)


def _refusal(status: int, body: bytes, context: RequestContext) -> ApiError:
    """Return a kubelet's error as an API error (response_checker.go, NewGenericServerResponse)."""
    body_text = body.decode("utf-8", "replace")
    if status == 400:
        return errors.bad_request(body_text)
    if status == 500:
        return errors.internal(body_text)
    unknown = f"the server responded with the status code {status} but did not return more information"
    reason, message = _GENERIC.get(status, ("", unknown))
    if status > 500:
        reason, message = (
            "InternalError",
            f'an error on the server ("{body_text}") has prevented the request from succeeding',
        )
    if status == 403:
        message = body_text
    name = context.target.name
    details = {"name": name, "kind": "pods/log"}
    return ApiError(status, reason, f"{message} ( pods/log {name})", details=details)


_GENERIC: Mapping[int, tuple[str, str]] = {
    401: ("Unauthorized", "the server has asked for the client to provide credentials"),
    403: ("Forbidden", ""),
    404: ("NotFound", "the server could not find the requested resource"),
    405: ("MethodNotAllowed", "the server does not allow this method on the requested resource"),
}
