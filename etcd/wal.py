"""Checks that SQLite's write-ahead log is complete.

SQLite silently drops what follows a damaged frame, as it must drop a transaction cut off by a crash. But a crash cuts
off one transaction, the last: a second one after the damage was acknowledged.

The format is in https://www.sqlite.org/fileformat2.html#walformat: a header of 32 bytes, then frames of 24 bytes and
a page each. Each has a checksum over all before it, and the salts of the header unless it is left over.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from struct import Struct
from typing import NamedTuple

_HEADER = Struct(">8I")  # magic, format, page size, checkpoint number, two salts, two checksums
_FRAME = Struct(">6I")  # page, pages of the database (0 = no commit), two salts, two checksums
_MAGIC = 0x377F0683  # if the words that checksums are made of are big-endian; one less if they are little-endian
_MASK = 0xFFFFFFFF


class _Sums(NamedTuple):
    first: int
    second: int


@dataclass(frozen=True, slots=True)
class _Log:
    content: bytes
    words: Struct
    page: int
    salts: tuple[int, int]

    def sums(self, sums: _Sums, begin: int, end: int) -> _Sums:
        """Return the checksums continued over a part of the log."""
        first, second = sums
        for left, right in self.words.iter_unpack(memoryview(self.content)[begin:end]):
            first = (first + left + second) & _MASK
            second = (second + right + first) & _MASK
        return _Sums(first, second)

    def frames(self) -> Iterator[int]:
        """Yield the offsets of the frames that are not left over from an older log."""
        for begin in range(_HEADER.size, len(self.content) - _FRAME.size - self.page + 1, _FRAME.size + self.page):
            if _FRAME.unpack_from(self.content, begin)[2:4] == self.salts:
                yield begin


def damage(path: Path) -> str:
    """Return what is wrong with a write-ahead log, "" if nothing is; its last transaction may be cut off."""
    content = path.read_bytes()
    if len(content) < _HEADER.size:
        return f"{path.name} has only {len(content)} bytes"
    magic, _, page, _, *rest = _HEADER.unpack_from(content)
    log = _Log(content, Struct(">2I" if magic & 1 else "<2I"), page, (rest[0], rest[1]))
    sums = log.sums(_Sums(0, 0), 0, _FRAME.size)
    if magic | 1 != _MAGIC or sums != tuple(rest[2:]):
        return f"the header of {path.name} is overwritten"
    commits = _commits_after_break(log, sums)
    return f"a transaction in {path.name} that is not the last one is broken" if commits > 1 else ""


def _commits_after_break(log: _Log, sums: _Sums) -> int:
    """Count the frames that end a transaction, from the first frame on with a wrong checksum or offset."""
    is_intact = True
    expected = _HEADER.size
    commits = 0
    for begin in log.frames():
        _, commit, _, _, *stored = _FRAME.unpack_from(log.content, begin)
        if is_intact:
            data = begin + _FRAME.size
            sums = log.sums(log.sums(sums, begin, begin + 8), data, data + log.page)
            is_intact = begin == expected and sums == tuple(stored)
            expected = data + log.page
        commits += bool(commit) and not is_intact
    return commits
