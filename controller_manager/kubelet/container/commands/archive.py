"""`tar`, by which `kubectl cp` copies in both directions; without compression."""

import io
import tarfile
from collections.abc import Generator
from typing import Any

from controller_manager.kubelet.container.commands.call import UsageError, contents
from controller_manager.kubelet.container.commands.disk import walk
from controller_manager.kubelet.container.container import Call
from controller_manager.kubelet.container.files import Directory, File, FileError, Link, Node, absolute
from controller_manager.kubelet.container.syscalls import OUT, Effect, Now, Process, Turn, Write, complain, say

_FLAGS = frozenset("cxtvfmphokOP")
_LONG = {"create": "c", "extract": "x", "list": "t", "verbose": "v", "file": "f", "directory": "C", "touch": "m"}
_LARGEST = 64 * 1024 * 1024
"""Bytes that an archive may have."""


class _Wanted:
    """What a call of tar asks for.

    Attributes:
        letters: the options without a value.
        archive: the file, "-" for the standard streams.
        directory: where files are taken from, or put.
        operands: the names.
    """

    def __init__(self, call: Call) -> None:
        self.letters: set[str] = set()
        self.archive = "-"
        self.directory = call.directory
        self.operands: list[str] = []
        words = list(call.arguments)
        if words and not words[0].startswith("-"):
            words[0] = f"-{words[0]}"
        rest = iter(words)
        for word in rest:
            if word.startswith("--"):
                name, _, value = word[2:].partition("=")
                letter = _LONG.get(name, "")
                if letter in ("f", "C"):
                    self._value(letter, value or next(rest, ""), call)
                else:
                    self.letters.add(letter)
            elif word.startswith("-") and len(word) > 1:
                for letter in word[1:]:
                    if letter in ("f", "C"):
                        self._value(letter, next(rest, ""), call)
                    elif letter in _FLAGS:
                        self.letters.add(letter)
                    else:
                        raise UsageError(f"-{letter} is not simulated")
            else:
                self.operands.append(word)

    def _value(self, letter: str, value: str, call: Call) -> None:
        if letter == "f":
            self.archive = value or "-"
        else:
            self.directory = absolute(value, self.directory)
            if not isinstance(call.files.find(self.directory), Directory):
                raise FileError(f"can't change directory to '{value}': No such file or directory")


def tar(call: Call) -> Process:
    """Pack (c), unpack (x) or list (t) files."""
    wanted = _Wanted(call)
    if "c" in wanted.letters:
        return (yield from _pack(call, wanted))
    if wanted.letters & {"x", "t"}:
        return (yield from _unpack(call, wanted))
    raise UsageError("You must specify one of 'ctx'")


def _pack(call: Call, wanted: _Wanted) -> Process:
    if not wanted.operands:
        raise UsageError("empty archive")
    into = None
    if wanted.archive != "-":
        now = yield Now()
        into = call.open(wanted.archive, now)
    packed = io.BytesIO()
    code = 0
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for name in wanted.operands:
            node = call.files.find(absolute(name, wanted.directory), follow=False)
            if node is None:
                yield complain(f"tar: {name}: Cannot stat: No such file or directory")
                code = 2
                continue
            if name.startswith("/"):
                yield complain("tar: Removing leading `/' from member names")
            for path, below in walk(node, name):
                if below is not into:
                    _add(archive, path, below)
                    yield from _taken(call, packed, into)
    yield from _taken(call, packed, into)
    if code:
        yield complain("tar: Exiting with failure status due to previous errors")
    return code


def _add(archive: tarfile.TarFile, path: str, node: Node) -> None:
    info = tarfile.TarInfo(path.lstrip("/") or ".")
    info.mtime, info.uname, info.gname = int(node.modified), "root", "root"
    if isinstance(node, File):
        info.size, info.mode = len(node.data), node.mode
        archive.addfile(info, io.BytesIO(node.data))
    elif isinstance(node, Link):
        info.type, info.linkname, info.mode = tarfile.SYMTYPE, node.target, 0o777
        archive.addfile(info)
    else:
        info.type, info.mode = tarfile.DIRTYPE, node.mode
        archive.addfile(info)


def _taken(call: Call, packed: io.BytesIO, into: File | None) -> Generator[Effect, Any, None]:
    """Hand on what is packed by now, so that an archive is never kept as a whole."""
    data = packed.getvalue()
    packed.seek(0)
    packed.truncate()
    if into is None:
        yield Write(OUT, data)
    else:
        now = yield Now()
        call.files.extend(into, data, now)


def _unpack(call: Call, wanted: _Wanted) -> Process:
    given = yield from contents(call, (wanted.archive,), _LARGEST)
    now = yield Now()
    try:
        with tarfile.open(fileobj=io.BytesIO(given), mode="r:") as archive:
            for member in archive:
                yield Turn()
                if wanted.operands and not _is_wanted(member.name, wanted.operands):
                    continue
                if "t" in wanted.letters or "v" in wanted.letters:
                    yield say(member.name)
                if "x" in wanted.letters:
                    _put(call, archive, member, place=_place(wanted, member.name), now=now)
    except (tarfile.TarError, EOFError, OverflowError, ValueError):
        yield complain("tar: This does not look like a tar archive")
        return 2
    return 0


def _is_wanted(name: str, operands: list[str]) -> bool:
    return any(name == wanted or name.startswith(f"{wanted.rstrip('/')}/") for wanted in operands)


def _place(wanted: _Wanted, name: str) -> str:
    """Where a member goes: below the directory, wherever its name would lead."""
    inside = "/".join(part for part in name.split("/") if part not in ("", ".", ".."))
    return absolute(inside, wanted.directory)


def _put(call: Call, archive: tarfile.TarFile, member: tarfile.TarInfo, *, place: str, now: float) -> None:
    modified = now if not 0 < member.mtime < 1 << 40 else float(member.mtime)
    above = place.rpartition("/")[0]
    if above:
        call.files.make_directory(above, now, parents=True)
    if member.isdir():
        call.files.make_directory(place, modified, parents=True)
    elif member.issym():
        if call.files.find(place, follow=False) is not None:
            call.files.remove(place)
        call.files.link(place, member.linkname, modified)
    elif member.isfile():
        source = archive.extractfile(member)
        file = call.files.write(place, source.read() if source else b"", modified)
        file.mode = member.mode & 0o7777
