"""A container as its processes see it: its files, its name, who they are."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from controller_manager.kubelet.container.files import File, FileError, Files, absolute


@dataclass(frozen=True, slots=True)
class Container:
    """What every process of a container shares.

    Attributes:
        environment: the variables that it began with.
        directory: where processes begin.
        command: what its first process is, for `ps`.
        user, group: numbers.
        lenient: commands that are not simulated succeed without a word; for its first process, of which only is asked
            what it prints.
    """

    files: Files
    hostname: str
    environment: Mapping[str, str] = field(default_factory=dict)
    directory: str = "/"
    command: tuple[str, ...] = ()
    user: int = 0
    group: int = 0
    lenient: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """A command as it is called.

    Attributes:
        name: by which it was called, as it stands in what it complains of.
        environment: its variables.
        terminal: it reads what a person types.
    """

    name: str
    arguments: tuple[str, ...]
    container: Container
    environment: Mapping[str, str]
    directory: str
    terminal: bool = False

    @property
    def files(self) -> Files:
        """The container's files."""
        return self.container.files

    def path(self, path: str) -> str:
        """A path that the command was given, from the root."""
        return absolute(path, self.directory)

    def read(self, path: str) -> bytes:
        """The content of a file.

        Raises:
            FileError: there is none; with the path as it was given.
        """
        try:
            return self.files.read(self.path(path))
        except FileError as error:
            raise FileError(error.why, path) from None

    def open(self, path: str, now: float, *, append: bool = False) -> File:
        """A file to write to.

        Raises:
            FileError: it cannot be had; with the path as it was given.
        """
        try:
            return self.files.open(self.path(path), now, append=append)
        except FileError as error:
            raise FileError(error.why, path) from None
