"""A shell that reads its commands from the standard input: line by line, with prompts if it is interactive."""

from collections.abc import Generator
from typing import Any

from controller_manager.kubelet.container.shell.ast import Script
from controller_manager.kubelet.container.shell.builtins import Exit
from controller_manager.kubelet.container.shell.interpreter import Shell
from controller_manager.kubelet.container.shell.lexer import ShellSyntaxError
from controller_manager.kubelet.container.shell.parser import parse
from controller_manager.kubelet.container.shell.state import MAX_VALUE_LENGTH
from controller_manager.kubelet.container.syscalls import (
    ERR,
    INTERRUPTED,
    InterruptedByUser,
    Process,
    Read,
    SystemCall,
    Write,
    bytes_of,
    text_of,
)

CONTINUED = "> "


def read_commands(shell: Shell, *, prompts: bool) -> Process:
    """Run commands until the input ends or they say `exit`; return the exit code of the last one."""
    pending = ""
    while True:
        try:
            if prompts:
                yield Write(ERR, bytes_of(CONTINUED if pending else prompt(shell)))
            line = yield from _line(shell)
            pending += line
            script = _script(pending, final=not line)
            if script is None:
                continue
            pending = ""
            yield from shell.guarded(shell.script(script))
        except ShellSyntaxError as error:
            pending = ""
            shell.state.status = 2
            yield Write(ERR, bytes_of(f"{error}\n"))
            if not prompts:
                return shell.state.status
        except Exit as end:
            return end.code
        except InterruptedByUser:
            pending = ""
            shell.state.status = INTERRUPTED
            yield Write(ERR, b"\n")
            if not prompts:
                return INTERRUPTED
            continue
        if not line:
            return shell.state.status


def prompt(shell: Shell) -> str:
    """Return the prompt like busybox: the directory, and # for root."""
    state = shell.state
    where = state.directory
    home = state.variables.get("HOME", "")
    where = "~" if home and where == home else where
    return f"{where} {'#' if state.container.user == 0 else '$'} "


def _script(text: str, *, final: bool) -> Script | None:
    """Parse the commands of a text, None if more lines are needed.

    Raises:
        ShellSyntaxError: it is invalid, and more lines do not change that.
    """
    if len(text) > MAX_VALUE_LENGTH:
        raise ShellSyntaxError("sh: out of memory")
    if text.endswith("\\\n") and not final:
        return None
    try:
        return parse(text)
    except ShellSyntaxError as error:
        if error.incomplete and not final:
            return None
        raise


def _line(shell: Shell) -> Generator[SystemCall, Any, str]:
    """Return the next line with its newline; "" at the end of the input."""
    while b"\n" not in shell.unread:
        data = yield Read()
        if not data:
            rest, shell.unread = shell.unread, b""
            return text_of(rest)
        shell.unread += data
        if len(shell.unread) > MAX_VALUE_LENGTH:
            raise ShellSyntaxError("sh: out of memory")
    line, _, shell.unread = shell.unread.partition(b"\n")
    return text_of(line) + "\n"
