"""Parse HTTP/1.1 responses as their bytes arrive: the head, and where the body ends (RFC 9112)."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

LONGEST_HEAD = 64 * 1024
"""The maximum length of status line and headers, in bytes."""
_LONGEST_LINE = 4 * 1024
"""The maximum length of the line before a chunk, with its extensions, in bytes."""
_STATUS = re.compile(rb"http/1\.([01]) (\d{3})(?: |$)")
_HEX = re.compile(rb"[0-9a-f]{1,16}", re.IGNORECASE)
_BLANK = b" \t"


class MalformedError(Exception):
    """The data is not HTTP; the message says why."""


class Body(Protocol):
    """Separates a body from its framing.

    Attributes:
        over: True if the body is complete.
        extra: True if more data than the body has come.
        endless: True if the body ends with the connection.
    """

    over: bool
    extra: bool
    endless: bool

    def take(self, data: bytes) -> bytes:
        """Return the part of these bytes that belongs to the body.

        Raises:
            MalformedError: the framing is invalid.
        """


class Counted:
    """A body with a Content-Length."""

    endless = False

    def __init__(self, length: int) -> None:
        self._left = length
        self.over = length == 0
        self.extra = False

    def take(self, data: bytes) -> bytes:
        """Return the bytes up to the length."""
        self.extra = len(data) > self._left
        piece = data[: self._left] if self.extra else data
        self._left -= len(piece)
        self.over = not self._left
        return piece


class Endless:
    """A body that ends with the connection."""

    over = False
    extra = False
    endless = True

    def take(self, data: bytes) -> bytes:
        """Return all bytes."""
        return data


class Chunked:
    """A body in chunks, each preceded by its length; trailers are skipped."""

    endless = False

    def __init__(self) -> None:
        self.over = False
        self.extra = False
        self._rest = b""
        self._left = 0
        self._step: Callable[[bytes, int], int] = self._size
        self._pieces: list[bytes] = []

    def take(self, data: bytes) -> bytes:
        """Return the contents of the chunks."""
        data = self._rest + data if self._rest else data
        at = 0
        while not self.over and (after := self._step(data, at)) >= 0:
            at = after
        self._rest = data[at:]
        self.extra = self.over and bool(self._rest)
        pieces, self._pieces = b"".join(self._pieces), []
        return pieces

    # Each step returns the start of the next, or -1 if bytes are missing.

    def _size(self, data: bytes, at: int) -> int:
        end = _line_end(data, at)
        if end < 0:
            return -1
        size = data[at:end].partition(b";")[0].strip(_BLANK)
        if not _HEX.fullmatch(size):
            raise MalformedError(f"a chunk has no length: {size[:40]!r}")
        self._left = int(size, 16)
        self._step = self._data if self._left else self._trailer
        return end + 2

    def _data(self, data: bytes, at: int) -> int:
        piece = data[at : at + self._left]
        if not piece:
            return -1
        self._pieces.append(piece)
        self._left -= len(piece)
        if not self._left:
            self._step = self._end
        return at + len(piece)

    def _end(self, data: bytes, at: int) -> int:
        if len(data) < at + 2:
            return -1
        if data[at : at + 2] != b"\r\n":
            raise MalformedError("a chunk is longer than it says")
        self._step = self._size
        return at + 2

    def _trailer(self, data: bytes, at: int) -> int:
        end = _line_end(data, at)
        self.over = end == at
        return end if end < 0 else end + 2


@dataclass(frozen=True, slots=True)
class Head:
    """The status line and headers of a response.

    Attributes:
        keeps: True if the connection can be used again.
        retry_after: the header of that name, "" if there is none.
    """

    code: int
    body: Body
    keeps: bool
    retry_after: str


def read_head(raw: bytes) -> Head:
    """Parse a status line and headers, given without the empty line after them.

    Raises:
        MalformedError: they are invalid, or do not define where the body ends.
    """
    head = raw.lower()
    status = _STATUS.match(head)
    if status is None:
        raise MalformedError(f"the answer is not HTTP/1.1: {raw[:40]!r}")
    code = int(status[2])
    connection = _header(head, b"\r\nconnection:")
    keeps = b"close" not in connection if status[1] == b"1" else b"keep-alive" in connection
    body = _body(head, code)
    retry_after = _header(head, b"\r\nretry-after:").decode("latin-1") if code >= 400 else ""
    return Head(code, body, keeps and not body.endless, retry_after)


def _body(head: bytes, code: int) -> Body:
    if code < 200 or code in (204, 304):
        return Counted(0)
    coding = _header(head, b"\r\ntransfer-encoding:")
    if coding:
        if coding != b"chunked":
            raise MalformedError(f"the transfer coding is not known: {coding[:40]!r}")
        return Chunked()
    length = _header(head, b"\r\ncontent-length:")
    if not length:
        return Endless()
    if not length.isdigit():
        raise MalformedError(f"the length is no number: {length[:40]!r}")
    return Counted(int(length))


def _header(head: bytes, name: bytes) -> bytes:
    """Return a header's value, or empty bytes if it is missing; the name includes the line break before it."""
    start = head.find(name)
    if start < 0:
        return b""
    start += len(name)
    end = head.find(b"\r\n", start)
    return (head[start:end] if end >= 0 else head[start:]).strip(_BLANK)


def _line_end(data: bytes, at: int) -> int:
    end = data.find(b"\r\n", at, at + _LONGEST_LINE)
    if end < 0 and len(data) - at >= _LONGEST_LINE:
        raise MalformedError("a line between chunks does not end")
    return end
