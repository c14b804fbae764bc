"""Restores into a cluster, which are many writes: what their revisions are, and what is left when one breaks off."""

import gzip
import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from patience import SECONDS

from etcd.store import Store

OBJECTS = {f"/registry/a/{number:05}": b"{}" for number in range(20_000)}


@pytest.fixture
def archive(embedded: Any, done: Any, tmp_path: Path) -> Path:
    """A backup of OBJECTS."""
    store, file = embedded("old"), tmp_path / "all.backup"
    store.fill(OBJECTS)
    done("backup", file, *store.flags)
    return file


def header(file: Path) -> dict[str, Any]:
    with gzip.open(file) as lines:
        first_line: dict[str, Any] = json.loads(lines.readline())
    return first_line


def test_revisions_in_a_cluster_come_above_those_of_the_old_store(
    own_cluster: str, clustered: Any, embedded: Any, done: Any, run: Any, tmp_path: Path
) -> None:
    old, new, file = embedded("old"), clustered(own_cluster), tmp_path / "file"
    old.fill({"/registry/a/a": b"0"})
    for number in range(50):
        old.fill({"/registry/a/a": str(number).encode()})
    done("backup", file, *old.flags)
    assert header(file)["revision"] == 51
    assert header(file)["closed"]
    ended = run("restore", file, *new.flags)
    assert ended.returncode == 0
    assert "Raising the revision: " in ended.stderr
    revision, versions = new.revisions()
    assert 51 < versions[0] <= revision
    assert new.objects() == {"/registry/a/a": b"49"}


def test_revisions_come_above_those_that_are_named(
    own_cluster: str, clustered: Any, embedded: Any, done: Any, tmp_path: Path
) -> None:
    old, one, other, file = embedded("old"), clustered(own_cluster), embedded("new"), tmp_path / "file"
    old.fill({"/registry/a/a": b"{}"})
    done("backup", file, *old.flags)
    done("restore", file, *one.flags, "--above", "700")
    done("restore", file, *other.flags, "--above", "7000000000")
    assert one.revisions()[1] > [700]
    assert other.revisions() == (7_000_000_001, [7_000_000_001])


def test_where_too_many_writes_would_be_needed_it_says_what_to_do(
    cluster: str, clustered: Any, embedded: Any, run: Any, done: Any, tmp_path: Path
) -> None:
    old, new, file = embedded("old"), clustered(cluster), tmp_path / "file"
    old.fill({"/registry/a/a": b"{}"})
    done("backup", file, *old.flags)
    ended = run("restore", file, *new.flags, "--above", "7000000000")
    assert ended.returncode == 2
    assert "clients of the old server may have seen revisions up to 7,000,000,000" in ended.stderr
    assert "Give --above 0 if no client of the old server goes on with this one" in ended.stderr
    assert new.objects() == {}


def test_a_cluster_goes_on_from_its_own_revisions(
    cluster: str, clustered: Any, done: Any, run: Any, tmp_path: Path
) -> None:
    store, file = clustered(cluster), tmp_path / "file"
    store.fill({"/registry/a/a": b"{}"})
    done("backup", file, *store.flags)
    before = store.fill({"/registry/a/b": b"{}"})
    ended = run("restore", file, *store.flags, "--force")
    assert "Raising the revision" not in ended.stderr
    assert store.revisions()[1] > [before]
    assert store.objects() == {"/registry/a/a": b"{}"}


def test_a_cluster_recreated_by_the_same_flags_has_the_same_id_and_comes_above_the_old_one(
    clusters: Any, clustered: Any, done: Any, tmp_path: Path
) -> None:
    file = tmp_path / "file"
    with clusters.running(tmp_path / "etcd") as cluster:
        (member,) = cluster.members
        store = clustered(cluster.url)
        for number in range(50):
            store.fill({"/registry/a/a": str(number).encode()})
        done("backup", file, *store.flags)
        old = header(file)
        member.kill()
        shutil.rmtree(member.folder)
        member.start()
        member.wait()
        done("restore", file, *store.flags, "--above", "60")
        revision, versions = store.revisions()
        assert (min(versions) > 60, revision > 60) == (True, True)
        done("restore", file, *store.flags, "--force", "--above", "500")
        assert min(store.revisions()[1]) > 500, "what is named holds in the same cluster, too"
        done("backup", tmp_path / "again", *store.flags)
        assert header(tmp_path / "again")["cluster"] == old["cluster"]


@pytest.mark.parametrize("name", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_restore_leaves_an_empty_prefix(
    archive: Path, cluster: str, clustered: Any, started: Any, name: signal.Signals
) -> None:
    store = clustered(cluster)
    process: subprocess.Popen[str] = started("restore", archive, *store.flags, "--above", "0")
    store.use(holding_some)
    process.send_signal(name)
    _, err = process.communicate(timeout=SECONDS)
    assert process.returncode == 130
    assert "It did not end well: what was restored is deleted again from " in err
    assert "Traceback" not in err
    assert store.objects() == {}


async def holding_some(store: Store) -> None:
    watcher = store.watch("", after=store.revision)
    await watcher.next()


def test_what_a_killed_restore_leaves_is_taken_for_no_store_until_it_is_done_again(
    archive: Path, clustered: Any, cluster: str, started: Any, run: Any, done: Any
) -> None:
    store = clustered(cluster)
    process: subprocess.Popen[str] = started("restore", archive, *store.flags, "--above", "0")
    store.use(holding_some)
    process.kill()
    process.wait()
    left = store.objects()
    assert left.pop("/registry/mockube-restore").startswith(b"A restore into this prefix has not ended.")
    assert len(left) < len(OBJECTS)
    ended = run("backup", f"{archive}.more", *store.flags)
    assert (ended.returncode, ended.stderr.count("a restore has not ended there: run it again with --force")) == (2, 1)
    ended = subprocess.run(
        [sys.executable, "-m", "apiserver", *store.flags, "--secure-port", "0"],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert ended.returncode == 2
    assert (
        "/registry/mockube-restore': A restore into this prefix has not ended. Run mockube restore again"
        in ended.stderr
    )
    assert "Traceback" not in ended.stderr
    ended = run("restore", archive, *store.flags, "--above", "0")
    assert (ended.returncode, ended.stderr.count("a restore has not ended there: run it again with --force")) == (2, 1)
    done("restore", archive, *store.flags, "--above", "0", "--force")
    assert store.objects() == OBJECTS


def test_an_object_that_the_cluster_does_not_take_is_named(
    cluster: str, clustered: Any, embedded: Any, run: Any, done: Any, tmp_path: Path
) -> None:
    old, new, file, key = embedded("old"), clustered(cluster), tmp_path / "file", "/registry/a/large"
    old.fill({key: b"x" * (1_572_864 - len(key))})
    done("backup", file, *old.flags)
    ended = run("restore", file, *new.flags, "--above", "0")
    assert ended.returncode == 2
    assert "/registry/a/large has 1,572,847 bytes, which is more than " in ended.stderr
    assert new.objects() == {}
