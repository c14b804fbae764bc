"""StatefulSets start, roll and shrink in order, as kubectl shows it."""

import json
import re
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from patience import SECONDS

Kubectl = Any
Write = Callable[..., str]
Follow = Callable[..., list[str]]

NEVER = {"mockube.io/ready-after": "never"}
BROKEN = "unready.mockube.io/app"
WAITS = r"(Waiting for .*\n)*"
IMAGES = "get pods -o custom-columns=:.metadata.name,:.spec.containers[0].image --no-headers"


def pods(kubectl: Kubectl) -> dict[str, str]:
    """Name → image."""
    return dict(row.split() for row in kubectl.output(IMAGES).splitlines())


def revisions(kubectl: Kubectl) -> list[str]:
    """Names of the revisions that there are, the oldest first."""
    lines = kubectl.output("get controllerrevisions --no-headers -o custom-columns=:.revision,:.metadata.name")
    return [name for _, name in sorted((int(number), name) for number, name in map(str.split, lines.splitlines()))]


def until(kubectl: Kubectl, **expected: Any) -> None:
    """Wait until the status of the StatefulSet "db" has these values."""
    for field, value in expected.items():
        kubectl.output(f"wait statefulset/db --for=jsonpath={{.status.{field}}}={value} --timeout=300s")


def observed(kubectl: Kubectl) -> Any:
    """Return the status of "db" once its controller has observed its generation."""
    until(kubectl, observedGeneration=kubectl.output("get statefulset db -o jsonpath={.metadata.generation}"))
    return json.loads(kubectl.output("get statefulset db -o json"))["status"]


def delete(kubectl: Kubectl, *names: str) -> None:
    """Delete pods, and return once others have their names or nobody has.

    kubectl's own wait looks at the pod, then lists those of its name and waits until it is gone: a pod that is replaced
    between the two is waited for in vain (kubectl/pkg/cmd/wait/delete.go).
    """

    def uids() -> set[str]:
        lines = kubectl.output(
            f"get pod {' '.join(names)} --ignore-not-found --no-headers -o custom-columns=:.metadata.uid"
        )
        return set(lines.split())

    old = uids()
    kubectl.output(f"delete pod {' '.join(names)} --wait=false")
    end = time.monotonic() + SECONDS
    while old & uids():
        assert time.monotonic() < end, f"{names} are not deleted"


def ready(kubectl: Kubectl, *names: str) -> None:
    kubectl.output(f"wait {' '.join(f'pod/{name}' for name in names)} --for=condition=Ready --timeout=300s")


def rolls(kubectl: Kubectl, *, count: int = 3, partitioned: int = 0) -> None:
    """The rollout comes to its end."""
    message = (
        rf"partitioned roll out complete: {partitioned} new pods have been updated\.\.\."
        if partitioned
        else rf"(partitioned roll out complete: {count} new pods have been updated"
        rf"|statefulset rolling update complete {count} pods at revision db-\w+)\.\.\."
    )
    kubectl.says("rollout status statefulset/db", WAITS + message)


@pytest.fixture
def db(kubectl: Kubectl, stateful_set: Write) -> Kubectl:
    """Three replicas of postgres:1 at work."""
    kubectl.says("apply -f -", "statefulset.apps/db created", stateful_set(replicas=3))
    rolls(kubectl)
    return kubectl


@pytest.fixture
def follow() -> Iterator[Follow]:
    """Return a function that gives the lines of a watch up to the first one that matches."""
    watches = []

    def follow(watch: Any, last: str) -> list[str]:
        if watch not in watches:
            watches.append(watch)
        lines: list[str] = []
        while not lines or not re.match(last, lines[-1]):
            lines.append(watch.stdout.readline())
            assert lines[-1], lines
        return lines

    yield follow
    for watch in watches:
        watch.terminate()
        watch.communicate()


WATCH = "get pods --watch --output-watch-events --no-headers"


def turns(lines: list[str]) -> list[str]:
    """Return the names of the pods in the order of their watch events, each once for events in a row."""
    names = [line.split()[1] for line in lines]
    return [name for before, name in zip(["", *names], names, strict=False) if name != before]


# -- in order


def test_pods_come_one_after_the_other_and_go_the_other_way(
    kubectl: Kubectl, stateful_set: Write, follow: Follow
) -> None:
    watch = kubectl.start(WATCH)
    slow = {"mockube.io/ready-after": "1500ms"}
    kubectl.output("apply -f -", stateful_set(replicas=3, annotations=slow))
    assert turns(follow(watch, r"MODIFIED +db-2 +1/1")) == ["db-0", "db-1", "db-2"]
    rolls(kubectl)
    kubectl.says("get statefulset db -o wide --no-headers", r"db +3/3 +\d+s +main +postgres:1")
    kubectl.output("scale statefulset db --replicas=0")
    assert turns(follow(watch, r"DELETED +db-0")) == ["db-2", "db-1", "db-0"]
    until(kubectl, replicas=0)


