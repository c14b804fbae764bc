"""The one clock that the manager hands down, which tests replace."""

import asyncio
import time


class Clock:
    """Tells the time and waits."""

    def now(self) -> float:
        """Seconds since 1970."""
        return time.time()

    def monotonic(self) -> float:
        """Seconds since some moment, which nobody sets back."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait; 0 gives others a turn."""
        await asyncio.sleep(seconds)
