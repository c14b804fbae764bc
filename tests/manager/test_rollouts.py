"""Deployments roll out and back, pause and resume, as kubectl shows it."""

import json
import re
import time
from collections.abc import Callable
from typing import Any

import pytest

Kubectl = Any
Write = Callable[..., str]

PROGRESS = r'(Waiting for (deployment spec update|deployment "web" rollout).*\.\.\.\n)*'
ROLLED_OUT = PROGRESS + r'deployment "web" successfully rolled out'
IMAGES = "get replicasets -o custom-columns=:.spec.template.spec.containers[0].image,:.spec.replicas --no-headers"
NEVER = {"mockube.io/ready-after": "never"}


@pytest.fixture
def web(kubectl: Kubectl) -> Kubectl:
    """Three replicas of nginx:1 at work."""
    kubectl.says("create deployment web --image=nginx:1 --replicas=3", "deployment.apps/web created")
    kubectl.says("rollout status deployment/web", ROLLED_OUT)
    return kubectl


def replica_sets(kubectl: Kubectl) -> dict[str, int]:
    """Image → how many pods of it are wanted; no image twice."""
    rows = [row.split() for row in kubectl.output(IMAGES).splitlines()]
    assert len({row[0] for row in rows}) == len(rows), rows
    return {image: int(expected) for image, expected in rows}


def until(kubectl: Kubectl, **expected: int) -> None:
    """Wait for numbers in the status of the Deployment "web"."""
    for field, number in expected.items():
        kubectl.output(f"wait deployment/web --for=jsonpath={{.status.{field}}}={number} --timeout=300s")


def observed(kubectl: Kubectl) -> Any:
    """The Deployment "web" once its controller has seen it as it is."""
    generation = kubectl.output("get deployment web -o jsonpath={.metadata.generation}")
    until(kubectl, observedGeneration=int(generation))
    return json.loads(kubectl.output("get deployment web -o json"))


def progressing(kubectl: Kubectl) -> tuple[str, str]:
    [condition] = [each for each in observed(kubectl)["status"]["conditions"] if each["type"] == "Progressing"]
    return condition["status"], condition["reason"]


TOO_SOON = "error: failed to create patch for web: if restart has already been triggered within the past second, "


def next_second() -> None:
    """Wait for the clock by which kubectl tells restarts apart."""
    time.sleep(1 - time.time() % 1)


# -- forward


def test_what_is_created_runs(web: Kubectl) -> None:
    web.says(
        "get deployments,replicasets -o wide",
        r"NAME +READY +UP-TO-DATE +AVAILABLE +AGE +CONTAINERS +IMAGES +SELECTOR\n"
        r"deployment.apps/web +3/3 +3 +3 +\d+s +nginx +nginx:1 +app=web\n\n"
        r"NAME +DESIRED +CURRENT +READY +AGE +CONTAINERS +IMAGES +SELECTOR\n"
        r"replicaset.apps/web-(\w+) +3 +3 +3 +\d+s +nginx +nginx:1 +app=web,pod-template-hash=\1",
    )
    pods = web.output("get pods --no-headers -o wide").splitlines()
    assert len(pods) == 3
    for pod in pods:
        assert re.match(r"web-[a-z0-9]+-[a-z0-9]{5} +1/1 +Running +0 +\d+s +10\.244\.\d+\.\d+ +node-[123] ", pod), pod
    assert len({pod.split()[6] for pod in pods}) == 3, "each is on a node of its own"


