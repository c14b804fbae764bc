"""The file of a backup: gzip of lines of JSON, so that `zcat FILE | head -1` shows what it contains.

The first line is the header; then come files of the data directory, if any, and one line for each object, and at the
end their number and a checksum of everything before. The file is written under another name and renamed when complete.
"""

import gzip
import hashlib
import os
import zlib
from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, fields
from io import BufferedReader
from pathlib import Path
from typing import Any, Final, NamedTuple

import orjson

KIND: Final = "mockube backup"
FORMAT: Final = 1

_LEVEL: Final = 1
"""The level of gzip: objects are alike, so a higher level takes several times as long for little."""
_GZIP_NAME: Final = "mockube-backup"
"""The name in gzip's header: it identifies a backup whose first line can no longer be read."""
_CHUNK: Final = 1 << 18
_MAX_LINE_BYTES: Final = 1 << 25
"""The most bytes of a line: an object has up to 1.5 MiB, and JSON makes six bytes of some."""


class ArchiveError(Exception):
    """A file cannot be used as a backup; the message says which file, why, and what to do."""


class Record(NamedTuple):
    """One object: its key, its revisions in the store that it was read from, and its bytes."""

    key: str
    created: int
    revision: int
    value: bytes


@dataclass(frozen=True, slots=True)
class Header:
    """The description of a backup.

    Attributes:
        taken: when it was taken, in seconds since 1970.
        release: the release of the mockube that wrote it.
        source: "sqlite" or "etcd".
        cluster: the id of the etcd cluster, "" for sqlite.
        revision: the store's revision at which everything was read.
        closed: True if no server had the store open then.
        count: the number of objects.
        files: the number of files of the data directory.
    """

    taken: float
    release: str
    source: str
    revision: int
    count: int
    cluster: str = ""
    closed: bool = False
    files: int = 0


class Writer:
    """Writes the objects of a backup to its file."""

    def __init__(self, file: gzip.GzipFile, header: Header, files: Mapping[str, bytes]) -> None:
        self._file = file
        self._header = header
        self._count = 0
        self._sum = hashlib.sha256()
        self._lines = bytearray()
        self._line({"kind": KIND, "format": FORMAT} | asdict(header))
        for name, content in files.items():
            self._line({"file": name, "base64": b64encode(content).decode()})

    def add(self, record: Record) -> None:
        """Write an object."""
        self._count += 1
        self._line({"key": record.key, "created": record.created, "revision": record.revision} | _text(record.value))

    def finish(self) -> None:
        """Write the last line of the file."""
        if self._count != self._header.count:
            raise ArchiveError(f"{self._count} objects were read, and there are {self._header.count}: try it again")
        self._write()
        self._lines += orjson.dumps({"end": self._count, "sha256": self._sum.hexdigest()}) + b"\n"
        self._write()

    def _line(self, line: Mapping[str, Any]) -> None:
        self._lines += orjson.dumps(line) + b"\n"
        if len(self._lines) >= _CHUNK:
            self._write()

    def _write(self) -> None:
        self._sum.update(self._lines)
        self._file.write(self._lines)
        self._lines.clear()


def _text(value: bytes) -> dict[str, str]:
    try:
        return {"value": value.decode()}
    except UnicodeDecodeError:
        return {"base64": b64encode(value).decode()}


@contextmanager
def new_archive(path: Path, header: Header, files: Mapping[str, bytes], *, replace: bool) -> Iterator[Writer]:
    """Write a file that exists, complete and on the disk, only if the block ends without an error.

    Args:
        path: the file.
        header: its first line.
        files: the files of the data directory to include.
        replace: whether to replace an existing file of that name.

    Raises:
        ArchiveError: the file exists and is not to be replaced.
        OSError: it cannot be written.
    """
    if not replace:
        refuse_existing(path)
    draft = path.with_name(f".{path.name}.{os.getpid()}.new")
    draft.unlink(missing_ok=True)
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as raw:
            with gzip.GzipFile(_GZIP_NAME, "wb", _LEVEL, raw, mtime=0) as file:
                writer = Writer(file, header, files)
                yield writer
                writer.finish()
            raw.flush()
            os.fsync(raw.fileno())
        if replace:
            draft.replace(path)
        else:
            _link(draft, path)
        sync_directory(path.parent)
    finally:
        draft.unlink(missing_ok=True)


def refuse_existing(path: Path) -> None:
    """Raise ArchiveError if a file of that name exists."""
    if path.exists() or path.is_symlink():
        raise ArchiveError(f"{path} exists: name another file, or replace it with --force")


def _link(draft: Path, path: Path) -> None:
    try:
        os.link(draft, path)
    except FileExistsError:
        refuse_existing(path)
    except OSError:  # some file systems do not support hard links
        refuse_existing(path)
        draft.replace(path)


def sync_directory(path: Path) -> None:
    """Write a directory's entries to the disk, if the system can do that."""
    with suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@dataclass(frozen=True, slots=True)
