"""What shell text means: commands, lists of them, and what holds them together (POSIX shell, 2.9)."""

from dataclasses import dataclass
from typing import TypeAlias

from controller_manager.kubelet.container.shell.lexer import Word


@dataclass(frozen=True, slots=True)
class Redirection:
    """Where a file descriptor leads: to a file (">", ">>", "<"), or to where another leads (">&")."""

    operator: str
    fd: int
    target: Word


@dataclass(frozen=True, slots=True)
class Assignment:
    """name=word."""

    name: str
    word: Word


@dataclass(frozen=True, slots=True)
class Simple:
    """A command with its arguments."""

    words: tuple[Word, ...] = ()
    assignments: tuple[Assignment, ...] = ()
    redirections: tuple[Redirection, ...] = ()


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Commands of which each reads what the one before puts out."""

    commands: "tuple[Command, ...]"
    negated: bool = False


@dataclass(frozen=True, slots=True)
class AndOr:
    """Pipelines between && and ||; `operators` has one for each but the first."""

    pipelines: tuple[Pipeline, ...]
    operators: tuple[str, ...] = ()
    background: bool = False


Script: TypeAlias = tuple[AndOr, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """{ script; }, or (script) in a shell of its own."""

    body: Script
    own_shell: bool = False


@dataclass(frozen=True, slots=True)
class Branch:
    """The condition of an if or elif, and what follows from it."""

    condition: Script
    body: Script


@dataclass(frozen=True, slots=True)
class If:
    """if, elif, else."""

    branches: tuple[Branch, ...]
    otherwise: Script = ()


@dataclass(frozen=True, slots=True)
class While:
    """while, and until, which goes on as long as the condition fails."""

    condition: Script
    body: Script
    until: bool = False


@dataclass(frozen=True, slots=True)
class For:
    """for name in words; without words, of the arguments."""

    name: str
    words: tuple[Word, ...] | None
    body: Script


@dataclass(frozen=True, slots=True)
class Clause:
    """Patterns of a case, and what follows from one that fits."""

    patterns: tuple[Word, ...]
    body: Script


@dataclass(frozen=True, slots=True)
class Case:
    """case word in clauses."""

    word: Word
    clauses: tuple[Clause, ...]


@dataclass(frozen=True, slots=True)
class Function:
    """name() body."""

    name: str
    body: "Command"


@dataclass(frozen=True, slots=True)
class Redirected:
    """A compound command with redirections."""

    command: "Command"
    redirections: tuple[Redirection, ...]


Command: TypeAlias = Simple | Group | If | While | For | Case | Function | Redirected
