"""Garbage, orphans and namespaces in a cluster with controllers and a simulated node, as kubectl sees them."""

import os
import subprocess
from collections.abc import Callable, Iterator
from itertools import count

import pytest
from patience import SECONDS

from mockube.cluster import Cluster

pytestmark = pytest.mark.kubectl

WEB = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {nodeName: node-1, containers: [{name: c, image: nginx}]}
"""

Run = Callable[..., str]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster(nodes=1) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def environment(cluster: Cluster) -> dict[str, str]:
    return os.environ | {"KUBECONFIG": str(cluster.kubeconfig)}


@pytest.fixture(scope="module")
def numbers() -> Iterator[int]:
    return count(1)


@pytest.fixture
def kubectl(kubectl_path: str, environment: dict[str, str], numbers: Iterator[int]) -> Run:
    """Return a function that runs kubectl in a namespace of the test's own and returns its output; it must succeed."""
    namespace = f"ns-{next(numbers)}"

    def run(*words: str, given: str = "", among: str = namespace) -> str:
        command = [kubectl_path, f"--namespace={among}", *words]
        done = subprocess.run(
            command, input=given, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False
        )
        assert done.returncode == 0, f"kubectl {' '.join(words)}: {done.stdout}{done.stderr}"
        return done.stdout

    run("create", "namespace", namespace)
    return run


@pytest.fixture
def deployed(kubectl: Run) -> Run:
    kubectl("apply", "--filename=-", given=WEB)
    kubectl("rollout", "status", "deployment/web", "--timeout=300s")
    return kubectl


def uid(kubectl: Run, what: str, among: str = "") -> str:
    return kubectl("get", what, "--output=jsonpath={.metadata.uid}", **({"among": among} if among else {}))


def owned(name: str, owner: str, *, kind: str = "ConfigMap", api_version: str = "v1", whom: str = "owner") -> str:
    """A ConfigMap with an owner."""
    reference = f"{{apiVersion: {api_version}, kind: {kind}, name: {whom}, uid: {owner}, blockOwnerDeletion: true}}"
    return f"---\n{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}, ownerReferences: [{reference}]}}}}\n"


def names(kubectl: Run, kinds: str) -> list[str]:
    return kubectl("get", kinds, "--output=name").split()


# -- cascades


def test_what_a_deployment_made_goes_after_it_in_the_background(deployed: Run) -> None:
    deployed("delete", "deployment", "web", "--cascade=background")
    deployed("wait", "--for=delete", "replicaset,pod", "--selector=app=web", "--timeout=300s")


def test_what_a_deployment_made_goes_before_it_in_the_foreground(deployed: Run) -> None:
    deployed("delete", "deployment", "web", "--cascade=foreground", "--timeout=300s")
    assert names(deployed, "deployment,replicaset,pod") == []


def test_orphans_stay_and_have_no_owner_any_more(deployed: Run) -> None:
    pods = names(deployed, "pod")
    deployed("delete", "deployment", "web", "--cascade=orphan", "--timeout=300s")
    assert deployed("get", "replicaset", "--output=jsonpath={.items[*].metadata.ownerReferences}") == ""
    deployed("delete", "replicaset", "--all", "--cascade=orphan", "--timeout=300s")
    assert names(deployed, "pod") == pods
    assert deployed("get", "pods", "--output=jsonpath={.items[*].metadata.ownerReferences}") == ""
    deployed("delete", "pods", "--all", "--timeout=300s")


def test_an_orphan_is_adopted_by_the_next_of_its_kind(deployed: Run) -> None:
    replica_sets = names(deployed, "replicaset")
    deployed("delete", "deployment", "web", "--cascade=orphan", "--timeout=300s")
    deployed("apply", "--filename=-", given=WEB)
    deployed("rollout", "status", "deployment/web", "--timeout=300s")
    assert names(deployed, "replicaset") == replica_sets
    deployed("delete", "deployment", "web", "--cascade=foreground", "--timeout=300s")
    assert names(deployed, "replicaset,pod") == []


# -- owners of any kind


@pytest.fixture
def made(kubectl: Run) -> Run:
    kubectl("create", "configmap", "owner")
    return kubectl


def test_a_dependent_of_two_goes_with_the_second(made: Run) -> None:
    made("create", "configmap", "other")
    made("apply", "--filename=-", given=owned("both", uid(made, "configmap/owner")))
    more = f'{{"apiVersion": "v1", "kind": "ConfigMap", "name": "other", "uid": "{uid(made, "configmap/other")}"}}'
    add = f'[{{"op": "add", "path": "/metadata/ownerReferences/-", "value": {more}}}]'
    made("patch", "configmap", "both", "--type=json", f"--patch={add}")
    made("delete", "configmap", "owner")
    made("wait", "--for=jsonpath={.metadata.ownerReferences[0].name}=other", "configmap/both", "--timeout=300s")
    made("delete", "configmap", "other")
    made("wait", "--for=delete", "configmap/both", "--timeout=300s")


