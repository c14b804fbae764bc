"""SPDY/3.1 on the wire: bytes to frames and back, as far as Kubernetes speaks it (SPDY draft 3.1, moby/spdystream)."""

import struct
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TypeAlias

from controller_manager.kubelet.streams.spdy_dictionary import DICTIONARY


class Type(IntEnum):
    """The control frames that mean something here."""

    SYN_STREAM = 1
    SYN_REPLY = 2
    RST_STREAM = 3
    PING = 6
    GOAWAY = 7
    HEADERS = 8


class Reset(IntEnum):
    """Why a stream is reset."""

    PROTOCOL_ERROR = 1
    REFUSED_STREAM = 3
    CANCEL = 5


LONGEST_CONTROL = 64 * 1024
"""Bytes that a control frame may have, and its headers once they are unpacked."""

_VERSION = 3
_CONTROL = 0x80000000
_FIN = 0x01
_ID_MASK = 0x7FFFFFFF
_HEAD = struct.Struct(">II")
_ID = struct.Struct(">I")
_PAIR = struct.Struct(">II")
_STREAM_HEAD = struct.Struct(">IIBB")


class SpdyError(Exception):
    """The peer sent what is no SPDY/3.1; the connection is of no more use."""


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
    """Bytes of a stream, not always a whole frame's; `final` is the last that this side sends."""

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
    """A sign of life that is sent back as it is."""

    id: int


@dataclass(frozen=True, slots=True)
class GoAway:
    """No more streams; the connection ends after those that are open."""

    last: int = 0
    status: int = 0


Frame: TypeAlias = SynStream | SynReply | Data | RstStream | Ping | GoAway


class Framer:
    """One connection's two directions: headers are packed with what was packed before, so each has its own state."""

    def __init__(self) -> None:
        self._packer = zlib.compressobj(zdict=DICTIONARY)
        self._unpacker = zlib.decompressobj(zdict=DICTIONARY)
        self._received = bytearray()
        self._open: _OpenData | None = None

    def encode(self, frame: Frame) -> bytes:
        """The bytes of a frame, in the order in which they are sent."""
        match frame:
            case Data(stream, data, final):
                return _HEAD.pack(stream, _flags(final=final) << 24 | len(data)) + data
            case SynStream(stream, headers, final):
                body = _STREAM_HEAD.pack(stream, 0, 0, 0) + self._packed(headers)
                return _control(Type.SYN_STREAM, body, _flags(final=final))
            case SynReply(stream, headers, final):
                return _control(Type.SYN_REPLY, _ID.pack(stream) + self._packed(headers), _flags(final=final))
            case RstStream(stream, status):
                return _control(Type.RST_STREAM, _PAIR.pack(stream, status))
            case Ping(identifier):
                return _control(Type.PING, _ID.pack(identifier))
            case GoAway(last, status):
                return _control(Type.GOAWAY, _PAIR.pack(last, status))

    def feed(self, data: bytes) -> Iterator[Frame]:
        """The frames that bytes complete; data are handed on as they come.

        Raises:
            SpdyError: they are no SPDY/3.1; raised after the frames before.
        """
        self._received += data
        while True:
            frame = self._data() if self._open else self._next()
            if frame is None:
                return
            if not isinstance(frame, _Skipped):
                yield frame

    def _next(self) -> "Frame | _Skipped | None":
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
        if length > LONGEST_CONTROL:
            raise SpdyError(f"a control frame of {length} bytes")
        end = _HEAD.size + length
        if len(self._received) < end:
            return None
        body = bytes(self._received[_HEAD.size : end])
        del self._received[:end]
        return self._control(first & 0xFFFF, flags, body)

    def _data(self) -> Data | None:
        """What there is of the data frame that has begun; nothing is kept until the rest has come."""
        frame = self._open
        assert frame is not None
        if frame.left and not self._received:
            return None
        found = bytes(self._received[: frame.left])
        del self._received[: len(found)]
        frame.left -= len(found)
        if frame.left:
            return Data(frame.stream, found)
        self._open = None
        return Data(frame.stream, found, final=frame.final)

    def _control(self, kind: int, flags: int, body: bytes) -> "Frame | _Skipped":
        try:
            match kind:
                case Type.SYN_STREAM:
                    stream = _STREAM_HEAD.unpack_from(body)[0] & _ID_MASK
                    return SynStream(stream, self._unpacked(body[_STREAM_HEAD.size :]), final=bool(flags & _FIN))
                case Type.SYN_REPLY:
                    return SynReply(_ID.unpack_from(body)[0], self._unpacked(body[4:]), final=bool(flags & _FIN))
                case Type.RST_STREAM:
                    return RstStream(*_PAIR.unpack_from(body))
                case Type.PING:
                    return Ping(*_ID.unpack_from(body))
                case Type.GOAWAY:
                    return GoAway(*_PAIR.unpack_from(body))
                case Type.HEADERS:
                    self._unpacked(body[4:])  # later headers need the state that these leave behind
        except struct.error as error:
            raise SpdyError(f"a control frame of type {kind} is too short") from error
        return _SKIPPED

    def _packed(self, headers: Mapping[str, str]) -> bytes:
        block = _ID.pack(len(headers))
        for name, value in headers.items():
            for text in (name.lower().encode(), value.encode()):
                block += _ID.pack(len(text)) + text
        return self._packer.compress(block) + self._packer.flush(zlib.Z_SYNC_FLUSH)

    def _unpacked(self, packed: bytes) -> Mapping[str, str]:
        try:
            block = self._unpacker.decompress(packed, LONGEST_CONTROL)
        except zlib.error as error:
            raise SpdyError(f"headers that cannot be unpacked: {error}") from error
        if self._unpacker.unconsumed_tail:
            raise SpdyError(f"headers of more than {LONGEST_CONTROL} bytes")
        texts = list(_texts(block))
        return dict(zip(texts[::2], texts[1::2], strict=True))


@dataclass(slots=True)
class _OpenData:
    stream: int
    left: int
    final: bool


class _Skipped:
    """A frame that tells nothing here: SETTINGS, WINDOW_UPDATE, later HEADERS, and those that nobody knows."""


_SKIPPED = _Skipped()


def _texts(block: bytes) -> Iterator[str]:
    """Names and values in turn; several values of a name stand between zeros, and the first of them counts."""
    (count,) = _ID.unpack_from(block)
    place = _ID.size
    for _ in range(2 * count):
        (length,) = _ID.unpack_from(block, place)
        place += _ID.size
        if length > len(block) - place:
            raise SpdyError("headers that end early")
        yield block[place : place + length].decode("utf-8", "replace").partition("\0")[0]
        place += length


def _flags(*, final: bool) -> int:
    return _FIN if final else 0


def _control(kind: int, body: bytes, flags: int = 0) -> bytes:
    return _HEAD.pack(_CONTROL | _VERSION << 16 | kind, flags << 24 | len(body)) + body