class Archive:
    """A backup to be read.

    Attributes:
        path: its file.
        header: its first line.
        files: the included files of the data directory, by name.
    """

    path: Path
    header: Header
    files: dict[str, bytes] = field(default_factory=dict, repr=False)

    def records(self) -> Iterator[Record]:
        """Yield its objects; when they end, the file has been verified.

        Raises:
            ArchiveError: the file is damaged.
        """
        with _lines(self.path) as lines:
            for line in lines:
                if "key" in line:
                    yield _record(self.path, line)

    def check(self) -> Iterator[Record]:
        """Yield its objects, and verify that no object comes twice; raises the same."""
        seen = set[str]()
        for record in self.records():
            if record.key in seen or not record.key.startswith("/"):
                raise _damaged(self.path, f"{record.key!r} comes twice, or is no key")
            seen.add(record.key)
            yield record


def open_archive(path: Path) -> Archive:
    """Read the beginning of a backup and return it.

    Raises:
        ArchiveError: the file is no backup, or this version cannot read it.
        OSError: the file cannot be read.
    """
    with _lines(path) as lines:
        header = _header(path, next(lines))
        files = {}
        for line in lines:
            if "file" not in line:
                break
            files[_name(path, line)] = _bytes(path, line)
    if len(files) != header.files:
        raise _damaged(path, f"it has {len(files)} of {header.files} files")
    return Archive(path, header, files)


@contextmanager
def _lines(path: Path) -> Iterator[Iterator[dict[str, Any]]]:
    """Yield the lines of a backup but the last, which is verified when the lines end."""
    with gzip.open(path, "rb") as file:
        buffered = BufferedReader(file, 1 << 20)
        yield _parse_line(path, buffered)


def _parse_line(path: Path, file: "BufferedReader[gzip.GzipFile]") -> Iterator[dict[str, Any]]:
    checksum, count, is_first = hashlib.sha256(), 0, True
    while True:
        try:
            text = file.readline(_MAX_LINE_BYTES)
            line = orjson.loads(text) if text else None
        except EOFError as error:
            raise _damaged(path, "its end is missing") from error
        except (OSError, zlib.error, orjson.JSONDecodeError) as error:
            if isinstance(error, OSError) and not isinstance(error, gzip.BadGzipFile):
                raise
            raise _not_a_backup(path) if is_first and not _is_ours(path) else _damaged(path, str(error)) from error
        if is_first and (not isinstance(line, dict) or line.get("kind") != KIND):
            raise _not_a_backup(path)
        if not isinstance(line, dict):
            raise _damaged(path, "its end is missing")
        if "end" in line:
            break
        is_first = False
        count += "key" in line
        checksum.update(text)
        yield line
    if line != {"end": count, "sha256": checksum.hexdigest()}:
        raise _damaged(path, "its checksum does not fit its contents")
    _end(path, file)


def _end(path: Path, file: "BufferedReader[gzip.GzipFile]") -> None:
    """Read to the end, where gzip has a checksum of its own."""
    try:
        more = file.read(1)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise _damaged(path, str(error)) from error
    if more:
        raise _damaged(path, "something follows its end")


def _header(path: Path, line: dict[str, Any]) -> Header:
    if line.get("format") != FORMAT:
        raise ArchiveError(
            f"{path} is a backup of format {line.get('format')}, by mockube {line.get('release')}, and this version "
            f"reads format {FORMAT}: restore it with that mockube"
        )
    try:
        header = Header(**{attribute.name: line[attribute.name] for attribute in fields(Header)})
    except KeyError as error:
        raise _damaged(path, f"its first line lacks {error}") from error
    is_valid = all(isinstance(number, int) and number >= 0 for number in (header.revision, header.count, header.files))
    if not is_valid or not isinstance(header.taken, int | float):
        raise _damaged(path, "its first line is of another shape")
    return header


def _record(path: Path, line: dict[str, Any]) -> Record:
    try:
        record = Record(line["key"], line["created"], line["revision"], _bytes(path, line))
        record.key.encode()
    except (KeyError, TypeError, AttributeError, UnicodeEncodeError) as error:
        raise _damaged(path, f"an object is of another shape ({error})") from error
    return record


def _name(path: Path, line: dict[str, Any]) -> str:
    name = line["file"]
    if not isinstance(name, str) or name in ("", ".", "..") or "/" in name or "\0" in name:
        raise _damaged(path, f"{name!r} is no name of a file")
    return name


def _bytes(path: Path, line: dict[str, Any]) -> bytes:
    try:
        if "value" in line:
            return bytes(line["value"].encode())
        return b64decode(line["base64"], validate=True)
    except (KeyError, TypeError, AttributeError, ValueError, NotBase64) as error:
        raise _damaged(path, f"a value is of another shape ({error})") from error


def _is_ours(path: Path) -> bool:
    with path.open("rb") as file:
        return _GZIP_NAME.encode() in file.read(64)


def _not_a_backup(path: Path) -> ArchiveError:
    return ArchiveError(f"{path} is no backup of mockube's: name a file that mockube backup has written")


def _damaged(path: Path, what: str) -> ArchiveError:
    return ArchiveError(f"{path} is damaged: {what}; nothing was changed. Take another backup's file")
