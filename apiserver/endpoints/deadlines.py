"""The deadline of a request: its parameter `timeout` (apiserver's request_deadline.go and timeout.go)."""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

from apiserver.api import errors
from apiserver.api.golang.durations import go_duration
from apiserver.api.parameters import Parameters

MAX_SECONDS = 60.0
"""Seconds that a request may have at most (kube-apiserver's --request-timeout)."""
_LATE = "Timeout: request did not complete within the allotted timeout"

T = TypeVar("T")


def requested_seconds(query: Parameters) -> float:
    """Return the timeout that a request sets in seconds; MOST if it sets none, zero or more.

    Raises:
        ApiError: 400, the text is not a duration.
    """
    text = query.get("timeout")
    if not text:
        return MAX_SECONDS
    try:
        seconds = go_duration(text)
    except ValueError as error:
        raise errors.bad_request(f"invalid timeout specified in the request URL - {error}") from None
    return seconds if 0 < seconds < MAX_SECONDS else MAX_SECONDS


async def answer_within(seconds: float, answer: Awaitable[T]) -> T:
    """Wait for an answer for at most this many seconds.

    Raises:
        ApiError: 504, it has not come.
    """
    deadline = asyncio.timeout(seconds)
    try:
        async with deadline:
            return await answer
    except TimeoutError:
        if not deadline.expired():
            raise
        raise errors.timeout(_LATE) from None