def test_a_new_image_goes_out_step_by_step(web: Kubectl) -> None:
    web.says("set image deployment/web nginx=nginx:2", "deployment.apps/web image updated")
    lines = web.says("rollout status deployment/web", ROLLED_OUT)
    assert set(lines.splitlines()[:-1]) <= {
        "Waiting for deployment spec update to be observed...",
        *(
            f'Waiting for deployment "web" rollout to finish: {n} out of 3 new replicas have been updated...'
            for n in range(3)
        ),
        *(
            f'Waiting for deployment "web" rollout to finish: {n} old replicas are pending termination...'
            for n in range(3)
        ),
        *(
            f'Waiting for deployment "web" rollout to finish: {n} of 3 updated replicas are available...'
            for n in range(3)
        ),
    }
    assert replica_sets(web) == {"nginx:1": 0, "nginx:2": 3}
    web.says(
        "describe deployment web",
        r".*Annotations: +deployment.kubernetes.io/revision: 2\n.*"
        r"Replicas: +3 desired \| 3 updated \| 3 total \| 3 available \| 0 unavailable\n.*"
        r"  Available +True +MinimumReplicasAvailable\n  Progressing +True +NewReplicaSetAvailable\n"
        r"OldReplicaSets: +(web-\w+) \(0/0 replicas created\)\nNewReplicaSet: +(web-\w+) \(3/3 replicas created\)\n"
        r"Events:.*  Normal  ScalingReplicaSet +\S+ +deployment-controller +Scaled up replica set \1 from 0 to 3\n.*"
        r" Scaled up replica set \2 from 0 to 1\n.* Scaled down replica set \1 from 1 to 0.*",
    )


def test_a_second_image_does_not_wait_for_the_first(kubectl: Kubectl, deployment: Write) -> None:
    kubectl.output("apply -f -", deployment(replicas=4))
    kubectl.says("rollout status deployment/web", ROLLED_OUT)
    kubectl.output("apply -f -", deployment(image="nginx:2", annotations=NEVER, replicas=4))
    until(kubectl, updatedReplicas=2)
    kubectl.output("apply -f -", deployment(image="nginx:3", replicas=4))
    kubectl.says("rollout status deployment/web", ROLLED_OUT)
    assert replica_sets(kubectl) == {"nginx:1": 0, "nginx:2": 0, "nginx:3": 4}


def test_a_rollout_that_gets_nowhere_is_reported_and_stops(kubectl: Kubectl, deployment: Write) -> None:
    """Rows D6 and D7: nothing is taken back by itself, and an undo does not wait for what never gets ready."""
    strategy = {"rollingUpdate": {"maxSurge": 3, "maxUnavailable": 2}}
    many = {"replicas": 10, "strategy": strategy, "progressDeadlineSeconds": 1}
    kubectl.output("apply -f -", deployment(**many))
    kubectl.says("rollout status deployment/web", ROLLED_OUT)
    kubectl.output("apply -f -", deployment(image="unready.mockube.io/app", **many))
    kubectl.refuses(
        "rollout status deployment/web", PROGRESS + 'error: deployment "web" exceeded its progress deadline'
    )
    assert progressing(kubectl) == ("False", "ProgressDeadlineExceeded")
    assert replica_sets(kubectl) == {"nginx:1": 8, "unready.mockube.io/app": 5}
    kubectl.says("get deployment web --no-headers", r"web +8/10 +5 +8 +\d+s")
    kubectl.says("rollout undo deployment/web", "deployment.apps/web rolled back")
    kubectl.says("rollout status deployment/web", ROLLED_OUT)
    assert replica_sets(kubectl) == {"nginx:1": 10, "unready.mockube.io/app": 0}
    assert progressing(kubectl) == ("True", "NewReplicaSetAvailable")


def test_what_gets_ready_after_the_deadline_is_well_in_the_end(kubectl: Kubectl, deployment: Write) -> None:
    """Row D32."""
    late = {"mockube.io/ready-after": "5s"}
    kubectl.output("apply -f -", deployment(annotations=late, progressDeadlineSeconds=1))
    kubectl.refuses("rollout status deployment/web", r".*exceeded its progress deadline")
    kubectl.output("wait deployment/web --for=condition=Available --timeout=300s")
    kubectl.says("rollout status deployment/web", ROLLED_OUT)
    assert progressing(kubectl) == ("True", "NewReplicaSetAvailable")


