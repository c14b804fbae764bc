"""The check that a write-ahead log is whole: logs are written here as SQLite describes the format, then changed.

https://www.sqlite.org/fileformat2.html#walformat
"""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from struct import pack, unpack

import pytest

from etcd.wal import damage

PAGE = 512
FRAME = 24 + PAGE
BIG, LITTLE = 0x377F0683, 0x377F0682


def checksums(words: str, data: bytes, sums: tuple[int, int] = (0, 0)) -> tuple[int, int]:
    """Return the checksums of a log after more data; `words` is ">" or "<", how the data is read."""
    first, second = sums
    numbers = unpack(f"{words}{len(data) // 4}I", data)
    for one, other in zip(numbers[::2], numbers[1::2], strict=True):
        first = (first + one + second) % 2**32
        second = (second + other + first) % 2**32
    return first, second


def log_of(transactions: Sequence[int], magic: int = LITTLE, page: bytes = b"page") -> bytes:
    """Return a log of transactions with so many pages each."""
    words = ">" if magic & 1 else "<"
    head = pack(">6I", magic, 3_007_000, PAGE, 0, 11, 22)
    sums = checksums(words, head)
    log = head + pack(">2I", *sums)
    for pages in transactions:
        for number in range(1, pages + 1):
            begin, data = pack(">2I", number, number if number == pages else 0), page.ljust(PAGE, b"\0")
            sums = checksums(words, begin + data, sums)
            log += begin + pack(">4I", 11, 22, *sums) + data
    return log


def changed(log: bytes, offset: int) -> bytes:
    return log[:offset] + bytes([log[offset] ^ 1]) + log[offset + 1 :]


def verdict(folder: Path, content: bytes) -> str:
    path = folder / "store.db-wal"
    path.write_bytes(content)
    return damage(path)


@pytest.mark.parametrize("magic", [BIG, LITTLE])
@pytest.mark.parametrize("transactions", [[], [1], [3], [2, 1, 4], [1] * 9])
def test_a_log_as_it_was_written_is_whole(tmp_path, magic, transactions):
    assert verdict(tmp_path, log_of(transactions, magic)) == ""


@pytest.mark.parametrize("magic", [BIG, LITTLE])
def test_sqlite_reads_a_log_that_is_written_like_this(tmp_path, magic):
    """The logs that these tests write are logs to SQLite too."""
    with closing(sqlite3.connect(tmp_path / "a.db", isolation_level=None)) as connection:
        connection.executescript(f"PRAGMA page_size = {PAGE}; PRAGMA journal_mode = WAL; PRAGMA user_version = 1")
    content = (tmp_path / "a.db").read_bytes()
    (tmp_path / "a.db-wal").write_bytes(log_of([1], magic, content[:60] + pack(">I", 77) + content[64:PAGE]))
    with closing(sqlite3.connect(tmp_path / "a.db")) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (77,)


@pytest.mark.parametrize(
    ("frames", "broken", "is_damage"),
    [
        pytest.param([1, 1, 1], 2, False, id="the last transaction"),
        pytest.param([1, 1, 3], 2, False, id="the first page of the last transaction"),
        pytest.param([1, 1, 3], 4, False, id="the last page of the last transaction"),
        pytest.param([1], 0, False, id="the only transaction"),
        pytest.param([1, 1, 1], 1, True, id="the last but one"),
        pytest.param([1, 2, 1], 1, True, id="a page of the last but one"),
        pytest.param([1, 1, 1, 1], 1, True, id="one in the middle"),
        pytest.param([1, 1, 1], 0, True, id="the first"),
        pytest.param([3, 3], 0, True, id="a page of the first"),
    ],
)
@pytest.mark.parametrize("offset", [0, 3, 16, 23, 24, FRAME - 1], ids="byte {}".format)
def test_only_a_last_transaction_may_be_broken(tmp_path, frames, broken, is_damage, offset):
    """Bytes 4 to 15 are left out: without its mark of a commit, or its salts, one may be a part of the next."""
    content = changed(log_of(frames), 32 + broken * FRAME + offset)
    words = "a transaction in store.db-wal that is not the last one is broken"
    assert verdict(tmp_path, content) == (words if is_damage else "")


@pytest.mark.parametrize("missing", [1, FRAME - 1, FRAME, 2 * FRAME, 3 * FRAME])
def test_a_log_may_end_anywhere(tmp_path, missing):
    assert verdict(tmp_path, log_of([1, 2, 3])[:-missing]) == ""


def test_a_frame_that_is_missing_in_the_middle_is_damage(tmp_path):
    log = log_of([1, 1, 1, 1])
    assert verdict(tmp_path, log[: 32 + FRAME] + log[32 + 2 * FRAME :]) != ""


def test_frames_of_an_older_log_behind_the_newest_are_not_looked_at(tmp_path):
    old = log_of([1] * 6).replace(pack(">2I", 11, 22), pack(">2I", 10, 22))
    new = log_of([1, 1])
    assert verdict(tmp_path, new + changed(old[len(new) :], 100)) == ""


@pytest.mark.parametrize("size", [0, 1, 31])
def test_a_log_without_a_whole_header_is_damage(tmp_path, size):
    assert verdict(tmp_path, log_of([1])[:size]) == f"store.db-wal has only {size} bytes"


@pytest.mark.parametrize("offset", range(0, 32, 4))
def test_a_header_that_does_not_fit_its_checksums_is_damage(tmp_path, offset):
    assert verdict(tmp_path, changed(log_of([1, 1]), offset + 3)) == "the header of store.db-wal is overwritten"


@pytest.mark.parametrize("magic", [BIG + 1, LITTLE - 1, 0])
def test_a_header_of_another_kind_of_file_is_damage(tmp_path, magic):
    assert verdict(tmp_path, log_of([1], magic)) == "the header of store.db-wal is overwritten"
