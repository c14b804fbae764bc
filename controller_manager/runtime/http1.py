"""Answers of HTTP/1.1 as their bytes come in: the head, and where the body ends (RFC 9112)."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

LONGEST_HEAD = 64 * 1024
"""Bytes that status line and headers may have."""
_LONGEST_LINE = 4 * 1024
"""Bytes that the line before a chunk may have, with its extensions."""
_STATUS = re.compile(rb"http/1\.([01]) (\d{3})(?: |$)")
_HEX = re.compile(rb"[0-9a-f]{1,16}", re.IGNORECASE)
_BLANK = b" \t"


class MalformedError(Exception):
    """What came is no HTTP; the message says in which way."""


class Body(Protocol):
    """Tells the body from what is around it.

    Attributes:
        over: whether the body is complete.
        extra: whether more than the body has come.
        endless: whether the end of the connection is the end of the body.
    """

    over: bool
    extra: bool
    endless: bool

    def take(self, data: bytes) -> bytes:
        """What of these bytes belongs to the body.

        Raises:
            MalformedError: it cannot be told.
        """


class Counted:
    """A body whose length was told before."""

    endless = False

    def __init__(self, length: int) -> None:
        self._left = length
        self.over = length == 0
        self.extra = False

    def take(self, data: bytes) -> bytes:
        """Everything, up to the length."""
        self.extra = len(data) > self._left
        found = data[: self._left] if self.extra else data
        self._left -= len(found)
        self.over = not self._left
        return found


class Endless:
    """A body that ends with the connection."""

    over = False
    extra = False
    endless = True

    def take(self, data: bytes) -> bytes:
        """Everything."""
        return data


class Chunked:
    """A body in chunks, each with its length before it; trailers are skipped."""

    endless = False

    def __init__(self) -> None:
        self.over = False
        self.extra = False
        self._rest = b""
        self._left = 0
        self._step: Callable[[bytes, int], int] = self._size
        self._found: list[bytes] = []

    def take(self, data: bytes) -> bytes:
        """What is in the chunks."""
        data = self._rest + data if self._rest else data
        at = 0
        while not self.over and (after := self._step(data, at)) >= 0:
            at = after
        self._rest = data[at:]
        self.extra = self.over and bool(self._rest)
        found, self._found = b"".join(self._found), []
        return found

    # Each step tells where the next begins, -1 where bytes are missing.

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
        self._found.append(piece)
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
    """What comes before a body.

    Attributes:
        keeps: whether the connection can be used again.
        retry_after: the header of that name, "" where there is none.
    """

    code: int
    body: Body
    keeps: bool
    retry_after: str


def read_head(raw: bytes) -> Head:
    """Status line and headers, without the empty line after them.

    Raises:
        MalformedError: they are none, or do not tell where the body ends.
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
    """The value of a header whose name is given as it begins its line; empty where there is none."""
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
