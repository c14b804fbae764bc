"""The shell's own commands, which change its state: cd, export, set, exit and the like (POSIX shell, 2.14)."""

from collections.abc import Callable, Mapping
from typing import Protocol, TypeAlias

from controller_manager.kubelet.container.files import IS_DIRECTORY, Directory, FileError, absolute
from controller_manager.kubelet.container.shell.state import State
from controller_manager.kubelet.container.syscalls import (
    FAILED,
    MISUSED,
    NOT_FOUND,
    Process,
    Read,
    complain,
    say,
    text_of,
)


class Exit(Exception):  # noqa: N818 - this and those below are leaps, not errors
    """The shell ends."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class Return(Exception):  # noqa: N818
    """A function, or a script that was read in, ends."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class Break(Exception):  # noqa: N818
    """Loops end, so many of them."""

    def __init__(self, count: int = 1) -> None:
        super().__init__(count)
        self.count = count

    def pass_on(self) -> None:
        """Leap on where more than one loop is meant.

        Raises:
            Break: it is.
        """
        if self.count > 1:
            raise type(self)(self.count - 1) from None


class Continue(Break):
    """The next round of a loop begins, after those within it have ended; caught before Break."""


class RunningShell(Protocol):
    """What the shell's own commands need of the shell that runs them; `interpreter.Shell` is the only one.

    Attributes:
        state: variables, functions, options and where it is.
        unread: what it has read beyond the line that was asked for.
    """

    state: State
    unread: bytes

    def source(self, text: str) -> Process:
        """Run a text as commands."""
        ...

    def called(self, name: str, arguments: tuple[str, ...], values: Mapping[str, str]) -> Process:
        """Run a command by its name, with variables set for it alone."""
        ...


Own: TypeAlias = Callable[[RunningShell, str, tuple[str, ...]], Process]
"""A command of the shell's own: called in a shell, by a name, with arguments."""


def _nothing(_: RunningShell, name: str, __: tuple[str, ...]) -> Process:
    return int(name == "false")
    yield


def _exit(shell: RunningShell, _: str, arguments: tuple[str, ...]) -> Process:
    raise Exit(_code(arguments, shell.state.status))
    yield


def _return(shell: RunningShell, _: str, arguments: tuple[str, ...]) -> Process:
    raise Return(_code(arguments, shell.state.status))
    yield


def _leap(_: RunningShell, name: str, arguments: tuple[str, ...]) -> Process:
    raise (Break if name == "break" else Continue)(max(_code(arguments, 1), 1))
    yield


def _code(arguments: tuple[str, ...], default: int) -> int:
    text = arguments[0] if arguments else ""
    if not text:
        return default
    return int(text) & 255 if text.isascii() and text.isdecimal() and len(text) < 10 else MISUSED


def _cd(shell: RunningShell, _: str, arguments: tuple[str, ...]) -> Process:
    state = shell.state
    wanted = arguments[0] if arguments else state.variables.get("HOME", "/")
    wanted = state.variables.get("OLDPWD", "/") if wanted == "-" else wanted
    path = _normal(absolute(wanted, state.directory))
    try:
        node = state.container.files.get(path)
    except FileError as error:
        yield complain(f"sh: cd: can't cd to {wanted}: {error.why}")
        return MISUSED
    if not isinstance(node, Directory):
        yield complain(f"sh: cd: can't cd to {wanted}: Not a directory")
        return MISUSED
    state.variables["OLDPWD"] = state.directory
    state.directory = state.variables["PWD"] = path
    return 0


def _normal(path: str) -> str:
    """A path without "." and "..", as the shell remembers where it is."""
    found: list[str] = []
    for name in path.split("/"):
        if name == "..":
            del found[-1:]
        elif name not in ("", "."):
            found.append(name)
    return "/" + "/".join(found)


def _export(shell: RunningShell, name: str, arguments: tuple[str, ...]) -> Process:
    """`export` and `readonly` and `local`, of which only the first says who else sees a variable."""
    state = shell.state
    if not arguments or arguments == ("-p",):
        for variable in sorted(state.exported & state.variables.keys()):
            yield say(f"{name} {variable}='{state.variables[variable]}'")
    for argument in arguments:
        variable, sign, value = argument.partition("=")
        if not variable.isidentifier():
            if not argument.startswith("-"):
                yield complain(f"sh: {name}: {argument}: bad variable name")
                return MISUSED
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
            yield say(f"{name}='{state.variables[name]}'")
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
    """Read a line into variables, the last of which gets the rest; what was read beyond the line is kept for later."""
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
        yield complain(f"sh: {name}: can't open '{path}': {error.why}")
        return MISUSED if error.why != IS_DIRECTORY else FAILED
    try:
        return (yield from shell.source(text))
    except Return as end:
        return end.code


def _exec(shell: RunningShell, _: str, arguments: tuple[str, ...]) -> Process:
    if not arguments:
        return 0
    code = yield from shell.called(arguments[0], arguments[1:], {})
    raise Exit(code)


def _type(shell: RunningShell, name: str, arguments: tuple[str, ...]) -> Process:
    """`type`, and `command`, which also runs."""
    if name == "command" and arguments[:1] not in (("-v",), ("-V",)):
        return (yield from shell.called(arguments[0], arguments[1:], {})) if arguments else 0
    code = 0
    for word in arguments:
        if word.startswith("-"):
            continue
        where = f"/bin/{word}"
        if word in BUILTINS or word in shell.state.functions:
            yield say(word if name == "command" else f"{word} is a shell builtin")
        elif shell.state.container.files.find(where) is not None:
            yield say(where if name == "command" else f"{word} is {where}")
        else:
            code = NOT_FOUND
            if name == "type":
                yield complain(f"{word}: not found")
    return code


BUILTINS: Mapping[str, Own] = {
    ".": _source,
    ":": _nothing,
    "break": _leap,
    "cd": _cd,
    "command": _type,
    "continue": _leap,
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
"""Name → what the shell does itself."""
