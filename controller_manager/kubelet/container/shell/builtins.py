"""The shell's builtins, which change its state: cd, export, set, exit and the like (POSIX shell, 2.14)."""

from collections.abc import Callable, Mapping
from typing import Protocol, TypeAlias

from controller_manager.kubelet.container.files import IS_DIRECTORY, Directory, FileError, absolute
from controller_manager.kubelet.container.shell.state import ShellState
from controller_manager.kubelet.container.syscalls import (
    FAILED,
    MISUSE,
    NOT_FOUND,
    Process,
    Read,
    text_of,
    write_error,
    write_line,
)


class Exit(Exception):  # noqa: N818 - this and those below are leaps, not errors
    """Ends the shell."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class Return(Exception):  # noqa: N818
    """Ends a function, or a script that was sourced."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class Break(Exception):  # noqa: N818
    """Ends some loops."""

    def __init__(self, count: int = 1) -> None:
        super().__init__(count)
        self.count = count

    def pass_on(self) -> None:
        """Raise again for the next loop if more than one is meant.

        Raises:
            Break: more than one is meant.
        """
        if self.count > 1:
            raise type(self)(self.count - 1) from None


class Continue(Break):
    """Begins the next round of a loop, after the loops within it have ended; caught before Break."""


class RunningShell(Protocol):
    """The interface of the running shell for builtins; `interpreter.Shell` is the only implementation.

    Attributes:
        state: its state.
        unread: input that was read beyond the current line.
    """

    state: ShellState
    unread: bytes

    def source(self, text: str) -> Process:
        """Run a text as commands."""
        ...

    def call_command(self, name: str, arguments: tuple[str, ...], values: Mapping[str, str]) -> Process:
        """Run a command by its name, with variables set only for it."""
        ...


Builtin: TypeAlias = Callable[[RunningShell, str, tuple[str, ...]], Process]
"""A builtin: called with the shell, its name and its arguments."""


def _nothing(_: RunningShell, name: str, __: tuple[str, ...]) -> Process:
    return int(name == "false")
    yield


def _exit(shell: RunningShell, _: str, arguments: tuple[str, ...]) -> Process:
    raise Exit(_code(arguments, shell.state.status))
    yield


def _return(shell: RunningShell, _: str, arguments: tuple[str, ...]) -> Process:
    raise Return(_code(arguments, shell.state.status))
    yield


def _break(_: RunningShell, name: str, arguments: tuple[str, ...]) -> Process:
    raise (Break if name == "break" else Continue)(max(_code(arguments, 1), 1))
    yield


def _code(arguments: tuple[str, ...], default: int) -> int:
    text = arguments[0] if arguments else ""
    if not text:
        return default
    return int(text) & 255 if text.isascii() and text.isdecimal() and len(text) < 10 else MISUSE


def _cd(shell: RunningShell, _: str, arguments: tuple[str, ...]) -> Process:
    state = shell.state
    target = arguments[0] if arguments else state.variables.get("HOME", "/")
    target = state.variables.get("OLDPWD", "/") if target == "-" else target
    path = _normal(absolute(target, state.directory))
    try:
        node = state.container.files.get(path)
    except FileError as error:
        yield write_error(f"sh: cd: can't cd to {target}: {error.why}")
        return MISUSE
    if not isinstance(node, Directory):
        yield write_error(f"sh: cd: can't cd to {target}: Not a directory")
        return MISUSE
    state.variables["OLDPWD"] = state.directory
    state.directory = state.variables["PWD"] = path
    return 0


def _normal(path: str) -> str:
    """Return a path without "." and "..", as the shell stores its directory."""
    names: list[str] = []
    for name in path.split("/"):
        if name == "..":
            del names[-1:]
        elif name not in ("", "."):
            names.append(name)
    return "/" + "/".join(names)


def _export(shell: RunningShell, name: str, arguments: tuple[str, ...]) -> Process:
    """`export`, `readonly` and `local`; only the first one changes what commands see."""
    state = shell.state
    if not arguments or arguments == ("-p",):
        for variable in sorted(state.exported & state.variables.keys()):
            yield write_line(f"{name} {variable}='{state.variables[variable]}'")
    for argument in arguments:
        variable, sign, value = argument.partition("=")
        if not variable.isidentifier():
            if not argument.startswith("-"):
                yield write_error(f"sh: {name}: {argument}: bad variable name")
                return MISUSE
            continue
        if sign:
            state.variables[variable] = value
        if name == "export":
            state.exported.add(variable)
    return 0


