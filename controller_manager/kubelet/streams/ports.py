"""Answers at a port of a pod: a page that names the pod for HTTP requests, an echo for anything else."""

import re
from collections.abc import Awaitable, Callable
from hashlib import sha256
from typing import TypeAlias

from apiserver.api.meta import Obj
from controller_manager.kubelet.container.runs import running_containers
from controller_manager.kubelet.streams.byte_queue import ByteQueue

Write: TypeAlias = Callable[[bytes], Awaitable[None]]

_REQUEST = re.compile(rb"[A-Z]{3,10} [^ \r\n]+ HTTP/1\.[01]\r?\n")
_METHOD = re.compile(rb"[A-Z]{0,10}(?: [^\r\n]*)?\r?")
_LENGTH = re.compile(rb"\r?\ncontent-length:[ \t]*(\d{1,15})[ \t]*\r?\n", re.IGNORECASE)
_CLOSE = re.compile(rb"\r?\nconnection:[ \t]*close", re.IGNORECASE)
_CHUNKED = re.compile(rb"\r?\ntransfer-encoding:", re.IGNORECASE)
MAX_HEAD_LENGTH = 64 * 1024


class NobodyListensError(Exception):
    """No container of the pod has that port; the message is containerd's."""


def check_port(pod: Obj, port: int) -> None:
    """Check that a port is open.

    The ports of images are not known: if no container declares a port, all are open.

    Raises:
        NobodyListensError: the running containers declare ports, but not this one.
    """
    running = list(running_containers(pod))
    known = [declared for container in running for declared in container.get("ports") or ()]
    if running and not known:
        return
    if any(declared["containerPort"] == port and declared.get("protocol", "TCP") == "TCP" for declared in known):
        return
    sandbox = sandbox_of(pod)
    raise NobodyListensError(
        f"error forwarding port {port} to pod {sandbox}, uid : failed to execute portforward in network namespace "
        f'"/var/run/netns/cni-{sandbox[:8]}": failed to connect to localhost:{port} inside namespace "{sandbox}", '
        f"IPv4: dial tcp4 127.0.0.1:{port}: connect: connection refused "
        f"IPv6 dial tcp6 [::1]:{port}: connect: connection refused "
    )


def sandbox_of(pod: Obj) -> str:
    """Return the id of a pod's sandbox, which is derived from its uid."""
    return sha256(f"sandbox of {pod['metadata'].get('uid', '')}".encode()).hexdigest()


async def serve_port(pod: Obj, port: int, byte_queue: ByteQueue, write: Write) -> None:
    """Serve a connection until the client sends no more.

    Raises:
        ConnectionError: the client is gone.
    """
    received = bytearray()
    while data := await byte_queue.read():
        received += data
        while (end := _request_end(received)) > 0:
            head = bytes(received[:end])
            del received[:end]
            closes = await _answer(pod, port, head, byte_queue=byte_queue, received=received, write=write)
            if closes:
                return
        if end == 0:
            await write(bytes(received))
            received.clear()


def _request_end(received: bytearray) -> int:
    """Return where the head of an HTTP request ends; 0 if it is not one, -1 if it may become one."""
    if not received:
        return -1
    if not _REQUEST.match(received):
        return -1 if len(received) < MAX_HEAD_LENGTH and _METHOD.fullmatch(received) else 0
    for blank in (b"\r\n\r\n", b"\n\n"):
        index = received.find(blank)
        if index >= 0:
            return index + len(blank)
    return -1 if len(received) < MAX_HEAD_LENGTH else 0


async def _answer(
    pod: Obj, port: int, head: bytes, *, byte_queue: ByteQueue, received: bytearray, write: Write
) -> bool:
    """Answer a request after skipping its body; return True if the connection is to be closed."""
    length = _LENGTH.search(head)
    left = int(length[1]) if length else 0
    while left > len(received):
        left -= len(received)
        received.clear()
        data = await byte_queue.read()
        if not data:
            return True
        received += data
    del received[:left]
    closes = b"HTTP/1.0" in head.partition(b"\n")[0] or bool(_CLOSE.search(head) or _CHUNKED.search(head))
    meta = pod["metadata"]
    text = f"pod {meta.get('namespace', 'default')}/{meta['name']}, port {port}: {head.split(None, 2)[1].decode()}\n"
    body = text.encode()
    lines = (
        "HTTP/1.1 200 OK",
        "Server: mockube",
        "Content-Type: text/plain; charset=utf-8",
        f"Content-Length: {len(body)}",
        *(["Connection: close"] if closes else []),
        "\r\n",
    )
    await write("\r\n".join(lines).encode() + (b"" if head.startswith(b"HEAD ") else body))
    return closes
