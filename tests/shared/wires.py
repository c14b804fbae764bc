"""Transports for connections of the controllers' client, which only note what they are given."""

import asyncio
from collections.abc import Callable
from typing import Any


class Wire(asyncio.Transport):
    """A transport that keeps what is written and reports the end at the loop's next turn."""

    def __init__(self, protocol: asyncio.Protocol, sock: Any = None) -> None:
        super().__init__({"socket": sock})
        self.protocol = protocol
        self.written: list[bytes] = []
        self.aborted = False

    def write(self, data: Any) -> None:
        self.written.append(data)

    def is_closing(self) -> bool:
        return self.aborted

    def abort(self) -> None:
        if not self.aborted:
            self.aborted = True
            asyncio.get_running_loop().call_soon(self.protocol.connection_lost, None)

    def say(self, data: bytes) -> None:
        self.protocol.data_received(data)


class Net:
    """Takes the place of the loop's sockets: each connection is a Wire, once `gate` is open.

    Attributes:
        wires: the transports in their order.
        calls: host, port, whether there is TLS, and the name, of each attempt.
        errors: what the next attempts raise instead.
    """

    def __init__(self) -> None:
        self.wires: list[Wire] = []
        self.calls: list[tuple[str, int, bool, str | None]] = []
        self.errors: list[Exception] = []
        self.gate = asyncio.Event()
        self.gate.set()

    async def create_connection(
        self, factory: Callable[[], asyncio.Protocol], host: str, port: int, *, ssl: Any, server_hostname: str | None
    ) -> tuple[Wire, asyncio.Protocol]:
        self.calls.append((host, port, ssl is not None, server_hostname))
        await self.gate.wait()
        if self.errors:
            raise self.errors.pop(0)
        protocol = factory()
        wire = Wire(protocol)
        protocol.connection_made(wire)
        self.wires.append(wire)
        return wire, protocol


async def turns(count: int = 6) -> None:
    """Let everything happen that needs no time to pass."""
    for _ in range(count):
        await asyncio.sleep(0)
