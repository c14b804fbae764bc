"""The streams of a remote command, whatever carries them: what is asked of them, and how its end is told."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import orjson
from multidict import MultiMapping

from apiserver.api.meta import Obj

SUCCESS: Obj = {"metadata": {}, "status": "Success"}


class OptionsError(Exception):
    """What is asked of the streams cannot be; the message is the kubelet's."""


@dataclass(frozen=True, slots=True)
class Options:
    """Which streams a client wants, and whether a person types."""

    stdin: bool
    stdout: bool
    stderr: bool
    tty: bool

    @classmethod
    def of(cls, query: MultiMapping[str]) -> "Options":
        """As the parameters of a request say (cri-streaming's NewOptions).

        Raises:
            OptionsError: no stream is wanted.
        """
        wanted = {name: query.get(name) == "1" for name in ("input", "output", "error", "tty")}
        stderr = wanted["error"] and not wanted["tty"]  # a terminal has one output
        if not (wanted["input"] or wanted["output"] or stderr):
            raise OptionsError("you must specify at least 1 of stdin, stdout, stderr")
        return cls(wanted["input"], wanted["output"], stderr, wanted["tty"])


class Session(Protocol):
    """The streams of one remote command."""

    async def read(self) -> bytes:
        """What the client sends to the standard input, b"" at its end or if it sends none."""

    async def write(self, fd: int, data: bytes) -> None:
        """Put out; what the client does not want is dropped.

        Raises:
            ConnectionError: the client is gone.
        """

    async def finish(self, status: Obj) -> None:
        """Tell how it ended, and that nothing more comes."""


Serve: TypeAlias = Callable[[Session], Coroutine[Any, Any, Obj]]
"""Serves a remote command; gives the status that it ended with."""


async def while_listening(listening: Coroutine[Any, Any, None], serving: Coroutine[Any, Any, Obj]) -> Obj | None:
    """Serve until it is done, or until the client has gone, which ends what is served; then there is no status."""
    try:
        async with asyncio.TaskGroup() as group:
            server, listener = group.create_task(serving), group.create_task(listening)
            listener.add_done_callback(lambda _: server.cancel())
            server.add_done_callback(lambda _: listener.cancel())
    except* ConnectionError:
        pass  # so there is nobody to tell
    return server.result() if server.done() and not server.cancelled() and server.exception() is None else None


def exited(code: int) -> Obj:
    """How a command ended, as the error stream tells it (cri-streaming's ServeExec)."""
    if code == 0:
        return SUCCESS
    return {
        "metadata": {},
        "status": "Failure",
        "message": f"command terminated with non-zero exit code: exit status {code}",
        "reason": "NonZeroExitCode",
        "details": {"causes": [{"reason": "ExitCode", "message": str(code)}]},
    }


def exit_code(status: Obj) -> int:
    """The exit code that such a status tells."""
    causes = (status.get("details") or {}).get("causes") or ()
    return int(causes[0]["message"]) if causes else 0


def encode_status(status: Obj, *, structured: bool) -> bytes:
    """A status on the error stream: as JSON from the fourth protocol on, before that as text where it is an error."""
    if structured:
        return orjson.dumps(status)
    return b"" if status["status"] == "Success" else str(status["message"]).encode()
