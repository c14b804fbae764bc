"""The client of webhooks: POSTs over kept connections, checked by the caBundle, with failures in client-go's words.

Source: k8s.io/apiserver/pkg/util/webhook/client.go, and k8s.io/client-go/rest/request.go.
"""

import asyncio
import posixpath
import ssl
from base64 import b64decode
from dataclasses import dataclass
from types import SimpleNamespace
from typing import NamedTuple

import aiohttp
from cryptography import x509
from yarl import URL

from apiserver.api.meta import Obj
from apiserver.webhook.dial_errors import dial_error, verification_error
from apiserver.webhook.services import Location, ResolveError, ServiceResolver

MAX_REDIRECTS = 10
"""Redirects are followed up to this number (net/http's defaultCheckRedirect)."""
MAX_ANSWER = 64 * 1024 * 1024
"""The most bytes of an answer that are read. Upstream has no limit."""
_KEEP_ALIVE = 90.0
"""Seconds that an idle connection is kept (http.DefaultTransport)."""
_CERTIFICATE_WAIT = 5.0
"""Seconds that may be spent on a second look at a certificate that was refused."""
_LATE = "context deadline exceeded"
_UNREADABLE = "unexpected error when reading response body. Please retry. Original error: "


class CallError(Exception):
    """A call that got no answer; the message is client-go's."""


@dataclass(frozen=True, slots=True)
class ClientConfig:
    """The address of a webhook and what its certificate is checked by.

    Attributes:
        url: its URL; None if it is a Service.
        service: namespace, name and port of its Service; None if it has a URL.
        path: the path at its Service.
        ca_bundle: PEM certificates of its authorities, b"" for those of the system.
    """

    url: str | None = None
    service: tuple[str, str, int] | None = None
    path: str = ""
    ca_bundle: bytes = b""

    @classmethod
    def of(cls, config: Obj) -> "ClientConfig":
        """Return the clientConfig of a webhook, whose caBundle is decoded by `ca_bundle_of`."""
        ca_bundle = ca_bundle_of(config.get("caBundle"))
        service = config.get("service")
        if service is None:
            return cls(url=config.get("url"), ca_bundle=ca_bundle)
        address = (service.get("namespace") or "", service.get("name") or "", service.get("port") or 443)
        return cls(service=address, path=service.get("path") or "", ca_bundle=ca_bundle)


def ca_bundle_of(text: str | None) -> bytes:
    """Return the PEM of a caBundle, which is base64 in JSON; one of blanks alone counts as empty."""
    return b64decode(text or "").strip()


class Answer(NamedTuple):
    """The answer of a webhook, read whole."""

    status: int
    media: str
    body: bytes


class _Call(NamedTuple):
    """One call, resolved.

    Attributes:
        url: the URL as messages have it, with the parameter `timeout`.
        target: the URL to connect to.
        server_name: the name that the certificate must have.
        headers: the headers of the request.
        location: the host and port to connect to.
    """

    url: str
    target: URL
    server_name: str
    headers: dict[str, str]
    location: Location


