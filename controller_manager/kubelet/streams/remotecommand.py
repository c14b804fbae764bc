"""exec and attach: a process of a container, or what its first process prints, on the streams of a session."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj
from controller_manager.kubelet.container.container import Container
from controller_manager.kubelet.container.execution import begin
from controller_manager.kubelet.container.log_output import Printing, command_of, printed
from controller_manager.kubelet.container.runs import Run, container_of
from controller_manager.kubelet.container.syscalls import OUT, Process
from controller_manager.kubelet.pods.behaviour import DOMAIN
from controller_manager.kubelet.pods.commands import INTERPRETERS
from controller_manager.kubelet.pods.containers import KILLED
from controller_manager.kubelet.streams.byte_queue import Inlet
from controller_manager.kubelet.streams.pods import ContainerEndedError, Pods
from controller_manager.kubelet.streams.process_runner import Runner
from controller_manager.kubelet.streams.sessions import SUCCESS, Session, exit_code, exited
from controller_manager.kubelet.streams.terminal import Echo, Interrupted, LineEditor, Typed, shown
from controller_manager.reconcile.contract import Patch, Request, key_of
from controller_manager.reconcile.kinds import POD
from controller_manager.runtime.clock import Clock

log = logging.getLogger("kubelet")

Perform: TypeAlias = Callable[[Request], Awaitable[Any]]
"""Asks the server for something.

Raises:
    ApiError: it refuses.
"""


@dataclass(frozen=True, slots=True)
class RunningContainer:
    """A container that runs, in which something is done."""

    pods: Pods
    clock: Clock
    pod: Obj
    name: str
    run: Run
    perform: Perform

    def box(self) -> Container:
        """The container as its processes see it."""
        return self.pods.container(self.pod, self.name, self.run, self.clock.now())


async def execute(place: RunningContainer, command: tuple[str, ...], session: Session, *, tty: bool) -> Obj:
    """Run a command in a container; the status that it ends with."""
    return await _live(place, session, begin(place.box(), command, terminal=tty), tty=tty)


async def attach(place: RunningContainer, session: Session, *, stdin: bool, tty: bool) -> Obj:
    """What the first process prints from now on; of a shell that reads its input, the shell itself."""
    container = container_of(place.pod, place.name)
    assert container is not None
    if stdin and container.get("stdin"):
        box = place.box()
        command = command_of(container, box)
        if len(command) == 1 and command[0].rpartition("/")[2] in INTERPRETERS:
            status = await _live(place, session, begin(box, command, terminal=tty), tty=tty)
            await _end(place, exit_code(status))
            return SUCCESS
    with suppress(ContainerEndedError):
        async with place.pods.while_running(place.pod, place.name, place.run):
            await _print(place, container, session, tty=tty)
    return SUCCESS


async def _end(place: RunningContainer, code: int) -> None:
    """Let the kubelet end a container whose first process has ended here, by the annotations that it heeds."""
    after = max(place.clock.now() - place.run.started, 0.0)
    wishes = {"exit-after": f"{after:.3f}s", "exit-code": str(code), "exit-times": str(place.run.restarts + 1)}
    meta = place.pod["metadata"]
    annotations = {f"{place.name}.{DOMAIN}/{name}": value for name, value in wishes.items()}
    try:
        await place.perform(
            Patch(POD, key_of(place.pod), {"metadata": {"uid": meta["uid"], "annotations": annotations}})
        )
    except ApiError as error:
        log.info("container %s of %s cannot be told to end: %s", place.name, key_of(place.pod), error)


async def _print(place: RunningContainer, container: Obj, session: Session, *, tty: bool) -> None:
    now = place.clock.now()
    fresh = partial(place.pods.fresh_container, place.pod, place.name, now)
    for line in printed(Printing(place.pod, container, fresh, place.run.started), now):
        if line is None:
            await place.clock.sleep(0)
        elif line.time >= now:
            await place.clock.sleep(max(line.time - place.clock.now(), 0))
            data = line.text + b"\n"
            await session.write(OUT if tty or line.stream == "stdout" else 2, shown(data) if tty else data)
    await asyncio.Event().wait()  # the container prints nothing more, and runs on


async def _live(place: RunningContainer, session: Session, process: Process, *, tty: bool) -> Obj:
    """Run a process until it or its container ends."""
    try:
        async with place.pods.while_running(place.pod, place.name, place.run):
            if tty:
                return exited(await _on_terminal(session, process, place.clock))
            return exited(await Runner(session, place.clock).run(process))
    except ContainerEndedError:
        return exited(KILLED)


class _Terminal:
    """A session whose input is typed: shown, and handed on by lines."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._lines = Inlet()

    async def read(self) -> bytes:
        return await self._lines.read()

    async def write(self, fd: int, data: bytes) -> None:
        del fd  # a terminal has one output
        await self._session.write(OUT, shown(data))

    async def listen(self, runner: Runner) -> None:
        """Take what is typed."""
        editor = LineEditor()
        while data := await self._session.read():
            for event in editor.feed(data):
                match event:
                    case Echo(echo):
                        await self._session.write(OUT, echo)
                    case Typed(b""):
                        self._lines.end()
                    case Typed(line):
                        await self._lines.put(line)
                    case Interrupted():
                        runner.interrupt()
        self._lines.end()


async def _on_terminal(session: Session, process: Process, clock: Clock) -> int:
    terminal = _Terminal(session)
    runner = Runner(terminal, clock)
    async with asyncio.TaskGroup() as group:
        listener = group.create_task(_quietly(terminal.listen(runner)))
        code = await runner.run(process)
        listener.cancel()
    return code


async def _quietly(listening: Coroutine[Any, Any, None]) -> None:
    """Listen, and leave it to the process to notice that the client is gone."""
    with suppress(ConnectionError):
        await listening
