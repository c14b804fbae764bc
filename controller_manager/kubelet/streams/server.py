"""The kubelets' server: one socket for all simulated nodes, TLS, and the paths of a real kubelet (kubelet/server)."""

import asyncio
import logging
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, TypeAlias, cast
from urllib.parse import unquote

from aiohttp import web

from apiserver.api.httpstream import Upgraded, is_upgrade_request
from apiserver.api.meta import Obj
from controller_manager.kubelet.container.runs import NoLogError, container_of, current_run
from controller_manager.kubelet.streams import portforward, spdy_sessions, websockets
from controller_manager.kubelet.streams.logs import Log, LogOptions, LogOptionsError
from controller_manager.kubelet.streams.pods import PodStore
from controller_manager.kubelet.streams.portforward import PortForwarder, ports_of
from controller_manager.kubelet.streams.remotecommand import Perform, RunningContainer, attach, exec_in_container
from controller_manager.kubelet.streams.sessions import Options, OptionsError, Serve, Session
from controller_manager.kubelet.streams.settings import StreamSettings
from controller_manager.kubelet.streams.spdy_sessions import SPDY, HandshakeError
from controller_manager.kubelet.streams.websockets import WEBSOCKET, offered
from controller_manager.runtime.cache import Caches
from controller_manager.runtime.clock import Clock

log = logging.getLogger("kubelet")

MAX_LINE_LENGTH = 128 * 1024
"""The maximum bytes of a request line, which contains commands."""
ADMINISTRATORS = "system:masters"
"""The group whose members may send any request to kubelets; the API server's client certificate is in it."""

Answer: TypeAlias = web.StreamResponse | Upgraded


