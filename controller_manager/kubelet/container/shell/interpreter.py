"""The shell: interprets scripts, one command after the other, as a single process."""

from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any, TypeAlias

from controller_manager.kubelet.container.files import FileError, absolute
from controller_manager.kubelet.container.patterns import Glob
from controller_manager.kubelet.container.shell.ast import (
    AndOr,
    Case,
    Command,
    For,
    Function,
    Group,
    If,
    Pipeline,
    RedirectedCommand,
    Redirection,
    Script,
    SimpleCommand,
    While,
)
from controller_manager.kubelet.container.shell.builtins import BUILTINS, Break, Continue, Exit, Return
from controller_manager.kubelet.container.shell.expansion import Expansion
from controller_manager.kubelet.container.shell.lexer import ShellSyntaxError, Substitution
from controller_manager.kubelet.container.shell.parser import parse
from controller_manager.kubelet.container.shell.pipes import FileTarget, Target, capture, pipe, redirect
from controller_manager.kubelet.container.shell.state import MAX_VALUE_LENGTH, OutOfMemoryError, ShellState
from controller_manager.kubelet.container.syscalls import (
    FAILED,
    MISUSE,
    Now,
    Process,
    SystemCall,
    Yield,
    text_of,
    write_error,
)

MAX_CALL_DEPTH = 20
"""The maximum depth of calls of functions and scripts."""

Execute: TypeAlias = Callable[["Shell", str, tuple[str, ...], Mapping[str, str]], Process]
"""Runs a command that is not a builtin: by its name, with arguments and environment."""


