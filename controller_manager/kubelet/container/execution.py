"""Execution of a command by its name: a simulated command, another shell, or a script in a file."""

from collections.abc import Mapping

from controller_manager.kubelet.container.commands import COMMANDS, Command
from controller_manager.kubelet.container.container import Call, Container
from controller_manager.kubelet.container.files import Directory, File, FileError
from controller_manager.kubelet.container.shell.interpreter import MAX_CALL_DEPTH, Shell
from controller_manager.kubelet.container.shell.session import read_commands
from controller_manager.kubelet.container.shell.state import OutOfMemoryError, ShellState
from controller_manager.kubelet.container.syscalls import (
    INTERRUPTED,
    MISUSE,
    NOT_EXECUTABLE,
    NOT_FOUND,
    InterruptedByUser,
    Process,
    text_of,
    write_error,
)
from controller_manager.kubelet.pods.commands import INTERPRETERS

PROGRAMS = (*sorted({*COMMANDS, *INTERPRETERS}),)
"""The files in /bin of every container."""


def execute(container: Container, command: tuple[str, ...], *, terminal: bool = False) -> Process:
    """Execute a command in a container; return its exit code.

    A command that cannot be executed is reported in runc's words, with the exit code of container runtimes.
    """
    environment = dict(container.environment) | ({"TERM": "xterm"} if terminal else {})
    name = command[0] if command else ""
    call = Call(name, command[1:], container, environment, container.directory, terminal)
    obstacle = _why_not_executable(call)
    if obstacle:
        yield write_error(
            "OCI runtime exec failed: exec failed: unable to start container process: "
            f"exec: {_quoted(name)}: {obstacle}: unknown"
        )
        return NOT_EXECUTABLE
    try:
        return (yield from _run(call, 0))
    except InterruptedByUser:
        return INTERRUPTED


def _why_not_executable(call: Call) -> str:
    base = call.name.rpartition("/")[2]
    if "/" not in call.name:
        return "" if base in COMMANDS or base in INTERPRETERS else "executable file not found in $PATH"
    try:
        node = call.files.get(call.path(call.name))
    except FileError as error:
        return f"stat {call.name}: {error.why.lower()}"
    if isinstance(node, Directory):
        return "is a directory"
    return "" if isinstance(node, File) and node.mode & 0o111 else "permission denied"


def _execute(caller: Shell, name: str, arguments: tuple[str, ...], environment: Mapping[str, str]) -> Process:
    """Run a command for a shell, with the shell's own messages for a command that is not found."""
    state = caller.state
    call = Call(name, arguments, state.container, environment, state.directory, state.terminal)
    obstacle = _why_not_executable(call)
    if not obstacle:
        return (yield from _run(call, caller.depth))
    if state.container.lenient:
        return 0
    if obstacle in ("permission denied", "is a directory"):
        yield write_error(f"sh: {name}: Permission denied")
        return NOT_EXECUTABLE
    yield write_error(f"sh: {name}: not found")
    return NOT_FOUND


def _run(call: Call, depth: int) -> Process:
    base = call.name.rpartition("/")[2]
    if base in INTERPRETERS:
        return (yield from _shell(call, depth + 1))
    if base in COMMANDS:
        return (yield from _command(COMMANDS[base], call))
    return (yield from _script(call, depth + 1))


def _command(command: Command, call: Call) -> Process:
    try:
        return (yield from command(call))
    except FileError as error:
        yield write_error(f"{call.name}: {error}")
        return 1
    except (MemoryError, OutOfMemoryError):
        yield write_error(f"{call.name}: out of memory")
        return 1


def _script(call: Call, depth: int) -> Process:
    if depth > MAX_CALL_DEPTH:
        yield write_error("sh: too many levels of calls")
        return MISUSE
    inner = _new_shell(call, depth)
    inner.state.name, inner.state.arguments = call.name, call.arguments
    return (yield from inner.to_end(inner.source(text_of(call.read(call.name)))))


def _shell(call: Call, depth: int) -> Process:
    """Run a shell: with -c and a script, with a file, or with the standard input."""
    inner = _new_shell(call, depth)
    options, rest = _options(call.arguments)
    inner.state.options |= options & set("eux")
    if "c" in options:
        if not rest:
            yield write_error("sh: -c requires an argument")
            return MISUSE
        inner.state.name, inner.state.arguments = (rest[1] if len(rest) > 1 else call.name), rest[2:]
        return (yield from inner.to_end(inner.source(rest[0])))
    if rest:
        inner.state.name, inner.state.arguments = rest[0], rest[1:]
        try:
            text = text_of(call.read(rest[0]))
        except FileError as error:
            yield write_error(f"sh: can't open '{rest[0]}': {error.why}")
            return MISUSE
        return (yield from inner.to_end(inner.source(text)))
    return (yield from read_commands(inner, prompts=call.terminal or "i" in options))


def _new_shell(call: Call, depth: int) -> Shell:
    state = ShellState.fresh(call.container, call.environment, call.directory)
    state.terminal = call.terminal
    return Shell(state, _execute, depth)


def _options(arguments: tuple[str, ...]) -> tuple[set[str], tuple[str, ...]]:
    """Return the option letters before the first operand, and the operands."""
    options: set[str] = set()
    for number, argument in enumerate(arguments):
        if argument == "--" or not argument.startswith("-") or len(argument) < 2:
            return options, arguments[number + (argument == "--") :]
        options |= set(argument[2:4] if argument.startswith("--") else argument[1:])
    return options, ()


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def is_known(command: tuple[str, ...]) -> bool:
    """Return True if a command line can be executed."""
    return bool(command) and command[0].rpartition("/")[2] in {*COMMANDS, *INTERPRETERS}
