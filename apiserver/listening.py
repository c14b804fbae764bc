"""The socket: TLS, the port, and an end in which what lasts is ended first and requests under way are finished."""

import asyncio
import errno
import ipaddress
import os
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager

from aiohttp import web

from apiserver.config import Config, ConfigError
from apiserver.endpoints.protocol import Handle, Listener

Stop = Callable[[], Awaitable[None]]
"""Ends what would last as long as its client wants."""

BACKLOG = 1024
KEEP_ALIVE = 3600.0
"""Seconds that a silent connection is kept."""
SHUTDOWN = 5.0
"""Seconds that requests under way may take when the server stops."""
_OF_PORTS = frozenset((errno.EADDRINUSE, errno.EACCES))
"""Errors that another port is the remedy for."""
LONGEST_LINE = 128 * 1024
"""Bytes that a request line may have: selectors of a thousand values stand in it (aiohttp's default is 8 KiB)."""


def _tls(config: Config) -> ssl.SSLContext | None:
    if config.tls_cert_file is None:
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(config.tls_cert_file, config.tls_private_key_file)
        if config.client_ca_file is not None:
            context.load_verify_locations(config.client_ca_file)
            context.verify_mode = ssl.CERT_OPTIONAL
    except (OSError, ssl.SSLError) as error:
        raise ConfigError(f"--tls-cert-file {config.tls_cert_file}: {error}") from error
    return context


@asynccontextmanager
async def listening(config: Config, handle: Handle, *, ended: Sequence[Stop]) -> AsyncIterator[int]:
    """A socket that is served; at the end what lasts is ended first, then requests under way are finished."""
    listener = Listener(
        handle,
        handler_cancellation=True,
        access_log=None,
        keepalive_timeout=KEEP_ALIVE,
        max_line_size=LONGEST_LINE,
        auto_decompress=False,  # nor does kube-apiserver: a packed body is no JSON
    )
    runner = web.ServerRunner(listener, shutdown_timeout=SHUTDOWN)
    await runner.setup()
    site = web.TCPSite(
        runner,
        config.bind_address,
        config.secure_port,
        ssl_context=_tls(config),
        backlog=BACKLOG,
        reuse_address=True,
        reuse_port=config.permit_port_sharing or None,
    )
    try:
        try:
            await site.start()
        except OSError as error:
            raise ConfigError(_why_not(config, error)) from error
        yield site._server.sockets[0].getsockname()[1]  # type: ignore[union-attr] # noqa: SLF001 - aiohttp tells the port of a server that chose one nowhere else
    finally:
        for stop in ended:
            await stop()
        transports = [connection.transport for connection in listener.connections]
        await runner.cleanup()
        for transport in transports:
            if transport is not None:
                transport.abort()  # TLS waits for the client's farewell, for which nobody waits here
        await asyncio.sleep(0)


def _why_not(config: Config, error: OSError) -> str:
    place = f"{config.bind_address}:{config.secure_port}"
    # asyncio's words repeat the place, and an unknown host has no error number of the system's.
    reason = os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror
    remedy = "choose another port, or 0 for any free one" if error.errno in _OF_PORTS else "choose another address"
    return f"cannot listen on {place}: {reason}; {remedy}"


def reachable(bind: str) -> str:
    """Return the address that a server has for others: its own, or that of the interface towards them; "" for none."""
    address = ipaddress.ip_address(bind) if bind[:1].isdigit() or ":" in bind else None
    if address and not (address.is_loopback or address.is_unspecified):
        return bind
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # an address of nobody: nothing is sent, but the way is chosen
        except OSError:
            return ""
        found: str = probe.getsockname()[0]
    return "" if found.startswith(("127.", "0.")) else found