def test_owners_in_a_circle_go_together_in_the_foreground(made: Run) -> None:
    made("apply", "--filename=-", given=owned("second", uid(made, "configmap/owner")))
    made("apply", "--filename=-", given=owned("owner", uid(made, "configmap/second"), whom="second"))
    made("delete", "configmap", "owner", "--cascade=foreground", "--timeout=300s")
    made("wait", "--for=delete", "configmap/second", "--timeout=300s")


def test_an_owner_may_be_of_the_cluster(made: Run) -> None:
    role = f"owner-of-{uid(made, 'configmap/owner')}"
    made("create", "clusterrole", role, "--verb=get", "--resource=pods")
    of_the_cluster = {"kind": "ClusterRole", "api_version": "rbac.authorization.k8s.io/v1", "whom": role}
    made("apply", "--filename=-", given=owned("dependent", uid(made, f"clusterrole/{role}"), **of_the_cluster))
    made("delete", "clusterrole", role)
    made("wait", "--for=delete", "configmap/dependent", "--timeout=300s")


def test_an_owner_in_another_namespace_is_no_owner(made: Run, kubectl_path: str, environment: dict[str, str]) -> None:
    namespace = made("get", "configmap", "owner", "--output=jsonpath={.metadata.namespace}")
    made("create", "configmap", "elsewhere", among="default")
    there = uid(made, "configmap/elsewhere", among="default")
    made("apply", "--filename=-", given=owned("stray", there, whom="elsewhere"))
    made("wait", "--for=delete", "configmap/stray", "--timeout=300s")
    words = ["get", "events", f"--namespace={namespace}", "--watch", "--output=jsonpath={.reason}: {.message}{'\\n'}"]
    with subprocess.Popen([kubectl_path, *words], env=environment, stdout=subprocess.PIPE, text=True) as watching:
        assert watching.stdout is not None
        line = watching.stdout.readline()
        watching.terminate()
    whom = f"ownerRef [v1/ConfigMap, namespace: {namespace}, name: elsewhere, uid: {there}]"
    assert line == f'OwnerRefInvalidNamespace: {whom} does not exist in namespace "{namespace}"\n'


def test_a_reference_to_nobody_is_as_good_as_none_left(made: Run) -> None:
    made("apply", "--filename=-", given=owned("dependent", "00000000-0000-0000-0000-000000000000", whom="nobody"))
    made("wait", "--for=delete", "configmap/dependent", "--timeout=300s")
    assert "configmap/owner" in names(made, "configmap")


# -- namespaces


def test_a_namespace_goes_with_all_that_runs_in_it(deployed: Run) -> None:
    name = deployed("get", "deployment", "web", "--output=jsonpath={.metadata.namespace}")
    deployed("delete", "namespace", name, "--timeout=300s")
    for kinds in ("deployment", "replicaset", "pod", "serviceaccount", "configmap"):
        assert f"{name} " not in deployed("get", kinds, "--all-namespaces", "--no-headers")


def test_a_namespace_says_what_it_waits_for_and_goes_as_soon_as_that_is_gone(made: Run) -> None:
    name = made("get", "configmap", "owner", "--output=jsonpath={.metadata.namespace}")
    made("patch", "configmap", "owner", "--type=merge", '--patch={"metadata": {"finalizers": ["example.com/hold"]}}')
    made("delete", "namespace", name, "--wait=false")
    made("wait", f"namespace/{name}", "--for=condition=NamespaceFinalizersRemaining", "--timeout=300s")
    message = "--output=jsonpath={.status.conditions[?(@.type=='NamespaceContentRemaining')].message}"
    assert made("get", "namespace", name, message) == (
        "Some resources are remaining: configmaps. has 1 resource instances"
    )
    made("patch", "configmap", "owner", "--type=merge", '--patch={"metadata": {"finalizers": null}}')
    made("wait", f"namespace/{name}", "--for=delete", "--timeout=300s")


def test_each_namespace_keeps_its_account_and_the_certificate(kubectl: Run, cluster: Cluster) -> None:
    kubectl("wait", "--for=create", "serviceaccount/default", "configmap/kube-root-ca.crt", "--timeout=300s")
    first = uid(kubectl, "serviceaccount/default")
    kubectl("delete", "serviceaccount", "default")
    kubectl("wait", "--for=create", "serviceaccount/default", "--timeout=300s")
    assert uid(kubectl, "serviceaccount/default") != first
    edit = '--patch={"data": {"ca.crt": "mine"}, "metadata": {"annotations": null}}'
    kubectl("patch", "configmap", "kube-root-ca.crt", "--type=merge", edit)
    described = "--for=jsonpath={.metadata.annotations}"
    kubectl("wait", described, "configmap/kube-root-ca.crt", "--timeout=300s")
    published = kubectl("get", "configmap", "kube-root-ca.crt", "--output=jsonpath={.data.ca\\.crt}")
    assert published == cluster.ca_file.read_text()