def test_a_pod_that_is_not_ready_holds_those_after_it(kubectl: Kubectl, stateful_set: Write) -> None:
    """Row S1."""
    kubectl.output("apply -f -", stateful_set(replicas=3, annotations=NEVER))
    until(kubectl, replicas=1)
    assert observed(kubectl)["replicas"] == 1
    assert list(pods(kubectl)) == ["db-0"]
    kubectl.refuses("rollout status statefulset/db --timeout=1s", WAITS + "error: timed out waiting for the condition")


def test_in_parallel_nobody_waits(kubectl: Kubectl, stateful_set: Write) -> None:
    """Row S2."""
    kubectl.output("apply -f -", stateful_set(replicas=3, annotations=NEVER, podManagementPolicy="Parallel"))
    until(kubectl, replicas=3)
    assert list(pods(kubectl)) == ["db-0", "db-1", "db-2"]
    kubectl.output("scale statefulset db --replicas=0")
    until(kubectl, replicas=0)


# -- new revisions


def test_an_update_begins_at_the_end(db: Kubectl, follow: Follow) -> None:
    watch = db.start(WATCH)
    follow(watch, r"ADDED +db-2")
    db.says("set image statefulset/db main=postgres:2", "statefulset.apps/db image updated")
    rolls(db)
    assert turns(follow(watch, r"MODIFIED +db-0 +1/1")) == ["db-2", "db-1", "db-0"]
    assert pods(db) == dict.fromkeys(("db-0", "db-1", "db-2"), "postgres:2")
    status = observed(db)
    assert status["currentRevision"] == status["updateRevision"] == revisions(db)[-1]
    db.says("rollout history statefulset/db", "statefulset.apps/db ?\nREVISION  CHANGE-CAUSE\n1 +<none>\n2 +<none>")


def test_an_undo_is_the_old_revision_with_a_new_number(db: Kubectl) -> None:
    """Row S15."""
    db.refuses("rollout undo statefulset/db", "error: no last revision to roll back to")
    db.output("set image statefulset/db main=postgres:2")
    rolls(db)
    first, second = revisions(db)
    db.says("rollout undo statefulset/db", "statefulset.apps/db rolled back")
    rolls(db)
    assert revisions(db) == [second, first]
    assert set(pods(db).values()) == {"postgres:1"}
    db.says("rollout history statefulset/db", "statefulset.apps/db ?\nREVISION  CHANGE-CAUSE\n2 +<none>\n3 +<none>")


def test_a_restart_replaces_every_pod(db: Kubectl) -> None:
    uids = "get pods -o 'jsonpath={.items[*].metadata.uid}'"
    before = set(db.output(uids).split())
    db.says("rollout restart statefulset/db", "statefulset.apps/db restarted")
    rolls(db)
    assert not before & set(db.output(uids).split())
    assert len(revisions(db)) == 2


def test_a_partition_keeps_those_below_it(kubectl: Kubectl, stateful_set: Write) -> None:
    """Rows S7, S8 and S10."""

    def partition(number: int, image: str = "postgres:2") -> None:
        strategy = {"type": "RollingUpdate", "rollingUpdate": {"partition": number}}
        kubectl.output("apply -f -", stateful_set(replicas=3, image=image, updateStrategy=strategy))

    partition(2, "postgres:1")
    kubectl.output("wait pod/db-2 --for=create --timeout=300s")
    ready(kubectl, "db-2")
    partition(2)
    rolls(kubectl, partitioned=1)
    assert pods(kubectl) == {"db-0": "postgres:1", "db-1": "postgres:1", "db-2": "postgres:2"}
    status = observed(kubectl)
    assert [status["currentRevision"], status["updateRevision"]] == revisions(kubectl)
    delete(kubectl, "db-0", "db-2")
    kubectl.output("wait pod/db-2 --for=create --timeout=300s")
    ready(kubectl, "db-0", "db-2")
    assert pods(kubectl) == {"db-0": "postgres:1", "db-1": "postgres:1", "db-2": "postgres:2"}
    partition(1)
    rolls(kubectl, partitioned=2)
    assert pods(kubectl) == {"db-0": "postgres:1", "db-1": "postgres:2", "db-2": "postgres:2"}
    partition(0)
    rolls(kubectl)
    until(kubectl, currentRevision=revisions(kubectl)[-1])


def test_on_delete_pods_change_when_they_are_deleted(kubectl: Kubectl, stateful_set: Write) -> None:
    """Row S11."""
    on_delete = {"replicas": 2, "updateStrategy": {"type": "OnDelete"}}
    kubectl.output("apply -f -", stateful_set(**on_delete))
    until(kubectl, readyReplicas=2)
    kubectl.output("apply -f -", stateful_set(image="postgres:2", **on_delete))
    kubectl.refuses(
        "rollout status statefulset/db", "error: rollout status is only available for RollingUpdate strategy type"
    )
    observed(kubectl)
    assert pods(kubectl) == {"db-0": "postgres:1", "db-1": "postgres:1"}
    delete(kubectl, "db-0")
    until(kubectl, updatedReplicas=1, readyReplicas=2)
    assert pods(kubectl) == {"db-0": "postgres:2", "db-1": "postgres:1"}


