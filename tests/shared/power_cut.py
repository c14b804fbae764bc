"""A virtual file system for SQLite that knows what has been synced, so that a test can cut the power.

It stands before SQLite's own one in the library that the module sqlite3 uses (https://www.sqlite.org/vfs.html). Each
write goes to the file, and is noted until the file is synced: a power cut takes any part of what is noted with it.
"""

import _sqlite3
import ctypes
import os
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_OK, _FULL, _IOERR_FSYNC = 0, 13, 10 | 4 << 8
_POINTER, _INT, _INT64, _TEXT = ctypes.c_void_p, ctypes.c_int, ctypes.c_int64, ctypes.c_char_p
_WRITE = ctypes.CFUNCTYPE(_INT, _POINTER, _POINTER, _INT, _INT64)
_TRUNCATE = ctypes.CFUNCTYPE(_INT, _POINTER, _INT64)
_SYNC = ctypes.CFUNCTYPE(_INT, _POINTER, _INT)
_OPEN = ctypes.CFUNCTYPE(_INT, _POINTER, _POINTER, _POINTER, _INT, _POINTER)  # a name is followed by its parameters


def _nobody() -> None:
    """Do nothing."""


class _Methods(ctypes.Structure):
    """The sqlite3_io_methods of a file."""

    _fields_ = [
        ("version", _INT),
        ("close", _POINTER),
        ("read", _POINTER),
        ("write", _POINTER),
        ("truncate", _POINTER),
        ("sync", _POINTER),
        ("rest", _POINTER * 13),
    ]


class _File(ctypes.Structure):
    """The beginning of a sqlite3_file."""

    _fields_ = [("methods", ctypes.POINTER(_Methods))]


class _Vfs(ctypes.Structure):
    """A sqlite3_vfs; all that follows `open` is taken over as it stands."""

    _fields_ = [
        ("version", _INT),
        ("file_size", _INT),
        ("longest_path", _INT),
        ("next", _POINTER),
        ("name", _TEXT),
        ("data", _POINTER),
        ("open", _POINTER),
        ("rest", _POINTER * 15),
    ]


@dataclass
class SyncedFile:
    """A file as of its last sync.

    Attributes:
        content: what a power cut cannot take.
        pending: what has been done since, each a function of the content.
    """

    content: bytearray = field(default_factory=bytearray)
    pending: list[Callable[[bytearray], None]] = field(default_factory=list)

    def sync(self) -> None:
        """Apply what is pending."""
        for change in self.pending:
            change(self.content)
        self.pending.clear()

    def after_power_cut(self, dice: random.Random, share: float) -> bytes:
        """Return the content with a share of what is pending, in its order."""
        content = bytearray(self.content)
        for change in self.pending:
            if dice.random() < share:
                change(content)
        return bytes(content)


