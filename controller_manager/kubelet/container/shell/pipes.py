"""Processes put together: one reads what the other writes, and files in place of the standard streams."""

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from controller_manager.kubelet.container.files import File, FileError, Files
from controller_manager.kubelet.container.shell.state import check_size
from controller_manager.kubelet.container.syscalls import OUT, Effect, Now, Process, Read, Write


@dataclass(frozen=True, slots=True)
class Into:
    """A file that is written to."""

    file: File
    files: Files


Target: TypeAlias = int | Into
"""Where what is written goes: to a file descriptor of whoever runs the process, or into a file."""


def piped(source: Process, sink: Process) -> Process:
    """Two processes of which the second reads what the first puts out; its exit code.

    The first goes on only when the second reads, and ends when nobody reads any more (SIGPIPE), so it may be endless.
    """
    tried = False
    try:
        effect = next(sink)
        while True:
            if isinstance(effect, Read):
                tried = True
                answer = yield from _next_output(source)
            else:
                answer = yield effect
            effect = sink.send(answer)
    except StopIteration as end:
        if not tried:
            yield from _next_output(source)  # what it does before it writes is done all the same
        code: int = end.value
        return code
    finally:
        source.close()
        sink.close()


def _next_output(source: Process) -> Generator[Effect, Any, bytes]:
    answer: Any = None
    try:
        while True:
            effect = source.send(answer)
            if isinstance(effect, Write) and effect.fd == OUT:
                if effect.data:
                    return effect.data
                answer = None
            else:
                answer = yield effect
    except StopIteration:
        return b""


def redirected(process: Process, targets: Mapping[int, Target], given: bytes | None = None) -> Process:
    """A process whose output goes elsewhere, and whose input, if something is given, is that."""
    answer: Any = None
    step: Callable[[Any], Effect] = process.send
    try:
        while True:
            effect = step(answer)
            step = process.send
            if isinstance(effect, Read) and given is not None:
                answer, given = given, b""
            elif isinstance(effect, Write):
                target = targets.get(effect.fd, effect.fd)
                if isinstance(target, int):
                    answer = yield Write(target, effect.data)
                    continue
                answer = None
                now = yield Now()
                try:
                    target.files.extend(target.file, effect.data, now)
                except FileError as error:
                    answer, step = error, process.throw
            else:
                answer = yield effect
    except StopIteration as end:
        code: int = end.value
        return code
    finally:
        process.close()


def captured(process: Process, limit: int) -> Generator[Effect, Any, bytes]:
    """What a process puts out; the rest of what it does passes.

    Raises:
        OutOfMemoryError: it puts out more than may be kept.
    """
    found = bytearray()
    answer: Any = None
    try:
        while True:
            effect = process.send(answer)
            if isinstance(effect, Write) and effect.fd == OUT:
                found += effect.data
                check_size(len(found), limit)
                answer = None
            else:
                answer = yield effect
    except StopIteration:
        return bytes(found)
    finally:
        process.close()