@pytest.mark.parametrize("policy", ["OrderedReady", "Parallel"])
def test_a_broken_revision_that_is_taken_back(kubectl: Kubectl, stateful_set: Write, policy: str) -> None:
    """Rows S13 and S14: in order the broken pod has to be deleted by hand."""
    kubectl.output("apply -f -", stateful_set(replicas=3, podManagementPolicy=policy))
    rolls(kubectl)
    kubectl.output("apply -f -", stateful_set(replicas=3, podManagementPolicy=policy, image=BROKEN))
    until(kubectl, updatedReplicas=1)
    kubectl.output("apply -f -", stateful_set(replicas=3, podManagementPolicy=policy))
    if policy == "OrderedReady":
        observed(kubectl)
        assert pods(kubectl)["db-2"] == BROKEN
        delete(kubectl, "db-2")
    rolls(kubectl)
    assert pods(kubectl) == dict.fromkeys(("db-0", "db-1", "db-2"), "postgres:1")
    assert len(revisions(kubectl)) == 2


# -- without a set


def test_orphans_are_taken_in_again(db: Kubectl, stateful_set: Write) -> None:
    uids = "get pods,controllerrevisions -o 'jsonpath={.items[*].metadata.uid}'"
    before = db.output(uids)
    db.says("delete statefulset db --cascade=orphan", 'statefulset.apps "db" deleted.*')
    assert db.output(uids) == before
    db.output("apply -f -", stateful_set(replicas=3))
    rolls(db)
    assert db.output(uids) == before


def test_describe_tells_what_was_done(db: Kubectl) -> None:
    db.says(
        "describe statefulset db",
        r"Name: +db\n.*Replicas: +3 desired \| 3 total\nUpdate Strategy: +RollingUpdate\n  Partition: +0\n"
        r"Pods Status: +3 Running / 0 Waiting / 0 Succeeded / 0 Failed\n.*Volume Claims: +<none>\nEvents:\n.*"
        r"  Normal  SuccessfulCreate  \S+ +statefulset-controller  create Pod db-0 in StatefulSet db successful\n"
        r"  Normal  SuccessfulCreate  \S+ +statefulset-controller  create Pod db-1 in StatefulSet db successful\n"
        r"  Normal  SuccessfulCreate  \S+ +statefulset-controller  create Pod db-2 in StatefulSet db successful",
    )


# -- claims

CLAIM = {
    "metadata": {"name": "data"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}


def volumes(kubectl: Kubectl) -> dict[str, str]:
    """Claim → the volume that it is bound to."""
    rows = "custom-columns=:.metadata.name,:.spec.volumeName"
    return dict(row.split() for row in kubectl.output(f"get pvc --no-headers -o {rows}").splitlines())


def test_each_pod_has_a_claim_of_its_own_that_outlives_it(kubectl: Kubectl, stateful_set: Write) -> None:
    """Row S18; and claims stay when the set goes, unless it says otherwise."""
    kubectl.output("apply -f -", stateful_set(replicas=3, volumeClaimTemplates=[CLAIM]))
    rolls(kubectl)
    assert re.fullmatch(
        r"(data-db-[012] +Bound +pvc-\S+ +1Gi +RWO +standard +\S+ +\d+s\n){3}", kubectl.output("get pvc --no-headers")
    )
    before = volumes(kubectl)
    delete(kubectl, "db-1")
    kubectl.output("scale statefulset db --replicas=2")
    until(kubectl, replicas=2, readyReplicas=2)
    kubectl.output("scale statefulset db --replicas=3")
    until(kubectl, readyReplicas=3)
    assert volumes(kubectl) == before
    claims = "-o 'jsonpath={.items[*].spec.volumes[*].persistentVolumeClaim.claimName}'"
    assert kubectl.output(f"get pods {claims}") == "data-db-0 data-db-1 data-db-2"
    kubectl.output("delete statefulset db --cascade=foreground")
    assert volumes(kubectl) == before


def test_claims_go_with_pods_and_sets_that_say_so(kubectl: Kubectl, stateful_set: Write) -> None:
    """Row S30."""
    policy = {"whenScaled": "Delete", "whenDeleted": "Delete"}
    more = {"volumeClaimTemplates": [CLAIM], "persistentVolumeClaimRetentionPolicy": policy}
    kubectl.output("apply -f -", stateful_set(replicas=2, **more))
    rolls(kubectl, count=2)
    before = volumes(kubectl)
    kubectl.output("scale statefulset db --replicas=1")
    kubectl.output("wait pvc/data-db-1 --for=delete --timeout=300s")
    kubectl.output("scale statefulset db --replicas=2")
    until(kubectl, readyReplicas=2)
    after = volumes(kubectl)
    assert (after["data-db-0"], after["data-db-1"] != before["data-db-1"]) == (before["data-db-0"], True)
    kubectl.output("delete statefulset db")
    kubectl.output("wait pvc/data-db-0 pvc/data-db-1 --for=delete --timeout=300s")
