"""The files of a container: a tree in memory, with links and mounts, that takes no more room than it may."""

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

NODE_SIZE = 256
"""Bytes that a file, directory or link counts for beside what is in it."""
LINKS = 40
"""How many links are followed before it is a circle (the kernel's MAXSYMLINKS)."""
LONGEST_NAME, LONGEST_PATH, DEEPEST = 255, 4096, 200


class FileError(Exception):
    """A file operation that cannot be done; the message is the C library's (strerror), with the path before it."""

    def __init__(self, why: str, path: str = "") -> None:
        super().__init__(f"{path}: {why}" if path else why)
        self.why = why


NOT_FOUND, EXISTS, NOT_DIRECTORY = "No such file or directory", "File exists", "Not a directory"
IS_DIRECTORY, NOT_EMPTY, FULL = "Is a directory", "Directory not empty", "No space left on device"
READ_ONLY, BUSY, TOO_LONG = "Read-only file system", "Device or resource busy", "File name too long"
CIRCLE, INVALID = "Too many levels of symbolic links", "Invalid argument"


@dataclass(slots=True)
class Quota:
    """How much room there is, here and in what this is a part of."""

    limit: int
    parent: "Quota | None" = None
    used: int = 0

    def take(self, size: int) -> None:
        """Use room, or give it back where the size is negative.

        Raises:
            FileError: there is not that much.
        """
        if size > 0 and self.used + size > self.limit:
            raise FileError(FULL)
        if self.parent is not None:
            self.parent.take(size)
        self.used += size


@dataclass(slots=True, eq=False)
class File:
    """A file; a device of /dev where it keeps nothing."""

    data: bytearray = field(default_factory=bytearray)
    mode: int = 0o644
    modified: float = 0.0
    device: bool = False


@dataclass(slots=True, eq=False)
class Link:
    """A symbolic link."""

    target: str
    modified: float = 0.0


@dataclass(slots=True, eq=False)
class Directory:
    """A directory; `mounted` cannot be removed, and what is in it may be another container's as well."""

    entries: "dict[str, Node]" = field(default_factory=dict)
    mode: int = 0o755
    modified: float = 0.0
    mounted: bool = False
    read_only: bool = False


Node: TypeAlias = File | Link | Directory


@dataclass(frozen=True, slots=True)
class PathTarget:
    """Where a path leads: the directory that it ends in, its last name, and what is there."""

    directory: Directory
    name: str
    node: Node | None


