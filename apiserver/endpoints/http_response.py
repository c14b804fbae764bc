"""An HTTP response: a status line, the headers that every answer has, and a body that is complete before it is sent.

aiohttp's own Response can stream, compress, chunk and set cookies, and checks each of these for every response;
that costs half as much as the rest of a read. This one reuses a head that is made once per status and media type.
"""

import time
from email.utils import formatdate
from functools import lru_cache
from http import HTTPStatus

from aiohttp import web

from apiserver.api.httpstream import Upgraded
from apiserver.endpoints.negotiation import JSON

MIN_CHUNKED_BYTES = 256 * 1024
"""Bytes from which a body is sent in pieces, so that a slow client keeps only one of them in the buffer."""
BODILESS = frozenset((204, 304))


_PHRASES = {status.value: status.phrase for status in HTTPStatus}


class Response:
    """The response that a handler returns; aiohttp calls `prepare` and `write_eof`, as it does for its Response.

    The ending is the line break after an object, kept apart so that the body need not be copied.
    """

    __slots__ = ("_request", "audit_id", "body", "cache", "ending", "headers", "keep_alive", "media", "status")

    def __init__(
        self, body: bytes, *, status: int = 200, media: str = JSON, audit_id: str = "", ending: bytes = b""
    ) -> None:
        self.body = body
        self.ending = ending
        self.status = status
        self.media = media
        self.audit_id = audit_id
        self.cache = "no-cache, private"
        self.headers: list[tuple[str, str]] = []
        self.keep_alive: bool | None = None
        self._request: web.BaseRequest | None = None

    async def prepare(self, request: web.BaseRequest) -> None:
        """Remember the request to answer."""
        self._request = request
        self.keep_alive = request.keep_alive

    async def write_eof(self) -> None:
        """Send the answer.

        Raises:
            ConnectionError: the client is gone.
        """
        request = self._request
        assert request is not None
        head, body, writer = self._head(request), self.body, request.writer
        if request.method == "HEAD" or self.status in BODILESS:
            await writer.write(head)
        elif len(body) < MIN_CHUNKED_BYTES:
            await writer.write(b"".join((head, body, self.ending)))
        else:
            await writer.write(head)
            rest = memoryview(body)
            for start in range(0, len(body), MIN_CHUNKED_BYTES):
                await writer.write(rest[start : start + MIN_CHUNKED_BYTES])
            if self.ending:
                await writer.write(self.ending)

    def _head(self, request: web.BaseRequest) -> bytes:
        fixed = _fixed_head(self.status, self.media, self.cache)
        length = "" if self.status in BODILESS else f"Content-Length: {len(self.body) + len(self.ending)}\r\n"
        more = "".join([f"{name}: {_one_line(value)}\r\n" for name, value in self.headers]) if self.headers else ""
        if not self.keep_alive:
            more += "Connection: close\r\n"
        elif request.version < (1, 1):
            more += "Connection: keep-alive\r\n"
        head = f"{fixed}Audit-Id: {_one_line(self.audit_id)}\r\nDate: {_date(int(time.time()))}\r\n{length}{more}\r\n"
        return head.encode("utf-8", "replace")


Reply = Response | Upgraded | web.StreamResponse
"""The responses that handlers return."""


@lru_cache(maxsize=256)
def _fixed_head(status: int, media: str, cache: str) -> str:
    kind = f"Content-Type: {media}\r\n" if media else ""
    return f"HTTP/1.1 {status} {_PHRASES.get(status, '')}\r\nCache-Control: {cache}\r\n{kind}"


@lru_cache(maxsize=1)
def _date(second: int) -> str:
    return formatdate(second, usegmt=True)


def _one_line(text: str) -> str:
    """Return the text without characters that would end a header early."""
    return text if text.isprintable() else "".join(c for c in text if c.isprintable())
