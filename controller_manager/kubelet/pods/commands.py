"""Commands of containers, as far as they are understood: how long they run, and with what they end."""

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import inf

from apiserver.api.meta import Obj
from controller_manager.kubelet.pods.durations import duration
from controller_manager.reconcile.images import SHELLS, Image

INTERPRETERS = frozenset(("sh", "bash", "ash", "dash"))
"""Programs that are a shell."""
QUICK = frozenset(
    (":", "[", "cat", "chmod", "chown", "cp", "date", "echo", "env", "export", "hostname", "id", "ln", "ls", "mkdir")
) | frozenset(("mv", "printenv", "printf", "pwd", "rm", "set", "test", "touch", "trap", "true", "uname", "whoami"))
"""Programs that end well at once."""

_JOINT = re.compile(r"\s*(&&|\|\||;|\n)\s*")
_LOOP = re.compile(r"(while|until)\b.*")
_BACKGROUND = re.compile(r"(?<![&>])&(?![&>])")


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run ends: after so many seconds, infinitely many where it runs on, with a code and perhaps a reason."""

    after: float = 0.0
    code: int = 0
    reason: str = ""


RUNS_ON = Ending(inf)


def ending_of(container: Obj, image: Image) -> Ending | None:
    """How a container's command ends, None where it is not understood."""
    command, args = container.get("command"), container.get("args")
    if command:
        return _of_command((*command, *(args or ())))
    if image.name == "hello-world":
        return Ending()
    if image.name not in SHELLS:
        return None
    if args:
        return _of_command(tuple(args))
    return RUNS_ON if container.get("stdin") else Ending()


@lru_cache(maxsize=1024)
def _of_command(words: tuple[str, ...]) -> Ending | None:
    program, arguments = words[0].rpartition("/")[2], words[1:]
    if program in INTERPRETERS:
        return _of_interpreter(arguments)
    match program, arguments:
        case "exec", [_, *_]:
            return _of_command(arguments)
        case "sleep", [_, *_]:
            return _slept(arguments)
        case "false", _:
            return Ending(code=1)
        case "tail", _ if any(word in ("-f", "-F", "--follow") for word in arguments):
            return RUNS_ON
    return Ending() if program in QUICK else None


def _slept(times: Sequence[str]) -> Ending | None:
    try:
        return Ending(sum(duration(text) for text in times))
    except ValueError:
        return None


def _of_interpreter(arguments: Sequence[str]) -> Ending | None:
    """Of "sh -c SCRIPT"; a shell alone reads from its standard input."""
    for index, word in enumerate(arguments):
        if not word.startswith("-"):
            return None
        if not word.startswith("--") and word.endswith("c"):
            rest = arguments[index + 1 :]
            return _of_script(rest[0], strict="e" in word) if rest else None
    return RUNS_ON


def _of_script(script: str, *, strict: bool) -> Ending | None:
    """Of a row of simple commands; None as soon as one of those that run is not understood."""
    if _BACKGROUND.search(script):
        return None
    after, code, joint = 0.0, 0, ";"
    words = _JOINT.split(script.strip())
    for text, following in zip(words[::2], [*words[1::2], ";"], strict=True):
        skipped = (joint == "&&" and code) or (joint == "||" and not code)
        joint = following
        if skipped or not text or text.startswith("#"):
            continue
        if text.split()[0] == "exit":
            return _exit(text, after, code)
        if text.startswith("set ") and "e" in text.split()[1]:
            strict = True
        ended = _of_simple(text)
        if ended is None:
            return None
        after, code = after + ended.after, ended.code
        if after == inf or (strict and code and joint != "||"):
            break
    return Ending(after, code)


def _exit(text: str, after: float, code: int) -> Ending | None:
    said = text.split()[1:]
    if said and not said[0].isdecimal():
        return None
    return Ending(after, int(said[0]) % 256 if said else code)


def _of_simple(text: str) -> Ending | None:
    if loop := _LOOP.fullmatch(text):
        condition = text.removeprefix(loop[1]).strip()
        return RUNS_ON if condition.partition(" ")[0] in ("true", ":", "sleep", "false", "[") else None
    try:
        words = shlex.split(text)
    except ValueError:
        return None
    return _of_command(tuple(words)) if words else Ending()
