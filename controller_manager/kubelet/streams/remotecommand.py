"""exec and attach: a process in a container, or its first process' output, on the streams of a session."""

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
from controller_manager.kubelet.container.execution import execute
from controller_manager.kubelet.container.log_output import LogSource, command_of, log_lines
from controller_manager.kubelet.container.runs import ContainerRun, container_of
from controller_manager.kubelet.container.syscalls import OUT, Process
from controller_manager.kubelet.pods.behaviour import ANNOTATION_DOMAIN
from controller_manager.kubelet.pods.commands import INTERPRETERS
from controller_manager.kubelet.pods.containers import SIGKILL_CODE
from controller_manager.kubelet.streams.byte_queue import ByteQueue
from controller_manager.kubelet.streams.pods import ContainerEndedError, PodStore
from controller_manager.kubelet.streams.process_runner import ProcessRunner
from controller_manager.kubelet.streams.sessions import SUCCESS, Session, exit_code, exited
from controller_manager.kubelet.streams.terminal import Echo, InputLine, Interrupt, LineEditor, shown
from controller_manager.reconcile.contract import Patch, Request, key_of
from controller_manager.reconcile.kinds import POD
from controller_manager.runtime.clock import Clock

log = logging.getLogger("kubelet")

Perform: TypeAlias = Callable[[Request], Awaitable[Any]]
"""Sends a request to the API server.

Raises:
    ApiError: the request is refused.
"""


@dataclass(frozen=True, slots=True)
class RunningContainer:
    """A running container, and what is needed to run something in it."""

    pods: PodStore
    clock: Clock
    pod: Obj
    name: str
    run: ContainerRun
    perform: Perform

    def container(self) -> Container:
        """Return the container as its processes see it."""
        return self.pods.container(self.pod, self.name, self.run, self.clock.now())


async def exec_in_container(
    running_container: RunningContainer, command: tuple[str, ...], session: Session, *, tty: bool
) -> Obj:
    """Run a command in a container; return its final status."""
    return await _run_process(
        running_container, session, execute(running_container.container(), command, terminal=tty), tty=tty
    )


async def attach(running_container: RunningContainer, session: Session, *, stdin: bool, tty: bool) -> Obj:
    """Stream the first process' output from now on; if it is a shell that reads its input, run the shell itself."""
    container = container_of(running_container.pod, running_container.name)
    assert container is not None
    if stdin and container.get("stdin"):
        simulated = running_container.container()
        command = command_of(container, simulated)
        if len(command) == 1 and command[0].rpartition("/")[2] in INTERPRETERS:
            status = await _run_process(running_container, session, execute(simulated, command, terminal=tty), tty=tty)
            await _end(running_container, exit_code(status))
            return SUCCESS
    with suppress(ContainerEndedError):
        async with running_container.pods.while_running(
            running_container.pod, running_container.name, running_container.run
        ):
            await _print(running_container, container, session, tty=tty)
    return SUCCESS


async def _end(running_container: RunningContainer, code: int) -> None:
    """Let the kubelet end a container whose first process has ended here, by setting annotations that it obeys."""
    after = max(running_container.clock.now() - running_container.run.started, 0.0)
    overrides = {
        "exit-after": f"{after:.3f}s",
        "exit-code": str(code),
        "exit-times": str(running_container.run.restarts + 1),
    }
    meta = running_container.pod["metadata"]
    annotations = {f"{running_container.name}.{ANNOTATION_DOMAIN}/{name}": value for name, value in overrides.items()}
    try:
        await running_container.perform(
            Patch(POD, key_of(running_container.pod), {"metadata": {"uid": meta["uid"], "annotations": annotations}})
        )
    except ApiError as error:
        log.info(
            "container %s of %s cannot be told to end: %s", running_container.name, key_of(running_container.pod), error
        )


async def _print(running_container: RunningContainer, container: Obj, session: Session, *, tty: bool) -> None:
    now = running_container.clock.now()
    fresh = partial(running_container.pods.new_container, running_container.pod, running_container.name, now)
    for line in log_lines(LogSource(running_container.pod, container, fresh, running_container.run.started), now):
        if line is None:
            await running_container.clock.sleep(0)
        elif line.time >= now:
            await running_container.clock.sleep(max(line.time - running_container.clock.now(), 0))
            data = line.text + b"\n"
            await session.write(OUT if tty or line.stream == "stdout" else 2, shown(data) if tty else data)
    await asyncio.Event().wait()  # the container prints nothing more, and runs on


async def _run_process(running_container: RunningContainer, session: Session, process: Process, *, tty: bool) -> Obj:
    """Run a process until it or its container ends."""
    try:
        async with running_container.pods.while_running(
            running_container.pod, running_container.name, running_container.run
        ):
            if tty:
                return exited(await _run_on_terminal(session, process, running_container.clock))
            return exited(await ProcessRunner(session, running_container.clock).run(process))
    except ContainerEndedError:
        return exited(SIGKILL_CODE)


class _Terminal:
    """A session with a terminal: input is echoed, and passed on line by line."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._lines = ByteQueue()

    async def read(self) -> bytes:
        return await self._lines.read()

    async def write(self, fd: int, data: bytes) -> None:
        del fd  # a terminal has one output
        await self._session.write(OUT, shown(data))

    async def listen(self, runner: ProcessRunner) -> None:
        """Receive what is typed."""
        editor = LineEditor()
        while data := await self._session.read():
            for event in editor.feed(data):
                match event:
                    case Echo(echo):
                        await self._session.write(OUT, echo)
                    case InputLine(b""):
                        self._lines.end()
                    case InputLine(line):
                        await self._lines.put(line)
                    case Interrupt():
                        runner.interrupt()
        self._lines.end()


async def _run_on_terminal(session: Session, process: Process, clock: Clock) -> int:
    terminal = _Terminal(session)
    runner = ProcessRunner(terminal, clock)
    async with asyncio.TaskGroup() as group:
        listener = group.create_task(_ignore_disconnect(terminal.listen(runner)))
        code = await runner.run(process)
        listener.cancel()
    return code


async def _ignore_disconnect(listening: Coroutine[Any, Any, None]) -> None:
    """Listen, and let the process notice that the client is gone."""
    with suppress(ConnectionError):
        await listening
