"""What a container's first process prints: as an annotation says, as its command does, or a line that it has started.

Lines come with the time at which they are printed, in order, and perhaps without end; nothing of them is kept, since
the same container prints the same every time it is asked.
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
"""Annotations mockube.io/logs and mockube.io/log-every: a text, and the time after which it is printed again."""
SHORTEST = 0.01
"""Seconds between two printings of a text."""
LONGEST_LINE = 16 * 1024
"""Bytes after which a line is broken (the container runtimes' limit)."""
STEPS = 100_000
"""How many steps of a first process are followed; then it is taken to be silent."""
KEPT = 20_000
"""How many repetitions of a text are kept."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a log, without its end."""

    time: float
    text: bytes
    stream: str = "stdout"


@dataclass(frozen=True, slots=True)
class Printing:
    """What prints: a container of a pod, and when it started.

    Attributes:
        box: makes the container as it is when it starts, which not everything that prints needs.
    """

    pod: Obj
    container: Obj
    box: Callable[[], Container]
    started: float


def printed(printing: Printing, now: float) -> Iterator[Line | None]:
    """The lines of a container from its start on; None wherever much has been done without a line.

    Args:
        printing: what prints.
        now: the time; of a text that is printed again and again, only the later part of what was before is told.
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
    """The command line of the first process, as far as the pod tells it."""
    return tuple(expanded(word, box.environment) for word in _words(container))


def _words(container: Obj) -> Sequence[str]:
    """The words of that line, as the pod has them."""
    command, args = container.get("command") or (), container.get("args") or ()
    if command:
        return (*command, *args)
    if image_of(container.get("image") or "").name not in SHELLS:
        return ()
    return args or ("sh",)


def _annotation(printing: Printing, name: str) -> str | None:
    annotations = annotations_of(printing.pod)
    found: str | None = annotations.get(f"{printing.container['name']}.{DOMAIN}/{name}")
    return found if found is not None or _has_to_end(printing) else annotations.get(f"{DOMAIN}/{name}")


def _has_to_end(printing: Printing) -> bool:
    """Whether it is an init container, and none that goes on: those heed only what names them."""
    name = printing.container["name"]
    init = printing.pod["spec"].get("initContainers") or ()
    return any(each["name"] == name and each.get("restartPolicy") != "Always" for each in init)


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
    """The lines of a process, which is run in a time of its own; it has no input."""
    now = started
    answer: float | bytes | None = None
    unfinished = {fd: bytearray() for fd in (1, 2)}
    found: deque[Line] = deque()
    try:
        for step in range(STEPS):
            effect = process.send(answer)
            answer = None
            match effect:
                case Write(fd, data):
                    found += _lines(unfinished[fd], data, now, "stdout" if fd == OUT else "stderr")
                case Sleep(seconds):
                    now += seconds
                case Now():
                    answer = now
                case Read():
                    answer = b""
            while found:
                yield found.popleft()
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
