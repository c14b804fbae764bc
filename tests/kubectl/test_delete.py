from typing import Any

import pytest
from patience import SECONDS

GONE: list[tuple[str, str]] = [
    ("delete pod p", 'pod "p" deleted.*'),
    ("delete pod p --now", 'pod "p" deleted.*'),
    ("delete pod p --grace-period=5", 'pod "p" deleted.*'),
    (
        "delete pod p --grace-period=0 --force",
        'pod "p" force deleted.*\nWarning: Immediate deletion does not wait for confirmation .*',
    ),
    ("delete pods --all", 'pod "p" deleted.*\npod "q" deleted.*'),
    ("delete pods -l x=1", 'pod "p" deleted.*'),
    ("delete pods --field-selector=metadata.name=p", 'pod "p" deleted.*'),
    ("delete pod/p sa/robot", 'pod "p" deleted.*\nserviceaccount "robot" deleted.*'),
    ("delete pod p -o name", "pod/p"),
    ("delete pod p --cascade=background", 'pod "p" deleted.*'),
    ("delete pod p nobody --ignore-not-found", 'pod "p" deleted.*'),
]


@pytest.fixture
def pods(kubectl: Any) -> Any:
    spec = "{containers: [{name: c, image: i}]}"
    pod = "---\n{apiVersion: v1, kind: Pod, metadata: {name: %s, labels: {x: '%s'}}, spec: " + spec + "}\n"
    account = "---\n{apiVersion: v1, kind: ServiceAccount, metadata: {name: robot}}\n"
    kubectl.output("create -f -", "".join((pod % ("p", 1), pod % ("q", 2), account)))
    return kubectl


@pytest.mark.parametrize(("line", "says"), GONE)
def test_what_is_deleted_is_gone(pods: Any, line: str, says: str) -> None:
    pods.says(line, says)
    pods.refuses("get pod p", r'Error from server \(NotFound\): pods "p" not found')


STAYS: list[tuple[str, str]] = [
    ("delete pod p --dry-run=client", r'pod "p" deleted.* \(dry run\)'),
    ("delete pod p --dry-run=server", r'pod "p" deleted.* \(server dry run\)'),
    ("delete pod nobody --ignore-not-found", ""),
    ("delete pods -l x=9", "No resources found"),
]


@pytest.mark.parametrize(("line", "says"), STAYS)
def test_what_is_not_deleted_stays(pods: Any, line: str, says: str) -> None:
    pods.says(line, says)
    pods.says("get pods -o name", "pod/p\npod/q")


REFUSED: list[tuple[str, str]] = [
    ("delete pod nobody", r'Error from server \(NotFound\): pods "nobody" not found'),
    ("delete pods", "error: resource\\(s\\) were provided, but no name was specified"),
    (
        "delete ns default",
        r'Error from server \(Forbidden\): namespaces "default" is forbidden: this namespace may not be deleted',
    ),
]


@pytest.mark.parametrize(("line", "says"), REFUSED)
def test_what_cannot_be_deleted_is_said(pods: Any, line: str, says: str) -> None:
    pods.refuses(line, says)


@pytest.mark.parametrize(("cascade", "finalizer"), [("orphan", "orphan"), ("foreground", "foregroundDeletion")])
def test_a_deletion_waits_for_the_garbage_collector(kubectl: Any, cascade: str, finalizer: str) -> None:
    kubectl.output("create deploy web --image=nginx")

    kubectl.says(f"delete deploy web --cascade={cascade} --wait=false", 'deployment.apps "web" deleted.*')
    kubectl.says("get deploy web -o jsonpath={.metadata.finalizers}", rf'\["{finalizer}"\]')
    kubectl.output("""patch deploy web --type=merge -p '{"metadata":{"finalizers":null}}'""")
    kubectl.says("wait --for=delete deploy/web", "")


def test_a_finalizer_keeps_an_object_until_it_is_taken_away(kubectl: Any) -> None:
    kubectl.output(
        "create -f -", "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: kept, finalizers: [example.com/x]}}"
    )
    deleting = kubectl.start("delete cm kept")
    assert deleting.stdout.readline().startswith('configmap "kept" deleted')
    kubectl.says("wait --for=jsonpath={.metadata.deletionTimestamp} cm/kept", "configmap/kept condition met")

    kubectl.output("""patch cm kept --type=merge -p '{"metadata":{"finalizers":null}}'""")

    assert deleting.wait(timeout=SECONDS) == 0
    deleting.communicate()


def test_a_scheduled_pod_gets_its_time_and_force_takes_it(kubectl: Any) -> None:
    kubectl.output("""run p --image=nginx --overrides='{"spec":{"nodeName":"somewhere"}}'""")

    kubectl.says("delete pod p --wait=false", 'pod "p" deleted.*')
    kubectl.says("get pod p", r"NAME .*\np +0/1 +Terminating +0 +\d+s")
    kubectl.says("delete pod p --force", r'pod "p" force deleted.*')
    kubectl.refuses("get pod p", r'Error from server \(NotFound\): pods "p" not found')


def test_a_namespace_takes_all_that_is_in_it(kubectl: Any) -> None:
    doomed = f"{kubectl.namespace}-doomed"
    kubectl.output(f"create ns {doomed}")
    kubectl.output(f"create cm here -n {doomed}")

    kubectl.says(f"delete ns {doomed}", f'namespace "{doomed}" deleted')
    kubectl.says(f"get cm -n {doomed}", f"No resources found in {doomed} namespace.")
    kubectl.refuses(f"get ns {doomed}", rf'Error from server \(NotFound\): namespaces "{doomed}" not found')
