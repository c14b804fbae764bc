"""Backups of servers that run, and the answers that their clients get after a restore."""

import gzip
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import kubernetes
import pytest
import yaml
from patience import SECONDS

MAPS = "default"


@contextmanager
def api(server: Any) -> Iterator[kubernetes.client.CoreV1Api]:
    with kubernetes.config.new_client_from_config(server.kubeconfig) as client:
        yield kubernetes.client.CoreV1Api(client)


def config_map(name: str) -> dict[str, Any]:
    return {"metadata": {"name": name}}


def names(client: kubernetes.client.CoreV1Api) -> list[str]:
    return [each.metadata.name for each in client.list_namespaced_config_map(MAPS).items]


class Writer:
    """Makes config maps one after the other, c000000 on, until it is stopped."""

    def __init__(self, client: kubernetes.client.CoreV1Api) -> None:
        self.made = 0
        self._client = client
        self._stop = threading.Event()
        self._some = threading.Condition()
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        while not self._stop.is_set():
            self._client.create_namespaced_config_map(MAPS, config_map(f"c{self.made:06}"))
            with self._some:
                self.made += 1
                self._some.notify_all()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def wait_for(self, count: int) -> None:
        with self._some:
            assert self._some.wait_for(lambda: self.made >= count, timeout=SECONDS)


@pytest.fixture(params=["embedded", "etcd"])
def store(request: pytest.FixtureRequest, tmp_path: Path, clustered: Any) -> Callable[[str], Any]:
    """store(name): the flags of `mockube up`, and of commands, for a store of that name."""

    def make(name: str) -> tuple[list[str], list[str]]:
        directory = ["--data-dir", str(tmp_path / name)]
        if request.param == "embedded":
            return directory, directory
        url = request.getfixturevalue("own_cluster")
        return [*directory, "--store", url], [*directory, "--etcd-servers", url]

    return make


def test_a_backup_while_a_server_is_written_to_has_all_that_was_acknowledged_and_no_gap(
    store: Any, up: Any, done: Any, tmp_path: Path
) -> None:
    flags, url = store("old")
    server = up(*flags)
    with api(server) as client, Writer(client) as writer:
        writer.wait_for(50)
        for number in range(3):
            before = writer.made
            done("backup", tmp_path / str(number), *url)
            after = writer.made
            other = tmp_path / f"new{number}"
            done("restore", tmp_path / str(number), "--data-dir", other)
            copy = up("--data-dir", other)
            with api(copy) as restored:
                dns_names = [name for name in names(restored) if name.startswith("c")]
            assert copy.stop() == (0, "", "")
            assert dns_names == [f"c{each:06}" for each in range(len(dns_names))]
            assert before <= len(dns_names) <= after + 1
    assert server.stop() == (0, "", "")


def gone(client: kubernetes.client.CoreV1Api, version: str) -> bool:
    """Return whether a watch from a version gets the error that it is too old."""
    answer = client.list_namespaced_config_map(
        MAPS, watch=True, resource_version=version, timeout_seconds=int(SECONDS), _preload_content=False
    )
    for line in answer:
        event = json.loads(line)
        if event["type"] == "ERROR":
            return bool(event["object"]["code"] == 410)
        return False
    return False


def test_who_watched_before_a_restore_lists_again_and_sees_nothing_older(
    store: Any, up: Any, done: Any, tmp_path: Path
) -> None:
    flags, url = store("data")
    server, file = up(*flags), tmp_path / "all.backup"
    with api(server) as client:
        client.create_namespaced_config_map(MAPS, config_map("kept"))
        done("backup", file, *url)
        client.create_namespaced_config_map(MAPS, config_map("lost"))
        client.patch_namespaced_config_map("kept", MAPS, {"data": {"a": "later"}})
        seen = client.list_namespaced_config_map(MAPS)
        newest = int(seen.metadata.resource_version)
    server.stop()
    done("restore", file, *url, "--force")
    server = up(*flags)
    with api(server) as client:
        listed = client.list_namespaced_config_map(MAPS)
        versions = [int(each.metadata.resource_version) for each in listed.items]
        kept, _ = listed.items
        assert kept.metadata.name == "kept"
        assert newest < min(versions) <= max(versions) <= int(listed.metadata.resource_version)
        assert not kept.data
        for version in range(newest - 2, newest + 1):
            assert gone(client, str(version))
        later = next(each for each in seen.items if each.metadata.name == "kept")
        with pytest.raises(kubernetes.client.ApiException) as refused:
            client.replace_namespaced_config_map("kept", MAPS, later)
        assert refused.value.status == 409
    server.stop()


