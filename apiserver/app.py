"""Assembles the server from its settings: every collaborator is created once and passed down."""

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any

import orjson

from apiserver.admission.metrics import AdmissionMetrics
from apiserver.admission.plugins import PluginContext, enabled_plugins
from apiserver.api.errors import qualified_resource
from apiserver.api.meta import Obj
from apiserver.api.resources import ResourceTable
from apiserver.auth.authentication import Authentication, StaticTokens, TokenAuthenticator
from apiserver.auth.authorization import AlwaysAllow, AlwaysDeny, AuthorizerUnion
from apiserver.auth.bootstrap_tokens import BootstrapTokens
from apiserver.auth.client_certificates import ClientCertificates
from apiserver.auth.guard import AuthorizationGuard
from apiserver.auth.impersonation import Impersonation
from apiserver.auth.legacy_tokens import LegacyTokens
from apiserver.auth.node_authorizer import NODES_SELECT_FROM, NodeAuthorizer
from apiserver.auth.rbac import RBAC
from apiserver.auth.rbac_escalation import EscalationCheck
from apiserver.auth.tokens import ServiceAccountTokens, TokenKeys
from apiserver.background import background_tasks
from apiserver.config import Config, ConfigError, EtcdAccess
from apiserver.controllers.crd import CRDController
from apiserver.controllers.legacy_token_tracking import LegacyTokenTracker
from apiserver.endpoints.discovery import Discovery
from apiserver.endpoints.handlers import Handlers
from apiserver.endpoints.kubelet_proxy import KubeletProxy
from apiserver.endpoints.nonresource import NonResourceHandlers, NonResourceResponse
from apiserver.endpoints.openapi.documents import OpenAPI
from apiserver.endpoints.rendering import Renderer
from apiserver.endpoints.routes import Router
from apiserver.endpoints.server import Server
from apiserver.endpoints.tables import Tables
from apiserver.endpoints.watch import Watches
from apiserver.listening import listening, reachable
from apiserver.metrics import Metrics
from apiserver.registry import kind_tables
from apiserver.registry.admission import Chain
from apiserver.registry.authorizer import Authorizer
from apiserver.registry.bootstrap import ServerLocation, bootstrap
from apiserver.registry.clock import Clock, Ids, RandomIds, SystemClock, Timestamps
from apiserver.registry.context import Codecs, ComputeIndexAttrs, Registry
from apiserver.registry.custom_resources import CustomKinds
from apiserver.registry.decoding import Decoder
from apiserver.registry.serviceip import transaction
from apiserver.registry.serviceip.allocator import ServiceAllocator
from apiserver.registry.serviceip.reservations import ReservationStore
from apiserver.registry.storage import ROOT, Storage, key_of
from apiserver.release import Release, load_release
from apiserver.webhook.client import WebhookClient
from apiserver.webhook.services import ServiceResolver
from etcd.access import ClusterConfig, Credentials, KeyPrefix
from etcd.backends import open_store
from etcd.store import Store, StoreError, Unreachable

CONFIGURATION, KEY_SET = "/.well-known/openid-configuration", "/openid/v1/jwks"
CONSTRAINED_IMPERSONATION = 36
"""The minor version of Kubernetes since which there are modes of impersonation."""
PAGES = (CONFIGURATION, KEY_SET, "/healthz", "/livez", "/readyz", "/metrics", "/openapi/v2", "/openapi/v3", "/version")


