"""The state that a shell keeps between commands."""

from collections.abc import Iterator, Mapping, MutableMapping
from dataclasses import dataclass, field

from controller_manager.kubelet.container.container import Container
from controller_manager.kubelet.container.shell.ast import Command

MAX_VALUE_LENGTH = 1024 * 1024
"""The maximum length of a variable, and of the output of a command that is used as an argument."""
MAX_TOTAL_LENGTH = 4 * MAX_VALUE_LENGTH
"""The maximum length of all variables, or of all arguments of a command, with a little overhead for each."""
_EACH = 400


class OutOfMemoryError(Exception):
    """A script would need more memory than a simulated shell may use."""


def check_size(size: int, limit: int = MAX_VALUE_LENGTH) -> None:
    """Check that a size is within a limit.

    Raises:
        OutOfMemoryError: it is not.
    """
    if size > limit:
        raise OutOfMemoryError


class Variables(MutableMapping[str, str]):
    """Variables with limits for their length and their number."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self._values = dict(values)
        self._size = sum(len(name) + len(value) + _EACH for name, value in values.items())

    def __getitem__(self, name: str) -> str:
        return self._values[name]

    def __setitem__(self, name: str, value: str) -> None:
        old = self._values.get(name)
        size = self._size + len(value) - len(old or "") + (len(name) + _EACH if old is None else 0)
        check_size(len(value))
        check_size(size, MAX_TOTAL_LENGTH)
        self._values[name] = value
        self._size = size

    def __delitem__(self, name: str) -> None:
        self._size -= len(self._values.pop(name)) + len(name) + _EACH

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


@dataclass(slots=True)
class ShellState:
    """The state of one shell.

    Attributes:
        name: the value of $0.
        arguments: the values of $1 and the following.
        status: the value of $?.
        options: the letters given to `set`.
        functions: by name.
        terminal: True if its input is a terminal.
    """

    container: Container
    variables: Variables
    exported: set[str]
    directory: str
    name: str = "sh"
    arguments: tuple[str, ...] = ()
    status: int = 0
    options: set[str] = field(default_factory=set)
    functions: dict[str, Command] = field(default_factory=dict)
    terminal: bool = False

    @classmethod
    def fresh(cls, container: Container, environment: Mapping[str, str], directory: str) -> "ShellState":
        """Return the state of a new shell."""
        return cls(container, Variables(environment), set(environment), directory)

    def copy(self) -> "ShellState":
        """Return a copy for a subshell, as in ( ), pipelines and $( )."""
        return ShellState(
            self.container,
            Variables(self.variables),
            set(self.exported),
            self.directory,
            self.name,
            self.arguments,
            self.status,
            set(self.options),
            dict(self.functions),
            self.terminal,
        )

    def value(self, name: str) -> str | None:
        """Return the value of $name, None if it is not set."""
        if name.isdecimal():
            return self._argument(int(name[:6]))
        special = {
            "?": str(self.status),
            "#": str(len(self.arguments)),
            "$": "7",
            "!": "7",
            "-": "".join(sorted(self.options)),
            "@": " ".join(self.arguments),
            "*": " ".join(self.arguments),
        }
        return special.get(name) if name in special else self.variables.get(name)

    def _argument(self, number: int) -> str | None:
        if number == 0:
            return self.name
        return self.arguments[number - 1] if number <= len(self.arguments) else None

    def environment(self) -> dict[str, str]:
        """Return the environment of commands."""
        return {name: value for name, value in self.variables.items() if name in self.exported}
