"""The clock that the manager passes to everything, and that tests replace."""

import asyncio
import time


class Clock:
    """Reads the time and waits."""

    def now(self) -> float:
        """Return seconds since 1970."""
        return time.time()

    def monotonic(self) -> float:
        """Return seconds since some moment; this time never goes back."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait; 0 lets other tasks run."""
        await asyncio.sleep(seconds)
