"""Stores to back up and restore, of both kinds, and the commands that do it in processes of their own."""

import asyncio
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from patience import SECONDS

from etcd.access import ClusterConfig, KeyPrefix
from etcd.backends import open_store
from etcd.store import Store

Objects = Mapping[str, bytes]


@dataclass(frozen=True)
class CommandStore:
    """A store that commands back up or restore.

    Attributes:
        url: its URL.
        flags: by which a command finds it.
        prefix: of its keys in etcd.
    """

    url: str
    flags: tuple[str, ...]
    prefix: str = ""

    def use(self, work: Callable[[Store], Any]) -> Any:
        """Open the store, return the result of `work` with it, and close it again."""

        async def used() -> Any:
            store = await open_store(
                self.url, access=ClusterConfig(key_prefix=KeyPrefix("/registry/", f"{self.prefix}/"))
            )
            try:
                return await work(store)
            finally:
                await store.close()

        return asyncio.run(used())

    def fill(self, objects: Objects) -> int:
        """Put objects and return the revision after that."""

        async def put(store: Store) -> int:
            await asyncio.gather(*(store.put(key, value) for key, value in objects.items()))
            await store.sync_read()
            return store.revision

        return int(self.use(put))

    def objects(self) -> dict[str, bytes]:
        """Return all that it holds."""

        async def read(store: Store) -> dict[str, bytes]:
            return {kv.key: kv.value for kv in store.range("").items}

        objects: dict[str, bytes] = self.use(read)
        return objects

    def revisions(self) -> tuple[int, list[int]]:
        """Its revision, and those of its objects in ascending order."""

        async def read(store: Store) -> tuple[int, list[int]]:
            return store.revision, sorted(kv.mod_revision for kv in store.range("").items)

        revisions: tuple[int, list[int]] = self.use(read)
        return revisions


@pytest.fixture
def some() -> Objects:
    """Objects: most are text, one is not, one is empty, and one is as large as any."""
    keys = {f"/registry/configmaps/default/c{number:04}": f'{{"n":"{number} ä"}}'.encode() for number in range(1500)}
    large = "/registry/secrets/default/large"
    return keys | {
        "/registry/secrets/default/bytes": bytes(range(256)),
        "/registry/secrets/default/none": b"",
        large: b"x" * (1_500_000 - len(large)),
    }


@pytest.fixture
def embedded(tmp_path: Path, patient_store: None) -> Callable[[str], CommandStore]:
    """embedded(name): a store in a data directory of that name."""
    return lambda name: CommandStore(f"sqlite://{tmp_path / name}", ("--data-dir", str(tmp_path / name)))


@pytest.fixture
def cluster(shared_etcd: Any) -> str:
    """The URL of an etcd that many tests share."""
    return str(shared_etcd.url)


@pytest.fixture
def own_cluster(clusters: ModuleType, tmp_path: Path) -> Iterator[str]:
    """The URL of an etcd of the test's own, at its first revision."""
    with clusters.running(tmp_path / "etcd") as etcd:
        yield etcd.url


_numbers = count(1)


@pytest.fixture
def clustered(patient_store: None) -> Callable[[str], CommandStore]:
    """clustered(url): an empty store in a cluster, under a prefix that nobody else has."""

    def make(url: str) -> CommandStore:
        prefix = f"/test{next(_numbers)}/registry"
        return CommandStore(url, ("--etcd-servers", url, "--etcd-prefix", prefix), prefix)

    return make


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "mockube", *map(str, arguments)]


@pytest.fixture
def run(environment: dict[str, str]) -> Callable[..., "subprocess.CompletedProcess[str]"]:
    """run(*arguments): the CompletedProcess of a command; more keywords go to subprocess.run."""

    def ended(*arguments: object, **more: Any) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            command(*arguments), capture_output=True, text=True, env=environment, timeout=SECONDS, check=False, **more
        )

    return ended


@pytest.fixture
def done(run: Any) -> Callable[..., str]:
    """done(*arguments): the output of a command, which must succeed."""

    def ended(*arguments: object) -> str:
        result = run(*arguments)
        assert result.returncode == 0, result.stderr
        out: str = result.stdout
        return out

    return ended


@pytest.fixture
def started(environment: dict[str, str]) -> Iterator[Callable[..., "subprocess.Popen[str]"]]:
    """started(*arguments): a command that runs; it is killed at the end."""
    processes: list[subprocess.Popen[str]] = []

    def start(*arguments: object) -> "subprocess.Popen[str]":
        pipe = subprocess.PIPE
        processes.append(subprocess.Popen(command(*arguments), env=environment, stdout=pipe, stderr=pipe, text=True))
        return processes[-1]

    yield start
    for process in processes:
        if process.poll() is None:
            process.kill()
        process.communicate()
