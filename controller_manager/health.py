"""The manager's HTTP endpoints: /metrics, /healthz, /livez and /readyz."""

import errno
import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

from aiohttp import web

from controller_manager.config import Config, ConfigError
from controller_manager.exposition import exposition
from controller_manager.metrics import Metrics

METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"

MissingKinds = Callable[[], Sequence[str]]
"""Returns the kinds whose caches are not filled yet; empty if the manager is ready."""


@asynccontextmanager
async def serve_health(config: Config, metrics: Metrics, missing: MissingKinds) -> AsyncIterator[str]:
    """Serve the endpoints while the context is open; yield the URL of the metrics, "" if they are disabled.

    Raises:
        ConfigError: the address is not available.
    """
    host, port = config.metrics_host, config.metrics_port
    if port is None:
        yield ""
        return
    runner = web.AppRunner(_pages(metrics, missing), access_log=None, handle_signals=False)
    await runner.setup()
    try:
        try:
            await _listen(runner, host, port, any_port=config.metrics_any_port)
        except OSError as error:
            reason = os.strerror(error.errno) if error.errno else str(error)
            raise ConfigError(
                f"--metrics-bind-address: {host}:{port} cannot be had: {reason}; give another port, or 0"
            ) from error
        yield f"http://{host}:{runner.addresses[0][1]}/metrics"
    finally:
        await runner.cleanup()


async def _listen(runner: web.AppRunner, host: str, port: int, *, any_port: bool) -> None:
    try:
        await web.TCPSite(runner, host, port).start()
    except OSError as error:
        if not any_port or error.errno != errno.EADDRINUSE:
            raise
        await web.TCPSite(runner, host, 0).start()


def _pages(metrics: Metrics, missing: MissingKinds) -> web.Application:
    async def counts(_: web.Request) -> web.Response:
        return web.Response(body=exposition(metrics), headers={"Content-Type": METRICS_TYPE})

    async def healthy(_: web.Request) -> web.Response:
        return web.Response(text="ok")

    async def ready(_: web.Request) -> web.Response:
        kinds = missing()
        if kinds:
            return web.Response(status=503, text=f"not ready: the first list is not complete of {', '.join(kinds)}\n")
        return web.Response(text="ok")

    pages = web.Application()
    pages.router.add_get("/metrics", counts)
    pages.router.add_get("/healthz", healthy)
    pages.router.add_get("/livez", healthy)
    pages.router.add_get("/readyz", ready)
    return pages
