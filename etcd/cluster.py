"""The members of an etcd cluster, and calls to one of them that answers.

Calls are raw ones of etcd3-py: JSON over etcd's own gRPC gateway (etcd 3.4 and later), with orjson on both ends.
"""

import asyncio
import math
import os
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from io import BytesIO
from typing import Any, Final
from urllib.parse import urlsplit

import aiohttp
import orjson
from etcd3.aio_client import AioClient
from etcd3.baseclient import sem

from etcd.access import ClusterConfig
from etcd.coalesce import SingleFlight
from etcd.store import Compacted, Full, StoreError, TooLarge, Unavailable, Unreachable

API_VERSION: Final = "3.4.0"
"""The release of etcd whose API is used; later releases have it too."""
CALL_TIMEOUT: Final = 5.0
"""Seconds that one member may take to answer."""
MAX_CALLS: Final = 64
"""The most calls under way at a time; further ones wait for a slot, which does not count as the member's time."""

SLOT_TIMEOUT: Final = 10.0
"""Seconds that a call may wait for a slot before it is sent."""

_CONNECT_TIMEOUT: Final = 2.0
_CHUNKED_SIZE: Final = 1 << 20
"""Bytes from which on aiohttp wants to send a body in chunks."""
_UNAVAILABLE: Final = 14
_MEMBER_FAILURES: Final = {1, 2, 4, 13, _UNAVAILABLE}
"""The gRPC codes of failures of the member itself: cancelled, unknown, deadline, internal, unavailable."""
_NOT_STARTED: Final = ("etcdserver: no leader", "etcdserver: too many requests", "not supported for learner")
"""Messages of a member that has not begun the call; another member may carry it out."""
_LOGIN_REQUIRED: Final = ("invalid auth token", "user name is empty", "revision of auth store is old")
"""Messages that a (repeated) login cures (server/etcdserver/api/v3rpc/rpctypes/error.go)."""
_REQUIRE_LEADER: Final = {"Grpc-Metadata-hasleader": "true"}
"""Makes a member that sees no leader refuse at once and end its watches; without it, it would stay silent."""

Json = dict[str, Any]


class _Client(AioClient):  # type: ignore[misc]  # the library is not typed
    """A client of one member that neither blocks in its constructor nor asks the member for its release."""

    def __init__(self, endpoint: str, context: ssl.SSLContext | None) -> None:
        where = urlsplit(endpoint)
        host = f"[{where.hostname}]" if ":" in (where.hostname or "") else where.hostname
        super().__init__(host=host, port=where.port, protocol=where.scheme, headers=_REQUIRE_LEADER)
        self._unused: aiohttp.ClientSession = self.session  # it cannot trust a CA without a client certificate
        connector = aiohttp.TCPConnector(limit=0, ssl=context or False)
        timeout = aiohttp.ClientTimeout(total=CALL_TIMEOUT, sock_connect=_CONNECT_TIMEOUT, ceil_threshold=math.inf)
        self.session: aiohttp.ClientSession = aiohttp.ClientSession(connector=connector, timeout=timeout)

    def _retrieve_version(self) -> None:
        self.server_version = self.cluster_version = API_VERSION
        self.server_version_sem = self.cluster_version_sem = sem.Version(API_VERSION)

    async def close(self) -> None:
        await self._unused.close()
        await self.session.close()


