"""Stores of every backend, opened, opened again, and closed; and the etcds that some of them are over."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from itertools import count
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from etcd_networks import Proxy
from patience import SECONDS

from etcd.access import ClusterConfig, KeyPrefix
from etcd.backends import open_store
from etcd.store import Store

Cluster = Any
"""Members of etcd that belong together: see etcd_clusters.py."""


@pytest.fixture(scope="module")
def three(clusters: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster of three members, which tests may harm as long as they heal it."""
    with clusters.running(tmp_path_factory.mktemp("three"), 3) as cluster:
        yield cluster


_places = count(1)


@pytest.fixture(scope="session")
def new_prefix() -> Callable[[], KeyPrefix]:
    """Return a function that gives key prefixes in the shared etcd, none twice and none inside another."""
    return lambda: KeyPrefix("", f"/t{next(_places)}:")


@pytest.fixture
def access(new_prefix: Callable[[], KeyPrefix]) -> ClusterConfig:
    """A key prefix of its own for the stores of one test."""
    return ClusterConfig(key_prefix=new_prefix())


@pytest.fixture
def etcd(shared_etcd: Cluster) -> Any:
    """The member that all tests share."""
    return shared_etcd.members[0]


@pytest.fixture
async def proxy(etcd: Any) -> AsyncIterator[Proxy]:
    """A proxy between a store and etcd."""
    async with Proxy((etcd.host, etcd.client)) as standing:
        yield standing


@pytest.fixture(params=["memory", "sqlite", "etcd"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "etcd":
        return str(request.getfixturevalue("shared_etcd").url)
    return "memory://" if request.param == "memory" else f"sqlite://{tmp_path}/data"


@pytest.fixture
async def opened(access: ClusterConfig, patient_store: None) -> AsyncIterator[Callable[..., Awaitable[Store]]]:
    """Return a function that opens stores with any options, over etcd under one prefix; all are closed at the end."""
    stores: list[Store] = []

    async def opener(url: str, **options: Any) -> Store:
        async with asyncio.timeout(SECONDS):
            stores.append(await open_store(url, **{"access": access} | options))
        return stores[-1]

    yield opener
    async with asyncio.timeout(SECONDS):
        for store in stores:
            await store.close()


@pytest.fixture
async def store(url: str, opened: Callable[..., Awaitable[Store]]) -> Store:
    return await opened(url, attach=lambda key, value: (key, value))


@pytest.fixture
def at(store: Store) -> int:
    """The revision at which a store begins, which is 0 unless others have written to its etcd."""
    return store.revision


@pytest.fixture
async def durable(tmp_path: Path, opened: Callable[..., Awaitable[Store]]) -> Store:
    return await opened(f"sqlite://{tmp_path}/data")