class Shell:
    """A shell with its own state.

    Attributes:
        unread: input that was read beyond the current line.
    """

    def __init__(self, state: ShellState, execute: "Execute", depth: int = 0) -> None:
        self.state = state
        self.depth = depth
        self.unread = b""
        self._execute = execute
        self._expansion = Expansion(state, self._output)
        self._tested = 0
        """The number of conditions under evaluation; a failure in them does not count for set -e."""

    def source(self, text: str) -> Process:
        """Run a text in this shell; return its exit code.

        Raises:
            Exit: the script ends the shell.
        """
        if self.depth > MAX_CALL_DEPTH:
            yield write_error("sh: too many levels of calls")
            return MISUSE
        self.depth += 1
        try:
            code = yield from self.script(parse(text))
        except ShellSyntaxError as error:
            yield write_error(str(error))
            raise Exit(MISUSE) from None
        finally:
            self.depth -= 1
        return code

    def script(self, script: Script) -> Process:
        """Run commands; return the exit code of the last one."""
        for item in script:
            yield Yield()
            if not item.background:  # background commands do nothing, and nobody can wait for them
                yield from self._and_or(item)
        return self.state.status

    def _and_or(self, item: AndOr) -> Process:
        last = len(item.pipelines) - 1
        for number, pipeline in enumerate(item.pipelines):
            if number and (item.operators[number - 1] == "&&") != (self.state.status == 0):
                continue
            tested = number < last or pipeline.negated
            self._tested += tested
            try:
                code = yield from self._pipeline(pipeline)
            finally:
                self._tested -= tested
            self.state.status = code
            if code and number == last and not self._tested and not tested and "e" in self.state.options:
                raise Exit(code)
        return self.state.status

    def _pipeline(self, pipeline: Pipeline) -> Process:
        commands = pipeline.commands
        if len(commands) == 1:
            code = yield from self._command(commands[0])
        else:
            process = self._forked(commands[0], terminal=False)
            for command in commands[1:]:
                process = pipe(process, self._forked(command, terminal=False))
            code = yield from process
        return int(not code) if pipeline.negated else code

    def _forked(self, command: Command, *, terminal: bool = True) -> Process:
        """Run a command in a subshell, whose input is not the terminal unless `terminal` is set."""
        shell = Shell(self.state.copy(), self._execute, self.depth)
        shell.state.terminal = self.state.terminal and terminal
        try:
            return (yield from shell._command(command))
        except Exit as end:
            return end.code

    def _output(self, text: str) -> Generator[SystemCall, Any, str]:
        shell = Shell(self.state.copy(), self._execute, self.depth + 1)
        output = yield from capture(shell.to_end(shell.source(text)), MAX_VALUE_LENGTH)
        self.state.status = shell.state.status
        return text_of(output)

    def to_end(self, process: Process) -> Process:
        """Run a process of this shell that may end the shell."""
        try:
            return (yield from self.guarded(process))
        except Exit as end:
            self.state.status = end.code
            return end.code

    def guarded(self, process: Process) -> Process:
        """Run a process of this shell, and report the shell's own errors.

        Raises:
            Exit: it ends the shell.
        """
        try:
            code = yield from process
        except (Break, Return):  # outside of loops and functions
            code = self.state.status
        except ShellSyntaxError as error:
            yield write_error(str(error))
            code = MISUSE
        except (OutOfMemoryError, MemoryError, RecursionError):
            yield write_error("sh: out of memory")
            code = MISUSE
        self.state.status = code
        return code

    # -- commands

    def _command(self, command: Command) -> Process:
        match command:
            case SimpleCommand():
                process = self._simple(command)
            case RedirectedCommand():
                process = self._redirected(self._command(command.command), command.redirections)
            case Group(body, in_subshell=True):
                process = self._forked(Group(body))
            case Group(body):
                process = self.script(body)
            case If():
                process = self._if(command)
            case While():
                process = self._while(command)
            case For():
                process = self._for(command)
            case Case():
                process = self._case(command)
            case Function(name, body):
                self.state.functions[name] = body
                process = _ended(0)
        return (yield from process)

    def _condition(self, script: Script) -> Generator[SystemCall, Any, bool]:
        self._tested += 1
        try:
            return (yield from self.script(script)) == 0
        finally:
            self._tested -= 1

    def _if(self, command: If) -> Process:
        for branch in command.branches:
            if (yield from self._condition(branch.condition)):
                return (yield from self.script(branch.body))
        self.state.status = 0
        return (yield from self.script(command.otherwise))

    def _while(self, command: While) -> Process:
        code = 0
        while (yield from self._condition(command.condition)) != command.until:
            status = yield from self._round(command.body, code)
            if status is None:
                return 0
            code = status
        return code

    def _for(self, command: For) -> Process:
        values: Sequence[str] = self.state.arguments
        if command.words is not None:
            values = yield from self._expansion.arguments(command.words)
        code = 0
        for value in values:
            self.state.variables[command.name] = value
            status = yield from self._round(command.body, code)
            if status is None:
                return 0
            code = status
        return code

    def _round(self, body: Script, code: int) -> Generator[SystemCall, Any, int | None]:
        """Run a loop's body once; return its exit code, the given one if it continues, or None if it breaks."""
        try:
            return (yield from self.script(body))
        except Continue as leap:
            leap.pass_on()
        except Break as leap:
            leap.pass_on()
            return None
        return code

    def _case(self, command: Case) -> Process:
        value = yield from self._expansion.text(command.word)
        for clause in command.clauses:
            for word in clause.patterns:
                pattern = yield from self._expansion.pattern(word)
                if Glob(pattern).matches(value):
                    self.state.status = 0
                    return (yield from self.script(clause.body))
        return 0

    # -- simple commands

    def _simple(self, command: SimpleCommand) -> Process:
        arguments = yield from self._expansion.arguments(command.words)
        values = {}
        for assignment in command.assignments:
            values[assignment.name] = yield from self._expansion.text(assignment.word)
        if not arguments:
            self.state.variables.update(values)
            code = self.state.status if _substitutes(command) else 0
            return (yield from self._redirected(_ended(code), command.redirections))
        process = self.call_command(arguments[0], tuple(arguments[1:]), values)
        return (yield from self._redirected(process, command.redirections))

    def call_command(self, name: str, arguments: tuple[str, ...], values: Mapping[str, str]) -> Process:
        """Run a command of any kind, with variables set only for it."""
        if name in self.state.functions:
            return (yield from self._function(name, arguments, values))
        if name in BUILTINS:
            self.state.variables.update(values)
            return (yield from BUILTINS[name](self, name, arguments))
        environment = self.state.environment() | dict(values)
        return (yield from self._execute(self, name, arguments, environment))

    def _function(self, name: str, arguments: tuple[str, ...], values: Mapping[str, str]) -> Process:
        if self.depth > MAX_CALL_DEPTH:
            yield write_error("sh: too many levels of calls")
            return MISUSE
        self.state.variables.update(values)
        before, self.state.arguments = self.state.arguments, arguments
        self.depth += 1
        try:
            return (yield from self._command(self.state.functions[name]))
        except Return as end:
            return end.code
        finally:
            self.depth -= 1
            self.state.arguments = before

    # -- redirections

    def _redirected(self, process: Process, redirections: tuple[Redirection, ...]) -> Process:
        if not redirections:
            return (yield from process)
        targets: dict[int, Target] = {}
        input_data: bytes | None = None
        for redirection in redirections:
            target = yield from self._expansion.text(redirection.target)
            try:
                if redirection.operator == "<":
                    input_data = self._read(target)
                elif redirection.operator in (">&", "<&") and (target.isdecimal() or target == "-"):
                    fd = int(target[:4]) if target != "-" else -1
                    targets[redirection.fd] = targets.get(fd, fd)
                else:
                    now = yield Now()
                    into = self._open(target, now, append=redirection.operator == ">>")
                    targets[redirection.fd] = into
                    if redirection.operator in ("&>", ">&"):
                        targets[2] = into
            except FileError as error:
                process.close()
                yield write_error(
                    f"sh: can't {'open' if redirection.operator == '<' else 'create'} {target}: {error.why}"
                )
                return FAILED
        return (yield from redirect(process, targets, input_data))

    def _read(self, path: str) -> bytes:
        return self.state.container.files.read(absolute(path, self.state.directory))

    def _open(self, path: str, now: float, *, append: bool) -> FileTarget:
        files = self.state.container.files
        return FileTarget(files.open(absolute(path, self.state.directory), now, append=append), files)


def _ended(code: int) -> Process:
    """Return a process that does nothing."""
    return code
    yield


def _substitutes(command: SimpleCommand) -> bool:
    """Return True if a command without words has a substitution, whose exit code becomes its own."""
    return any(isinstance(part, Substitution) for assignment in command.assignments for part in assignment.word)