def _unset(shell: RunningShell, _: str, arguments: tuple[str, ...]) -> Process:
    for name in arguments:
        shell.state.variables.pop(name, None)
        shell.state.functions.pop(name, None)
        shell.state.exported.discard(name)
    return 0
    yield


def _set(shell: RunningShell, _: str, arguments: tuple[str, ...]) -> Process:
    state = shell.state
    if not arguments:
        for name in sorted(state.variables):
            yield write_line(f"{name}='{state.variables[name]}'")
    for number, argument in enumerate(arguments):
        if argument == "--":
            state.arguments = arguments[number + 1 :]
            break
        if argument[:1] == "-" and argument != "-o":
            state.options |= set(argument[1:])
        elif argument[:1] == "+":
            state.options -= set(argument[1:])
        elif number == 0 or arguments[number - 1] not in ("-o", "-eo", "-euo", "-uo", "-euxo", "-exo"):
            state.arguments = arguments[number:]
            break
    return 0


def _shift(shell: RunningShell, _: str, arguments: tuple[str, ...]) -> Process:
    count = _code(arguments, 1)
    if count > len(shell.state.arguments):
        return FAILED
    shell.state.arguments = shell.state.arguments[count:]
    return 0
    yield


def _read(shell: RunningShell, _: str, arguments: tuple[str, ...]) -> Process:
    """Read a line into variables; the last one gets the rest, and input beyond the line is kept."""
    names = [name for name in arguments if not name.startswith("-")] or ["REPLY"]
    while b"\n" not in shell.unread:
        data = yield Read()
        if not data:
            break
        shell.unread += data
    line, end, rest = shell.unread.partition(b"\n")
    shell.unread = rest
    fields = text_of(line).split(None, len(names) - 1)
    for number, name in enumerate(names):
        shell.state.variables[name] = fields[number].rstrip() if number < len(fields) else ""
    return int(not end and not line)


def _eval(shell: RunningShell, _: str, arguments: tuple[str, ...]) -> Process:
    return (yield from shell.source(" ".join(arguments)))


def _source(shell: RunningShell, name: str, arguments: tuple[str, ...]) -> Process:
    path = arguments[0] if arguments else ""
    try:
        text = text_of(shell.state.container.files.read(absolute(path, shell.state.directory)))
    except FileError as error:
        yield write_error(f"sh: {name}: can't open '{path}': {error.why}")
        return MISUSE if error.why != IS_DIRECTORY else FAILED
    try:
        return (yield from shell.source(text))
    except Return as end:
        return end.code


def _exec(shell: RunningShell, _: str, arguments: tuple[str, ...]) -> Process:
    if not arguments:
        return 0
    code = yield from shell.call_command(arguments[0], arguments[1:], {})
    raise Exit(code)


def _type(shell: RunningShell, name: str, arguments: tuple[str, ...]) -> Process:
    """`type`, and `command`, which also runs commands."""
    if name == "command" and arguments[:1] not in (("-v",), ("-V",)):
        return (yield from shell.call_command(arguments[0], arguments[1:], {})) if arguments else 0
    code = 0
    for word in arguments:
        if word.startswith("-"):
            continue
        where = f"/bin/{word}"
        if word in BUILTINS or word in shell.state.functions:
            yield write_line(word if name == "command" else f"{word} is a shell builtin")
        elif shell.state.container.files.find(where) is not None:
            yield write_line(where if name == "command" else f"{word} is {where}")
        else:
            code = NOT_FOUND
            if name == "type":
                yield write_error(f"{word}: not found")
    return code


BUILTINS: Mapping[str, Builtin] = {
    ".": _source,
    ":": _nothing,
    "break": _break,
    "cd": _cd,
    "command": _type,
    "continue": _break,
    "eval": _eval,
    "exec": _exec,
    "exit": _exit,
    "export": _export,
    "false": _nothing,
    "local": _export,
    "read": _read,
    "readonly": _export,
    "return": _return,
    "set": _set,
    "shift": _shift,
    "source": _source,
    "trap": _nothing,
    "true": _nothing,
    "type": _type,
    "umask": _nothing,
    "unset": _unset,
    "wait": _nothing,
}
"""Name → builtin."""