def test_a_store_moves_from_a_directory_into_etcd_and_back_with_its_credentials(
    up: Any, done: Any, own_cluster: str, tmp_path: Path
) -> None:
    first, second, third = (tmp_path / name for name in ("first", "second", "third"))
    server = up("--data-dir", first)
    with api(server) as client:
        for number in range(20):
            client.create_namespaced_config_map(MAPS, config_map(f"c{number:02}"))
        highest = int(client.list_namespaced_config_map(MAPS).metadata.resource_version)
    credentials = yaml.safe_load(Path(server.kubeconfig).read_text())["users"]
    server.stop()

    done("backup", tmp_path / "one", "--data-dir", first, "--with-pki")
    assert "with keys and certificates" in done(
        "backup", "--force", tmp_path / "one", "--data-dir", first, "--with-pki"
    )
    done("restore", tmp_path / "one", "--data-dir", second, "--store", own_cluster, "--with-pki", "--above", highest)
    server = up("--data-dir", second, "--store", own_cluster)
    with api(server) as client:
        assert len([name for name in names(client) if name.startswith("c")]) == 20
        assert gone(client, str(highest))
        client.create_namespaced_config_map(MAPS, config_map("more"))
        listed = client.list_namespaced_config_map(MAPS)
        assert min(int(each.metadata.resource_version) for each in listed.items) > highest
        highest = int(listed.metadata.resource_version)
    assert yaml.safe_load(Path(server.kubeconfig).read_text())["users"] == credentials
    server.stop()

    done("backup", tmp_path / "two", "--store", own_cluster)
    done("restore", tmp_path / "two", "--data-dir", third)
    server = up("--data-dir", third)
    with api(server) as client:
        listed = client.list_namespaced_config_map(MAPS)
        assert "more" in [each.metadata.name for each in listed.items]
        assert min(int(each.metadata.resource_version) for each in listed.items) > highest
        assert gone(client, str(highest))
    assert yaml.safe_load(Path(server.kubeconfig).read_text())["users"] != credentials
    assert server.stop()[0] == 0


def test_certificates_are_put_in_place_of_others_only_by_force(
    up: Any, done: Any, refused: Any, tmp_path: Path
) -> None:
    old, new, file = tmp_path / "old", tmp_path / "new", tmp_path / "file"
    up("--data-dir", old).stop()
    up("--data-dir", new).stop()
    done("backup", file, "--data-dir", old, "--with-pki")
    (new / "store.db").unlink()
    assert f"{new}/pki has certificates already" in refused("restore", "-q", file, "--data-dir", new, "--with-pki")
    done("restore", file, "--data-dir", new, "--with-pki", "--force")
    files = {path.name for path in (old / "pki").iterdir()}
    assert {path.name for path in (new / "pki").iterdir()} == files
    assert {name for name in files if (old / "pki" / name).read_bytes() != (new / "pki" / name).read_bytes()} == set()
    assert {oct(path.stat().st_mode & 0o777) for path in (new / "pki").iterdir()} == {"0o600"}


def test_keys_are_in_a_backup_only_where_they_are_asked_for(up: Any, done: Any, refused: Any, tmp_path: Path) -> None:
    data, file = tmp_path / "old", tmp_path / "file"
    up("--data-dir", data).stop()
    done("backup", file, "--data-dir", data)
    assert b"ca.key" not in gzip.decompress(file.read_bytes())
    errors = refused("restore", "-q", file, "--data-dir", tmp_path / "new", "--with-pki")
    assert errors.endswith("has no certificates: leave out --with-pki")
