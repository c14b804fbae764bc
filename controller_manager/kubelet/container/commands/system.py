"""Commands about the container itself: date, env, hostname, id, ps, pwd, sleep, uname, which and their like."""

import re
from datetime import UTC, datetime

from controller_manager.kubelet.container.commands.call import UsageError, options
from controller_manager.kubelet.container.container import Call
from controller_manager.kubelet.container.files import File
from controller_manager.kubelet.container.syscalls import FAILED, Now, Process, Sleep, write_error, write_line

_SECONDS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_MAX_SLEEP = 1e9
_DURATION = re.compile(r"(\d{1,12}(?:\.\d{0,9})?|\.\d{1,9})([smhd]?)")
_FOR_EVER = frozenset(("inf", "infinity"))
_DATE = re.compile(r"%(.)")
_DATE_LETTERS = {
    "F": "%Y-%m-%d",
    "T": "%H:%M:%S",
    "D": "%m/%d/%y",
    "R": "%H:%M",
    "e": "%d",
    "h": "%b",
    "z": "+0000",
    "Z": "UTC",
    "n": "\n",
    "t": "\t",
    "%": "%%",
}
_PLAIN_DATE = frozenset("YymdHIMSpabABjuwyUW")


def true(_: Call) -> Process:
    """Do nothing, and succeed."""
    return 0
    yield


def false(_: Call) -> Process:
    """Do nothing, and fail."""
    return FAILED
    yield


def ignored(_: Call) -> Process:
    """Do nothing: the command has no effect in a simulation, and succeeds."""
    return 0
    yield


def date(call: Call) -> Process:
    """Print the time in UTC, in the format after "+" if there is one."""
    parsed = options(call, "uR", "dI")
    now = yield Now()
    moment = datetime.fromtimestamp(now, UTC)
    form = next((text for text in parsed.operands if text.startswith("+")), "")
    if form:
        yield write_line(_formatted(form[1:], moment, now))
    elif "R" in parsed.letters:
        yield write_line(moment.strftime("%a, %d %b %Y %H:%M:%S +0000"))
    elif "I" in parsed.values:
        yield write_line(moment.strftime("%Y-%m-%dT%H:%M:%S+00:00"))
    else:
        yield write_line(moment.strftime("%a %b %e %H:%M:%S UTC %Y"))
    return 0


def _formatted(form: str, moment: datetime, now: float) -> str:
    def one(match: "re.Match[str]") -> str:
        letter = match[1]
        if letter == "s":
            return str(int(now))
        if letter == "N":
            return f"{int(now % 1 * 1e9):09d}"
        if letter in _DATE_LETTERS:
            return moment.strftime(_DATE_LETTERS[letter])
        return moment.strftime(match[0]) if letter in _PLAIN_DATE else match[0]

    return _DATE.sub(one, form)


def env(call: Call) -> Process:
    """Print the environment, or with `printenv` some variables."""
    names = [text for text in call.arguments if not text.startswith("-")]
    if names:
        for name in names:
            if name not in call.environment:
                return FAILED
            yield write_line(call.environment[name])
        return 0
    for name, value in call.environment.items():
        yield write_line(f"{name}={value}")
    return 0


def hostname(call: Call) -> Process:
    """Print the host name."""
    yield write_line(call.container.hostname)
    return 0


def uname(call: Call) -> Process:
    """Print the system, as selected by letters."""
    letters = options(call, "asnrvmo").letters or {"s"}
    facts = {
        "s": "Linux",
        "n": call.container.hostname,
        "r": "6.1.0-mockube",
        "v": "#1 SMP",
        "m": "x86_64",
        "o": "GNU/Linux",
    }
    yield write_line(" ".join(fact for letter, fact in facts.items() if letter in letters or "a" in letters))
    return 0


def identity(call: Call) -> Process:
    """`id`: print the user."""
    letters = options(call, "ugnG").letters
    user, group = call.container.user, call.container.group
    if "u" in letters:
        yield write_line(_user_name(user) if "n" in letters else str(user))
    elif letters & {"g", "G"}:
        yield write_line(_user_name(group) if "n" in letters else str(group))
    else:
        yield write_line(f"uid={_named(user)} gid={_named(group)} groups={_named(group)}")
    return 0


def whoami(call: Call) -> Process:
    """Print the user's name."""
    if call.container.user != 0:
        yield write_error(f"whoami: unknown uid {call.container.user}")
        return FAILED
    yield write_line("root")
    return 0


def _named(number: int) -> str:
    return f"{number}(root)" if number == 0 else str(number)


def _user_name(number: int) -> str:
    return "root" if number == 0 else str(number)


def ps(call: Call) -> Process:
    """Print the container's first process and this one."""
    yield write_line("PID   USER     TIME  COMMAND")
    first = " ".join(call.container.command) or "(main)"
    owner = _user_name(call.container.user)
    yield write_line(f"    1 {owner:<8}  0:00 {first}")
    yield write_line(f"    7 {owner:<8}  0:00 {' '.join([call.name, *call.arguments])}")
    return 0


def pwd(call: Call) -> Process:
    """Print the working directory."""
    yield write_line(call.directory)
    return 0


def sleep(call: Call) -> Process:
    """Sleep; several durations are added up."""
    if not call.arguments:
        raise UsageError("missing operand")
    total = 0.0
    for text in call.arguments:
        match = _DURATION.fullmatch(text)
        if match is None and text not in _FOR_EVER:
            raise UsageError(f"invalid number '{text}'")
        total += float(match[1]) * _SECONDS[match[2]] if match else _MAX_SLEEP
    yield Sleep(min(total, _MAX_SLEEP))
    return 0


def which(call: Call) -> Process:
    """Print where commands are."""
    code = 0
    for name in call.arguments:
        if isinstance(call.files.find(f"/bin/{name}"), File):
            yield write_line(f"/bin/{name}")
        else:
            code = FAILED
    return code


def basename(call: Call) -> Process:
    """Print the last component of a path, or with `dirname` what comes before it."""
    if not call.arguments:
        raise UsageError("missing operand")
    path = call.arguments[0].rstrip("/") or "/"
    before, _, name = path.rpartition("/")
    if call.name.endswith("dirname"):
        yield write_line(before or ("/" if path.startswith("/") else "."))
    else:
        yield write_line((name or "/").removesuffix(call.arguments[1]) if len(call.arguments) > 1 else name or "/")
    return 0
