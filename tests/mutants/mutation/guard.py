"""A process that outlives the command by a moment: it kills what the command's forks have started.

The kernel kills a fork when its parent ends, but not what tests in it have started, such as an etcd. Each fork leads a
group of processes and tells the guard so; when the command ends, in whatever way, the guard kills the groups there are.
"""

import ctypes
import os
import signal
import sys
from contextlib import suppress

_PR_SET_PDEATHSIG = 1
_LENGTH = 12
"""Bytes of a message: a sign and the number of a group."""


def die_with_parent(by: signal.Signals = signal.SIGKILL) -> None:
    """Have the kernel send a signal to this process when its parent ends, so that a killed command leaves nothing."""
    with suppress(OSError, AttributeError):  # Linux has it
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, by)


class Guard:
    """Knows the groups of processes that there are; every fork has it."""

    def __init__(self) -> None:
        """Start its process."""
        reading, self._writing = os.pipe()
        sys.stdout.flush()
        command = os.getpid()
        self.process = os.fork()
        if self.process == 0:
            try:
                os.close(self._writing)
                _guard(reading, command)
            finally:
                os._exit(0)
        os.close(reading)

    def watch(self, group: int) -> None:
        """Kill a group of processes when the command ends."""
        self._tell("+", group)

    def leave(self, group: int) -> None:
        """Forget a group that is gone."""
        self._tell("-", group)

    def close(self) -> None:
        """End the process; there is nothing left to guard."""
        os.kill(self.process, signal.SIGTERM)
        os.waitpid(self.process, 0)

    def _tell(self, sign: str, group: int) -> None:
        os.write(self._writing, f"{sign}{group:<{_LENGTH - 1}}".encode())


def _guard(reading: int, command: int) -> None:
    os.setsid()  # a Ctrl-C in the terminal, or a signal to the command's group, is not for it
    groups: set[int] = set()

    def end(*_: object) -> None:
        os.set_blocking(reading, False)
        with suppress(BlockingIOError):
            while _heard(reading, groups):
                pass
        for group in groups:
            with suppress(ProcessLookupError):
                os.killpg(group, signal.SIGKILL)
        os._exit(0)

    signal.signal(signal.SIGTERM, end)
    die_with_parent(signal.SIGTERM)
    if os.getppid() != command:  # it ended before the kernel was asked
        end()
    while _heard(reading, groups):
        pass
    end()


def _heard(reading: int, groups: set[int]) -> bool:
    """Take one message, and return whether there was one: none means that all forks have ended."""
    message = os.read(reading, _LENGTH).decode()
    if message.startswith("+"):
        groups.add(int(message[1:]))
    elif message:
        groups.discard(int(message[1:]))
    return bool(message)
