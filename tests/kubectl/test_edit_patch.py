from typing import Any

import pytest


@pytest.fixture
def pod(kubectl: Any) -> Any:
    kubectl.output("run p --image=nginx --labels=x=y")
    return kubectl


PATCHED: list[tuple[str, str, str]] = [
    ("strategic", '{"metadata":{"labels":{"q":"1"}}}', '{"q":"1","x":"y"}'),
    ("strategic", '{"metadata":{"labels":{"$patch":"replace","q":"1"}}}', '{"q":"1"}'),
    ("merge", '{"metadata":{"labels":{"x":null,"z":"2"}}}', '{"z":"2"}'),
    ("json", '[{"op":"add","path":"/metadata/labels/w","value":"1"}]', '{"w":"1","x":"y"}'),
    ("json", '[{"op":"move","from":"/metadata/labels/x","path":"/metadata/labels/w"}]', '{"w":"y"}'),
]


@pytest.mark.parametrize(("kind", "patch", "labels"), PATCHED)
def test_a_patch_of_each_type(pod: Any, kind: str, patch: str, labels: str) -> None:
    pod.says(f"patch pod p --type={kind} -p '{patch}'", "pod/p patched")
    assert pod.output("get pod p -o jsonpath={.metadata.labels}") == labels


CHANGES: list[tuple[str, str]] = [
    ("patch pod p -p '{}'", r"pod/p patched \(no change\)"),
    ("label pod p z=1", "pod/p labeled"),
    ("label pod p x=z --overwrite", "pod/p labeled"),
    ("label pod p x-", "pod/p unlabeled"),
    ("label pod p nothing-", 'label "nothing" not found.\npod/p not labeled'),
    ("label --list pod p", "x=y"),
    ("label pods --all all=1", "pod/p labeled"),
    ("annotate pod p note='hello world'", "pod/p annotated"),
    ("set image pod/p p=nginx:3", "pod/p image updated"),
    ("set image pods --all '*=nginx:4'", "pod/p image updated"),
]


@pytest.mark.parametrize(("line", "says"), CHANGES)
def test_a_change_of_a_pod(pod: Any, line: str, says: str) -> None:
    pod.says(line, says)


REFUSED: list[tuple[str, str]] = [
    ("label pod p x=z", r"error: 'x' already has a value \(y\), and --overwrite is false"),
    ("label pod p 'bad key=1'", '.*Invalid value: "bad key": name part must consist of alphanumeric characters.*'),
    ("set image pod/p nobody=nginx", 'error: unable to find container named "nobody"'),
    ("patch pod nobody -p '{}'", r'Error from server \(NotFound\): pods "nobody" not found'),
    (
        """patch pod p --type=json -p '[{"op":"test","path":"/metadata/labels/x","value":"2"}]'""",
        "The request is invalid: the server rejected our request due to an error in our request",
    ),
    (
        """patch pod p -p '{"spec":{"containers":[{"name":"p","command":["x"]}]}}'""",
        'The Pod "p" is invalid: spec: Forbidden: pod updates may not change fields other than .*',
    ),
    (
        """patch pod p -p '{"metadata":{"name":"q"}}'""",
        r"Error from server \(BadRequest\): the name of the object \(q\) does not match the name on the URL \(p\)",
    ),
]


@pytest.mark.parametrize(("line", "says"), REFUSED)
def test_what_cannot_be_changed_is_said(pod: Any, line: str, says: str) -> None:
    pod.refuses(line, says)


@pytest.fixture
def web(kubectl: Any) -> Any:
    kubectl.output("create deploy web --image=nginx --replicas=3")
    return kubectl


