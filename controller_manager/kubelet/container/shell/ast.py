"""The syntax tree of shell text: commands, lists of them, and compound commands (POSIX shell, 2.9)."""

from dataclasses import dataclass
from typing import TypeAlias

from controller_manager.kubelet.container.shell.lexer import Word


@dataclass(frozen=True, slots=True)
class Redirection:
    """A redirection of a file descriptor: to a file (">", ">>", "<"), or to another file descriptor (">&")."""

    operator: str
    fd: int
    target: Word


@dataclass(frozen=True, slots=True)
class Assignment:
    """An assignment: name=word."""

    name: str
    word: Word


@dataclass(frozen=True, slots=True)
class SimpleCommand:
    """A command with its arguments."""

    words: tuple[Word, ...] = ()
    assignments: tuple[Assignment, ...] = ()
    redirections: tuple[Redirection, ...] = ()


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Commands that each read the output of the one before."""

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
    """A list in braces, or in parentheses, which run it in a subshell."""

    body: Script
    in_subshell: bool = False


@dataclass(frozen=True, slots=True)
class Branch:
    """The condition of an if or elif, and the body that runs if it holds."""

    condition: Script
    body: Script


@dataclass(frozen=True, slots=True)
class If:
    """if, elif, else."""

    branches: tuple[Branch, ...]
    otherwise: Script = ()


@dataclass(frozen=True, slots=True)
class While:
    """A while loop, or an until loop, which goes on as long as the condition fails."""

    condition: Script
    body: Script
    until: bool = False


@dataclass(frozen=True, slots=True)
class For:
    """A loop over words; without words, over the arguments."""

    name: str
    words: tuple[Word, ...] | None
    body: Script


@dataclass(frozen=True, slots=True)
class Clause:
    """The patterns of a case, and the body that runs if one matches."""

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
class RedirectedCommand:
    """A compound command with redirections."""

    command: "Command"
    redirections: tuple[Redirection, ...]


Command: TypeAlias = SimpleCommand | Group | If | While | For | Case | Function | RedirectedCommand