@dataclass(frozen=True, slots=True)
class RunningServer:
    """A running server.

    Attributes:
        host, port: the address that it listens on; for port 0 the chosen port.
        registry: its verbs, for programs that embed it.
    """

    host: str
    port: int
    scheme: str
    registry: Registry

    @property
    def url(self) -> str:
        """The URL for clients."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"


@asynccontextmanager
async def serving(
    config: Config, *, clock: Clock | None = None, ids: Ids | None = None
) -> AsyncIterator[RunningServer]:
    """Run a server for as long as the context lasts.

    Args:
        config: its settings, checked.
        clock: the source of time; the system's clock if None.
        ids: the source of uids and name suffixes; random ones if None.

    Raises:
        ConfigError: the store cannot be opened, a file cannot be read, or the address is not available.
    """
    clock, ids = clock or SystemClock(), ids or RandomIds()
    release = load_release(config.version)
    customs = CustomKinds(_table(config, release))
    store = await _open(config, ComputeIndexAttrs(customs.table, customs, verified=config.store.startswith("sqlite:")))
    try:
        tracker = LegacyTokenTracker(clock.now)
        guard = _guard(config, store, customs.table, clock, tracker)
        registry = _registry(config, store, customs, guard=guard, release=release, clock=clock, ids=ids)
        admission_metrics = await _make_cluster(config, registry, guard, release.minor)
        crd_controller = _load_definitions(registry)
        renderer = Renderer(clock, Tables(release.definitions, registry.customs.columns))
        metrics = Metrics(lambda: _objects(registry))
        watches = Watches(registry, renderer, metrics)
        kubelets = _kubelets(config)
        server = Server(
            authentication=guard.authentication,
            authorizer=guard.authorizer,
            impersonation=Impersonation(guard.authorizer, has_modes=release.minor >= CONSTRAINED_IMPERSONATION),
            router=Router(customs.table),
            handlers=Handlers(registry, renderer, kubelets.proxy),
            watches=watches,
            pages=_pages(config, registry, release, guard, lambda: _exposition(metrics, admission_metrics)),
            metrics=metrics,
            customs=registry.customs,
            ids=ids,
            limits=config.limits,
        )
        for part in (server, watches, renderer):
            registry.customs.on_change(part.invalidate)
        stops = (watches.stop, kubelets.stop, registry.webhooks.stop)
        async with (
            background_tasks(config, registry, crd_controller.run, partial(tracker.run, registry)),
            listening(config, server.handle, guard.authentication.certificates, stops=stops) as port,
        ):
            yield RunningServer(config.bind_address, port, "https" if config.tls_cert_file else "http", registry)
    finally:
        await store.close()


def etcd_access(etcd: EtcdAccess) -> ClusterConfig:
    """Return the store's settings for an etcd cluster, all but its members; keys are those of kube-apiserver.

    Raises:
        ConfigError: the password cannot be read.
    """
    authority, certificate, key = (str(path) if path else "" for path in (etcd.authority, etcd.certificate, etcd.key))
    try:
        password = etcd.password_file.read_text().rstrip("\n") if etcd.password_file else ""
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"--etcd-password-file: {error}") from error
    return ClusterConfig(
        credentials=Credentials(authority, certificate, key, etcd.user, password),
        key_prefix=KeyPrefix(ROOT, f"{etcd.prefix}/"),
        compaction=etcd.compaction,
    )


async def _open(config: Config, attach: ComputeIndexAttrs) -> Store:
    try:
        return await open_store(config.store, attach=attach, access=etcd_access(config.etcd))
    except Unreachable as error:
        raise ConfigError(
            f"{error}; see that it runs there, and that --etcd-servers and the other --etcd flags say how it is reached"
        ) from error
    except StoreError as error:
        raise ConfigError(str(error)) from error


def _registry(  # noqa: PLR0913 - the one place where the collaborators of the verbs meet
    config: Config,
    store: Store,
    customs: CustomKinds,
    *,
    guard: AuthorizationGuard,
    release: Release,
    clock: Clock,
    ids: Ids,
) -> Registry:
    ranges = config.service_cluster_ip_range.split(",")
    addresses = ServiceAllocator(ranges, config.service_node_port_range, choose=Random().randrange)  # noqa: S311 - no secrets
    timestamps = Timestamps(clock)
    registry = Registry(
        storage=Storage(store),
        table=customs.table,
        schema=release.schema,
        merge_schema=release.merge_schema,
        field_schema=release.field_schema,
        admission=Chain(),
        clock=clock,
        ids=ids,
        timestamps=timestamps,
        security=guard,
        service_allocator=addresses,
        reservations=ReservationStore(store, addresses) if store.is_shared else None,
        event_ttl=config.event_ttl,
        customs=customs,
        codecs=Codecs(customs),
        webhooks=WebhookClient(ServiceResolver(store)),
        decoder=Decoder(customs.table, release.schema, release.field_schema, customs),
    )
    customs.on_change(registry.codecs.invalidate)
    transaction.load_allocations(registry)
    return registry


def _table(config: Config, release: Release) -> ResourceTable:
    """Return the rows of a release, with warnings of what is stored and not carried out unless they are off."""
    return ResourceTable(kind_tables.notices_by_kind(release.rows) if config.warn_unsupported else release.rows)


def _load_definitions(registry: Registry) -> CRDController:
    """Serve the custom kinds that are stored; return the controller of their definitions."""
    crd_controller = CRDController(registry)
    crd_controller.load()
    return crd_controller


async def _make_cluster(config: Config, registry: Registry, guard: AuthorizationGuard, minor: int) -> AdmissionMetrics:
    """Store what a new cluster has, then install the admission plug-ins for clients; return their metrics."""
    has_manager, metrics = not config.empties_namespaces, AdmissionMetrics()
    await bootstrap(registry, _server_location(config), kruise=config.kruise, has_manager=has_manager)
    context = PluginContext(
        registry, metrics, guard.authorizer, minor, has_controllers=has_manager, kruise=config.kruise
    )
    plugins = enabled_plugins(context, config.enable_admission_plugins, config.disable_admission_plugins)
    registry.admission.install(plugins)
    return metrics


def _guard(
    config: Config, store: Store, table: ResourceTable, clock: Clock, tracker: LegacyTokenTracker
) -> AuthorizationGuard:
    """Return the authenticators in upstream's order (pkg/kubeapiserver/authenticator), and the authorizer."""

    def lookup(plural: str, namespace: str, name: str) -> Obj | None:
        resource = table.find("", "v1", plural)
        kv = store.get(key_of(resource, namespace, name)) if resource else None
        return orjson.loads(kv.value) if kv else None

    keys = TokenKeys(config.service_account_issuer, config.service_account_key_file)
    audiences = config.api_audiences or (config.service_account_issuer,)
    authenticators: list[TokenAuthenticator] = [
        *_static_tokens(config, audiences),
        LegacyTokens(keys, lookup=lookup, audiences=audiences, used=tracker.note),
        ServiceAccountTokens(keys, lookup=lookup, audiences=audiences, now=clock.now),
    ]
    if config.enable_bootstrap_token_auth:
        authenticators.append(BootstrapTokens(lookup=lookup, audiences=audiences, now=clock.now))
    certificates = ClientCertificates(clock.now) if config.client_ca_file else None
    authentication = Authentication(authenticators, audiences=audiences, certificates=certificates)
    policy = RBAC(store)
    authorizer = _authorizer(config, store, policy)
    escalation = EscalationCheck(authorizer, policy)
    return AuthorizationGuard(authentication, authorizer, escalation, keys, audiences, config.token_limits)


