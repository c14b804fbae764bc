"""HTTP/1.1 as its bytes come in."""

import pytest

from controller_manager.runtime.http1 import MAX_FRAMING, MalformedError, ResponseParser

OK = b"HTTP/1.1 200 OK"
CHUNKED = OK + b"\r\nTransfer-Encoding: chunked\r\n\r\n"


def reading(head):
    """A parser that has read the head of a response."""
    parser = ResponseParser()
    assert parser.take(head + b"\r\n\r\n") == b""
    return parser


def in_chunks(*pieces):
    """A parser that has read pieces of a chunked body, and what it made of them."""
    parser = ResponseParser()
    assert parser.take(CHUNKED) == b""
    return parser, b"".join(map(parser.take, pieces))


@pytest.mark.parametrize(
    ("raw", "body", "code", "keeps", "endless"),
    [
        (OK + b"\r\nContent-Length: 2", b"ab", 200, True, False),
        (b"HTTP/1.1 204 No Content", b"", 204, True, False),
        (b"HTTP/1.1 200", b"", 200, False, True),
        (OK + b"\r\ncontent-length:2\r\nconnection: Close", b"ab", 200, False, False),
        (OK + b"\r\nTransfer-Encoding: chunked", b"0\r\n\r\n", 200, True, False),
        (OK + b"\r\ntransfer-encoding: Chunked ", b"0\r\n\r\n", 200, True, False),
        (OK + b"\r\nDate: today", b"", 200, False, True),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 2", b"ab", 200, False, False),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\nConnection: Keep-Alive", b"ab", 200, True, False),
        (b"HTTP/1.1 404 Not Found\r\nX-Content-Length: 7\r\nContent-Length: 0", b"", 404, True, False),
    ],
)
def test_a_head_tells_the_code_whether_the_connection_stays_and_where_the_body_ends(raw, body, code, keeps, endless):
    parser = reading(raw)
    parser.take(body)
    assert (parser.code, parser.keeps, parser.endless, parser.over) == (code, keeps, endless, not endless)


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b"\r\n \r\n", "not HTTP/1.1"),
        (b"SSH-2.0-OpenSSH_9.6", "not HTTP/1.1"),
        (b"HTTP/2 200 OK", "not HTTP/1.1"),
        (b"HTTP/1.1 2000 OK", "not HTTP/1.1"),
        (OK + b"\r\nContent-Length: -1", "Content-Length"),
        (OK + b"\r\nContent-Length: ~1", "Content-Length"),
        (OK + b"\r\nContent-Length: 1~", "Content-Length"),
        (OK + b"\r\nContent-Length: 2, 2", "Content-Length"),
        (OK + b"\r\nTransfer-Encoding: gzip, chunked", "not known"),
        (b"HTTP/1.1 101 x\r\nConnection: upgrade\r\nUpgrade: websocket", "switches protocols"),
    ],
)
def test_what_is_no_head_is_told(raw, why):
    with pytest.raises(MalformedError, match=why):
        reading(raw)


def test_a_counted_body_tells_when_it_is_over_and_when_more_came():
    parser = reading(OK + b"\r\nContent-Length: 3")
    assert (parser.take(b"ab"), parser.over) == (b"ab", False)
    assert (parser.take(b"cd"), parser.over, parser.keeps) == (b"c", True, False)


@pytest.mark.parametrize("more", [b"x", b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", b"HTTP/1.1 100 x\r\n\r\n"])
def test_what_follows_a_body_belongs_to_no_request(more):
    parser = reading(OK + b"\r\nContent-Length: 3")
    assert (parser.take(b"abc"), parser.over, parser.keeps) == (b"abc", True, True)
    assert (parser.take(more), parser.over, parser.keeps) == (b"", True, False)
    parser = reading(OK + b"\r\nContent-Length: 3")
    assert (parser.take(b"abc" + more), parser.code, parser.over, parser.keeps) == (b"abc", 200, True, False)


def test_one_response_follows_another():
    parser = reading(b"HTTP/1.1 429 Slow\r\nRetry-After: 7\r\nContent-Length: 3")
    assert parser.take(b"abc") == b"abc"
    parser.begin()
    assert (parser.code, parser.retry_after, parser.over, parser.keeps) == (0, "", False, False)
    assert parser.take(OK + b"\r\nContent-Length: 1\r\n\r\nx") == b"x"
    assert (parser.code, parser.retry_after, parser.over, parser.keeps) == (200, "", True, True)


def test_answers_that_are_on_their_way_are_skipped():
    skipped = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 199 x\r\nRetry-After: 7\r\nContent-Length: 0"
    parser = reading(skipped)
    assert (parser.code, parser.over) == (0, False)
    assert parser.take(b"HTTP/1.1 400 x\r\nContent-Length: 2\r\n\r\nab") == b"ab"
    assert (parser.code, parser.over, parser.keeps, parser.retry_after) == (400, True, True, "")
    assert reading(skipped + b"\r\n\r\n" + OK).endless


def test_the_time_to_come_back_is_read_of_refusals_alone():
    assert reading(b"HTTP/1.1 429 Slow\r\nRetry-After: 7 ").retry_after == "7"
    assert reading(OK + b"\r\nRetry-After: 7").retry_after == ""


CHUNKS = b"4;name=value\r\nWiki\r\n0E\r\npedia in\r\n\r\nch\r\n3\r\nunk\r\n0\r\nTrailer: x\r\nRetry-After: 3\r\n\r\n"


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 11, len(CHUNKS)])
def test_chunks_are_joined_wherever_their_bytes_are_parted(size):
    parser, body = in_chunks(*(CHUNKS[at : at + size] for at in range(0, len(CHUNKS), size)))
    assert (body, parser.over, parser.keeps, parser.retry_after) == (b"Wikipedia in\r\n\r\nchunk", True, True, "")


