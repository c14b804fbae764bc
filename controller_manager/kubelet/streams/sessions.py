"""Remote commands over any protocol: the requested streams, and the status at the end."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import orjson
from multidict import MultiMapping

from apiserver.api.meta import Obj

SUCCESS: Obj = {"metadata": {}, "status": "Success"}


class OptionsError(Exception):
    """The requested options are invalid; the message is the kubelet's."""


@dataclass(frozen=True, slots=True)
class Options:
    """The streams that a client requests, and whether it has a terminal."""

    stdin: bool
    stdout: bool
    stderr: bool
    tty: bool

    @classmethod
    def of(cls, query: MultiMapping[str]) -> "Options":
        """Parse the parameters of a request (cri-streaming's NewOptions).

        Raises:
            OptionsError: no stream is requested.
        """
        requested = {name: query.get(name) == "1" for name in ("input", "output", "error", "tty")}
        stderr = requested["error"] and not requested["tty"]  # a terminal has one output
        if not (requested["input"] or requested["output"] or stderr):
            raise OptionsError("you must specify at least 1 of stdin, stdout, stderr")
        return cls(requested["input"], requested["output"], stderr, requested["tty"])


class Session(Protocol):
    """The streams of one remote command."""

    async def read(self) -> bytes:
        """Return input from the client, b"" at its end or if it sends none."""

    async def write(self, fd: int, data: bytes) -> None:
        """Write output; drop it if the client has not requested the stream.

        Raises:
            ConnectionError: the client is gone.
        """

    async def finish(self, status: Obj) -> None:
        """Send the final status; nothing follows it."""


Serve: TypeAlias = Callable[[Session], Coroutine[Any, Any, Obj]]
"""Serves a remote command; returns its final status."""


async def while_listening(listening: Coroutine[Any, Any, None], serving: Coroutine[Any, Any, Obj]) -> Obj | None:
    """Serve until that is done, or cancel it when the client is gone; return the status, None if cancelled."""
    try:
        async with asyncio.TaskGroup() as group:
            server, listener = group.create_task(serving), group.create_task(listening)
            listener.add_done_callback(lambda _: server.cancel())
            server.add_done_callback(lambda _: listener.cancel())
    except* ConnectionError:
        pass  # so nobody can get a status
    return server.result() if server.done() and not server.cancelled() and server.exception() is None else None


def exited(code: int) -> Obj:
    """Return the status of a command that ended, as sent on the error stream (cri-streaming's ServeExec)."""
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
    """Return the exit code in such a status."""
    causes = (status.get("details") or {}).get("causes") or ()
    return int(causes[0]["message"]) if causes else 0


def encode_status(status: Obj, *, structured: bool) -> bytes:
    """Encode a status for the error stream: as JSON from the fourth protocol on, before that only errors, as text."""
    if structured:
        return orjson.dumps(status)
    return b"" if status["status"] == "Success" else str(status["message"]).encode()