def _authorizer(config: Config, store: Store, policy: RBAC) -> Authorizer:
    """Return the authorizers of --authorization-mode as one."""
    selects = int(config.version.partition(".")[2]) >= NODES_SELECT_FROM
    authorizers: Mapping[str, Authorizer] = {
        "AlwaysAllow": AlwaysAllow(),
        "AlwaysDeny": AlwaysDeny(),
        "Node": NodeAuthorizer(store, selects=selects),
        "RBAC": policy,
    }
    return AuthorizerUnion([authorizers[mode] for mode in config.authorization_modes])


def _static_tokens(config: Config, audiences: Sequence[str]) -> Iterator[StaticTokens]:
    if config.token_auth_file is None:
        return
    try:
        yield StaticTokens.load(config.token_auth_file, audiences)
    except (OSError, ValueError) as error:
        raise ConfigError(f"--token-auth-file: {error}") from error


def _server_location(config: Config) -> ServerLocation:
    """Return the server's address in the cluster; Endpoints cannot name loopback."""
    ca = config.client_ca_file.read_text() if config.tls_cert_file and config.client_ca_file else ""
    port = config.secure_port or 6443
    return ServerLocation(reachable(config.bind_address), port, config.service_cluster_ip_range, ca)


def _pages(
    config: Config, registry: Registry, release: Release, guard: AuthorizationGuard, metrics: Callable[[], bytes]
) -> NonResourceHandlers:
    """Return the non-resource pages; discovery and OpenAPI change with the served custom kinds."""
    table, customs = registry.table, registry.customs
    address = f"{config.bind_address}:{config.secure_port}"
    discovery = Discovery(table, minor=release.minor, address=address, other_paths=PAGES, verbs=customs.verbs)
    openapi = OpenAPI(table, release.definitions, minor=release.minor, customs=lambda: _published(registry, release))
    for part in (discovery, openapi):
        customs.on_change(part.invalidate)
    return NonResourceHandlers(
        discovery,
        openapi,
        checks=_checks(registry.storage.store),
        metrics=metrics,
        issuer=_issuer_pages(guard.keys, address),
    )


def _issuer_pages(keys: TokenKeys, address: str) -> Mapping[str, Callable[[], NonResourceResponse]]:
    """Return the pages by which others verify tokens themselves (OpenID Connect discovery)."""
    cache = "public, max-age=3600"
    return {
        CONFIGURATION: lambda: NonResourceResponse(orjson.dumps(keys.configuration(address)), cache=cache),
        KEY_SET: lambda: NonResourceResponse(orjson.dumps(keys.key_set()), "application/jwk-set+json", cache=cache),
    }


def _kubelets(config: Config) -> KubeletProxy:
    try:
        return KubeletProxy(config.kubelets)
    except OSError as error:  # ssl.SSLError is one
        raise ConfigError(f"--kubelet-client-certificate, --kubelet-certificate-authority: {error}") from error


def _published(registry: Registry, release: Release) -> Mapping[str, Obj]:
    listed = (kind for kind in registry.customs if kind.verbs)
    return {kind.resource.definition: kind.published(release.definitions) for kind in listed}


def _checks(store: Store) -> Mapping[str, Any]:
    return {"ping": lambda: "", "log": lambda: "", "etcd": lambda: store.health_error}


def _objects(registry: Registry) -> Mapping[str, int]:
    counts: dict[str, int] = {}
    for row in registry.table:
        if row.custom or (row.group, row.version) == (row.storage_group, row.storage_version):
            counts[qualified_resource(row.group, row.plural)] = registry.storage.store.count(
                f"{ROOT}{row.storage_prefix}/"
            )
    return counts


def _exposition(metrics: Metrics, admission: AdmissionMetrics) -> bytes:
    from apiserver.exposition import exposition  # noqa: PLC0415 - the import costs as much as a start should take

    return exposition(metrics, admission)