def test_recreate_waits_until_the_last_old_pod_is_gone(kubectl: Kubectl, deployment: Write) -> None:
    """Row D26."""
    recreate = {"strategy": {"type": "Recreate"}, "replicas": 2}
    slow = {"mockube.io/stop-after": "2s"}
    kubectl.output("apply -f -", deployment(annotations=slow, **recreate))
    kubectl.says("rollout status deployment/web", ROLLED_OUT)
    kubectl.output("apply -f -", deployment(image="nginx:2", **recreate))
    kubectl.output("wait deployment/web --for=condition=Available=false --timeout=300s")
    kubectl.says(
        "get pods --no-headers", r"web-(\w+)-\w+ +1/1 +Terminating +0 +\d+s\nweb-\1-\w+ +1/1 +Terminating +0 +\d+s"
    )
    kubectl.says("rollout status deployment/web", ROLLED_OUT)
    assert replica_sets(kubectl) == {"nginx:1": 0, "nginx:2": 2}


# -- back


@pytest.fixture
def thrice(web: Kubectl) -> Kubectl:
    """Three revisions with their causes."""
    web.output("annotate deployment/web kubernetes.io/change-cause=first")
    for number, cause in ((2, "second"), (3, "third")):
        web.output(f"set image deployment/web nginx=nginx:{number}")
        web.output(f"annotate deployment/web kubernetes.io/change-cause={cause} --overwrite")
        web.says("rollout status deployment/web", ROLLED_OUT)
    return web


def history(*rows: str) -> str:
    return "deployment.apps/web ?\nREVISION  CHANGE-CAUSE\n" + "\n".join(row.replace(" ", " +", 1) for row in rows)


def test_history_tells_revisions_and_their_causes(thrice: Kubectl) -> None:
    thrice.says("rollout history deployment/web", history("1 first", "2 second", "3 third"))
    thrice.says(
        "rollout history deployment/web --revision=2",
        r"deployment.apps/web with revision #2\nPod Template:\n"
        r"  Labels:\tapp=web\n\tpod-template-hash=\w+\n  Annotations:\tkubernetes.io/change-cause: second\n"
        r"  Containers:\n   nginx:\n    Image:\tnginx:2\n.*",
    )
    thrice.refuses("rollout history deployment/web --revision=7", "error: unable to find the specified revision")


def test_an_undo_is_a_new_revision_of_an_old_template(thrice: Kubectl) -> None:
    """Rows D8 and D9: the ReplicaSet of that template is used again."""
    names = thrice.output("get replicasets -o name")
    thrice.says("rollout undo deployment/web --to-revision=1", "deployment.apps/web rolled back")
    thrice.says("rollout status deployment/web", ROLLED_OUT)
    assert thrice.output("get replicasets -o name") == names
    thrice.says("rollout history deployment/web", history("2 second", "3 third", "4 first"))
    thrice.says("rollout undo deployment/web", "deployment.apps/web rolled back")
    thrice.says("rollout status deployment/web", ROLLED_OUT)
    thrice.says("rollout history deployment/web", history("2 second", "4 first", "5 third"))
    assert replica_sets(thrice) == {"nginx:1": 0, "nginx:2": 0, "nginx:3": 3}
    past = "custom-columns=:.metadata.annotations.deployment\\.kubernetes\\.io/revision-history"
    assert sorted(thrice.output(f"get replicasets --no-headers -o '{past}'").split()) == ["1", "3", "<none>"]


def test_an_undo_that_cannot_be_is_refused(web: Kubectl) -> None:
    web.refuses("rollout undo deployment/web", 'error: no rollout history found for deployment "web"')
    web.refuses("rollout undo deployment/web --to-revision=9", "error: unable to find specified revision 9 in history")
    web.says(
        "rollout undo deployment/web --to-revision=1",
        r"deployment.apps/web skipped rollback \(current template already matches revision 1\)",
    )


