"""The output of a container's first process: from an annotation, its command, or a line that says it has started.

Lines have the time at which they are printed, come in order, and may be endless; none are stored, since the same
container prints the same each time.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf

from apiserver.api.meta import Obj, annotations_of
from controller_manager.kubelet.container.container import Container
from controller_manager.kubelet.container.downward_api import expand
from controller_manager.kubelet.container.execution import execute, is_known
from controller_manager.kubelet.container.syscalls import OUT, Now, Process, Read, Sleep, Write, bytes_of
from controller_manager.kubelet.pods.behaviour import ANNOTATION_DOMAIN
from controller_manager.kubelet.pods.durations import duration
from controller_manager.reconcile.images import SHELL_IMAGES, image_of

LOGS_ANNOTATION, PERIOD_ANNOTATION = "logs", "log-every"
"""The annotations mockube.io/logs and mockube.io/log-every: a text, and the period after which it is printed again."""
MIN_PERIOD = 0.01
"""The minimum of seconds between two repetitions of a text."""
MAX_LINE_LENGTH = 16 * 1024
"""The bytes after which a line is broken (the container runtimes' limit)."""
MAX_STEPS = 100_000
"""The number of steps for which a first process is followed; then it is taken to be silent."""
MAX_REPETITIONS = 20_000
"""The number of repetitions of a text that are kept."""


@dataclass(frozen=True, slots=True)
class LogLine:
    """A line of a log, without the newline."""

    time: float
    text: bytes
    stream: str = "stdout"


@dataclass(frozen=True, slots=True)
class LogSource:
    """The source of a log: a container of a pod, and when it started.

    Attributes:
        new_container: makes the container as it starts, which not every source needs.
    """

    pod: Obj
    container: Obj
    new_container: Callable[[], Container]
    started: float


def log_lines(source: LogSource, now: float) -> Iterator[LogLine | None]:
    """Yield the lines of a container from its start on, and None after much work without a line.

    Args:
        source: the source.
        now: the time; of a text that is repeated, only the last repetitions before it are yielded.
    """
    text = _annotation(source, LOGS_ANNOTATION)
    if text is not None:
        return _repeated(text, source.started, _period(source), now)
    if _words(source.container):
        simulated = source.new_container()
        command = command_of(source.container, simulated)
        if is_known(command):
            return _of_process(execute(replace(simulated, lenient=True), command), source.started)
    return iter([_greeting(source)])


def command_of(container: Obj, simulated: Container) -> tuple[str, ...]:
    """Return the command line of the first process, as far as the pod has it."""
    return tuple(expand(word, simulated.environment) for word in _words(container))


def _words(container: Obj) -> Sequence[str]:
    """Return the words of that command line before expansion."""
    command, args = container.get("command") or (), container.get("args") or ()
    if command:
        return (*command, *args)
    if image_of(container.get("image") or "").name not in SHELL_IMAGES:
        return ()
    return args or ("sh",)


def _annotation(source: LogSource, name: str) -> str | None:
    annotations = annotations_of(source.pod)
    value: str | None = annotations.get(f"{source.container['name']}.{ANNOTATION_DOMAIN}/{name}")
    return value if value is not None or _ends_by_itself(source) else annotations.get(f"{ANNOTATION_DOMAIN}/{name}")


def _ends_by_itself(source: LogSource) -> bool:
    """Return True for an init container that is not a sidecar; only annotations with its name apply to it."""
    name = source.container["name"]
    init = source.pod["spec"].get("initContainers") or ()
    return any(c["name"] == name and c.get("restartPolicy") != "Always" for c in init)


def _period(source: LogSource) -> float:
    try:
        return max(duration(_annotation(source, PERIOD_ANNOTATION) or "never"), MIN_PERIOD)
    except ValueError:
        return inf


def _repeated(text: str, started: float, period: float, now: float) -> Iterator[LogLine]:
    lines = bytes_of(text).splitlines()
    if period == inf:
        yield from (LogLine(started, line) for line in lines)
        return
    number = max(0, int((now - started) / period) - MAX_REPETITIONS)
    while lines:
        yield from (LogLine(started + number * period, line) for line in lines)
        number += 1


def _greeting(source: LogSource) -> LogLine:
    meta, name = source.pod["metadata"], source.container["name"]
    where = f"{meta.get('namespace', 'default')}/{meta['name']}"
    node = source.pod["spec"].get("nodeName", "")
    image = source.container.get("image", "")
    return LogLine(source.started, f"mockube: container {name} ({image}) of pod {where} started on {node}".encode())


def _of_process(process: Process, started: float) -> Iterator[LogLine | None]:
    """Yield the lines of a process, which runs in its own time and has no input."""
    now = started
    answer: float | bytes | None = None
    unfinished = {fd: bytearray() for fd in (1, 2)}
    lines: deque[LogLine] = deque()
    try:
        for step in range(MAX_STEPS):
            effect = process.send(answer)
            answer = None
            match effect:
                case Write(fd, data):
                    lines += _lines(unfinished[fd], data, now, "stdout" if fd == OUT else "stderr")
                case Sleep(seconds):
                    now += seconds
                case Now():
                    answer = now
                case Read():
                    answer = b""
            while lines:
                yield lines.popleft()
            if step % 200 == 0:
                yield None
    except StopIteration:
        pass
    finally:
        process.close()
    yield from (
        LogLine(now, bytes(rest), "stdout" if fd == OUT else "stderr") for fd, rest in unfinished.items() if rest
    )


def _lines(unfinished: bytearray, data: bytes, now: float, stream: str) -> Iterator[LogLine]:
    unfinished += data
    *whole, rest = bytes(unfinished).split(b"\n")
    while len(rest) > MAX_LINE_LENGTH:
        whole.append(rest[:MAX_LINE_LENGTH])
        rest = rest[MAX_LINE_LENGTH:]
    unfinished[:] = rest
    return (LogLine(now, line, stream) for line in whole)