class Files:
    """A tree of files; every path is taken from a directory, unless it is absolute."""

    def __init__(self, quota: Quota, root: Directory | None = None) -> None:
        self.root = root or Directory()
        self._quota = quota

    def place(self, path: str, *, follow: bool = True) -> PathTarget:
        """Where an absolute path leads; links on the way are followed, the last one if asked for.

        Raises:
            FileError: the way there does not exist, or is no directory.
        """
        if len(path) > LONGEST_PATH or path.count("/") > DEEPEST:
            raise FileError(TOO_LONG, path[:40])
        names, found, links = _names(path), PathTarget(self.root, "", self.root), 0
        trail = [self.root]
        while names:
            name = names.pop(0)
            above = found.node
            if not isinstance(above, Directory):
                raise FileError(NOT_FOUND if above is None else NOT_DIRECTORY, path)
            if name == "..":
                trail = trail[:-1] or trail
                found = PathTarget(trail[-1], "", trail[-1])
                continue
            node = above.entries.get(name)
            found = PathTarget(above, name, node)
            if isinstance(node, Link) and (names or follow):
                links += 1
                if links > LINKS:
                    raise FileError(CIRCLE, path)
                names = _names(node.target) + names
                trail = [self.root] if node.target.startswith("/") else trail
                found = PathTarget(trail[-1], "", trail[-1])
            elif isinstance(node, Directory):
                trail.append(node)
        return found

    def find(self, path: str, *, follow: bool = True) -> Node | None:
        """What is at a path, None where nothing is."""
        try:
            return self.place(path, follow=follow).node
        except FileError:
            return None

    def get(self, path: str, *, follow: bool = True) -> Node:
        """What is at a path.

        Raises:
            FileError: nothing is.
        """
        node = self.place(path, follow=follow).node
        if node is None:
            raise FileError(NOT_FOUND, path)
        return node

    def read(self, path: str) -> bytes:
        """The content of a file.

        Raises:
            FileError: there is none.
        """
        node = self.get(path)
        if not isinstance(node, File):
            raise FileError(IS_DIRECTORY, path)
        return bytes(node.data)

    def open(self, path: str, now: float, *, append: bool = False) -> File:
        """A file to write to, made if need be, and emptied unless it is appended to.

        Raises:
            FileError: it cannot be had.
        """
        place = self.place(path)
        if isinstance(place.node, Directory):
            raise FileError(IS_DIRECTORY, path)
        if place.node is None:
            file = File(modified=now)
            self._add(place, file, path)
            return file
        assert isinstance(place.node, File)  # links were followed
        self._check(place, path)
        if not append:
            self._quota.take(-len(place.node.data))
            place.node.data = bytearray()
            place.node.modified = now
        return place.node

    def extend(self, file: File, data: bytes, now: float) -> None:
        """Add to a file.

        Raises:
            FileError: there is no room.
        """
        if not file.device:
            self._quota.take(len(data))
            file.data += data
            file.modified = now

    def write(self, path: str, data: bytes, now: float) -> File:
        """A file with this content.

        Raises:
            FileError: it cannot be had.
        """
        file = self.open(path, now)
        self.extend(file, data, now)
        return file

    def make_directory(self, path: str, now: float, *, parents: bool = False) -> None:
        """A new directory; with those above it, where asked for, and then it may be there already.

        Raises:
            FileError: it cannot be made.
        """
        if parents and path.count("/") <= DEEPEST:
            above = posixpath.dirname(path.rstrip("/"))
            if above not in ("", "/", path):
                self.make_directory(above, now, parents=True)
        place = self.place(path)
        if place.node is None:
            self._add(place, Directory(modified=now), path)
        elif not (parents and isinstance(place.node, Directory)):
            raise FileError(EXISTS, path)

    def link(self, path: str, target: str, now: float) -> None:
        """A new symbolic link.

        Raises:
            FileError: it cannot be made.
        """
        place = self.place(path, follow=False)
        if place.node is not None:
            raise FileError(EXISTS, path)
        self._add(place, Link(target, now), path)

    def remove(self, path: str, *, tree: bool = False) -> None:
        """Remove what is at a path; a directory only where it is empty, or with all that is in it.

        Raises:
            FileError: it cannot be removed.
        """
        place = self.place(path, follow=False)
        if place.node is None:
            raise FileError(NOT_FOUND, path)
        self._check(place, path)
        if isinstance(place.node, Directory):
            if not place.name or any(node.mounted for node in _directories(place.node)):
                raise FileError(BUSY, path)
            if place.node.entries and not tree:
                raise FileError(NOT_EMPTY, path)
        del place.directory.entries[place.name]
        self._quota.take(-size_of(place.node))

    def move(self, source: str, target: str) -> None:
        """Give what is at a path another path, in place of a file that is there.

        Raises:
            FileError: it cannot be moved.
        """
        old, new = self.place(source, follow=False), self.place(target, follow=False)
        if old.node is None:
            raise FileError(NOT_FOUND, source)
        self._check(old, source)
        self._check(new, target)
        if isinstance(old.node, Directory) and (
            not old.name or old.node.mounted or any(node is new.directory for node in _directories(old.node))
        ):
            raise FileError(INVALID, source)
        if isinstance(new.node, Directory):
            raise FileError(NOT_EMPTY if new.node.entries else EXISTS, target)
        if new.node is old.node:
            return
        if new.node is not None:
            self._quota.take(-size_of(new.node))
        del old.directory.entries[old.name]
        new.directory.entries[new.name] = old.node

    def _add(self, place: PathTarget, node: Node, path: str) -> None:
        self._check(place, path)
        if len(place.name) > LONGEST_NAME or "\0" in place.name:
            raise FileError(TOO_LONG, path[:40])
        self._quota.take(NODE_SIZE)
        place.directory.entries[place.name] = node

    def _check(self, place: PathTarget, path: str) -> None:
        if place.directory.read_only:
            raise FileError(READ_ONLY, path)


def absolute(path: str, directory: str) -> str:
    """A path as seen from a directory; ".." is left to the tree, since links may lead elsewhere."""
    return path if path.startswith("/") else f"{directory.rstrip('/')}/{path}"


def size_of(node: Node) -> int:
    """What a node counts for, with all that is in it but mounts."""
    total, left = 0, [node]
    while left:
        node = left.pop()
        total += NODE_SIZE + (len(node.data) if isinstance(node, File) else 0)
        if isinstance(node, Directory):
            left += [below for below in node.entries.values() if not (isinstance(below, Directory) and below.mounted)]
    return total


def content_size(directory: Directory) -> int:
    """What is in a directory counts for, without itself and mounts."""
    return size_of(directory) - NODE_SIZE


def _directories(directory: Directory) -> Iterator[Directory]:
    left = [directory]
    while left:
        directory = left.pop()
        yield directory
        left += [node for node in directory.entries.values() if isinstance(node, Directory)]


def _names(path: str) -> list[str]:
    return [name for name in path.split("/") if name not in ("", ".")]
