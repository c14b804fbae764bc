"""The server put together: settings in, a listening socket out, and everything in between made once and handed down."""

import asyncio
import ipaddress
import logging
import os
import socket
import ssl
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from random import Random
from typing import Any

import orjson
from aiohttp import web

from apiserver.api.errors import qualified
from apiserver.api.meta import Obj
from apiserver.api.resources import Resource, ResourceTable
from apiserver.auth.authentication import Authentication, StaticTokens
from apiserver.auth.authorization import MODES
from apiserver.auth.guard import Guard
from apiserver.auth.tokens import ServiceAccountTokens
from apiserver.config import Config, ConfigError
from apiserver.endpoints.discovery import Discovery
from apiserver.endpoints.forms import Renderer
from apiserver.endpoints.handlers import Handlers
from apiserver.endpoints.openapi.documents import OpenAPI
from apiserver.endpoints.pages import Page, Pages
from apiserver.endpoints.protocol import Listener
from apiserver.endpoints.routes import Router
from apiserver.endpoints.server import Server
from apiserver.endpoints.watch import Watches
from apiserver.metrics import Metrics
from apiserver.registry import allocating
from apiserver.registry.admission.certificate_requester import CertificateRequester
from apiserver.registry.admission.chain import Chain
from apiserver.registry.admission.namespace_lifecycle import NamespaceLifecycle
from apiserver.registry.admission.priority import Priority
from apiserver.registry.allocation import ServiceAddresses
from apiserver.registry.bootstrap import Place, bootstrap
from apiserver.registry.clock import Clock, Ids, RandomIds, SystemClock, Timestamps
from apiserver.registry.codec import Attached
from apiserver.registry.context import Registry, attached
from apiserver.registry.event_ttl import EventSweeper
from apiserver.registry.namespaces import NamespaceDeleter
from apiserver.registry.storage import ROOT, Storage, key_of
from apiserver.release import Release, load_release
from etcd.backends import open_store
from etcd.store import Store, StoreError

log = logging.getLogger("apiserver")

BACKLOG = 1024
RESTART = 5.0
"""Seconds until work in the background that failed is started again."""
CONFIGURATION, KEY_SET = "/.well-known/openid-configuration", "/openid/v1/jwks"
PAGES = (CONFIGURATION, KEY_SET, "/healthz", "/livez", "/readyz", "/metrics", "/openapi/v2", "/openapi/v3", "/version")


