"""Durations and exit codes of containers' commands, as far as the commands are understood."""

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import inf

from apiserver.api.meta import Obj
from controller_manager.kubelet.pods.durations import duration
from controller_manager.reconcile.images import SHELL_IMAGES, Image

INTERPRETERS = frozenset(("sh", "bash", "ash", "dash"))
"""Shells."""
QUICK_PROGRAMS = frozenset(
    (":", "[", "cat", "chmod", "chown", "cp", "date", "echo", "env", "export", "hostname", "id", "ln", "ls", "mkdir")
) | frozenset(("mv", "printenv", "printf", "pwd", "rm", "set", "test", "touch", "trap", "true", "uname", "whoami"))
"""Programs that succeed at once."""

_SEPARATOR = re.compile(r"\s*(&&|\|\||;|\n)\s*")
_LOOP = re.compile(r"(while|until)\b.*")
_BACKGROUND = re.compile(r"(?<![&>])&(?![&>])")


@dataclass(frozen=True, slots=True)
class CommandEnding:
    """The end of a run: after how many seconds, infinity if it never ends, its exit code, and perhaps a reason."""

    after: float = 0.0
    code: int = 0
    reason: str = ""


NEVER_ENDING = CommandEnding(inf)


def ending_of(container: Obj, image: Image) -> CommandEnding | None:
    """Return how a container's command ends, None if it is not understood."""
    command, args = container.get("command"), container.get("args")
    if command:
        return _command_ending((*command, *(args or ())))
    if image.name == "hello-world":
        return CommandEnding()
    if image.name not in SHELL_IMAGES:
        return None
    if args:
        return _command_ending(tuple(args))
    return NEVER_ENDING if container.get("stdin") else CommandEnding()


@lru_cache(maxsize=1024)
def _command_ending(words: tuple[str, ...]) -> CommandEnding | None:
    program, arguments = words[0].rpartition("/")[2], words[1:]
    if program in INTERPRETERS:
        return _interpreter_ending(arguments)
    match program, arguments:
        case "exec", [_, *_]:
            return _command_ending(arguments)
        case "sleep", [_, *_]:
            return _sleep_ending(arguments)
        case "false", _:
            return CommandEnding(code=1)
        case "tail", _ if any(word in ("-f", "-F", "--follow") for word in arguments):
            return NEVER_ENDING
    return CommandEnding() if program in QUICK_PROGRAMS else None


def _sleep_ending(times: Sequence[str]) -> CommandEnding | None:
    try:
        return CommandEnding(sum(duration(text) for text in times))
    except ValueError:
        return None


def _interpreter_ending(arguments: Sequence[str]) -> CommandEnding | None:
    """Return how "sh -c SCRIPT" ends; a shell alone reads from its standard input."""
    for index, word in enumerate(arguments):
        if not word.startswith("-"):
            return None
        if not word.startswith("--") and word.endswith("c"):
            rest = arguments[index + 1 :]
            return _script_ending(rest[0], strict="e" in word) if rest else None
    return NEVER_ENDING


def _script_ending(script: str, *, strict: bool) -> CommandEnding | None:
    """Return how a sequence of simple commands ends; None if a command that runs is not understood."""
    if _BACKGROUND.search(script):
        return None
    after, code, joint = 0.0, 0, ";"
    words = _SEPARATOR.split(script.strip())
    for text, following in zip(words[::2], [*words[1::2], ";"], strict=True):
        skipped = (joint == "&&" and code) or (joint == "||" and not code)
        joint = following
        if skipped or not text or text.startswith("#"):
            continue
        if text.split()[0] == "exit":
            return _exit_ending(text, after, code)
        if text.startswith("set ") and "e" in text.split()[1]:
            strict = True
        ended = _simple_ending(text)
        if ended is None:
            return None
        after, code = after + ended.after, ended.code
        if after == inf or (strict and code and joint != "||"):
            break
    return CommandEnding(after, code)


def _exit_ending(text: str, after: float, code: int) -> CommandEnding | None:
    arguments = text.split()[1:]
    if arguments and not arguments[0].isdecimal():
        return None
    return CommandEnding(after, int(arguments[0]) % 256 if arguments else code)


def _simple_ending(text: str) -> CommandEnding | None:
    if loop := _LOOP.fullmatch(text):
        condition = text.removeprefix(loop[1]).strip()
        return NEVER_ENDING if condition.partition(" ")[0] in ("true", ":", "sleep", "false", "[") else None
    try:
        words = shlex.split(text)
    except ValueError:
        return None
    return _command_ending(tuple(words)) if words else CommandEnding()
