"""Networks between members of etcd, and between them and stores: cables that are taken out, and proxies."""

import asyncio
import random
import subprocess
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any, Self

import bridges
from etcd_clusters import LOOPBACK, free_port


@dataclass
class Proxy:
    """Passes bytes on, after `delay` seconds each way; while it is `cut`, none, while `mute`, no answers.

    Attributes:
        target: host and port of the server behind it.
        port: where it listens.
    """

    target: tuple[str, int]
    delay: float = 0.0
    port: int = 0
    _open: asyncio.Event = field(default_factory=asyncio.Event)
    _answering: asyncio.Event = field(default_factory=asyncio.Event)
    _server: asyncio.Server | None = None
    _tasks: set[asyncio.Task[Any]] = field(default_factory=set)
    _writers: set[asyncio.StreamWriter] = field(default_factory=set)

    @property
    def url(self) -> str:
        return f"http://{LOOPBACK}:{self.port}"

    async def __aenter__(self) -> Self:
        self.mend()
        self._server = await asyncio.start_server(self._accept, LOOPBACK, self.port)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server
        self._server.close()
        self.mend()  # who waits for that ends by itself
        self.drop()
        if self._tasks:
            await asyncio.wait(self._tasks)
        await asyncio.sleep(0)  # connections are closed a turn of the loop later

    def cut(self) -> None:
        """Pass nothing on from now on, new connections neither."""
        self._open.clear()

    def mute(self) -> None:
        """Pass on requests from now on, but no answers."""
        self._answering.clear()

    def mend(self) -> None:
        self._open.set()
        self._answering.set()

    def drop(self) -> None:
        """Close the connections that are open."""
        for writer in self._writers:
            writer.transport.abort()
        for task in self._tasks:
            task.cancel()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        if accepting := asyncio.current_task():
            self._track(accepting)
        try:
            await self._open.wait()
            there = await asyncio.open_connection(*self.target)
        except OSError:
            writer.transport.abort()
            return
        self._writers.add(there[1])
        for one, other, gate in ((reader, there[1], self._open), (there[0], writer, self._answering)):
            self._track(asyncio.create_task(self._pass_on(one, other, gate)))

    def _track(self, task: asyncio.Task[Any]) -> None:
        """Let `drop` cancel a task, and the end of the proxy wait for it."""
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, gate: asyncio.Event) -> None:
        try:
            while chunk := await reader.read(65536):
                if self.delay:
                    await asyncio.sleep(self.delay)
                await self._open.wait()
                await gate.wait()
                writer.write(chunk)
                await writer.drain()
        except OSError:
            pass
        finally:
            writer.close()
            self._writers.discard(writer)


@dataclass
class Cables:
    """A bridge and network namespaces on it; a member that is cut off gets no more packets, and no side is notified."""

    name: str
    net: str

    def _place(self, number: int) -> str:
        return bridges.host_name(self.name, number)

    def _host(self, number: int) -> str:
        return bridges.host_address(self.net, number)

    def make(self, size: int, made: ExitStack) -> None:
        """Set it up; `made` takes it down. Raises CalledProcessError or OSError where that is not permitted."""
        bridges.add_bridge(self.name, self.net)
        made.callback(bridges.remove_bridge, self.name)
        for number in range(size):
            bridges.add_host(self.name, self.net, number)
            made.callback(bridges.remove_host, self.name, number)

    def seat(self, number: int) -> dict[str, Any]:
        """Return the address of a member, as etcd_clusters.Member takes it."""
        around = ("ip", "netns", "exec", self._place(number))
        return {"host": self._host(number), "client": 2379, "peer": 2380, "around": around}

    def url(self, number: int) -> str:
        """Return the URL at which stores reach a member."""
        return f"http://{self._host(number)}:2379"

    def cut(self, number: int) -> None:
        bridges.set_cable(self.name, number, "down")

    def mend(self, number: int) -> None:
        bridges.set_cable(self.name, number, "up")

    def part(self, number: int, size: int) -> None:
        """Cut a member off from the others, but not from this machine."""
        for other in range(size):
            if other != number:
                bridges.ip("-n", self._place(number), "route", "add", "blackhole", f"{self._host(other)}/32")


@contextmanager
def cables(size: int) -> Iterator[Cables | None]:
    """Cables for some members, None where this machine does not let us lay any."""
    number = random.SystemRandom().randrange(1 << 9)
    laid = Cables(f"mq{number:x}", f"198.{18 + number % 2}.{number // 2}")  # addresses for tests, by RFC 2544
    with ExitStack() as made:
        try:
            laid.make(size, made)
        except (subprocess.CalledProcessError, OSError):
            made.close()
            yield None
        else:
            yield laid


class Relays:
    """Proxies before all members, in a thread: nobody reaches a member that is cut off, but it still reaches others."""

    def __init__(self, size: int) -> None:
        self._ports = [{"client": free_port(), "peer": free_port()} for _ in range(size)]
        self._proxies = [[Proxy((LOOPBACK, port)) for port in ports.values()] for ports in self._ports]
        self._loop = asyncio.new_event_loop()
        self._up = threading.Event()
        self._ended = asyncio.Event()
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=(self._run(),))

    def __enter__(self) -> Self:
        self._thread.start()
        self._up.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._ended.set)
        self._thread.join()
        self._loop.close()

    async def _run(self) -> None:
        everything = [proxy for pair in self._proxies for proxy in pair]
        for proxy in everything:
            await proxy.__aenter__()
        self._up.set()
        await self._ended.wait()
        for proxy in everything:
            await proxy.__aexit__()

    def seat(self, number: int) -> dict[str, Any]:
        """As Cables."""
        return {**self._ports[number], "met": self._proxies[number][1].url}

    def url(self, number: int) -> str:
        """As Cables."""
        return self._proxies[number][0].url

    def cut(self, number: int) -> None:
        for proxy in self._proxies[number]:
            self._loop.call_soon_threadsafe(proxy.cut)

    def mend(self, number: int) -> None:
        for proxy in self._proxies[number]:
            self._loop.call_soon_threadsafe(proxy.mend)


@contextmanager
def severable(size: int) -> Iterator[Cables | Relays]:
    """Yield the means to cut off members: cables where this machine permits them, else proxies."""
    with cables(size) as laid:
        if laid is not None:
            yield laid
            return
    with Relays(size) as relays:
        yield relays