class CallError(Exception):
    """An error that a member answered: the gRPC code, and etcd's message."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message

    @property
    def is_member_failure(self) -> bool:
        """True if the member failed, not the call, so that another member may do better."""
        return self.code in _MEMBER_FAILURES or self.not_started

    @property
    def not_started(self) -> bool:
        """True if the call certainly did nothing."""
        return any(phrase in self.message for phrase in _NOT_STARTED)

    @property
    def needs_login(self) -> bool:
        """True if logging in may cure the error."""
        return any(phrase in self.message for phrase in _LOGIN_REQUIRED)


class Cluster:
    """Calls the member that answered last, and the next one if that fails. Create it in a running event loop."""

    def __init__(self, access: ClusterConfig) -> None:
        secure = any(endpoint.startswith("https:") for endpoint in access.endpoints)
        context = access.credentials.ssl_context() if secure else None
        self.access = access
        self._clients = [_Client(endpoint, context) for endpoint in access.endpoints]
        self._current = 0
        self._login = SingleFlight(self._authenticate)
        self._slots = asyncio.Semaphore(MAX_CALLS)
        self._streams: dict[int, asyncio.Timeout] = {}
        self._closed = False

    async def close(self) -> None:
        """Close all connections."""
        self._closed = True
        for client in self._clients:
            await client.close()

    async def read(self, method: str, request: Json) -> Json:
        """Return the answer to a read; the members are tried in turn until one has answered.

        Raises:
            Compacted: the requested revision is gone.
            Unavailable: no member answers.
            StoreError: the call was refused.
        """
        return await self._call(method, request, can_repeat=True)

    async def write(self, method: str, request: Json) -> Json:
        """Return the answer to a write, which is sent to one member only once.

        Raises:
            Full: the cluster has no space left.
            TooLarge: the request is too large.
            Unavailable: no member answers; if `unknown`, the change may have been made.
            StoreError: the call was refused.
        """
        return await self._call(method, request, can_repeat=False)

    async def _call(self, method: str, request: Json, *, can_repeat: bool) -> Json:
        body, reasons, turns = orjson.dumps(request), list[str](), len(self._clients)
        while turns > 0:
            turns -= 1
            member = self._current
            endpoint = self.access.endpoints[member]
            try:
                async with self._slot():
                    return await self._call_member(self._clients[member], method, body)
            except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
                reason, was_sent = _describe(error), False
            except (aiohttp.ClientError, TimeoutError) as error:
                reason, was_sent = _describe(error), True
                if isinstance(error, aiohttp.ServerDisconnectedError) and not reasons:
                    turns += 1  # a connection that was kept open may be stale, though the member is well
            except CallError as error:
                if not error.is_member_failure:
                    raise _store_error(error, endpoint) from error
                reason, was_sent = error.message, not error.not_started
            reasons.append(f"{endpoint}: {reason}")
            self._switch_from(member)
            if was_sent and not can_repeat:
                raise Unreachable(f"etcd may or may not have done it: {reasons[-1]}", unknown=True)
        raise Unreachable(f"no member of the etcd cluster answers ({'; '.join(dict.fromkeys(reasons))})")

    @asynccontextmanager
    async def _slot(self) -> AsyncIterator[None]:
        """Wait for one of the CONNECTIONS slots; raises Unreachable."""
        try:
            async with asyncio.timeout(SLOT_TIMEOUT if self._slots.locked() else None):
                await self._slots.acquire()
        except TimeoutError as error:
            raise Unreachable(
                f"etcd is too slow: {MAX_CALLS} calls are under way, and more wait since {SLOT_TIMEOUT:.0f} s"
            ) from error
        try:
            if self._closed:
                raise Unavailable("the store is closed")
            yield
        finally:
            self._slots.release()

    def _switch_from(self, member: int) -> None:
        """Switch to another member, unless another call has done so already; a stream from this member ends too."""
        if self._current == member:
            self._current = (member + 1) % len(self._clients)
        patience = self._streams.pop(member, None)
        if patience is not None:
            patience.reschedule(asyncio.get_running_loop().time())

    async def _call_member(self, client: _Client, method: str, body: bytes) -> Json:
        try:
            return await self._post(client, method, body)
        except CallError as error:
            if not self.access.credentials.user or not error.needs_login:
                raise
        await self._login.do()
        return await self._post(client, method, body)

    async def _post(self, client: _Client, method: str, body: bytes) -> Json:
        data = body if len(body) < _CHUNKED_SIZE else BytesIO(body)
        async with client.call_rpc(method, data, raw=True, timeout=client.session.timeout) as response:
            content = await response.read()
        return _parse_response(response.status, content)

    async def _authenticate(self) -> None:
        """Get a token from the current member; it is valid for all members."""
        client = self._clients[self._current]
        body = orjson.dumps({"name": self.access.credentials.user, "password": self.access.credentials.password})
        for member_client in self._clients:
            member_client.token = None
        token = (await self._post(client, "/auth/authenticate", body))["token"]
        for member_client in self._clients:
            member_client.token = token

    @asynccontextmanager
    async def stream(self, method: str, request: Json) -> AsyncIterator[AsyncIterator[Json]]:
        """Yield the messages of a stream from the current member.

        Raises:
            Unavailable: the stream could not be opened, or broke off; the next one comes from another member.
            StoreError: the call was refused.
        """
        member = self._current
        client, endpoint = self._clients[member], self.access.endpoints[member]
        timeout = aiohttp.ClientTimeout(sock_connect=_CONNECT_TIMEOUT)
        try:
            async with asyncio.timeout(None) as patience:
                self._streams[member] = patience
                try:
                    async with client.call_rpc(method, orjson.dumps(request), raw=True, timeout=timeout) as response:
                        if response.status != 200:
                            _parse_response(response.status, await response.read())
                        try:
                            yield _messages(response.content)
                        finally:
                            _abort(response)
                finally:
                    self._streams.pop(member, None)
        except (aiohttp.ClientError, TimeoutError, CallError, ValueError) as error:
            self._switch_from(member)
            raise Unreachable(f"{endpoint}: {_describe(error)}") from error

    def switch_member(self) -> None:
        """End the open streams, so that the next ones come from another member."""
        for member in list(self._streams):
            self._switch_from(member)


def _abort(response: aiohttp.ClientResponse) -> None:
    """Close the connection of a response that is not read to its end; a TLS shutdown would wait for the member."""
    connection = response.connection
    if connection is not None and connection.transport is not None:
        connection.transport.abort()


async def _messages(content: aiohttp.StreamReader) -> AsyncIterator[Json]:
    """Yield the messages of a stream, one per line of any length."""
    partial = bytearray()
    while chunk := await content.readany():
        *lines, last = chunk.split(b"\n")
        for line in lines:
            partial += line
            if partial:
                yield _parse_message(bytes(partial))
                partial.clear()
        partial += last


def _parse_message(line: bytes) -> Json:
    """Return the message in a line of a stream; raises CallError if it is an error, or not a message of etcd."""
    match orjson.loads(line):
        case {"result": dict(message)}:
            return message
        case {"error": dict(error)}:
            raise CallError(_UNAVAILABLE, str(error.get("message") or error))
    raise CallError(_UNAVAILABLE, f"no etcd answers there, but other JSON: {line[:100]!r}")


def _parse_response(status: int, content: bytes) -> Json:
    try:
        answer: Json = orjson.loads(content)
    except orjson.JSONDecodeError as error:
        text = content[:100].decode(errors="replace").strip()
        raise CallError(_UNAVAILABLE, f"no etcd answers there, but HTTP {status} and no JSON: {text!r}") from error
    if not isinstance(answer, dict) or (status == 200 and "header" not in answer):
        raise CallError(_UNAVAILABLE, f"no etcd answers there, but HTTP {status} and other JSON: {content[:100]!r}")
    if status == 200:
        return answer
    message = answer.get("message") or answer.get("error") or f"HTTP {status}"
    raise CallError(int(answer.get("code") or 2), str(message))


_ERRORS_BY_MESSAGE: Final[Mapping[str, type[StoreError]]] = {
    "mvcc: database space exceeded": Full,
    "request is too large": TooLarge,
}


_EXPLANATIONS: Final = {
    "user name is empty": ": it wants a user and a password",
    "permission denied": ": the user has to be able to read all keys, and to write those of this server",
}
"""Explanations that are appended to etcd's own messages."""