def test_history_is_as_long_as_its_limit(kubectl: Kubectl, deployment: Write) -> None:
    """Row D29."""
    for image in ("nginx:1", "nginx:2", "nginx:3"):
        kubectl.output("apply -f -", deployment(image=image, revisionHistoryLimit=0))
        kubectl.says("rollout status deployment/web", ROLLED_OUT)
    kubectl.output("wait replicaset -l app=web --for=jsonpath={.spec.replicas}=1 --timeout=300s")
    assert replica_sets(kubectl) == {"nginx:3": 1}
    kubectl.refuses("rollout undo deployment/web", 'error: no rollout history found for deployment "web"')


# -- pause, resume, restart


def test_a_paused_deployment_makes_no_revision_until_it_is_resumed(web: Kubectl) -> None:
    """Row D10; a second change while paused costs nothing."""
    web.says("rollout pause deployment/web", "deployment.apps/web paused")
    web.refuses("rollout pause deployment/web", 'error: deployments.apps "web" is already paused')
    web.output("set image deployment/web nginx=nginx:2")
    web.output("set image deployment/web nginx=nginx:3")
    assert progressing(web) == ("Unknown", "DeploymentPaused")
    assert replica_sets(web) == {"nginx:1": 3}
    web.refuses(
        "rollout undo deployment/web --to-revision=1",
        "error: you cannot rollback a paused deployment; resume it first with .*",
    )
    web.refuses(
        "rollout restart deployment/web", r"error: .*can't restart paused deployment \(run rollout resume first\)"
    )
    web.says("rollout resume deployment/web", "deployment.apps/web resumed")
    web.refuses("rollout resume deployment/web", 'error: deployments.apps "web" is not paused')
    web.says("rollout status deployment/web", ROLLED_OUT)
    assert replica_sets(web) == {"nginx:1": 0, "nginx:3": 3}
    web.says("rollout history deployment/web", history("1 <none>", "2 <none>"))


def test_a_paused_deployment_still_scales(web: Kubectl) -> None:
    web.output("rollout pause deployment/web")
    web.says("scale deployment/web --replicas=5", "deployment.apps/web scaled")
    until(web, readyReplicas=5)
    assert replica_sets(web) == {"nginx:1": 5}


def test_a_rollout_paused_on_its_way_stands_still_and_goes_on(kubectl: Kubectl, deployment: Write) -> None:
    """Row D12."""
    kubectl.output("apply -f -", deployment(replicas=4))
    kubectl.says("rollout status deployment/web", ROLLED_OUT)
    slow = {"mockube.io/ready-after": "3s"}
    kubectl.output("apply -f -", deployment(image="nginx:2", annotations=slow, replicas=4))
    until(kubectl, updatedReplicas=2)
    kubectl.output("rollout pause deployment/web")
    observed(kubectl)
    at = replica_sets(kubectl)
    assert at == {"nginx:1": 3, "nginx:2": 2}
    until(kubectl, readyReplicas=5)
    assert replica_sets(kubectl) == at
    kubectl.output("rollout resume deployment/web")
    kubectl.says("rollout status deployment/web", ROLLED_OUT)
    assert replica_sets(kubectl) == {"nginx:1": 0, "nginx:2": 4}


def test_a_restart_replaces_every_pod(web: Kubectl) -> None:
    pods = set(web.output("get pods -o name").split())
    web.says("rollout restart deployment/web", "deployment.apps/web restarted")
    web.says("rollout status deployment/web", ROLLED_OUT)
    web.settle()
    assert not pods & set(web.output("get pods -o name").split())


