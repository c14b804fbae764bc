"""One thread that does blocking work in order and reports to the event loop."""

import asyncio
import threading
from collections.abc import Callable
from queue import SimpleQueue

Callback = Callable[[Exception | None], None]


class Worker:
    """A queue of blocking calls. After each, the loop calls its `done(error)`: no call is left unreported."""

    def __init__(self, name: str) -> None:
        self._loop = asyncio.get_running_loop()
        self._jobs: SimpleQueue[tuple[Callable[[], None], Callback] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def submit(self, work: Callable[[], None], done: Callback) -> None:
        """Call `work` in the thread, then `done` in the loop with the error that it raised, or None."""
        self._jobs.put((work, done))

    def stop(self) -> None:
        """End the thread after what has been submitted; blocks until then."""
        self._jobs.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            work, done = job
            error: Exception | None = None
            try:
                work()
            except Exception as caught:  # noqa: BLE001 - the caller must get the error, whatever it is
                error = caught
            try:
                self._loop.call_soon_threadsafe(done, error)
            except RuntimeError:  # the loop is closed: no caller waits any more
                return