def _store_error(error: CallError, endpoint: str) -> StoreError:
    """Return the StoreError for an answer that is an error; it keeps etcd's own message."""
    if "required revision has been compacted" in error.message:
        return Compacted(0)
    for phrase, kind in _ERRORS_BY_MESSAGE.items():
        if phrase in error.message:
            return kind()
    explanation = next((explanation for phrase, explanation in _EXPLANATIONS.items() if phrase in error.message), "")
    return StoreError(f"{endpoint}: {error.message}{explanation}")


def _describe(error: Exception) -> str:
    """Return a description of a connection error; some exceptions have an empty message."""
    match error:
        case aiohttp.ClientConnectorCertificateError():
            text = f"its certificate is not trusted: {error.certificate_error}"
        case aiohttp.ClientConnectorDNSError():
            text = f"there is no host {error.host}"
        case aiohttp.ClientConnectorSSLError():
            text = f"no TLS is spoken there, or another one ({error.os_error.strerror or error.os_error})"
        case aiohttp.ClientConnectorError(os_error=ConnectionResetError()):
            text = "Connection reset by peer, which happens where no TLS is spoken"
        case aiohttp.ClientConnectorError():
            text = os.strerror(error.os_error.errno) if error.os_error.errno else str(error.os_error)
        case aiohttp.ServerDisconnectedError():
            text = "it closed the connection without an answer"
        case aiohttp.ClientPayloadError():
            text = "the connection was closed in the middle of an answer"
        case _:
            text = str(error) or f"no answer in {CALL_TIMEOUT:.0f} s"
    return text
