"""Parse HTTP/1.1 responses as their bytes arrive (RFC 9112), with llhttp, Node's parser."""

from http import HTTPStatus

import httptools

MAX_FRAMING = 64 * 1024
"""The maximum length of status line and headers, or of what else comes without a byte of a body."""


class MalformedError(Exception):
    """The data is not HTTP; the message says why."""


class ResponseParser:
    """Separates the bodies of responses from their framing, one response after another.

    Attributes:
        code: the status code, 0 until all headers are read. Answers like 100 Continue are skipped.
        retry_after: the header of that name in an error, "" if there is none.
        endless: True if the body ends with the connection.
        over: True if the body is complete.
        keeps: True if the connection can be used again after that.
    """

    __slots__ = ("_framing", "_parser", "_pieces", "code", "endless", "keeps", "over", "retry_after")

    def __init__(self) -> None:
        self._parser = httptools.HttpResponseParser(self)
        self._pieces: list[bytes] = []
        self.begin()

    def begin(self) -> None:
        """Forget the response and expect the next one."""
        self.code = 0
        self.retry_after = ""
        self.endless = True
        self.over = False
        self.keeps = False
        self._framing = 0

    def take(self, data: bytes) -> bytes:
        """Return the part of these bytes that belongs to the body.

        Raises:
            MalformedError: the response is invalid, or does not define where the body ends.
        """
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            if not self.over:
                raise self._malformed(error, data) from error
            self.keeps = False  # what follows the body belongs to no request
        if self._pieces:
            body = b"".join(self._pieces)
            self._pieces.clear()
            self._framing = 0
            return body
        self._framing += len(data)
        if self._framing > MAX_FRAMING and not self.over:
            raise MalformedError(f"the {'framing' if self.code else 'head'} of the answer does not end")
        return b""

    def _malformed(self, error: httptools.HttpParserError, data: bytes) -> MalformedError:
        if isinstance(error.__context__, MalformedError):  # from a method below
            return error.__context__
        if self.code:
            return MalformedError(f"the body of the answer is malformed: {error}")
        return MalformedError(f"the answer is not HTTP/1.1 ({error}): {data[:40]!r}")

    # -- what httptools calls

    def on_message_begin(self) -> None:
        """Forget the headers of a skipped response. One after the end stops the parser, which `take` notes."""
        if self.over:
            raise MalformedError("the answer goes on after its end")
        self.retry_after = ""
        self.endless = True

    def on_header(self, name: bytes, value: bytes) -> None:
        """Note the headers that say where the body ends, and when to come back."""
        name = name.lower()
        if name == b"content-length":
            self.endless = False
        elif name == b"transfer-encoding":
            if value.strip().lower() != b"chunked":
                raise MalformedError(f"the transfer coding is not known: {value[:40]!r}")
            self.endless = False
        elif name == b"retry-after" and not self.code:
            self.retry_after = value.strip().decode("latin-1")

    def on_headers_complete(self) -> None:
        """Note the status code, unless the answer is still to come."""
        code = self._parser.get_status_code()
        if code == HTTPStatus.SWITCHING_PROTOCOLS:
            raise MalformedError("the server switches protocols")
        if code >= 200:
            self.code = code
            self.endless &= code not in (204, 304)
            if code < 400:
                self.retry_after = ""

    def on_body(self, piece: bytes) -> None:
        """Keep a piece of the body."""
        self._pieces.append(piece)

    def on_message_complete(self) -> None:
        """Note the end of the body."""
        if self.code:
            self.over = True
            self.keeps = self._parser.should_keep_alive()