class PowerCut:
    """The file system: register it, open databases, and copy what would be left of them.

    Attributes:
        files: by path, each file that was opened.
        syncs: how many syncs there were.
        failing: how many of the next syncs fail.
        room: the bytes that all its files may have, None for any number; a write beyond that fails: disk full.
        watcher: called after whatever was done to a file, in the thread that did it.
    """

    def __init__(self) -> None:
        self.files: dict[str, SyncedFile] = {}
        self.syncs = 0
        self.failing = 0
        self.room: int | None = None
        self.watcher: Callable[[], None] = _nobody
        self._library = ctypes.CDLL(_sqlite3.__file__)
        self._library.sqlite3_vfs_find.restype = ctypes.POINTER(_Vfs)
        self._usual = self._library.sqlite3_vfs_find(None)
        self._paths: dict[int, str] = {}
        self._kept: list[Any] = []
        self._by_methods: dict[int, _Methods] = {}
        self._open_file = _OPEN(self._usual.contents.open)
        self._vfs = _Vfs.from_buffer_copy(self._usual.contents)
        self._vfs.name = b"power-cut"
        self._vfs.open = self._kept_pointer(_OPEN(self._open))

    def _kept_pointer(self, function: Any) -> int | None:
        self._kept.append(function)
        return ctypes.cast(function, _POINTER).value

    @contextmanager
    def registered(self) -> Iterator["PowerCut"]:
        """Let all databases that are opened from now on use it; they have to be closed at the end."""
        self._library.sqlite3_vfs_register(ctypes.byref(self._vfs), 1)
        try:
            yield self
        finally:
            self._library.sqlite3_vfs_unregister(ctypes.byref(self._vfs))
            self._library.sqlite3_vfs_register(self._usual, 1)

    def left(self, folder: Path, dice: random.Random, share: float) -> dict[str, bytes]:
        """Return the files of a folder as a power cut leaves them; a share of what is not synced is there."""
        return {
            Path(path).name: file.after_power_cut(dice, share)
            for path, file in self.files.items()
            if Path(path).parent == folder and Path(path).exists()
        }

    def size(self) -> int:
        """Return how many bytes all files have."""
        return sum(Path(path).stat().st_size for path in self.files if Path(path).exists())

    def _open(self, _vfs: int, name: int | None, file: int, flags: int, given: int) -> int:
        code: int = self._open_file(ctypes.addressof(self._usual.contents), name, file, flags, given)
        if code == _OK and name:
            path = os.fsdecode(ctypes.string_at(name))
            self._paths[file] = path
            known = self.files.setdefault(path, SyncedFile())
            if Path(path).stat().st_size == 0:  # of a new name, or one that was deleted meanwhile
                known.content.clear()
                known.pending.clear()
            elif not known.content and not known.pending:
                known.content[:] = Path(path).read_bytes()
            head = _File.from_address(file)
            head.methods = ctypes.pointer(self._methods_over(head.methods.contents))
        return code

    def _methods_over(self, usual: _Methods) -> _Methods:
        """Return methods that note each call and pass it on to the usual ones."""
        address = ctypes.addressof(usual)
        if address not in self._by_methods:
            methods = _Methods.from_buffer_copy(usual)
            methods.write = self._kept_pointer(_WRITE(self._noting_write(_WRITE(usual.write))))
            methods.truncate = self._kept_pointer(_TRUNCATE(self._noting_truncate(_TRUNCATE(usual.truncate))))
            methods.sync = self._kept_pointer(_SYNC(self._noting_sync(_SYNC(usual.sync))))
            self._by_methods[address] = methods
        return self._by_methods[address]

    def _noting_write(self, usual: Any) -> Callable[[int, int, int, int], int]:
        def write(file: int, data: int, amount: int, offset: int) -> int:
            growth = offset + amount - Path(self._paths[file]).stat().st_size
            if self.room is not None and growth > 0 and self.size() + growth > self.room:
                return _FULL
            code = int(usual(file, data, amount, offset))
            if code == _OK:
                written = ctypes.string_at(data, amount)

                def change(content: bytearray) -> None:
                    content.extend(bytes(max(0, offset - len(content))))
                    content[offset : offset + amount] = written

                self.files[self._paths[file]].pending.append(change)
                self.watcher()
            return code

        return write

    def _noting_truncate(self, usual: Any) -> Callable[[int, int], int]:
        def truncate(file: int, size: int) -> int:
            code = int(usual(file, size))

            def change(content: bytearray) -> None:
                del content[size:]

            self.files[self._paths[file]].pending.append(change)
            self.watcher()
            return code

        return truncate

    def _noting_sync(self, usual: Any) -> Callable[[int, int], int]:
        def sync(file: int, flags: int) -> int:
            self.syncs += 1
            if self.failing:
                self.failing -= 1
                return _IOERR_FSYNC
            code = int(usual(file, flags))
            if code == _OK:
                self.files[self._paths[file]].sync()
                self.watcher()
            return code

        return sync
