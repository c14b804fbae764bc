"""Tokens of ServiceAccounts, by which each controller acts as itself (clientbuilder DynamicControllerClientBuilder)."""

import asyncio
from math import inf
from typing import Any, Protocol

from apiserver.api.errors import ApiError
from controller_manager.reconcile.contract import Create, Request
from controller_manager.reconcile.kinds import SERVICE_ACCOUNT
from controller_manager.runtime.clock import Clock

NAMESPACE = "kube-system"
"""The namespace of all controllers' accounts."""
TOKEN_SECONDS = 3600
"""The lifetime that is asked for."""
RENEWAL_SECONDS = TOKEN_SECONDS * 0.8
"""Seconds after which a token is replaced, long before its end."""


class RequestSender(Protocol):
    """Sends requests to the server."""

    async def perform(self, request: Request) -> Any:
        """Return the result of a request.

        Raises:
            ApiError: it was refused, or there was no answer.
        """


class AccountToken:
    """The token of one ServiceAccount, requested before it is first used, and again before its end.

    Args:
        server: sends the requests for tokens, as the manager itself.
        name: the account's name; the account is created if it does not exist.
        clock: the time.

    Attributes:
        value: the token, "" before the first request.
    """

    def __init__(self, server: RequestSender, name: str, clock: Clock) -> None:
        self.value = ""
        self._server = server
        self._name = name
        self._clock = clock
        self._renew_at = -inf
        self._lock = asyncio.Lock()

    @property
    def is_due(self) -> bool:
        """True if a token has to be requested before the next request."""
        return self._clock.monotonic() >= self._renew_at

    def expire(self) -> None:
        """Have a new token requested: the server does not take this one any more, since its account was made again."""
        self._renew_at = -inf

    async def renew(self) -> None:
        """Request a token, unless somebody else just has.

        Raises:
            ApiError: the request was refused, or there was no answer.
        """
        async with self._lock:
            if self.is_due:
                now = self._clock.monotonic()
                self.value = await self._request()
                self._renew_at = now + RENEWAL_SECONDS

    async def _request(self) -> str:
        meta = {"name": self._name, "namespace": NAMESPACE}
        body = {"metadata": meta, "spec": {"expirationSeconds": TOKEN_SECONDS}}
        token_request = Create(SERVICE_ACCOUNT, body, self._name, "token")
        try:
            answer = await self._server.perform(token_request)
        except ApiError as error:
            if error.code != 404:
                raise
            await self._create_account()
            answer = await self._server.perform(token_request)
        return str(answer["status"]["token"])

    async def _create_account(self) -> None:
        try:
            await self._server.perform(
                Create(SERVICE_ACCOUNT, {"metadata": {"name": self._name, "namespace": NAMESPACE}})
            )
        except ApiError as error:
            if error.reason != "AlreadyExists":  # another manager was faster
                raise
