"""The clock and the source of ids that the server passes to everything, so that tests can replace both."""

import os
import random
import time
from typing import Protocol

SUFFIX_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
"""The letters of generated suffixes: no vowels, no digits that look like letters (apimachinery's pkg/util/rand)."""


class Clock(Protocol):
    """A source of the current time."""

    def now(self) -> float:
        """Return seconds since 1970."""
        ...


class Ids(Protocol):
    """A source of unique ids and name suffixes."""

    def uid(self) -> str:
        """Return a new UUID as text."""
        ...

    def suffix(self) -> str:
        """Return five letters for the end of a generated name."""
        ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> float:
        """Return seconds since 1970."""
        return time.time()


class RandomIds:
    """Random version 4 UUIDs and suffixes, from a generator seeded by the system; not for secrets."""

    def __init__(self) -> None:
        self._random = random.Random(os.urandom(32))  # noqa: S311 - names, not secrets

    def uid(self) -> str:
        """Return a new UUID as text."""
        h = f"{self._random.getrandbits(128):032x}"
        return f"{h[:8]}-{h[8:12]}-4{h[13:16]}-a{h[17:20]}-{h[20:]}"

    def suffix(self) -> str:
        """Return five letters for the end of a generated name."""
        return "".join(self._random.choices(SUFFIX_LETTERS, k=5))


class Timestamps:
    """The clock's time as metav1.Time writes it: RFC 3339, UTC, whole seconds; formatted once per second."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._second = -1
        self._text = ""

    def now(self) -> str:
        """Return the present second, such as "2026-01-31T23:59:59Z"."""
        second = int(self._clock.now())
        if second != self._second:
            self._text, self._second = rfc3339(second), second
        return self._text


def rfc3339(seconds: float) -> str:
    """Return seconds since 1970 as metav1.Time writes them."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))