class RequestError(Exception):
    """The request cannot be served: an HTTP status, and the kubelet's text."""

    def __init__(self, code: int, text: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(text)
        self.code = code
        self.headers = headers or {}


@asynccontextmanager
async def serving_streams(
    listers: Caches, settings: StreamSettings, clock: Clock, perform: Perform
) -> AsyncIterator[int]:
    """Run the kubelets' server while the context is open; yield its port.

    Args:
        listers: the caches; the server listens to changes of pods.
        settings: where to listen, and who may connect.
        clock: the time.
        perform: sends requests to the API server; it is needed to end a container whose shell has exited.

    Raises:
        OSError: the address is not available, or a file cannot be read.
        ssl.SSLError: a file is not a certificate, or not a key.
    """
    kubelets = KubeletServer(PodStore(listers, settings.root_ca), clock, perform)
    listener = web.Server(
        cast("Any", kubelets.handle),
        handler_cancellation=True,
        access_log=None,
        max_line_size=MAX_LINE_LENGTH,
    )
    runner = web.ServerRunner(listener, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, settings.host, settings.port, ssl_context=_tls(settings), reuse_address=True)
    try:
        await site.start()
        yield runner.addresses[0][1]
    finally:
        transports = [connection.transport for connection in listener.connections]
        await runner.cleanup()
        for transport in transports:
            if transport is not None:
                transport.abort()  # TLS would wait for the client's close_notify
        await asyncio.sleep(0)


def _tls(settings: StreamSettings) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(settings.certificate, settings.key)
    context.load_verify_locations(settings.client_authority)
    context.verify_mode = ssl.CERT_OPTIONAL  # clients without one get 401, as from a real kubelet
    return context


class KubeletServer:
    """Answers for the kubelets of all simulated nodes."""

    def __init__(self, pods: PodStore, clock: Clock, perform: Perform) -> None:
        self._pods = pods
        self._clock = clock
        self._perform = perform

    async def handle(self, request: web.BaseRequest) -> Answer:
        """Answer a request; errors are answered with plain text."""
        try:
            return await self._answer(request)
        except RequestError as refusal:
            return web.Response(text=f"{refusal}", status=refusal.code, headers=refusal.headers)
        except HandshakeError as error:
            headers = [("X-Accepted-Stream-Protocol-Versions", name) for name in error.known]
            return web.Response(text=f"{error}", status=error.code, headers=headers)
        except web.HTTPException as error:
            return web.Response(text=error.text, status=error.status)
        except (OptionsError, LogOptionsError, NoLogError) as error:
            return web.Response(text=f"{error}", status=400)
        except (ConnectionError, TimeoutError):
            raise
        except Exception:
            log.exception("%s %s failed", request.method, request.path)
            return web.Response(text="the request could not be served", status=500)

    async def _answer(self, request: web.BaseRequest) -> Answer:
        parts = [unquote(part) for part in request.raw_path.partition("?")[0].strip("/").split("/")]
        if parts == ["healthz"]:
            return web.Response(text="ok")
        serve = ROUTES.get(parts[0])
        if serve is None:
            raise RequestError(404, "404 page not found")
        _authorize(request)
        if request.method not in ("GET", "POST"):
            raise RequestError(405, "Method Not Allowed")
        match parts[1:]:
            case [namespace, name] | [namespace, name, _] if parts[0] == "portForward":
                container = ""
            case [namespace, name, container] | [namespace, name, _, container]:
                pass
            case _:
                raise RequestError(404, "404 page not found")
        pod = self._pods.find(namespace, name)
        if pod is None:
            raise RequestError(
                404, f'pod "{name}" does not exist' if parts[0] == "containerLogs" else "pod does not exist"
            )
        return await serve(self, request, pod, container)

    async def logs(self, request: web.BaseRequest, pod: Obj, container: str) -> Answer:
        """Send the log of a container."""
        if container_of(pod, container) is None:
            raise RequestError(404, f'container "{container}" not found in pod "{pod["metadata"]["name"]}"')
        options = LogOptions.of(request.query, self._clock.now())
        container_log = Log(self._pods, pod, container, options=options, clock=self._clock)
        response = web.StreamResponse(headers={"Content-Type": "text/plain"})
        response.enable_chunked_encoding()
        await response.prepare(request)
        await container_log.copy(response.write)
        await response.write_eof()
        return response

    async def execute(self, request: web.BaseRequest, pod: Obj, container: str) -> Answer:
        """Execute a command in a container."""
        options = Options.of(request.query)
        running_container = self._running_container(pod, container)
        command = tuple(request.query.getall("command", ()))

        async def serve(session: Session) -> Obj:
            return await exec_in_container(running_container, command, session, tty=options.tty)

        return await _over(request, options, serve)

    async def attach(self, request: web.BaseRequest, pod: Obj, container: str) -> Answer:
        """Attach to a container's output, and to its input if it reads one."""
        options = Options.of(request.query)
        running_container = self._running_container(pod, container)

        async def serve(session: Session) -> Obj:
            return await attach(running_container, session, stdin=options.stdin, tty=options.tty)

        return await _over(request, options, serve)

    async def forward(self, request: web.BaseRequest, pod: Obj, _: str) -> Answer:
        """Forward connections to ports of a pod."""
        forwarding = PortForwarder(self._pods, pod)
        if is_upgrade_request(request.headers, SPDY):
            await portforward.over_spdy(request, forwarding)
            return Upgraded()
        if not is_upgrade_request(request.headers, WEBSOCKET):
            raise RequestError(400, "Upgrade request required")
        if portforward.TUNNEL in offered(request):
            return await portforward.over_tunnel(request, forwarding)
        _check_offered(request, portforward.CHANNELS)
        return await portforward.over_channels(request, self._pods, pod=pod, ports=ports_of(request))

    def _running_container(self, pod: Obj, container: str) -> RunningContainer:
        run = current_run(pod, container)
        if run is None:
            raise RequestError(500, f'container not found ("{container}")')
        return RunningContainer(self._pods, self._clock, pod, container, run, self._perform)


async def _over(request: web.BaseRequest, options: Options, serve: Serve) -> Answer:
    """Serve a remote command over the protocol that the client requests."""
    if is_upgrade_request(request.headers, SPDY):
        await spdy_sessions.over_spdy(request, options, serve)
        return Upgraded()
    if not is_upgrade_request(request.headers, WEBSOCKET):
        raise RequestError(400, "Upgrade request required")
    _check_offered(request, websockets.PROTOCOLS)
    return await websockets.over_websocket(request, options, serve)


def _check_offered(request: web.BaseRequest, known: tuple[str, ...]) -> None:
    """Refuse a client that offers only unknown protocols; one that offers none gets the oldest."""
    named = offered(request)
    if named and not set(named) & set(known):
        raise RequestError(400, f"unable to upgrade: none of the protocols [{' '.join(named)}] is known")


def _authorize(request: web.BaseRequest) -> None:
    """Refuse clients that are not administrators."""
    transport = request.transport
    certificate = transport.get_extra_info("peercert") if transport is not None else None
    if not certificate:
        raise RequestError(401, "Unauthorized")
    subject = [pair for part in certificate.get("subject", ()) for pair in part]
    if ("organizationName", ADMINISTRATORS) not in subject:
        user = next((value for name, value in subject if name == "commonName"), "")
        verb = "create" if request.method == "POST" else "get"
        raise RequestError(403, f"Forbidden (user={user}, verb={verb}, resource=nodes, subresource(s)=[proxy])")


Route: TypeAlias = Callable[[KubeletServer, web.BaseRequest, Obj, str], Awaitable[Answer]]
ROUTES: Mapping[str, Route] = {
    "attach": KubeletServer.attach,
    "containerLogs": KubeletServer.logs,
    "exec": KubeletServer.execute,
    "portForward": KubeletServer.forward,
}
"""The first part of a path → the method that serves it."""