class WebhookClient:
    """Calls webhooks; connections are kept and shared by all calls.

    Args:
        services: resolves Services.
        agent: the User-Agent.
    """

    def __init__(self, services: ServiceResolver, agent: str = "kube-apiserver-admission") -> None:
        self._services = services
        self._agent = agent
        self._session: aiohttp.ClientSession | None = None
        self._contexts: dict[bytes, ssl.SSLContext] = {}

    async def stop(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def post(self, config: ClientConfig, body: bytes, seconds: int) -> Answer:
        """Send a review, and return the answer.

        Args:
            config: the address of the webhook.
            body: the review as JSON.
            seconds: the time for everything; the webhook is told by the parameter `timeout`. 0 for no limit.

        Raises:
            CallError: there is no answer in time, or none at all.
        """
        call = self._resolved(config, seconds)
        try:
            async with asyncio.timeout(seconds or None) as deadline:
                return await self._exchange(call, self._context(config.ca_bundle), body)
        except TimeoutError:
            if not deadline.expired():
                raise
            raise CallError(f'Post "{call.url}": {_LATE}') from None
        except aiohttp.ClientConnectorCertificateError as error:
            why = await self._refused_certificate(call, config, error)
            raise CallError(f'Post "{call.url}": {why}') from error
        except aiohttp.TooManyRedirects as error:
            url = str(error.history[-1].url) if error.history else call.url
            raise CallError(f'Post "{url}": stopped after {MAX_REDIRECTS} redirects') from error
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise CallError(f'Post "{call.url}": {_words(error, call.location)}') from error

    def _resolved(self, config: ClientConfig, seconds: int) -> _Call:
        """Return what to connect to (hookClientConfig).

        Raises:
            CallError: the Service cannot be resolved.
        """
        query = f"?timeout={seconds}s" if seconds else ""
        if config.service is None:
            url = URL(config.url or "")
            path = posixpath.normpath(f"/{url.raw_path}").replace("//", "/")
            text = f"{url.scheme}://{url.raw_authority}{path}{query}"
            host = url.host or ""
            return _Call(text, URL(text, encoded=True), host, self._headers(), Location(host, url.port or 443))
        namespace, name, port = config.service
        server_name = f"{name}.{namespace}.svc"
        path = posixpath.normpath(f"/{config.path}").replace("//", "/")
        text = f"https://{server_name}:{port}{path}{query}"
        try:
            location = self._services.resolve(namespace, name, port)
        except ResolveError as error:
            raise CallError(f'Post "{text}": {error}') from None
        target = URL(text, encoded=True).with_host(location.host).with_port(location.port)
        return _Call(text, target, server_name, self._headers() | {"Host": f"{server_name}:{port}"}, location)

    def _headers(self) -> dict[str, str]:
        return {
            "Accept": "application/json, */*",
            "Content-Type": "application/json",
            "User-Agent": self._agent,
        }

    async def _exchange(self, call: _Call, context: ssl.SSLContext, body: bytes) -> Answer:
        """Send the request; once more if the connection had been used before and turns out to be closed.

        (net/http's Transport does so if the server has closed an idle connection.)
        """
        while True:
            trace = SimpleNamespace(reused=False)
            try:
                return await self._send(call, context, body, trace)
            except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError) as error:
                if not trace.reused or isinstance(error, aiohttp.ClientConnectorError):
                    raise

    async def _send(self, call: _Call, context: ssl.SSLContext, body: bytes, trace: SimpleNamespace) -> Answer:
        async with self._connections().post(
            call.target,
            data=body,
            headers=call.headers,
            ssl=context,
            server_hostname=call.server_name,
            max_redirects=MAX_REDIRECTS,
            trace_request_ctx=trace,
        ) as response:
            try:
                read = await _limited(response)
            except aiohttp.ClientError as error:
                raise CallError(f"{_UNREADABLE}unexpected EOF") from error
            return Answer(response.status, response.headers.get("Content-Type", ""), read)

    def _connections(self) -> aiohttp.ClientSession:
        if self._session is None:
            tracing = aiohttp.TraceConfig()
            tracing.on_connection_reuseconn.append(_note_reuse)
            tracing.freeze()
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=_KEEP_ALIVE),
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=None),
                trace_configs=[tracing],
            )
        return self._session

    def _context(self, ca_bundle: bytes) -> ssl.SSLContext:
        """Return the TLS settings for a caBundle; they are kept, since connections belong to them."""
        context = self._contexts.get(ca_bundle)
        if context is None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.minimum_version = ssl.TLSVersion.TLSv1_2
            context.hostname_checks_common_name = False
            context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN  # Go trusts any certificate of the bundle
            if ca_bundle:
                context.load_verify_locations(cadata=ca_bundle.decode("ascii", "ignore"))
            else:
                context.load_default_certs()
            self._contexts[ca_bundle] = context
        return context

    async def _refused_certificate(
        self, call: _Call, config: ClientConfig, error: aiohttp.ClientConnectorCertificateError
    ) -> str:
        """Return why Go would refuse the certificate; OpenSSL looks at other things first, so it is read again."""
        unchecked = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        unchecked.check_hostname, unchecked.verify_mode = False, ssl.CERT_NONE
        host, port = call.location
        try:
            async with asyncio.timeout(_CERTIFICATE_WAIT):
                transport, _ = await asyncio.get_running_loop().create_connection(
                    asyncio.Protocol, host, port, ssl=unchecked, server_hostname=call.server_name
                )
            try:
                der = transport.get_extra_info("ssl_object").getpeercert(binary_form=True)
            finally:
                transport.abort()
            authorities = x509.load_pem_x509_certificates(config.ca_bundle) if config.ca_bundle else ()
            return verification_error(x509.load_der_x509_certificate(der), call.server_name, authorities)
        except (OSError, ValueError):
            return dial_error(error, host, port)


async def _note_reuse(_session: object, context: SimpleNamespace, _params: object) -> None:
    context.trace_request_ctx.reused = True


async def _limited(response: aiohttp.ClientResponse) -> bytes:
    """Return the body of an answer.

    Raises:
        CallError: it is too large.
    """
    body = bytearray()
    async for piece in response.content.iter_any():
        body += piece
        if len(body) > MAX_ANSWER:
            raise CallError(f"{_UNREADABLE}the response is larger than {MAX_ANSWER} bytes")
    return bytes(body)


def _words(error: Exception, location: Location) -> str:
    """Return the failure of an exchange in the words of Go's net/http."""
    match error:
        case aiohttp.ClientConnectorError() | aiohttp.ClientSSLError():
            return dial_error(error, *location)
        case aiohttp.ServerDisconnectedError():
            return "EOF"
        case aiohttp.ClientOSError() if error.errno:
            return f"read tcp {location.host}:{location.port}: read: {_reason(error)}"
        case aiohttp.ClientResponseError():
            return f"net/http: HTTP/1.x transport connection broken: malformed HTTP response: {error.message}"
    return dial_error(error, *location)


def _reason(error: OSError) -> str:
    return str(error.strerror or error).lower()