@dataclass(frozen=True, slots=True)
class Running:
    """A server that answers.

    Attributes:
        host, port: where it listens; the port that was chosen where 0 was asked for.
        registry: its verbs, for those who embed it.
    """

    host: str
    port: int
    scheme: str
    registry: Registry

    @property
    def url(self) -> str:
        """Where clients find it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"


@asynccontextmanager
async def serving(config: Config, *, clock: Clock | None = None, ids: Ids | None = None) -> AsyncIterator[Running]:
    """A server for as long as the context lasts.

    Args:
        config: its settings, checked.
        clock: tells the time; the system's if None.
        ids: makes uids and name suffixes; random ones if None.

    Raises:
        ConfigError: the store cannot be opened, a file cannot be read, or the address cannot be had.
    """
    clock, ids = clock or SystemClock(), ids or RandomIds()
    release = load_release(config.version)
    table = ResourceTable(release.rows)
    store = await _open(config, table)
    try:
        guard = _guard(config, store, table, clock)
        registry = _registry(config, store, table, guard=guard, release=release, clock=clock, ids=ids)
        await bootstrap(registry, _place(config))
        renderer = Renderer(clock, release.definitions)
        metrics = Metrics(lambda: _objects(registry))
        watches = Watches(registry, renderer, metrics)
        address = f"{config.bind_address}:{config.secure_port}"
        discovery = Discovery(table, minor=release.minor, address=address, other_paths=PAGES)
        openapi = OpenAPI(table, release.definitions, minor=release.minor)
        server = Server(
            authentication=guard.authentication,
            authorizer=guard.authorizer,
            router=Router(table),
            handlers=Handlers(registry, renderer),
            watches=watches,
            pages=Pages(
                discovery,
                openapi,
                checks=_checks(store),
                metrics=lambda: _exposition(metrics),
                issuer=_issuer_pages(guard.tokens, address),
            ),
            metrics=metrics,
            ids=ids,
            limits=config.limits,
        )
        async with _housekeeping(config, registry), _listening(config, server, watches) as port:
            scheme = "https" if config.tls_cert_file else "http"
            yield Running(config.bind_address, port, scheme, registry)
    finally:
        await store.close()


@asynccontextmanager
async def _housekeeping(config: Config, registry: Registry) -> AsyncIterator[None]:
    """What the server does unasked, for as long as the context lasts."""
    work = [EventSweeper(registry, config.event_ttl).run]
    if config.empties_namespaces:
        work.append(NamespaceDeleter(registry).run)
    # no TaskGroup: it would wrap whatever is raised inside the context into a group
    tasks = [asyncio.create_task(_lasting(run)) for run in work]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _lasting(run: Callable[[], Awaitable[None]]) -> None:
    """Work that begins anew when it fails, and takes nobody else with it."""
    while True:
        try:
            return await run()
        except Exception:
            log.exception("%s failed and is started again", run.__qualname__)
            await asyncio.sleep(RESTART)


async def _open(config: Config, table: ResourceTable) -> Store:
    try:
        return await open_store(config.store, attach=Attach(table))
    except StoreError as error:
        raise ConfigError(str(error)) from error


class Attach:
    """Computes from stored bytes what the store keeps beside them, for what is read when it opens."""

    def __init__(self, table: ResourceTable) -> None:
        self._rows = {row.storage_prefix: row for row in table}
        for row in table:
            if (row.group, row.version) == (row.storage_group, row.storage_version):
                self._rows[row.storage_prefix] = row

    def __call__(self, key: str, value: bytes) -> Attached:
        """The labels and fields of the object under a key."""
        obj: Obj = orjson.loads(value)
        resource = self._resource(key)
        return attached(resource, obj) if resource else Attached({}, {})

    def _resource(self, key: str) -> Resource | None:
        parts = key.removeprefix(ROOT).split("/")
        return self._rows.get(parts[0]) or self._rows.get("/".join(parts[:2]))


def _registry(  # noqa: PLR0913 - the one place where the collaborators of the verbs meet
    config: Config, store: Store, table: ResourceTable, *, guard: Guard, release: Release, clock: Clock, ids: Ids
) -> Registry:
    ranges = config.service_cluster_ip_range.split(",")
    choose = Random().randrange  # noqa: S311 - addresses, not secrets
    registry = Registry(
        storage=Storage(store),
        table=table,
        schema=release.schema,
        merge_schema=release.merge_schema,
        field_schema=release.field_schema,
        admission=Chain([NamespaceLifecycle(store), Priority(store), CertificateRequester()]),
        clock=clock,
        ids=ids,
        timestamps=Timestamps(clock),
        security=guard,
        addresses=ServiceAddresses(ranges, config.service_node_port_range, choose=choose),
    )
    allocating.load(registry)
    return registry


def _guard(config: Config, store: Store, table: ResourceTable, clock: Clock) -> Guard:
    def lookup(plural: str, namespace: str, name: str) -> Obj | None:
        resource = table.find("", "v1", plural)
        kv = store.get(key_of(resource, namespace, name)) if resource else None
        return orjson.loads(kv.value) if kv else None

    tokens = ServiceAccountTokens(
        issuer=config.service_account_issuer, key_file=config.service_account_key_file, lookup=lookup, now=clock.now
    )
    return Guard(_authentication(config, tokens), MODES[config.authorization_mode](), tokens)


def _authentication(config: Config, tokens: ServiceAccountTokens) -> Authentication:
    if config.token_auth_file is None:
        return Authentication([tokens])
    try:
        return Authentication([StaticTokens.load(config.token_auth_file), tokens])
    except (OSError, ValueError) as error:
        raise ConfigError(f"--token-auth-file: {error}") from error


def _place(config: Config) -> Place:
    """Where the server is, as the cluster knows it; Endpoints cannot name loopback."""
    ca = config.client_ca_file.read_text() if config.tls_cert_file and config.client_ca_file else ""
    port = config.secure_port or 6443
    return Place(_reachable(config.bind_address), port, config.service_cluster_ip_range, ca)


def _reachable(bind: str) -> str:
    """The address that a server has for others: its own, or that of the interface towards them; "" for none."""
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


def _issuer_pages(tokens: ServiceAccountTokens, address: str) -> Mapping[str, Callable[[], Page]]:
    """What others read to check tokens by themselves (OpenID Connect discovery)."""
    cache = "public, max-age=3600"
    return {
        CONFIGURATION: lambda: Page(orjson.dumps(tokens.configuration(address)), cache=cache),
        KEY_SET: lambda: Page(orjson.dumps(tokens.key_set()), "application/jwk-set+json", cache=cache),
    }


def _checks(store: Store) -> Mapping[str, Any]:
    def etcd() -> str:
        return getattr(store, "closed", "")

    return {"ping": lambda: "", "log": lambda: "", "etcd": etcd}


def _objects(registry: Registry) -> Mapping[str, int]:
    found: Counter[str] = Counter()
    for row in registry.table:
        if (row.group, row.version) == (row.storage_group, row.storage_version):
            count = registry.storage.store.count(f"{ROOT}{row.storage_prefix}/")
            found[qualified(row.group, row.plural)] += count
    return found


def _exposition(metrics: Metrics) -> bytes:
    from apiserver.exposition import exposition  # noqa: PLC0415 - the import costs as much as a start should take

    return exposition(metrics)


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
async def _listening(config: Config, server: Server, watches: Watches) -> AsyncIterator[int]:
    """A socket that is served; at the end watches are ended first, then requests under way are finished."""
    listener = Listener(server.handle, handler_cancellation=True, access_log=None, keepalive_timeout=3600)
    runner = web.ServerRunner(listener, shutdown_timeout=5.0)
    await runner.setup()
    site = web.TCPSite(
        runner, config.bind_address, config.secure_port, ssl_context=_tls(config), backlog=BACKLOG, reuse_address=True
    )
    try:
        try:
            await site.start()
        except OSError as error:
            raise ConfigError(_why_not(config, error)) from error
        yield site._server.sockets[0].getsockname()[1]  # type: ignore[union-attr] # noqa: SLF001 - aiohttp tells the port of a server that chose one nowhere else
    finally:
        watches.stop()
        await asyncio.sleep(0)
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
    return f"cannot listen on {place}: {reason}; choose another port, or 0 for any free one"
