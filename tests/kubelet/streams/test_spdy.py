import zlib
from itertools import chain

import pytest

from controller_manager.kubelet.streams.spdy import (
    MAX_CONTROL_LENGTH,
    Data,
    Frame,
    Framer,
    GoAway,
    Ping,
    RstStream,
    SpdyError,
    SynReply,
    SynStream,
)
from controller_manager.kubelet.streams.spdy_dictionary import DICTIONARY

FRAMES: list[Frame] = [
    SynStream(1, {"streamtype": "error", "port": "80"}),
    SynStream(3, {"streamtype": "data", "port": "80", "requestid": "0"}, final=True),
    SynReply(1),
    SynReply(3, {"a": "b"}, final=True),
    Data(1, b"hello"),
    Data(1, b"", final=True),
    Data(3, bytes(range(256)) * 300, final=True),
    RstStream(3, 5),
    Ping(1),
    GoAway(3, 0),
]


def joined(frames):
    """The frames, with data that came in pieces put together."""
    joined_frames: list[Frame] = []
    for frame in frames:
        last = joined_frames[-1] if joined_frames else None
        if isinstance(frame, Data) and isinstance(last, Data) and last.stream == frame.stream and not last.final:
            joined_frames[-1] = Data(frame.stream, last.data + frame.data, frame.final)
        else:
            joined_frames.append(frame)
    return joined_frames


def test_the_dictionary_is_that_of_the_draft():
    assert (len(DICTIONARY), zlib.adler32(DICTIONARY)) == (1423, 0xE3C6A7C2)


@pytest.mark.parametrize("frame", FRAMES, ids=lambda frame: type(frame).__name__)
def test_what_is_written_is_read(frame):
    assert list(Framer().feed(Framer().encode(frame))) == [frame]


@pytest.mark.parametrize("size", [1, 2, 7, 1000, 10_000_000])
def test_frames_are_read_however_they_are_cut(size):
    sender, receiver = Framer(), Framer()
    sent = b"".join(sender.encode(frame) for frame in FRAMES)
    got = [frame for start in range(0, len(sent), size) for frame in receiver.feed(sent[start : start + size])]
    assert joined(got) == joined(FRAMES)


def test_data_are_handed_on_before_their_frame_is_complete():
    receiver, sent = Framer(), Framer().encode(Data(1, b"0123456789", final=True))
    assert list(receiver.feed(sent[:12])) == [Data(1, b"0123")]
    assert list(receiver.feed(sent[12:])) == [Data(1, b"456789", final=True)]


def test_bytes_that_other_implementations_send_are_read():
    """A SYN_STREAM as moby/spdystream packs it: best compression, names in any order, and a priority."""
    packer = zlib.compressobj(9, zdict=DICTIONARY)
    block = b"\0\0\0\1" + b"\0\0\0\x0astreamtype" + b"\0\0\0\x06stdout"
    body = b"\0\0\0\5" + b"\0\0\0\0" + b"\x80\0" + packer.compress(block) + packer.flush(zlib.Z_SYNC_FLUSH)
    sent = b"\x80\3\0\1" + len(body).to_bytes(4, "big") + body
    assert list(Framer().feed(sent)) == [SynStream(5, {"streamtype": "stdout"})]


@pytest.mark.parametrize(
    "skipped",
    [
        b"\x80\3\0\4\0\0\0\x0c" + b"\0\0\0\1" + b"\0\0\0\4\0\0\x10\0",  # SETTINGS
        b"\x80\3\0\x09\0\0\0\x08" + b"\0\0\0\1\0\0\x10\0",  # WINDOW_UPDATE
        b"\x80\3\0\x63\0\0\0\0",  # nobody's
    ],
)
def test_frames_that_mean_nothing_here_are_passed_over(skipped):
    assert list(Framer().feed(skipped + Framer().encode(Ping(7)))) == [Ping(7)]


def test_headers_that_come_later_are_passed_over_and_leave_their_state():
    sender, receiver = Framer(), Framer()
    packed = sender.encode(SynReply(1, {"trailer": "x" * 50}))
    later = packed[:2] + b"\0\x08" + packed[4:]  # the same block as HEADERS
    assert list(receiver.feed(later)) == []
    assert list(receiver.feed(sender.encode(SynStream(3, {"trailer": "x" * 50})))) == [
        SynStream(3, {"trailer": "x" * 50})
    ]


def bomb() -> bytes:
    packer = zlib.compressobj(9, zdict=DICTIONARY)
    packed = packer.compress(bytes(50_000_000)) + packer.flush(zlib.Z_SYNC_FLUSH)
    return b"\x80\3\0\1" + (10 + len(packed)).to_bytes(4, "big") + bytes(10) + packed


def packed(block: bytes) -> bytes:
    packer = zlib.compressobj(zdict=DICTIONARY)
    body = b"\0\0\0\1" + packer.compress(block) + packer.flush(zlib.Z_SYNC_FLUSH)
    return b"\x80\3\0\2" + len(body).to_bytes(4, "big") + body


@pytest.mark.parametrize(
    "odd",
    [
        b"\x80\2\0\1\0\0\0\0",  # SPDY 2
        b"\0\0\0\0\0\0\0\1x",  # data of no stream
        b"\x80\3\0\1\0\0\0\4abcd",  # too short
        b"\x80\3\0\6\0\0\0\0",
        b"\x80\3\0\1\0\0\0\x0e" + bytes(10) + b"abcd",  # no zlib
        b"\x80\3\0\1" + (MAX_CONTROL_LENGTH + 1).to_bytes(4, "big"),
        bomb(),
        packed(b"\0\0\0\2\0\0\0\1a\0\0\0\1b"),  # fewer headers than promised
        packed(b"\xff\xff\xff\xff"),
        packed(b"\0\0\0\1\xff\xff\xff\xff"),
    ],
)
def test_what_is_no_spdy_is_an_error_and_takes_little_memory(odd):
    receiver = Framer()
    pieces = (odd[start : start + 16384] for start in range(0, len(odd), 16384))
    with pytest.raises(SpdyError):
        list(chain.from_iterable(map(receiver.feed, pieces)))


def test_what_looks_like_a_huge_frame_is_never_kept():
    request = b"GET / HTTP/1.1\r\n\r\n"
    assert list(Framer().feed(request)) == [Data(0x47455420, request[8:])]
