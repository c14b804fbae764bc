"""Creates exactly so many pods, which wrk cannot: it counts seconds, not requests.

    python bench/creators.py URL TOKEN LETTERS COUNT CONNECTIONS

It prints when it began, on the clock that all processes share, and how many seconds it took.
"""

import asyncio
import json
import ssl
import sys
import time
from collections.abc import Iterator
from urllib.parse import urlsplit

import pods
import uvloop


async def create(url: str, token: str, bodies: Iterator[bytes], connections: int) -> None:
    """POST all bodies to a URL."""
    async with asyncio.TaskGroup() as group:
        for _ in range(connections):
            group.create_task(_post_each(url, token, bodies))


async def _post_each(url: str, token: str, bodies: Iterator[bytes]) -> None:
    """POST bodies until none is left; the iterator is shared by all connections."""
    url_parts = urlsplit(url)
    reader, writer = await asyncio.open_connection(url_parts.hostname, url_parts.port, ssl=unverified())
    head = (
        f"POST {url_parts.path} HTTP/1.1\r\nHost: {url_parts.netloc}\r\nAuthorization: Bearer {token}\r\n"
        "Content-Type: application/json\r\nContent-Length: %d\r\n\r\n"
    ).encode()
    for body in bodies:
        writer.write(head % len(body) + body)
        await _expect_created(reader)
    writer.close()


async def _expect_created(reader: asyncio.StreamReader) -> None:
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    length = int(head.split(b"content-length:", 1)[1].split(b"\r\n", 1)[0])
    body = await reader.readexactly(length)
    if not head.startswith(b"http/1.1 201"):
        raise RuntimeError(body.decode())


def unverified() -> ssl.SSLContext:
    """Return a TLS context that does not verify the certificate: the server is our own."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


async def _main(url: str, token: str, letters: str, count: str, connections: str) -> None:
    bodies = iter([pods.body(letters, number) for number in range(int(count))])
    began = time.monotonic()
    await create(url, token, bodies, int(connections))
    print(json.dumps({"began": began, "seconds": time.monotonic() - began}))


if __name__ == "__main__":
    uvloop.run(_main(*sys.argv[1:]))
