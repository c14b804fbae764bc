"""The listening socket: TLS, the port, and a graceful shutdown."""

import asyncio
import errno
import ipaddress
import os
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager

from aiohttp import web

from apiserver.auth.client_certificates import ClientCertificates
from apiserver.auth.peer_verification import accept_unverified
from apiserver.config import Config, ConfigError
from apiserver.endpoints.protocol import Handle, HttpServer

Stop = Callable[[], Awaitable[None]]
"""Ends long-running requests."""

BACKLOG = 1024
KEEP_ALIVE = 3600.0
"""Seconds that an idle connection is kept."""
SHUTDOWN = 5.0
"""Seconds that requests in flight may take when the server stops."""
_PORT_ERRORS = frozenset((errno.EADDRINUSE, errno.EACCES))
"""Errors that another port would avoid."""
MAX_LINE_BYTES = 128 * 1024
"""The longest request line in bytes: it may hold selectors of a thousand values (aiohttp's default is 8 KiB)."""


def _tls(config: Config, certificates: ClientCertificates | None) -> ssl.SSLContext | None:
    if config.tls_cert_file is None:
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(config.tls_cert_file, config.tls_private_key_file)
        if config.client_ca_file is not None:
            context.load_verify_locations(config.client_ca_file)
            context.verify_mode = ssl.CERT_OPTIONAL
            if certificates is not None:
                accept_unverified(context, certificates.refuse)
    except (OSError, ssl.SSLError) as error:
        raise ConfigError(f"--tls-cert-file {config.tls_cert_file}: {error}") from error
    return context


@asynccontextmanager
async def listening(
    config: Config, handle: Handle, certificates: ClientCertificates | None = None, *, stops: Sequence[Stop]
) -> AsyncIterator[int]:
    """Serve a socket and yield its port; at the end, stop long-running requests first, then finish the others.

    Args:
        config: the server's settings.
        handle: answers each request.
        certificates: notes the connections whose client certificate cannot be verified.
        stops: end the long-running requests.
    """
    listener = HttpServer(
        handle,
        handler_cancellation=True,
        access_log=None,
        keepalive_timeout=KEEP_ALIVE,
        max_line_size=MAX_LINE_BYTES,
        auto_decompress=False,  # as kube-apiserver, which takes a compressed body for malformed JSON
    )
    runner = web.ServerRunner(listener, shutdown_timeout=SHUTDOWN)
    await runner.setup()
    site = web.TCPSite(
        runner,
        config.bind_address,
        config.secure_port,
        ssl_context=_tls(config, certificates),
        backlog=BACKLOG,
        reuse_address=True,
        reuse_port=config.permit_port_sharing or None,
    )
    try:
        try:
            await site.start()
        except OSError as error:
            raise ConfigError(_listen_error(config, error)) from error
        yield site._server.sockets[0].getsockname()[1]  # type: ignore[union-attr] # noqa: SLF001 - nowhere else is the port that the system chose
    finally:
        for stop in stops:
            await stop()
        transports = [connection.transport for connection in listener.connections]
        await runner.cleanup()
        for transport in transports:
            if transport is not None:
                transport.abort()  # TLS would wait for the client's close_notify
        await asyncio.sleep(0)


def _listen_error(config: Config, error: OSError) -> str:
    address = f"{config.bind_address}:{config.secure_port}"
    # asyncio's message repeats the address, and an unknown host has no errno.
    reason = os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror
    remedy = "choose another port, or 0 for any free one" if error.errno in _PORT_ERRORS else "choose another address"
    return f"cannot listen on {address}: {reason}; {remedy}"


def reachable(bind: str) -> str:
    """Return the address for others: the bound one, or that of the outgoing interface; "" if there is none."""
    address = ipaddress.ip_address(bind) if bind[:1].isdigit() or ":" in bind else None
    if address and not (address.is_loopback or address.is_unspecified):
        return bind
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # a documentation address: nothing is sent, but a route is chosen
        except OSError:
            return ""
        local_address: str = probe.getsockname()[0]
    return "" if local_address.startswith(("127.", "0.")) else local_address