OF_DEPLOYMENTS: list[tuple[str, str, str, str]] = [
    ("scale deploy web --replicas=5", "deployment.apps/web scaled", ".spec.replicas", "5"),
    ("scale deploy web --replicas=5 --current-replicas=3", "deployment.apps/web scaled", ".spec.replicas", "5"),
    ("set image deploy/web nginx=nginx:2", "deployment.apps/web image updated", "{c}.image", "nginx:2"),
    ("set env deploy/web A=B", "deployment.apps/web env updated", "{c}.env", r'\[{{"name":"A","value":"B"}}\]'),
    (
        "set resources deploy web --limits=cpu=200m,memory=1Gi",
        "deployment.apps/web resource requirements updated",
        "{c}.resources.limits",
        r'{{"cpu":"200m","memory":"1Gi"}}',
    ),
    (
        "set serviceaccount deploy web robot",
        "deployment.apps/web serviceaccount updated",
        ".spec.template.spec.serviceAccount",
        "robot",
    ),
    ("rollout pause deploy web", "deployment.apps/web paused", ".spec.paused", "true"),
    ("rollout restart deploy web", "deployment.apps/web restarted", ".metadata.generation", "2"),
    (
        """patch deploy web --subresource=scale --type=merge -p '{"spec":{"replicas":2}}'""",
        "scale.autoscaling/web patched",
        ".spec.replicas",
        "2",
    ),
    (
        """patch deploy web --subresource=status --type=merge -p '{"status":{"replicas":1},"spec":{"replicas":9}}'""",
        "deployment.apps/web patched",
        ".spec.replicas",
        "3",
    ),
]


@pytest.mark.parametrize(("line", "says", "path", "value"), OF_DEPLOYMENTS)
def test_a_change_of_a_deployment(web: Any, line: str, says: str, path: str, value: str) -> None:
    container = ".spec.template.spec.containers[0]"
    web.says(line, says)
    web.says(f"get deploy web -o jsonpath={{{path.format(c=container)}}}", value.format())


NOT_OF_DEPLOYMENTS: list[tuple[str, str]] = [
    ("scale deploy web --replicas=2 --current-replicas=9", "error: Expected replicas to be 9, was 3"),
    ("scale deploy nobody --replicas=1", 'error: no objects passed to scale deployments.apps "nobody" not found'),
    ("rollout undo deploy web", 'error: no rollout history found for deployment "web"'),
    (
        """patch deploy web -p '{"spec":{"selector":{"matchLabels":{"app":"z"}}}}'""",
        r'The Deployment "web" is invalid: .*spec.selector: Invalid value: .*: field is immutable',
    ),
]


@pytest.mark.parametrize(("line", "says"), NOT_OF_DEPLOYMENTS)
def test_what_a_deployment_refuses(web: Any, line: str, says: str) -> None:
    web.refuses(line, says)


def test_a_rollout_waits_for_who_is_not_there(web: Any) -> None:
    web.says("rollout history deploy web", r"deployment.apps/web *\nNo rollout history found\.")
    web.refuses(
        "rollout status deploy web --timeout=1s",
        "Waiting for deployment spec update to be observed...\nerror: timed out waiting for the condition",
    )


def test_a_service_selects_and_a_binding_binds_others(kubectl: Any) -> None:
    kubectl.output("create service clusterip s --tcp=80")
    kubectl.output("create rolebinding rb --clusterrole=view --user=u")

    kubectl.says("set selector svc s x=y", "service/s selector updated")
    kubectl.says("set subject rolebinding rb --user=u2", r"rolebinding.rbac.authorization.k8s.io/rb subjects updated")
    kubectl.says("get rolebinding rb -o jsonpath={.subjects[*].name}", "u u2")


def test_an_editor_changes_an_object(kubectl: Any) -> None:
    kubectl.output("create cronjob often --image=busybox --schedule='*/5 * * * *' -- date")

    kubectl.says(
        "edit cronjob often", "cronjob.batch/often edited", KUBE_EDITOR="sed -i 's/schedule: .*/schedule: 1 1 1 1 1/'"
    )
    kubectl.says("get cronjob often -o jsonpath={.spec.schedule}", "1 1 1 1 1")
    kubectl.says("edit cronjob often", "Edit cancelled, no changes made.", KUBE_EDITOR="true")


def test_an_editor_is_told_what_is_wrong(kubectl: Any) -> None:
    kubectl.output("create cronjob often --image=busybox --schedule='*/5 * * * *' -- date")

    kubectl.refuses(
        "edit cronjob often",
        r'error: cronjobs.batch "often" is invalid\n.*Edit cancelled, no valid changes were saved\.',
        KUBE_EDITOR="sed -i 's/schedule: .*/schedule: bad/'",
    )
