"""The SPDY/3.1 wire format: bytes to frames and back, as far as Kubernetes uses it.

(SPDY draft 3.1, moby/spdystream)
"""

import struct
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TypeAlias

from controller_manager.kubelet.streams.spdy_dictionary import DICTIONARY


class FrameType(IntEnum):
    """The control frames that are supported."""

    SYN_STREAM = 1
    SYN_REPLY = 2
    RST_STREAM = 3
    PING = 6
    GOAWAY = 7
    HEADERS = 8


class ResetReason(IntEnum):
    """The reasons to reset a stream."""

    PROTOCOL_ERROR = 1
    REFUSED_STREAM = 3
    CANCEL = 5


MAX_CONTROL_LENGTH = 64 * 1024
"""The maximum bytes of a control frame, and of its uncompressed headers."""

_VERSION = 3
_CONTROL = 0x80000000
_FIN = 0x01
_ID_MASK = 0x7FFFFFFF
_HEAD = struct.Struct(">II")
_ID = struct.Struct(">I")
_PAIR = struct.Struct(">II")
_STREAM_HEAD = struct.Struct(">IIBB")


class SpdyError(Exception):
    """The peer sent invalid SPDY/3.1; the connection cannot be used any more."""


@dataclass(frozen=True, slots=True)
class SynStream:
    """The peer opens a stream."""

    stream: int
    headers: Mapping[str, str] = field(default_factory=dict)
    final: bool = False


@dataclass(frozen=True, slots=True)
class SynReply:
    """A stream is accepted."""

    stream: int
    headers: Mapping[str, str] = field(default_factory=dict)
    final: bool = False


@dataclass(frozen=True, slots=True)
class Data:
    """Bytes of a stream, not always of a whole frame; with `final` they are the last in this direction."""

    stream: int
    data: bytes
    final: bool = False


@dataclass(frozen=True, slots=True)
class RstStream:
    """A stream ends at once, in both directions."""

    stream: int
    status: int


@dataclass(frozen=True, slots=True)
class Ping:
    """A ping, which is sent back unchanged."""

    id: int


@dataclass(frozen=True, slots=True)
class GoAway:
    """No more streams are accepted; the connection ends after the open ones."""

    last: int = 0
    status: int = 0


Frame: TypeAlias = SynStream | SynReply | Data | RstStream | Ping | GoAway


