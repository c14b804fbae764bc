"""HTTP/1.1 as its bytes come in."""

import pytest

from controller_manager.runtime.http1 import LONGEST_HEAD, Chunked, MalformedError, read_head

OK = b"HTTP/1.1 200 OK"


@pytest.mark.parametrize(
    ("raw", "code", "keeps", "endless"),
    [
        (OK + b"\r\nContent-Length: 2", 200, True, False),
        (b"HTTP/1.1 204 No Content", 204, True, False),
        (b"HTTP/1.1 200", 200, False, True),
        (OK + b"\r\ncontent-length:2\r\nconnection: Close", 200, False, False),
        (OK + b"\r\nTransfer-Encoding: chunked", 200, True, False),
        (OK + b"\r\nDate: today", 200, False, True),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 2", 200, False, False),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\nConnection: Keep-Alive", 200, True, False),
        (b"HTTP/1.1 404 Not Found\r\nX-Content-Length: 7\r\nContent-Length: 0", 404, True, False),
    ],
)
def test_a_head_tells_the_code_whether_the_connection_stays_and_where_the_body_ends(raw, code, keeps, endless):
    head = read_head(raw)
    assert (head.code, head.keeps, head.body.endless) == (code, keeps, endless)


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b"", "not HTTP/1.1"),
        (b"SSH-2.0-OpenSSH_9.6", "not HTTP/1.1"),
        (b"HTTP/2 200 OK", "not HTTP/1.1"),
        (b"HTTP/1.1 2000 OK", "not HTTP/1.1"),
        (OK + b"\r\nContent-Length: -1", "no number"),
        (OK + b"\r\nContent-Length: ~1", "no number"),
        (OK + b"\r\nContent-Length: 1~", "no number"),
        (OK + b"\r\nContent-Length: 2, 2", "no number"),
        (OK + b"\r\nTransfer-Encoding: gzip, chunked", "not known"),
    ],
)
def test_what_is_no_head_is_told(raw, why):
    with pytest.raises(MalformedError, match=why):
        read_head(raw)


def test_a_counted_body_tells_when_it_is_over_and_when_more_came():
    body = read_head(OK + b"\r\nContent-Length: 3").body
    assert (body.take(b"ab"), body.over) == (b"ab", False)
    assert (body.take(b"cd"), body.over, body.extra) == (b"c", True, True)


def test_the_time_to_come_back_is_read_of_refusals_alone():
    assert read_head(b"HTTP/1.1 429 Slow\r\nRetry-After: 7").retry_after == "7"
    assert read_head(OK + b"\r\nRetry-After: 7").retry_after == ""


CHUNKS = b"4;name=value\r\nWiki\r\n 0E \r\npedia in\r\n\r\nch\r\n3\r\nunk\r\n0\r\nTrailer: x\r\n\r\n"


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 11, len(CHUNKS)])
def test_chunks_are_joined_wherever_their_bytes_are_parted(size):
    body = Chunked()
    found = b"".join(body.take(CHUNKS[at : at + size]) for at in range(0, len(CHUNKS), size))
    assert (found, body.over, body.extra) == (b"Wikipedia in\r\n\r\nchunk", True, False)


def test_bytes_after_the_last_chunk_are_no_part_of_it():
    body = Chunked()
    assert body.take(CHUNKS + b"HTTP/1.1") == b"Wikipedia in\r\n\r\nchunk"
    assert body.extra


@pytest.mark.parametrize("raw", [b"\r\n", b"x\r\n", b"-1\r\n", b"1_0\r\n", b"1\r\nab\r\n", b"a" * LONGEST_HEAD])
def test_what_is_no_chunk_is_told(raw):
    with pytest.raises(MalformedError):
        Chunked().take(raw)


def test_a_head_without_body_is_over_at_once_and_what_comes_after_it_is_extra():
    for raw in (
        b"HTTP/1.1 199 x",
        b"HTTP/1.1 204 x\r\nContent-Length: 5",
        b"HTTP/1.1 304 x\r\nTransfer-Encoding: chunked",
    ):
        body = read_head(raw).body
        assert (body.over, body.extra, body.endless) == (True, False, False)
        assert (body.take(b"x"), body.extra) == (b"", True)