def test_bytes_after_the_last_chunk_are_no_part_of_it():
    parser, body = in_chunks(CHUNKS + b"HTTP/1.1")
    assert (body, parser.over, parser.keeps) == (b"Wikipedia in\r\n\r\nchunk", True, False)


@pytest.mark.parametrize("raw", [b"\r\n", b"x\r\n", b"-1\r\n", b"1_0\r\n", b"1\r\nab\r\n", b"a" * MAX_FRAMING])
def test_what_is_no_chunk_is_told(raw):
    with pytest.raises(MalformedError, match="the body of the answer is malformed: "):
        in_chunks(raw)


@pytest.mark.parametrize("more", [b"", b"\r\nContent-Length: 5", b"\r\nTransfer-Encoding: chunked"])
@pytest.mark.parametrize("code", [204, 304])
def test_a_head_without_body_is_over_at_once_and_what_comes_after_it_is_extra(code, more):
    parser = reading(b"HTTP/1.1 %d x" % code + more)
    assert (parser.over, parser.keeps, parser.endless) == (True, True, False)
    assert (parser.take(b"x"), parser.keeps) == (b"", False)


def test_a_body_of_no_bytes_is_over_and_one_of_a_single_byte_is_not():
    assert reading(OK + b"\r\nContent-Length: 0").over
    parser = reading(OK + b"\r\nContent-Length: 1")
    assert not parser.over
    assert (parser.take(b"x"), parser.over, parser.keeps) == (b"x", True, True)


def test_a_body_that_ends_with_the_connection_is_neither_over_nor_too_long():
    parser = reading(OK)
    assert (parser.take(b"abc"), parser.over, parser.keeps, parser.endless) == (b"abc", False, False, True)


@pytest.mark.parametrize("code", [200, 203, 205, 300, 303, 305])
def test_other_codes_have_a_body(code):
    assert not reading(b"HTTP/1.1 %d x\r\nContent-Length: 5" % code).over


@pytest.mark.parametrize(("code", "retry_after"), [(399, ""), (400, "7")])
def test_refusals_begin_at_400(code, retry_after):
    assert reading(b"HTTP/1.1 %d x\r\nRetry-After: 7\r\nContent-Length: 0" % code).retry_after == retry_after


@pytest.mark.parametrize("raw", [OK + b"\r\nContent-Length:\t 12 \t\r\nX: 3", OK + b"\r\nX: 3\r\nContent-Length:12"])
def test_a_header_has_its_own_line_without_the_blanks_around_it(raw):
    assert reading(raw).take(b"x" * 20) == b"x" * 12


@pytest.mark.parametrize(
    ("raw", "quoted"),
    [
        (b"q" * 50, "q" * 40),
        (OK + b"\r\nContent-Length: " + b"q" * 50, "HTTP/1.1 200 OK\\\\r\\\\nContent-Length: qqqqqqq"),
        (OK + b"\r\nTransfer-Encoding: " + b"q" * 50, "q" * 40),
    ],
)
def test_forty_bytes_of_what_is_wrong_are_quoted(raw, quoted):
    with pytest.raises(MalformedError, match=f": b'{quoted}'$"):
        reading(raw)


def test_a_head_may_have_64_kib():
    parser = ResponseParser()
    assert parser.take(OK + b"\r\nX: ") == b""
    assert parser.take(b"x" * (MAX_FRAMING - len(OK) - 5)) == b""
    with pytest.raises(MalformedError, match="the head of the answer does not end"):
        parser.take(b"x")


@pytest.mark.parametrize("before", [b"1;", b"0\r\nTrailer: "])
def test_what_stands_between_chunks_may_have_64_kib_as_often_as_it_comes(before):
    parser, body = in_chunks(b"1;" + b"x" * 50_000, b"\r\na\r\n", b"1;" + b"x" * 50_000, b"\r\nb\r\n")
    assert body == b"ab"
    assert parser.take(before + b"x" * (MAX_FRAMING - len(before))) == b""
    with pytest.raises(MalformedError, match="the framing of the answer does not end"):
        parser.take(b"x")


def test_more_than_64_kib_after_the_last_chunk_is_extra():
    parser, _ = in_chunks(b"0\r\n\r\n")
    assert parser.take(b"HTTP/1.1 200 OK\r\nX: " + b"x" * MAX_FRAMING) == b""
    assert (parser.over, parser.keeps) == (True, False)


def test_a_chunks_length_has_no_limit_of_digits_but_one_of_value():
    _, body = in_chunks(b"000000000000000000000a\r\n0123456789\r\n")
    assert body == b"0123456789"
    with pytest.raises(MalformedError, match="malformed: Chunk size overflow"):
        in_chunks(b"f" * 17 + b"\r\n")


def test_a_chunk_that_is_longer_than_it_says_is_told_as_soon_as_its_end_has_come():
    parser, body = in_chunks(b"1\r\na")
    assert body == b"a"
    with pytest.raises(MalformedError, match="malformed"):
        parser.take(b"bc")


def test_a_chunks_length_is_hexadecimal():
    assert in_chunks(b"10\r\n" + b"x" * 16 + b"\r\n")[1] == b"x" * 16


def test_trailers_are_skipped_to_the_empty_line():
    parser, body = in_chunks(b"0\r\nA: b\r\nC: d\r\n")
    assert (body, parser.over) == (b"", False)
    assert parser.take(b"\r\n") == b""
    assert (parser.over, parser.keeps) == (True, True)
