"""The files of a container: a tree in memory with links and mounts, limited by a quota."""

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

NODE_SIZE = 256
"""The bytes that a file, directory or link counts for besides its content."""
MAX_LINKS = 40
"""The number of links that are followed before it is an error (the kernel's MAXSYMLINKS)."""
MAX_NAME_LENGTH, MAX_PATH_LENGTH, MAX_DEPTH = 255, 4096, 200


class FileError(Exception):
    """A file operation that failed; the message is the C library's (strerror), with the path before it."""

    def __init__(self, why: str, path: str = "") -> None:
        super().__init__(f"{path}: {why}" if path else why)
        self.why = why


NOT_FOUND, EXISTS, NOT_DIRECTORY = "No such file or directory", "File exists", "Not a directory"
IS_DIRECTORY, NOT_EMPTY, FULL = "Is a directory", "Directory not empty", "No space left on device"
READ_ONLY, BUSY, TOO_LONG = "Read-only file system", "Device or resource busy", "File name too long"
TOO_MANY_LINKS, INVALID = "Too many levels of symbolic links", "Invalid argument"


@dataclass(slots=True)
class Quota:
    """A limit of bytes, for some files and within a parent's limit."""

    limit: int
    parent: "Quota | None" = None
    used: int = 0

    def charge(self, size: int) -> None:
        """Use bytes, or release them if the size is negative.

        Raises:
            FileError: that many are not left.
        """
        if size > 0 and self.used + size > self.limit:
            raise FileError(FULL)
        if self.parent is not None:
            self.parent.charge(size)
        self.used += size


@dataclass(slots=True, eq=False)
class File:
    """A file; a device of /dev discards what is written."""

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
    """A directory; a mounted one cannot be removed, and its content may be shared with other containers."""

    entries: "dict[str, Node]" = field(default_factory=dict)
    mode: int = 0o755
    modified: float = 0.0
    mounted: bool = False
    read_only: bool = False


Node: TypeAlias = File | Link | Directory


@dataclass(frozen=True, slots=True)
class PathTarget:
    """The target of a path: the directory with its last component, that component, and the node there or None."""

    directory: Directory
    name: str
    node: Node | None


