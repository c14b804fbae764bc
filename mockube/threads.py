"""An asynchronous context held open for synchronous code: on an event loop of its own, in a thread of its own."""

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass, field
from threading import Thread
from typing import Generic, TypeVar

from apiserver.component_base.process import loop_factory

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _HeldContext(Generic[T]):
    """The two ends of a held context.

    Attributes:
        entered: the value of the context, and a function that makes the other thread leave it.
        left: done when the other thread has left the context.
    """

    context: AbstractAsyncContextManager[T]
    entered: Future[tuple[T, Callable[[], object]]] = field(default_factory=Future)
    left: Future[None] = field(default_factory=Future)

    async def hold_open(self) -> None:
        """Keep the context open until it is left; one task enters and leaves it, as cancel scopes require."""
        loop, leave = asyncio.get_running_loop(), asyncio.Event()
        async with self.context as value:
            self.entered.set_result((value, lambda: loop.call_soon_threadsafe(leave.set)))
            await leave.wait()

    def run_in_thread(self) -> None:
        """Hold the context in this thread, and hand errors to the thread that waits."""
        try:
            with asyncio.Runner(loop_factory=loop_factory()) as runner:
                runner.run(self.hold_open())
        except BaseException as error:  # noqa: BLE001 - they are raised again in the other thread
            (self.left if self.entered.done() else self.entered).set_exception(error)
        else:
            self.left.set_result(None)


@contextmanager
def in_thread(context: AbstractAsyncContextManager[T]) -> Iterator[T]:
    """Yield the context's value; it is entered and left in the other thread, and errors are raised here."""
    held = _HeldContext(context)
    # A daemon, so that a program which forgets to leave the context can still end.
    Thread(target=held.run_in_thread, name="mockube", daemon=True).start()
    value, leave = held.entered.result()
    try:
        yield value
    finally:
        leave()
        held.left.result()