def test_a_body_of_no_bytes_is_over_and_one_of_a_single_byte_is_not():
    assert read_head(OK + b"\r\nContent-Length: 0").body.over
    body = read_head(OK + b"\r\nContent-Length: 1").body
    assert not body.over
    assert not body.extra
    assert (body.take(b"x"), body.over, body.extra) == (b"x", True, False)


def test_a_body_that_ends_with_the_connection_is_neither_over_nor_too_long():
    body = read_head(OK).body
    assert (body.take(b"abc"), body.over, body.extra, body.endless) == (b"abc", False, False, True)


@pytest.mark.parametrize("code", [200, 203, 205, 300, 303, 305])
def test_other_codes_have_a_body(code):
    assert not read_head(b"HTTP/1.1 %d x\r\nContent-Length: 5" % code).body.over


@pytest.mark.parametrize(("code", "retry_after"), [(399, ""), (400, "7")])
def test_refusals_begin_at_400(code, retry_after):
    assert read_head(b"HTTP/1.1 %d x\r\nRetry-After: 7\r\nContent-Length: 0" % code).retry_after == retry_after


@pytest.mark.parametrize("raw", [OK + b"\r\nContent-Length:\t 12 \t\r\nX: 3", OK + b"\r\nX: 3\r\nContent-Length:12"])
def test_a_header_has_its_own_line_without_the_blanks_around_it(raw):
    body = read_head(raw).body
    assert body.take(b"x" * 20) == b"x" * 12


@pytest.mark.parametrize(
    ("raw", "quoted"),
    [
        (b"q" * 50, "q" * 40),
        (OK + b"\r\nContent-Length: " + b"q" * 50, "q" * 40),
        (OK + b"\r\nTransfer-Encoding: " + b"q" * 50, "q" * 40),
    ],
)
def test_forty_bytes_of_what_is_wrong_are_quoted(raw, quoted):
    with pytest.raises(MalformedError, match=f": b'{quoted}'$"):
        read_head(raw)


LINE = b"1;" + b"x" * 4092
"""A chunk's line as long as it may be; its end makes it 4 KiB."""


@pytest.mark.parametrize("before", [b"", b"1\r\na\r\n"])
def test_the_line_before_a_chunk_may_have_4_kib_wherever_it_is(before):
    body = Chunked()
    found = body.take(before + LINE) + body.take(b"\r") + body.take(b"\nb\r\n0\r\n\r\n")
    assert (found, body.over) == ((b"a" if before else b"") + b"b", True)
    assert Chunked().take(before + LINE + b"\r\nb\r\n") == found
    with pytest.raises(MalformedError, match="does not end"):
        Chunked().take(before + LINE + b"x\r\n")
    assert Chunked().take(before + LINE + b"x") == found[:-1]
    with pytest.raises(MalformedError, match="does not end"):
        Chunked().take(before + LINE + b"xx")


def test_a_chunks_length_has_sixteen_digits_at_most():
    assert Chunked().take(b"000000000000000a\r\n0123456789\r\n") == b"0123456789"
    with pytest.raises(MalformedError, match="a chunk has no length: b'00000000000000001'"):
        Chunked().take(b"00000000000000001\r\n")
    with pytest.raises(MalformedError, match=f"no length: b'{'q' * 40}'$"):
        Chunked().take(b"q" * 50 + b"\r\n")


def test_a_chunk_that_is_longer_than_it_says_is_told_as_soon_as_its_end_has_come():
    body = Chunked()
    assert body.take(b"1\r\nab") == b"a"
    with pytest.raises(MalformedError, match="longer than it says"):
        body.take(b"c")


def test_a_chunks_length_is_hexadecimal():
    assert Chunked().take(b"10\r\n" + b"x" * 16 + b"\r\n") == b"x" * 16


def test_more_than_a_line_after_the_last_chunk_is_extra():
    body = Chunked()
    body.take(b"0\r\n")
    assert (body.over, body.extra) == (False, False)
    assert body.take(b"\r\n" + b"x" * 5000) == b""
    assert (body.over, body.extra) == (True, True)


def test_trailers_are_skipped_to_the_empty_line():
    body = Chunked()
    assert not body.extra
    assert body.take(b"0\r\nA: b\r\nC: d\r\n") == b""
    assert not body.over
    assert body.take(b"\r\n") == b""
    assert (body.over, body.extra) == (True, False)
