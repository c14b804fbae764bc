from typing import Any

import pytest

WEB = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "nginx:1", ports: [{containerPort: 80}]}]}
"""
SIDECAR = WEB.replace("containers: [", "containers: [{name: side, image: envoy}, ")


@pytest.fixture
def applied(kubectl: Any) -> Any:
    kubectl.file("web.yaml", WEB)
    kubectl.says("apply -f web.yaml", "deployment.apps/web created")
    return kubectl


def test_applying_again_changes_nothing(applied: Any) -> None:
    before = applied.output("get deploy web -o jsonpath={.metadata.resourceVersion}")

    applied.says("apply -f web.yaml", "deployment.apps/web unchanged")
    applied.says("get deploy web -o jsonpath={.metadata.resourceVersion}", before)


def test_a_field_that_is_gone_from_the_file_goes_and_what_others_wrote_stays(applied: Any) -> None:
    applied.output("annotate deploy web theirs=1")
    applied.output("scale deploy web --replicas=7")
    applied.file(
        "web.yaml", WEB.replace("  replicas: 2\n", "").replace("labels: {app: web}}\nspec", "labels: {}}\nspec")
    )

    applied.says("apply -f web.yaml", "deployment.apps/web configured")
    applied.says(
        "get deploy web -o jsonpath={.metadata.labels},{.metadata.annotations.theirs},{.spec.replicas}", ",1,1"
    )


def test_a_container_is_added_and_taken_away_by_name(applied: Any) -> None:
    names = "get deploy web -o jsonpath={.spec.template.spec.containers[*].name}"
    applied.file("web.yaml", SIDECAR)
    applied.says("apply -f web.yaml", "deployment.apps/web configured")
    applied.says(names, "side web")

    applied.file("web.yaml", WEB)
    applied.says("apply -f web.yaml", "deployment.apps/web configured")
    applied.says(names, "web")


def test_a_difference_is_shown_and_nothing_is_written(applied: Any) -> None:
    applied.says("diff -f web.yaml", "")
    applied.file("web.yaml", WEB.replace("nginx:1", "nginx:2"))

    applied.refuses(
        "diff -f web.yaml", r"diff -u -N .*\n-  generation: 1\n\+  generation: 2\n.*-.*nginx:1\n\+.*nginx:2\n.*"
    )
    applied.says("get deploy web -o jsonpath={.spec.template.spec.containers[0].image}", "nginx:1")


def test_what_was_applied_last_is_remembered(applied: Any) -> None:
    applied.says("apply view-last-applied deploy web", r"apiVersion: apps/v1\nkind: Deployment\n.*image: nginx:1\n.*")
    applied.file("web2.yaml", WEB.replace("nginx:1", "nginx:2"))
    applied.says("apply set-last-applied -f web2.yaml", "deployment.apps/web configured")
    applied.says("apply view-last-applied deploy web", r".*image: nginx:2\n.*")


def test_what_left_the_files_is_pruned(applied: Any) -> None:
    other = "\n---\n" + WEB.replace("name: web, l", "name: other, l")
    applied.file("web.yaml", WEB + other)
    applied.output("apply -f web.yaml")
    applied.file("web.yaml", WEB)

    applied.says(
        "apply -f web.yaml --prune -l app=web --prune-allowlist=apps/v1/Deployment",
        r"deployment.apps/web unchanged\ndeployment.apps/other pruned",
    )


SMALL = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: shared}\ndata: {DATA}\n"


def test_an_object_is_applied_on_the_server(kubectl: Any) -> None:
    kubectl.file("web.yaml", WEB)
    kubectl.says("apply -f web.yaml --server-side", "deployment.apps/web serverside-applied")
    kubectl.says("apply -f web.yaml --server-side", "deployment.apps/web serverside-applied")
    kubectl.file("web.yaml", WEB.replace("nginx:1", "nginx:2"))
    kubectl.refuses("diff -f web.yaml --server-side", r"diff -u -N .*-.*nginx:1\n\+.*nginx:2\n.*")
    kubectl.says("get deploy web -o jsonpath={.spec.template.spec.containers[0].image}", "nginx:1")
    kubectl.says(
        "apply -f web.yaml --server-side --dry-run=server", r"deployment.apps/web serverside-applied \(.*dry run\)"
    )
    kubectl.says("apply -f web.yaml --server-side", "deployment.apps/web serverside-applied")
    kubectl.says("get deploy web -o jsonpath={.spec.template.spec.containers[0].image}", "nginx:2")
    kubectl.says("diff -f web.yaml --server-side", "")


def test_a_conflict_is_shown_and_can_be_forced(kubectl: Any) -> None:
    kubectl.file("one.yaml", SMALL.replace("DATA", 'a: "1"'))
    kubectl.file("two.yaml", SMALL.replace("DATA", 'a: "2"'))
    kubectl.output("apply -f one.yaml --server-side --field-manager=one")
    kubectl.refuses(
        "apply -f two.yaml --server-side --field-manager=two",
        'error: Apply failed with 1 conflict: conflict with "one": .data.a\n.*',
    )
    kubectl.says(
        "apply -f two.yaml --server-side --field-manager=two --force-conflicts", "configmap/shared serverside-applied"
    )
    kubectl.says("get cm shared -o jsonpath={.data.a}", "2")


def test_what_was_applied_on_the_client_can_be_applied_on_the_server(applied: Any) -> None:
    applied.file("web.yaml", WEB.replace("nginx:1", "nginx:2"))
    applied.says("apply -f web.yaml --server-side", "deployment.apps/web serverside-applied")
    managers = applied.output("get deploy web -o jsonpath={.metadata.managedFields[*].manager} --show-managed-fields")
    assert "kubectl-client-side-apply" not in managers.split()
    without_labels = WEB.replace("nginx:1", "nginx:2").replace("labels: {app: web}}, spec", "labels: {}}, spec")
    applied.file("web.yaml", without_labels)
    applied.says("apply -f web.yaml --server-side", "deployment.apps/web serverside-applied")


def test_an_object_is_replaced_and_replaced_by_force(applied: Any) -> None:
    uid = applied.output("get deploy web -o jsonpath={.metadata.uid}")

    applied.says("replace -f web.yaml", "deployment.apps/web replaced")
    applied.says("get deploy web -o jsonpath={.metadata.uid}", uid)
    applied.says("replace --force -f web.yaml", 'deployment.apps "web" deleted.*\ndeployment.apps/web replaced')
    assert applied.output("get deploy web -o jsonpath={.metadata.uid}") != uid


def test_a_stale_replacement_is_a_conflict(applied: Any) -> None:
    applied.file("stale.yaml", applied.output("get deploy web -o yaml"))
    applied.output("label deploy web a=b")

    applied.refuses(
        "replace -f stale.yaml",
        r"Error from server \(Conflict\): error when replacing \"stale.yaml\": Operation cannot be fulfilled on "
        r"deployments.apps \"web\": the object has been modified; please apply .*",
    )


def test_a_kustomization_is_applied_shown_and_deleted(kubectl: Any) -> None:
    kubectl.file("k/web.yaml", WEB)
    kubectl.file(
        "k/kustomization.yaml",
        "resources: [web.yaml]\nnamePrefix: my-\nconfigMapGenerator: [{name: made, literals: [a=b]}]\n",
    )

    kubectl.says("apply -k k", r"configmap/my-made-\w+ created\ndeployment.apps/my-web created")
    kubectl.says("get -k k -o name", r"configmap/my-made-\w+\ndeployment.apps/my-web")
    kubectl.says("diff -k k", "")
    kubectl.says("delete -k k --wait=false", r'configmap "my-made-\w+" deleted.*\ndeployment.apps "my-web" deleted.*')


REFUSED: list[tuple[str, str, str]] = [
    (
        "kind-unknown",
        "---\n{apiVersion: nope/v1, kind: Nope, metadata: {name: x}}",
        r'error: resource mapping not found for name: "x" .* no matches for kind "Nope" in version "nope/v1"\n.*',
    ),
    ("version-missing", "---\n{kind: Pod, metadata: {name: x}}", "error: .*apiVersion not set.*"),
    ("kind-missing", "---\n{apiVersion: v1, metadata: {name: x}}", "error: .*kind not set.*"),
    ("name-missing", "---\n{apiVersion: v1, kind: ConfigMap}", "error: .*resource name may not be empty"),
    (
        "containers-missing",
        "---\n{apiVersion: v1, kind: Pod, metadata: {name: x}}",
        'The Pod "x" is invalid: spec.containers: Required value',
    ),
    (
        "selector-amiss",
        WEB.replace("matchLabels: {app: web}", "matchLabels: {app: other}"),
        'The Deployment "web" is invalid: spec.template.metadata.labels: .*`selector` does not match template `labels`',
    ),
    (
        "type-amiss",
        WEB.replace("replicas: 2", "replicas: many"),
        (
            r'Error from server \(BadRequest\): error when creating "STDIN": .* cannot be handled as a '
            r"Deployment: json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32"
        ),
    ),
]


@pytest.mark.parametrize(("text", "says"), [pytest.param(*rest, id=name) for name, *rest in REFUSED])
def test_what_cannot_be_applied_is_said(kubectl: Any, text: str, says: str) -> None:
    kubectl.refuses("apply -f -", says, text)


def test_what_left_an_apply_set_is_pruned(kubectl: Any) -> None:
    one, two = SMALL.replace("DATA", 'a: "1"'), SMALL.replace("DATA", 'b: "1"').replace("shared", "other")
    line = f"apply -f set.yaml --server-side --prune --applyset=secret/set -n {kubectl.namespace}"
    kubectl.file("set.yaml", f"{one}---\n{two}")
    kubectl.says(
        line, "configmap/shared serverside-applied\nconfigmap/other serverside-applied", KUBECTL_APPLYSET="true"
    )
    kubectl.file("set.yaml", one)
    kubectl.says(line, "configmap/shared serverside-applied\nconfigmap/other pruned", KUBECTL_APPLYSET="true")
    kubectl.says("get cm -o name", "configmap/(kube-root-ca.crt\nconfigmap/)?shared")