class Framer:
    """Encodes and decodes the frames of a connection; header compression has a state for each direction."""

    def __init__(self) -> None:
        self._compressor = zlib.compressobj(zdict=DICTIONARY)
        self._decompressor = zlib.decompressobj(zdict=DICTIONARY)
        self._received = bytearray()
        self._open: _OpenData | None = None

    def encode(self, frame: Frame) -> bytes:
        """Return the bytes of a frame; call it in the order in which frames are sent."""
        match frame:
            case Data(stream, data, final):
                return _HEAD.pack(stream, _flags(final=final) << 24 | len(data)) + data
            case SynStream(stream, headers, final):
                body = _STREAM_HEAD.pack(stream, 0, 0, 0) + self._compressed(headers)
                return _control(FrameType.SYN_STREAM, body, _flags(final=final))
            case SynReply(stream, headers, final):
                return _control(FrameType.SYN_REPLY, _ID.pack(stream) + self._compressed(headers), _flags(final=final))
            case RstStream(stream, status):
                return _control(FrameType.RST_STREAM, _PAIR.pack(stream, status))
            case Ping(identifier):
                return _control(FrameType.PING, _ID.pack(identifier))
            case GoAway(last, status):
                return _control(FrameType.GOAWAY, _PAIR.pack(last, status))

    def feed(self, data: bytes) -> Iterator[Frame]:
        """Yield the frames that bytes complete; data is passed on as it comes.

        Raises:
            SpdyError: the bytes are invalid; raised after the frames before.
        """
        self._received += data
        while True:
            frame = self._data() if self._open else self._next()
            if frame is None:
                return
            if not isinstance(frame, _IgnoredFrame):
                yield frame

    def _next(self) -> "Frame | _IgnoredFrame | None":
        if len(self._received) < _HEAD.size:
            return None
        first, second = _HEAD.unpack_from(self._received)
        flags, length = second >> 24, second & 0xFFFFFF
        if not first & _CONTROL:
            if not first:
                raise SpdyError("data of no stream")
            del self._received[: _HEAD.size]
            self._open = _OpenData(first, length, final=bool(flags & _FIN))
            return self._data()
        if first >> 16 & 0x7FFF != _VERSION:
            raise SpdyError(f"a frame of SPDY version {first >> 16 & 0x7FFF}")
        if length > MAX_CONTROL_LENGTH:
            raise SpdyError(f"a control frame of {length} bytes")
        end = _HEAD.size + length
        if len(self._received) < end:
            return None
        body = bytes(self._received[_HEAD.size : end])
        del self._received[:end]
        return self._control(first & 0xFFFF, flags, body)

    def _data(self) -> Data | None:
        """Return the received part of the current data frame without waiting for the rest; None if it is empty."""
        frame = self._open
        assert frame is not None
        if frame.left and not self._received:
            return None
        received = bytes(self._received[: frame.left])
        del self._received[: len(received)]
        frame.left -= len(received)
        if frame.left:
            return Data(frame.stream, received)
        self._open = None
        return Data(frame.stream, received, final=frame.final)

    def _control(self, kind: int, flags: int, body: bytes) -> "Frame | _IgnoredFrame":
        try:
            match kind:
                case FrameType.SYN_STREAM:
                    stream = _STREAM_HEAD.unpack_from(body)[0] & _ID_MASK
                    return SynStream(stream, self._decompressed(body[_STREAM_HEAD.size :]), final=bool(flags & _FIN))
                case FrameType.SYN_REPLY:
                    return SynReply(_ID.unpack_from(body)[0], self._decompressed(body[4:]), final=bool(flags & _FIN))
                case FrameType.RST_STREAM:
                    return RstStream(*_PAIR.unpack_from(body))
                case FrameType.PING:
                    return Ping(*_ID.unpack_from(body))
                case FrameType.GOAWAY:
                    return GoAway(*_PAIR.unpack_from(body))
                case FrameType.HEADERS:
                    self._decompressed(body[4:])  # later headers need the state that these leave behind
        except struct.error as error:
            raise SpdyError(f"a control frame of type {kind} is too short") from error
        return _SKIPPED

    def _compressed(self, headers: Mapping[str, str]) -> bytes:
        block = _ID.pack(len(headers))
        for name, value in headers.items():
            for text in (name.lower().encode(), value.encode()):
                block += _ID.pack(len(text)) + text
        return self._compressor.compress(block) + self._compressor.flush(zlib.Z_SYNC_FLUSH)

    def _decompressed(self, packed: bytes) -> Mapping[str, str]:
        try:
            block = self._decompressor.decompress(packed, MAX_CONTROL_LENGTH)
        except zlib.error as error:
            raise SpdyError(f"headers that cannot be unpacked: {error}") from error
        if self._decompressor.unconsumed_tail:
            raise SpdyError(f"headers of more than {MAX_CONTROL_LENGTH} bytes")
        texts = list(_texts(block))
        return dict(zip(texts[::2], texts[1::2], strict=True))


@dataclass(slots=True)
class _OpenData:
    stream: int
    left: int
    final: bool


class _IgnoredFrame:
    """A frame that is ignored: SETTINGS, WINDOW_UPDATE, later HEADERS, and unknown ones."""


_SKIPPED = _IgnoredFrame()


def _texts(block: bytes) -> Iterator[str]:
    """Yield names and values in turn; several values of a name are separated by zeros, and the first one counts."""
    (count,) = _ID.unpack_from(block)
    offset = _ID.size
    for _ in range(2 * count):
        (length,) = _ID.unpack_from(block, offset)
        offset += _ID.size
        if length > len(block) - offset:
            raise SpdyError("headers that end early")
        yield block[offset : offset + length].decode("utf-8", "replace").partition("\0")[0]
        offset += length


def _flags(*, final: bool) -> int:
    return _FIN if final else 0


def _control(kind: int, body: bytes, flags: int = 0) -> bytes:
    return _HEAD.pack(_CONTROL | _VERSION << 16 | kind, flags << 24 | len(body)) + body