class FileSystem:
    """A tree of files."""

    def __init__(self, quota: Quota, root: Directory | None = None) -> None:
        self.root = root or Directory()
        self._quota = quota

    def resolve(self, path: str, *, follow: bool = True) -> PathTarget:
        """Resolve an absolute path; links on the way are followed, the last one only with `follow`.

        Raises:
            FileError: a directory on the way does not exist, or is not a directory.
        """
        if len(path) > MAX_PATH_LENGTH or path.count("/") > MAX_DEPTH:
            raise FileError(TOO_LONG, path[:40])
        names, target, links = _names(path), PathTarget(self.root, "", self.root), 0
        trail = [self.root]
        while names:
            name = names.pop(0)
            above = target.node
            if not isinstance(above, Directory):
                raise FileError(NOT_FOUND if above is None else NOT_DIRECTORY, path)
            if name == "..":
                trail = trail[:-1] or trail
                target = PathTarget(trail[-1], "", trail[-1])
                continue
            node = above.entries.get(name)
            target = PathTarget(above, name, node)
            if isinstance(node, Link) and (names or follow):
                links += 1
                if links > MAX_LINKS:
                    raise FileError(TOO_MANY_LINKS, path)
                names = _names(node.target) + names
                trail = [self.root] if node.target.startswith("/") else trail
                target = PathTarget(trail[-1], "", trail[-1])
            elif isinstance(node, Directory):
                trail.append(node)
        return target

    def find(self, path: str, *, follow: bool = True) -> Node | None:
        """Return the node at a path, None if there is none."""
        try:
            return self.resolve(path, follow=follow).node
        except FileError:
            return None

    def get(self, path: str, *, follow: bool = True) -> Node:
        """Return the node at a path.

        Raises:
            FileError: there is none.
        """
        node = self.resolve(path, follow=follow).node
        if node is None:
            raise FileError(NOT_FOUND, path)
        return node

    def read(self, path: str) -> bytes:
        """Return the content of a file.

        Raises:
            FileError: it is not there, or not a file.
        """
        node = self.get(path)
        if not isinstance(node, File):
            raise FileError(IS_DIRECTORY, path)
        return bytes(node.data)

    def open(self, path: str, now: float, *, append: bool = False) -> File:
        """Open a file for writing; it is created if it does not exist, and truncated unless `append` is set.

        Raises:
            FileError: it cannot be opened.
        """
        target = self.resolve(path)
        if isinstance(target.node, Directory):
            raise FileError(IS_DIRECTORY, path)
        if target.node is None:
            file = File(modified=now)
            self._add(target, file, path)
            return file
        assert isinstance(target.node, File)  # links were followed
        self._check(target, path)
        if not append:
            self._quota.charge(-len(target.node.data))
            target.node.data = bytearray()
            target.node.modified = now
        return target.node

    def extend(self, file: File, data: bytes, now: float) -> None:
        """Append to a file.

        Raises:
            FileError: no space is left.
        """
        if not file.device:
            self._quota.charge(len(data))
            file.data += data
            file.modified = now

    def write(self, path: str, data: bytes, now: float) -> File:
        """Write a file with this content.

        Raises:
            FileError: it cannot be written.
        """
        file = self.open(path, now)
        self.extend(file, data, now)
        return file

    def make_directory(self, path: str, now: float, *, parents: bool = False) -> None:
        """Create a directory; with `parents` also those above it, and it may exist already.

        Raises:
            FileError: it cannot be created.
        """
        if parents and path.count("/") <= MAX_DEPTH:
            above = posixpath.dirname(path.rstrip("/"))
            if above not in ("", "/", path):
                self.make_directory(above, now, parents=True)
        location = self.resolve(path)
        if location.node is None:
            self._add(location, Directory(modified=now), path)
        elif not (parents and isinstance(location.node, Directory)):
            raise FileError(EXISTS, path)

    def link(self, path: str, target: str, now: float) -> None:
        """Create a symbolic link.

        Raises:
            FileError: it cannot be created.
        """
        location = self.resolve(path, follow=False)
        if location.node is not None:
            raise FileError(EXISTS, path)
        self._add(location, Link(target, now), path)

    def remove(self, path: str, *, tree: bool = False) -> None:
        """Remove the node at a path; a directory must be empty, unless `tree` is set.

        Raises:
            FileError: it cannot be removed.
        """
        target = self.resolve(path, follow=False)
        if target.node is None:
            raise FileError(NOT_FOUND, path)
        self._check(target, path)
        if isinstance(target.node, Directory):
            if not target.name or any(node.mounted for node in _directories(target.node)):
                raise FileError(BUSY, path)
            if target.node.entries and not tree:
                raise FileError(NOT_EMPTY, path)
        del target.directory.entries[target.name]
        self._quota.charge(-size_of(target.node))

    def move(self, source: str, target: str) -> None:
        """Move a node to another path, where it replaces a file.

        Raises:
            FileError: it cannot be moved.
        """
        old, new = self.resolve(source, follow=False), self.resolve(target, follow=False)
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
            self._quota.charge(-size_of(new.node))
        del old.directory.entries[old.name]
        new.directory.entries[new.name] = old.node

    def _add(self, target: PathTarget, node: Node, path: str) -> None:
        self._check(target, path)
        if len(target.name) > MAX_NAME_LENGTH or "\0" in target.name:
            raise FileError(TOO_LONG, path[:40])
        self._quota.charge(NODE_SIZE)
        target.directory.entries[target.name] = node

    def _check(self, target: PathTarget, path: str) -> None:
        if target.directory.read_only:
            raise FileError(READ_ONLY, path)


def absolute(path: str, directory: str) -> str:
    """Make a path absolute, seen from a directory; ".." is resolved later, since links may lead elsewhere."""
    return path if path.startswith("/") else f"{directory.rstrip('/')}/{path}"


def size_of(node: Node) -> int:
    """Return the bytes that a node counts for, with everything in it except mounts."""
    total, left = 0, [node]
    while left:
        node = left.pop()
        total += NODE_SIZE + (len(node.data) if isinstance(node, File) else 0)
        if isinstance(node, Directory):
            left += [below for below in node.entries.values() if not (isinstance(below, Directory) and below.mounted)]
    return total


def content_size(directory: Directory) -> int:
    """Return the bytes that a directory's content counts for, except mounts."""
    return size_of(directory) - NODE_SIZE


def _directories(directory: Directory) -> Iterator[Directory]:
    left = [directory]
    while left:
        directory = left.pop()
        yield directory
        left += [node for node in directory.entries.values() if isinstance(node, Directory)]


def _names(path: str) -> list[str]:
    return [name for name in path.split("/") if name not in ("", ".")]
