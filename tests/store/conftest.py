"""Stores of every backend, opened, opened again, and closed."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from etcd.backends import open_store
from etcd.store import Store


@pytest.fixture(params=["memory", "sqlite"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return "memory://" if request.param == "memory" else f"sqlite://{tmp_path}/data"


@pytest.fixture
async def opened() -> AsyncIterator[Callable[..., Awaitable[Store]]]:
    """Opens stores with any options, and closes at the end what a test did not."""
    stores: list[Store] = []

    async def opener(url: str, **options: Any) -> Store:
        stores.append(await open_store(url, **options))
        return stores[-1]

    yield opener
    for store in stores:
        await store.close()


@pytest.fixture
async def store(url: str, opened: Callable[..., Awaitable[Store]]) -> Store:
    return await opened(url, attach=lambda key, value: (key, value))


@pytest.fixture
async def durable(tmp_path: Path, opened: Callable[..., Awaitable[Store]]) -> Store:
    return await opened(f"sqlite://{tmp_path}/data")
