"""The tokens by which controllers act as their own ServiceAccounts."""

import asyncio

import pytest

from apiserver.api import errors
from apiserver.api.errors import ApiError
from controller_manager.reconcile.contract import Create
from controller_manager.runtime.account_token import RENEWAL_SECONDS, AccountToken


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.at = 100.0

    def monotonic(self) -> float:
        return self.at


class Server:
    """Answers requests for tokens of accounts that exist, and creates accounts."""

    def __init__(self, *accounts: str) -> None:
        self.accounts = set(accounts)
        self.requests: list[str] = []
        self.refusal: ApiError | None = None

    async def perform(self, request):
        assert isinstance(request, Create)
        name = request.obj["metadata"]["name"]
        self.requests.append(request.subresource or "account")
        await asyncio.sleep(0)
        if self.refusal is not None:
            raise self.refusal
        if not request.subresource:
            self.accounts.add(name)
            return request.obj
        if name not in self.accounts:
            raise errors.not_found("", "serviceaccounts", name)
        assert request.obj["spec"] == {"expirationSeconds": 3600}
        return {"status": {"token": f"{name}-{len(self.requests)}"}}


def token_of(server: Server, clock: Clock) -> AccountToken:
    return AccountToken(server, "job-controller", clock)  # type: ignore[arg-type]


async def test_a_token_is_requested_once_for_all_who_wait_and_again_before_its_end():
    server, clock = Server("job-controller"), Clock()
    token = token_of(server, clock)
    assert token.is_due
    await asyncio.gather(token.renew(), token.renew(), token.renew())
    assert (token.value, server.requests, token.is_due) == ("job-controller-1", ["token"], False)
    clock.at += RENEWAL_SECONDS - 1
    assert not token.is_due
    clock.at += 1
    assert token.is_due
    await token.renew()
    assert token.value == "job-controller-2"


async def test_an_account_that_is_not_there_is_created():
    server = Server()
    token = token_of(server, Clock())
    await token.renew()
    assert server.requests == ["token", "account", "token"]
    assert token.value == "job-controller-3"


async def test_a_token_that_the_server_refuses_is_replaced():
    server = Server("job-controller")
    token = token_of(server, Clock())
    await token.renew()
    token.expire()
    assert token.is_due
    await token.renew()
    assert token.value == "job-controller-2"


async def test_a_refusal_is_for_the_request_that_needs_the_token():
    server = Server("job-controller")
    server.refusal = errors.forbidden("", "serviceaccounts", name="job-controller", why="no")
    token = token_of(server, Clock())
    with pytest.raises(ApiError, match="no"):
        await token.renew()
    assert token.is_due
