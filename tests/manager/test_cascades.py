"""Cascading deletion: the dependents that go with their owner, and in which order, as kubectl shows it."""

import json
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

Kubectl = Any
Write = Callable[..., str]

KINDS = ("pods", "replicasets", "deployments")
REVISIONS = "-o 'custom-columns=:.type,:.object.metadata.resourceVersion' --no-headers"


@pytest.fixture
def web(kubectl: Kubectl, deployment: Write) -> Kubectl:
    kubectl.output("apply -f -", deployment(replicas=3))
    kubectl.output("rollout status deployment/web")
    return kubectl


def ends(watching: subprocess.Popen[str], count: int) -> list[int]:
    """The revisions at which so many objects went."""
    assert watching.stdout is not None
    exit_codes: list[int] = []
    while len(exit_codes) < count:
        kind, revision = watching.stdout.readline().split()
        if kind == "DELETED":
            exit_codes.append(int(revision))
    watching.terminate()
    watching.communicate()
    return exit_codes


def test_in_the_foreground_pods_go_first_and_the_deployment_last(web: Kubectl) -> None:
    """Row D35."""
    watches = [web.start(f"get {kind} --watch --output-watch-events {REVISIONS}") for kind in KINDS]
    for watch, count in zip(watches, (3, 1, 1), strict=True):
        for _ in range(count):
            assert watch.stdout.readline().startswith("ADDED")
    web.says("delete deployment web --cascade=foreground", 'deployment.apps "web" deleted.*')
    web.refuses("get deployment web", r"Error from server \(NotFound\): .*")
    pods, [replica_set], [deployment] = [ends(*each) for each in zip(watches, (3, 1, 1), strict=True)]
    assert max(pods) < replica_set < deployment
    web.says("get all", r"No resources found in \S+ namespace\.")


def test_what_has_to_go_first_holds_the_deployment(web: Kubectl) -> None:
    [pod, *_] = web.output("get pods -o name").split()
    hold = json.dumps({"metadata": {"finalizers": ["example.com/hold"]}})
    web.output(f"patch {pod} --type=merge --patch='{hold}'")
    web.says("delete deployment web --cascade=foreground --wait=false", 'deployment.apps "web" deleted.*')
    for name in web.output("get pods -o name").split():
        if name != pod:
            web.output(f"wait {name} --for=delete --timeout=300s")
    marked = "get deployments,replicasets -o 'jsonpath={.items[*].metadata.finalizers}'"
    assert web.output(marked) == '["foregroundDeletion"] ["foregroundDeletion"]'
    web.output(f"""patch {pod} --type=merge --patch='{{"metadata": {{"finalizers": null}}}}'""")
    web.output("wait deployment/web --for=delete --timeout=300s")


def test_in_the_background_the_deployment_goes_first(web: Kubectl) -> None:
    watches = [web.start(f"get {kind} --watch --output-watch-events {REVISIONS}") for kind in KINDS]
    for watch, count in zip(watches, (3, 1, 1), strict=True):
        for _ in range(count):
            assert watch.stdout.readline().startswith("ADDED")
    web.says("delete deployment web --cascade=background", 'deployment.apps "web" deleted.*')
    pods, [replica_set], [deployment] = [ends(*each) for each in zip(watches, (3, 1, 1), strict=True)]
    assert deployment < replica_set < min(pods)


def test_orphans_are_taken_in_again_by_the_next_of_that_name(web: Kubectl, deployment: Write) -> None:
    """Row D36."""
    before = _made(web)
    web.says("delete deployment web --cascade=orphan", 'deployment.apps "web" deleted.*')
    assert _made(web) == before
    assert web.output("get replicasets -o 'jsonpath={.items[*].metadata.ownerReferences}'") == ""
    web.output("apply -f -", deployment(replicas=3))
    web.says("rollout status deployment/web", '.*deployment "web" successfully rolled out')
    assert _made(web) == before
    owner = web.output("get replicasets -o 'jsonpath={.items[*].metadata.ownerReferences[*].uid}'")
    assert owner == web.output("get deployment web -o jsonpath={.metadata.uid}")
    web.says("rollout history deployment/web", r"deployment.apps/web ?\nREVISION  CHANGE-CAUSE\n1 +<none>")


def test_a_set_that_is_deleted_comes_again_and_a_pod_too(web: Kubectl) -> None:
    before = _made(web)
    web.says("delete replicasets --all", 'replicaset.apps "web-.*" deleted.*')
    web.output("rollout status deployment/web")
    after = _made(web)
    assert len(after) == 4
    assert not after & before
    web.output("delete pods --all")
    web.output("wait deployment/web --for=jsonpath={.status.readyReplicas}=3 --timeout=300s")
    assert len(_made(web) & after) == 1, "the ReplicaSet"


def _made(kubectl: Kubectl) -> set[str]:
    """The uids of ReplicaSets and pods."""
    kubectl.settle()
    return set(kubectl.output("get replicasets,pods -o 'jsonpath={.items[*].metadata.uid}'").split())


def test_a_namespace_goes_with_all_that_is_in_it(web: Kubectl) -> None:
    name = f"{web.namespace}-more"
    web.output(f"create namespace {name}")
    web.output(f"create deployment web --image=nginx:1 --replicas=3 -n {name}")
    web.output(f"rollout status deployment/web -n {name}")
    web.says(f"delete namespace {name}", f'namespace "{name}" deleted')
    web.refuses(f"get namespace {name}", r"Error from server \(NotFound\): .*")
    assert name not in web.output("get pods,replicasets,deployments,events,serviceaccounts -A --no-headers")


def test_nothing_is_made_in_a_namespace_that_goes(web: Kubectl) -> None:
    name = f"{web.namespace}-more"
    web.output(f"create namespace {name}")
    web.output(f"create deployment web --image=stubborn.mockube.io/app -n {name}")
    web.output(f"rollout status deployment/web -n {name}")
    web.output(f"delete namespace {name} --wait=false")
    web.refuses(
        f"create configmap more -n {name}",
        f".*forbidden: unable to create new content in namespace {name} because it is being terminated",
    )
    web.output(f"wait pods --all -n {name} --for=jsonpath={{.metadata.deletionGracePeriodSeconds}}=30 --timeout=300s")
    web.says(f"get namespace {name} --no-headers", rf"{name} +Terminating +\d+s")
    web.output(f"delete pods --all -n {name} --grace-period=0 --force")
    web.output(f"wait namespace/{name} --for=delete --timeout=300s")
