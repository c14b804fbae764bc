"""HTTP/1.1 as its bytes come in."""

import pytest

from controller_manager.runtime.framing import LONGEST_HEAD, Chunked, MalformedError, read_head

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
