import subprocess
import sys
from pathlib import Path

import pytest

TESTS = """
import asyncio
import json
import ssl
import urllib.request

import pytest


def names(cluster):
    request = urllib.request.Request(
        f"{cluster.url}/api/v1/namespaces", headers={"Authorization": f"Bearer {cluster.token}"}
    )
    with urllib.request.urlopen(request, context=ssl.create_default_context(cafile=cluster.ca_file)) as answer:
        return {each["metadata"]["name"] for each in json.loads(answer.read())["items"]}


def nodes(cluster):
    request = urllib.request.Request(
        f"{cluster.url}/api/v1/nodes", headers={"Authorization": f"Bearer {cluster.token}"}
    )
    with urllib.request.urlopen(request, context=ssl.create_default_context(cafile=cluster.ca_file)) as answer:
        return {each["metadata"]["name"] for each in json.loads(answer.read())["items"]}


def make(cluster, name):
    request = urllib.request.Request(
        f"{cluster.url}/api/v1/namespaces",
        json.dumps({"metadata": {"name": name}}).encode(),
        {"Authorization": f"Bearer {cluster.token}", "Content-Type": "application/json"},
    )
    urllib.request.urlopen(request, context=ssl.create_default_context(cafile=cluster.ca_file)).close()


@pytest.mark.parametrize("run", range(2))
def test_a_cluster_of_ones_own(kube_cluster, run):
    assert "mine" not in names(kube_cluster)
    make(kube_cluster, "mine")


async def test_a_cluster_in_an_async_test(kube_cluster):
    assert "mine" not in await asyncio.to_thread(names, kube_cluster)


def test_a_shared_cluster(kube_cluster_session):
    make(kube_cluster_session, "shared")


def test_a_shared_cluster_again(kube_cluster_session, kube_cluster):
    assert "shared" in names(kube_cluster_session)
    assert "shared" not in names(kube_cluster)


def test_a_cluster_with_nodes(kube_cluster_with_nodes, kube_cluster):
    assert nodes(kube_cluster_with_nodes) == {"node-1", "node-2", "node-3"}
    assert nodes(kube_cluster) == set()


def test_a_shared_cluster_with_nodes(kube_cluster_with_nodes_session):
    make(kube_cluster_with_nodes_session, "shared")


def test_a_shared_cluster_with_nodes_again(kube_cluster_with_nodes_session):
    assert "shared" in names(kube_cluster_with_nodes_session)
"""

UNUSED = """
import sys

def test_nothing_of_the_server_is_imported():
    assert not {"aiohttp", "apiserver", "mockube.cluster"} & {*sys.modules}
"""


def run(folder: Path, tests: str, *arguments: str) -> str:
    """Return pytest's output on tests in a process of its own, where only the entry point has loaded the plugin."""
    (folder / "test_theirs.py").write_text(tests)

    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return ended.stdout.splitlines()[-1] if ended.returncode == 0 else ended.stdout + ended.stderr


@pytest.mark.parametrize("mode", ["-oasyncio_mode=auto"])
def test_the_fixtures_work_in_tests_of_both_kinds(tmp_path: Path, mode: str) -> None:
    options = (mode, "-oasyncio_default_fixture_loop_scope=function")
    assert run(tmp_path, TESTS, *options).startswith("8 passed")


def test_a_run_that_uses_no_fixture_imports_no_server(tmp_path: Path) -> None:
    others = ("aiohttp", "asyncio", "hypothesispytest", "xdist", "kr8s")
    disabled = [f"-pno:{each}" for each in others]
    assert run(tmp_path, UNUSED, *disabled).startswith("1 passed")


def test_the_fixtures_explain_themselves(tmp_path: Path) -> None:
    said = subprocess.run(
        [sys.executable, "-m", "pytest", "--fixtures", "-q"], cwd=tmp_path, capture_output=True, text=True, check=False
    ).stdout
    assert "A cluster of this test's own, empty except for the objects that every cluster has." in said
    assert "A cluster that all tests of the session share" in said
    assert "A cluster of this test's own whose controllers work and whose three simulated nodes run pods." in said
    assert "A cluster with controllers and nodes that all tests of the session share." in said
