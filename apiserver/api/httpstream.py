"""Connections that leave HTTP for another protocol, such as "websocket" or "SPDY/3.1" (apimachinery's httpstream)."""

from collections.abc import Mapping


def is_upgrade_request(headers: Mapping[str, str], protocol: str = "") -> bool:
    """Return True if a request wants to change the protocol of its connection to this one, or "" for any."""
    if "upgrade" not in headers.get("Connection", "").lower():
        return False
    return not protocol or headers.get("Upgrade", "").lower() == protocol.lower()


class Upgraded:
    """The response of a handler that has upgraded its connection: nothing more is sent, nor is the connection kept."""

    status = 101
    keep_alive = False
    body_length = 0

    async def prepare(self, request: object) -> None:
        """Send nothing."""

    async def write_eof(self) -> None:
        """Send nothing."""
