"""A process that is killed while it writes loses no acknowledged write and gives no revision twice."""

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from etcd.backends import open_store
from etcd.store import Unavailable

ROOT = Path(__file__).parents[2]
KILLS = 20


def writing(url: str, run: int) -> subprocess.Popen[bytes]:
    """A process that writes until it is killed."""
    command = [sys.executable, str(Path(__file__).with_name("killed_writer.py")), url, str(run)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(ROOT)})


def killed(url: str, run: int, lines: int) -> list[tuple[int, str]]:
    """Run a writer until it has acknowledged some writes, kill it, and return all that it acknowledged."""
    with writing(url, run) as writer:
        assert writer.stdout
        said = [writer.stdout.readline() for _ in range(lines)]
        writer.kill()
        said += writer.stdout.readlines()
    assert said[lines - 1], "the writer ended before it was killed"
    words = [line.decode().split() for line in said if line.endswith(b"\n")]
    return [(int(revision), key) for revision, key in words]


async def test_a_database_that_another_process_uses_is_refused_until_that_is_gone(tmp_path):
    url = f"sqlite://{tmp_path}"
    with writing(url, 0) as writer:
        assert writer.stdout
        writer.stdout.readline()
        for _ in range(2):
            with pytest.raises(Unavailable, match="in use by another process") as caught:
                await open_store(url)
            assert str(tmp_path) in str(caught.value)
        assert writer.poll() is None
        writer.kill()
    store = await open_store(url)
    assert store.revision > 0
    await store.close()


async def test_twenty_kills_lose_no_acknowledged_write_and_double_no_revision(tmp_path):
    url = f"sqlite://{tmp_path}"
    choice = random.Random(2)
    acknowledged: list[tuple[int, str]] = []
    for run in range(KILLS):
        before = len(acknowledged)
        acknowledged += killed(url, run, choice.randrange(1, 400))
        newest = max(revision for revision, _ in acknowledged)
        assert min(revision for revision, _ in acknowledged[before:]) > max(
            (revision for revision, _ in acknowledged[:before]), default=0
        )
        store = await open_store(url)
        assert store.revision >= newest
        await store.close()

    store = await open_store(url)
    created = {revision: key for revision, key in acknowledged if key != "-"}
    keys = {kv.mod_revision: kv.key for kv in store.range("").items}
    await store.close()
    assert len({revision for revision, _ in acknowledged}) == len(acknowledged)
    assert {revision: keys.get(revision) for revision in created} == created
