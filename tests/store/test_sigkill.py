"""A process that is killed while it writes loses no acknowledged write and gives no revision twice."""

import os
import random
import subprocess
import sys
from pathlib import Path

from etcd.backends import open_store

ROOT = Path(__file__).parents[2]
KILLS = 20


def killed(url: str, run: int, lines: int) -> list[tuple[int, str]]:
    """Run a writer until it has acknowledged some writes, and kill it; gives all that it acknowledged."""
    command = [sys.executable, str(Path(__file__).with_name("killed_writer.py")), url, str(run)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as writer:
        assert writer.stdout
        said = [writer.stdout.readline() for _ in range(lines)]
        writer.kill()
        said += writer.stdout.readlines()
    assert said[lines - 1], "the writer ended before it was killed"
    words = [line.decode().split() for line in said if line.endswith(b"\n")]
    return [(int(revision), key) for revision, key in words]


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
    found = {kv.mod_revision: kv.key for kv in store.range("").items}
    await store.close()
    assert len({revision for revision, _ in acknowledged}) == len(acknowledged)
    assert {revision: found.get(revision) for revision in created} == created
