"""Combined processes: pipelines, redirections to files, and captured output."""

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from controller_manager.kubelet.container.files import File, FileError, FileSystem
from controller_manager.kubelet.container.shell.state import check_size
from controller_manager.kubelet.container.syscalls import OUT, Now, Process, Read, SystemCall, Write


@dataclass(frozen=True, slots=True)
class FileTarget:
    """A file to write to."""

    file: File
    files: FileSystem


Target: TypeAlias = int | FileTarget
"""The target of output: a file descriptor of the process' caller, or a file."""


def pipe(source: Process, sink: Process) -> Process:
    """Run a process that reads the output of another one; return its exit code.

    The source runs only when the sink reads, and ends when that is over (SIGPIPE), so that it may be endless.
    """
    has_read = False
    try:
        effect = next(sink)
        while True:
            if isinstance(effect, Read):
                has_read = True
                answer = yield from _next_output(source)
            else:
                answer = yield effect
            effect = sink.send(answer)
    except StopIteration as end:
        if not has_read:
            yield from _next_output(source)  # its actions before its first output happen all the same
        code: int = end.value
        return code
    finally:
        source.close()
        sink.close()


def _next_output(source: Process) -> Generator[SystemCall, Any, bytes]:
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


def redirect(process: Process, targets: Mapping[int, Target], given: bytes | None = None) -> Process:
    """Run a process with redirected output, and with `given` as its input, or its own input if it is None."""
    answer: Any = None
    step: Callable[[Any], SystemCall] = process.send
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


def capture(process: Process, limit: int) -> Generator[SystemCall, Any, bytes]:
    """Run a process, and return its output; its other system calls pass through.

    Raises:
        OutOfMemoryError: the output is larger than the limit.
    """
    output = bytearray()
    answer: Any = None
    try:
        while True:
            effect = process.send(answer)
            if isinstance(effect, Write) and effect.fd == OUT:
                output += effect.data
                check_size(len(output), limit)
                answer = None
            else:
                answer = yield effect
    except StopIteration:
        return bytes(output)
    finally:
        process.close()
