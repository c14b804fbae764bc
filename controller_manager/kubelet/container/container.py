"""A container as its processes see it: its files, host name, environment and user."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from controller_manager.kubelet.container.files import File, FileError, FileSystem, absolute


@dataclass(frozen=True, slots=True)
class Container:
    """The properties that all processes of a container share.

    Attributes:
        environment: the variables that it starts with.
        directory: the working directory that processes start in.
        command: the command of its first process, for `ps`.
        user, group: their numbers.
        lenient: True if commands that are not simulated succeed silently; for a first process that is only run to get
            its
            output.
    """

    files: FileSystem
    hostname: str
    environment: Mapping[str, str] = field(default_factory=dict)
    directory: str = "/"
    command: tuple[str, ...] = ()
    user: int = 0
    group: int = 0
    lenient: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a command.

    Attributes:
        name: the name that it was called by, as it appears in its error messages.
        environment: its variables.
        terminal: True if its standard input is a terminal.
    """

    name: str
    arguments: tuple[str, ...]
    container: Container
    environment: Mapping[str, str]
    directory: str
    terminal: bool = False

    @property
    def files(self) -> FileSystem:
        """The container's files."""
        return self.container.files

    def path(self, path: str) -> str:
        """Return a path from the command line as an absolute path."""
        return absolute(path, self.directory)

    def read(self, path: str) -> bytes:
        """Return the content of a file.

        Raises:
            FileError: it cannot be read; with the path as it was given.
        """
        try:
            return self.files.read(self.path(path))
        except FileError as error:
            raise FileError(error.why, path) from None

    def open(self, path: str, now: float, *, append: bool = False) -> File:
        """Open a file for writing.

        Raises:
            FileError: it cannot be opened; with the path as it was given.
        """
        try:
            return self.files.open(self.path(path), now, append=append)
        except FileError as error:
            raise FileError(error.why, path) from None
