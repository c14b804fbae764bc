"""`tar`, which `kubectl cp` uses to copy in both directions; without compression."""

import io
import tarfile
from collections.abc import Generator
from typing import Any

from controller_manager.kubelet.container.commands.call import UsageError, read_inputs
from controller_manager.kubelet.container.commands.disk import walk
from controller_manager.kubelet.container.container import Call
from controller_manager.kubelet.container.files import Directory, File, FileError, Link, Node, absolute
from controller_manager.kubelet.container.syscalls import (
    OUT,
    Now,
    Process,
    SystemCall,
    Write,
    Yield,
    write_error,
    write_line,
)

_FLAGS = frozenset("cxtvfmphokOP")
_LONG = {"create": "c", "extract": "x", "list": "t", "verbose": "v", "file": "f", "directory": "C", "touch": "m"}
_LARGEST = 64 * 1024 * 1024
"""The maximum size of an archive in bytes."""


class _Arguments:
    """The arguments of a call of tar.

    Attributes:
        letters: the options without a value.
        archive: the file, "-" for the standard streams.
        directory: the directory that files are read from, or written to.
        operands: the names of files.
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
    """Create (c), extract (x) or list (t) an archive."""
    arguments = _Arguments(call)
    if "c" in arguments.letters:
        return (yield from _pack(call, arguments))
    if arguments.letters & {"x", "t"}:
        return (yield from _unpack(call, arguments))
    raise UsageError("You must specify one of 'ctx'")


def _pack(call: Call, arguments: _Arguments) -> Process:
    if not arguments.operands:
        raise UsageError("empty archive")
    into = None
    if arguments.archive != "-":
        now = yield Now()
        into = call.open(arguments.archive, now)
    packed = io.BytesIO()
    code = 0
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for name in arguments.operands:
            node = call.files.find(absolute(name, arguments.directory), follow=False)
            if node is None:
                yield write_error(f"tar: {name}: Cannot stat: No such file or directory")
                code = 2
                continue
            if name.startswith("/"):
                yield write_error("tar: Removing leading `/' from member names")
            for path, below in walk(node, name):
                if below is not into:
                    _add(archive, path, below)
                    yield from _flush(call, packed, into)
    yield from _flush(call, packed, into)
    if code:
        yield write_error("tar: Exiting with failure status due to previous errors")
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


def _flush(call: Call, packed: io.BytesIO, into: File | None) -> Generator[SystemCall, Any, None]:
    """Write what is packed so far, so that an archive is never kept as a whole."""
    data = packed.getvalue()
    packed.seek(0)
    packed.truncate()
    if into is None:
        yield Write(OUT, data)
    else:
        now = yield Now()
        call.files.extend(into, data, now)


def _unpack(call: Call, arguments: _Arguments) -> Process:
    content = yield from read_inputs(call, (arguments.archive,), _LARGEST)
    now = yield Now()
    try:
        with tarfile.open(fileobj=io.BytesIO(content), mode="r:") as archive:
            for member in archive:
                yield Yield()
                if arguments.operands and not _is_selected(member.name, arguments.operands):
                    continue
                if "t" in arguments.letters or "v" in arguments.letters:
                    yield write_line(member.name)
                if "x" in arguments.letters:
                    _extract(call, archive, member, path=_member_path(arguments, member.name), now=now)
    except (tarfile.TarError, EOFError, OverflowError, ValueError):
        yield write_error("tar: This does not look like a tar archive")
        return 2
    return 0


def _is_selected(name: str, operands: list[str]) -> bool:
    return any(name == operand or name.startswith(f"{operand.rstrip('/')}/") for operand in operands)


def _member_path(arguments: _Arguments, name: str) -> str:
    """Return the path to extract a member to: below the directory, wherever its name would lead."""
    inside = "/".join(part for part in name.split("/") if part not in ("", ".", ".."))
    return absolute(inside, arguments.directory)


def _extract(call: Call, archive: tarfile.TarFile, member: tarfile.TarInfo, *, path: str, now: float) -> None:
    modified = now if not 0 < member.mtime < 1 << 40 else float(member.mtime)
    above = path.rpartition("/")[0]
    if above:
        call.files.make_directory(above, now, parents=True)
    if member.isdir():
        call.files.make_directory(path, modified, parents=True)
    elif member.issym():
        if call.files.find(path, follow=False) is not None:
            call.files.remove(path)
        call.files.link(path, member.linkname, modified)
    elif member.isfile():
        source = archive.extractfile(member)
        file = call.files.write(path, source.read() if source else b"", modified)
        file.mode = member.mode & 0o7777
