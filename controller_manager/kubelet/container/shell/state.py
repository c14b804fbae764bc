"""What a shell remembers between its commands."""

from collections.abc import Iterator, Mapping, MutableMapping
from dataclasses import dataclass, field

from controller_manager.kubelet.container.container import Container
from controller_manager.kubelet.container.shell.ast import Command

LONGEST_VALUE = 1024 * 1024
"""Letters that a variable may hold, and that a command may put out into another's arguments."""
LONGEST_VALUES = 4 * LONGEST_VALUE
"""Letters that all variables, or all arguments of a command, may hold; each counts for a little more than it has."""
_EACH = 400


class OutOfMemoryError(Exception):
    """A script wants to keep more than a simulated shell may."""


def check_size(size: int, limit: int = LONGEST_VALUE) -> None:
    """Refuse what is too much to keep.

    Raises:
        OutOfMemoryError: it is.
    """
    if size > limit:
        raise OutOfMemoryError


class Variables(MutableMapping[str, str]):
    """Names and values, no more of either than there is room for."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self._values = dict(values)
        self._size = sum(len(name) + len(value) + _EACH for name, value in values.items())

    def __getitem__(self, name: str) -> str:
        return self._values[name]

    def __setitem__(self, name: str, value: str) -> None:
        old = self._values.get(name)
        size = self._size + len(value) - len(old or "") + (len(name) + _EACH if old is None else 0)
        check_size(len(value))
        check_size(size, LONGEST_VALUES)
        self._values[name] = value
        self._size = size

    def __delitem__(self, name: str) -> None:
        self._size -= len(self._values.pop(name)) + len(name) + _EACH

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


@dataclass(slots=True)
class State:
    """The state of one shell.

    Attributes:
        name: what $0 is.
        arguments: what $1 and the following are.
        status: what $? is.
        options: letters that `set` takes.
        functions: by name.
        terminal: a person types what it reads.
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
    def fresh(cls, container: Container, environment: Mapping[str, str], directory: str) -> "State":
        """A shell that has just begun."""
        return cls(container, Variables(environment), set(environment), directory)

    def copy(self) -> "State":
        """That of a shell of its own, as ( ), pipelines and $( ) have one."""
        return State(
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
        """What $name is, None where it is not set."""
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

    def _argument(self, place: int) -> str | None:
        if place == 0:
            return self.name
        return self.arguments[place - 1] if place <= len(self.arguments) else None

    def environment(self) -> dict[str, str]:
        """What a command that is called gets."""
        return {name: value for name, value in self.variables.items() if name in self.exported}