def restart_twice_within_a_second(web: Kubectl) -> int:
    """Restart until kubectl refuses one as too soon after another, and return how many were not refused.

    A busy machine may need more than a second for two commands, so that both restart.
    """
    for restarts in range(1, 40, 2):
        next_second()
        web.says("rollout restart deployment/web", "deployment.apps/web restarted")
        second = web.run("rollout restart deployment/web")
        if second.code:
            assert re.match(TOO_SOON, second.words), second
            return restarts
    return pytest.fail("in 20 seconds no two restarts fell into the same one")


def test_restarts_within_a_second_are_one(web: Kubectl) -> None:
    """Row D46: kubectl writes the time into the template, in whole seconds, and refuses to write the same again."""
    restarts = restart_twice_within_a_second(web)
    web.says("rollout status deployment/web", ROLLED_OUT)
    revisions = [f"{number} <none>" for number in range(1, restarts + 3)]
    web.says("rollout history deployment/web", history(*revisions[:-1]))
    next_second()
    web.says("rollout restart deployment/web", "deployment.apps/web restarted")
    web.says("rollout status deployment/web", ROLLED_OUT)
    web.says("rollout history deployment/web", history(*revisions))


# -- size


def test_a_change_of_size_in_a_rollout_is_shared_between_old_and_new(kubectl: Kubectl, deployment: Write) -> None:
    """Row D15."""
    sizes = {"replicas": 10, "strategy": {"rollingUpdate": {"maxSurge": 3, "maxUnavailable": 2}}}
    kubectl.output("apply -f -", deployment(**sizes))
    kubectl.says("rollout status deployment/web", ROLLED_OUT)
    kubectl.output("apply -f -", deployment(image="nginx:2", annotations=NEVER, **sizes))
    until(kubectl, updatedReplicas=5, availableReplicas=8, replicas=13)
    assert replica_sets(kubectl) == {"nginx:1": 8, "nginx:2": 5}
    larger = {"replicas": 50, "strategy": {"rollingUpdate": {"maxSurge": 6, "maxUnavailable": 2}}}
    kubectl.output("apply -f -", deployment(image="nginx:2", annotations=NEVER, **larger))
    until(kubectl, replicas=56)
    assert replica_sets(kubectl) == {"nginx:1": 34, "nginx:2": 22}
    kubectl.says("scale deployment/web --replicas=0", "deployment.apps/web scaled")
    kubectl.output("wait pods --all --for=delete --timeout=300s")
    assert replica_sets(kubectl) == {"nginx:1": 0, "nginx:2": 0}
    kubectl.output("scale deployment/web --replicas=6")
    until(kubectl, replicas=6)
    assert replica_sets(kubectl) == {"nginx:1": 0, "nginx:2": 6}


def test_a_put_on_scale_changes_the_size_alone(web: Kubectl) -> None:
    """Row D47."""
    before = observed(web)
    path = f"/apis/apps/v1/namespaces/{web.namespace}/deployments/web/scale"
    scale = json.loads(web.output(f"get --raw {path}"))
    assert scale["spec"] == {"replicas": 3}
    assert scale["status"] == {"replicas": 3, "selector": "app=web"}
    put = json.loads(web.output(f"replace --raw {path} -f -", json.dumps(scale | {"spec": {"replicas": 5}})))
    assert put["spec"] == {"replicas": 5}
    until(web, readyReplicas=5)
    after = observed(web)
    assert after["spec"] == before["spec"] | {"replicas": 5}
    assert after["metadata"]["generation"] == before["metadata"]["generation"] + 1
    web.refuses("scale deployment/web --current-replicas=3 --replicas=1", "error: Expected replicas to be 3, was 5")
    assert replica_sets(web) == {"nginx:1": 5}


def test_the_selector_stays(web: Kubectl) -> None:
    """Row D48."""
    patch = json.dumps({"spec": {"selector": {"matchLabels": {"app": "other"}}}})
    web.refuses(
        f"patch deployment web --patch='{patch}'",
        r'The Deployment "web" is invalid: \n?.*spec\.selector: Invalid value: .*: field is immutable',
    )
