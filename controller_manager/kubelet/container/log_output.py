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
from controller_manager.kubelet.container.downward_api import expanded
from controller_manager.kubelet.container.execution import begin, is_known
from controller_manager.kubelet.container.syscalls import OUT, Now, Process, Read, Sleep, Write, bytes_of
from controller_manager.kubelet.pods.behaviour import DOMAIN
from controller_manager.kubelet.pods.durations import duration
from controller_manager.reconcile.images import SHELLS, image_of

LOGS, EVERY = "logs", "log-every"
"""The annotations mockube.io/logs and mockube.io/log-every: a text, and the period after which it is printed again."""
SHORTEST = 0.01
"""The minimum of seconds between two repetitions of a text."""
LONGEST_LINE = 16 * 1024
"""The bytes after which a line is broken (the container runtimes' limit)."""
STEPS = 100_000
"""The number of steps for which a first process is followed; then it is taken to be silent."""
KEPT = 20_000
"""The number of repetitions of a text that are kept."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a log, without the newline."""

    time: float
    text: bytes
    stream: str = "stdout"


@dataclass(frozen=True, slots=True)
class Printing:
    """The source of a log: a container of a pod, and when it started.

    Attributes:
        box: makes the container as it starts, which not every source needs.
    """

    pod: Obj
    container: Obj
    box: Callable[[], Container]
    started: float


def printed(printing: Printing, now: float) -> Iterator[Line | None]:
    """Yield the lines of a container from its start on, and None after much work without a line.

    Args:
        printing: the source.
        now: the time; of a text that is repeated, only the last repetitions before it are yielded.
    """
    text = _annotation(printing, LOGS)
    if text is not None:
        return _repeated(text, printing.started, _period(printing), now)
    if _words(printing.container):
        box = printing.box()
        command = command_of(printing.container, box)
        if is_known(command):
            return _of_process(begin(replace(box, lenient=True), command), printing.started)
    return iter([_greeting(printing)])


def command_of(container: Obj, box: Container) -> tuple[str, ...]:
    """Return the command line of the first process, as far as the pod has it."""
    return tuple(expanded(word, box.environment) for word in _words(container))


def _words(container: Obj) -> Sequence[str]:
    """Return the words of that command line before expansion."""
    command, args = container.get("command") or (), container.get("args") or ()
    if command:
        return (*command, *args)
    if image_of(container.get("image") or "").name not in SHELLS:
        return ()
    return args or ("sh",)


def _annotation(printing: Printing, name: str) -> str | None:
    annotations = annotations_of(printing.pod)
    value: str | None = annotations.get(f"{printing.container['name']}.{DOMAIN}/{name}")
    return value if value is not None or _has_to_end(printing) else annotations.get(f"{DOMAIN}/{name}")


def _has_to_end(printing: Printing) -> bool:
    """Return True for an init container that is not a sidecar; only annotations with its name apply to it."""
    name = printing.container["name"]
    init = printing.pod["spec"].get("initContainers") or ()
    return any(c["name"] == name and c.get("restartPolicy") != "Always" for c in init)


def _period(printing: Printing) -> float:
    try:
        return max(duration(_annotation(printing, EVERY) or "never"), SHORTEST)
    except ValueError:
        return inf


def _repeated(text: str, started: float, period: float, now: float) -> Iterator[Line]:
    lines = bytes_of(text).splitlines()
    if period == inf:
        yield from (Line(started, line) for line in lines)
        return
    number = max(0, int((now - started) / period) - KEPT)
    while lines:
        yield from (Line(started + number * period, line) for line in lines)
        number += 1


def _greeting(printing: Printing) -> Line:
    meta, name = printing.pod["metadata"], printing.container["name"]
    where = f"{meta.get('namespace', 'default')}/{meta['name']}"
    node = printing.pod["spec"].get("nodeName", "")
    image = printing.container.get("image", "")
    return Line(printing.started, f"mockube: container {name} ({image}) of pod {where} started on {node}".encode())


def _of_process(process: Process, started: float) -> Iterator[Line | None]:
    """Yield the lines of a process, which runs in its own time and has no input."""
    now = started
    answer: float | bytes | None = None
    unfinished = {fd: bytearray() for fd in (1, 2)}
    lines: deque[Line] = deque()
    try:
        for step in range(STEPS):
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
    yield from (Line(now, bytes(rest), "stdout" if fd == OUT else "stderr") for fd, rest in unfinished.items() if rest)


def _lines(unfinished: bytearray, data: bytes, now: float, stream: str) -> Iterator[Line]:
    unfinished += data
    *whole, rest = bytes(unfinished).split(b"\n")
    while len(rest) > LONGEST_LINE:
        whole.append(rest[:LONGEST_LINE])
        rest = rest[LONGEST_LINE:]
    unfinished[:] = rest
    return (Line(now, line, stream) for line in whole)
