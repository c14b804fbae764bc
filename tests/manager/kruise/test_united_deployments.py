"""UnitedDeployments with every kind of subset, from creation to deletion, as kubectl shows them."""

import json
from collections.abc import Callable
from typing import Any

import pytest

Kind = Any
Kubectl = Any
Web = Any
Write = Callable[..., str]

EVEN = {"zone-a": 2, "zone-b": 2, "zone-c": 2}
COLUMNS = {
    "StatefulSet": r"NAME +READY +AGE\n(web-zone-[abc]-[a-z0-9]{5} +2/2 +\d+s\n?){3}",
    "AdvancedStatefulSet": r"NAME +DESIRED +CURRENT +UPDATED +READY +AGE\n"
    r"(web-zone-[abc]-[a-z0-9]{5} +2 +2 +2 +2 +\d+s\n?){3}",
    "CloneSet": r"NAME +DESIRED +UPDATED +UPDATED_READY +UPDATED_AVAILABLE +READY +TOTAL +AGE\n"
    r"(web-zone-[abc]-[a-z0-9]{5} +2 +2 +2 +2 +2 +2 +\d+s\n?){3}",
    "Deployment": r"NAME +READY +UP-TO-DATE +AVAILABLE +AGE\n(web-zone-[abc]-[a-z0-9]{5} +2/2 +2 +2 +\d+s\n?){3}",
}


@pytest.fixture
def six(web: Web, kind: Kind, united: Write) -> Web:
    """Six pods over three zones."""
    web.apply(united(kind))
    web.done(6)
    return web


# -- it is there


def test_what_is_created_is_spread_over_the_zones_and_shown(six: Web, kind: Kind) -> None:
    assert six.spread == {"zone-a": ["node-1"] * 2, "zone-b": ["node-2"] * 2, "zone-c": ["node-3"] * 2}
    assert six.sizes(kind) == EVEN
    six.kubectl.says("get ud", r"NAME +DESIRED +CURRENT +UPDATED +READY +AGE\nweb +6 +6 +6 +6 +\d+s")
    six.kubectl.says(f"get {kind.resource}", COLUMNS[kind.name])
    entries = [{"name": name, "readyReplicas": 2, "replicas": 2} for name in EVEN]
    assert six.status["subsetStatuses"] == entries
    assert six.status["labelSelector"] == "app=web"
    six.settles(lambda: six.events == [f"SuccessfulUpdateSubset: Create 3 Subset ({kind.name})"])
    six.kubectl.says(
        "describe ud web",
        r"Name: +web\n.*API Version: +apps\.kruise\.io/v1beta1\nKind: +UnitedDeployment\n.*"
        r"      Name:  zone-a\n      Node Selector Term:\n        Match Expressions:\n"
        r"          Key:       topology.kubernetes.io/zone\n          Operator:  In\n          Values:\n"
        r"            local-a\n.*"
        r"    Message: +updated to revision web-\w+\n    Reason: +UnitedDeploymentRevisionUpdated\n.*"
        r"  Subset Statuses:\n    Name: +zone-a\n    Ready Replicas: +2\n    Replicas: +2\n.*"
        r"Events:\n  Type +Reason +Age +From +Message\n.*"
        rf"  Normal  SuccessfulUpdateSubset  \S+ +uniteddeployment-controller  Create 3 Subset \({kind.name}\)",
    )
    revision = six.status["currentRevision"]
    for name, workload in six.workloads(kind).items():
        meta = workload["metadata"]
        assert meta["labels"] == {
            "app": "web",
            "apps.kruise.io/subset-name": name,
            "apps.kruise.io/controller-revision-hash": revision,
        }
        assert meta["generateName"] == f"web-{name}-"
        [owner] = meta["ownerReferences"]
        assert (owner["kind"], owner["name"], owner["controller"]) == ("UnitedDeployment", "web", True)


# -- its size


def test_it_is_scaled(six: Web, kind: Kind) -> None:
    six.kubectl.says("scale ud web --replicas=8", "uniteddeployment.apps.kruise.io/web scaled")
    six.done(8)
    assert sorted(six.sizes(kind).values()) == [2, 3, 3]
    six.kubectl.refuses("scale ud web --current-replicas=6 --replicas=1", "error: Expected replicas to be 6, was 8")
    six.kubectl.says("scale ud web --current-replicas=8 --replicas=3", "uniteddeployment.apps.kruise.io/web scaled")
    six.done(3)
    assert six.sizes(kind) == dict.fromkeys(EVEN, 1)
    six.kubectl.output("scale ud web --replicas=0")
    six.until(replicas=0)
    assert six.pods == []
    scale = json.loads(
        six.kubectl.output(
            f"get --raw /apis/apps.kruise.io/v1beta1/namespaces/{six.kubectl.namespace}/uniteddeployments/web/scale"
        )
    )
    assert (scale["spec"], scale["status"]) == ({}, {"replicas": 0, "selector": "app=web"})


def test_subsets_get_the_shares_that_they_ask_for(web: Web, kind: Kind, united: Write) -> None:
    web.apply(united(kind, subsets={"a": {"replicas": "50%"}, "b": {"replicas": 1}}, replicas=8))
    web.done(8)
    assert web.sizes(kind) == {"zone-a": 4, "zone-b": 1, "zone-c": 3}
    web.apply(united(kind, subsets={"a": {"minReplicas": 2, "maxReplicas": 4}, "b": {"minReplicas": 1}}, replicas=8))
    web.done(8)
    assert web.sizes(kind) == {"zone-a": 4, "zone-b": 4, "zone-c": 0}


# -- its template


def test_a_new_template_goes_as_far_as_partitions_let_it(web: Web, partitioned: Kind, united: Write) -> None:
    web.apply(united(partitioned, replicas=9))
    web.done(9)
    held = {"manualUpdate": {"partitions": {"zone-a": 3, "zone-b": 1}}}
    web.apply(united(partitioned, "nginx:2", replicas=9, updateStrategy=held))
    web.until(updatedReadyReplicas=5, readyReplicas=9)
    assert web.images == {
        "zone-a": ["nginx:1"] * 3,
        "zone-b": ["nginx:1", "nginx:2", "nginx:2"],
        "zone-c": ["nginx:2"] * 3,
    }
    web.kubectl.says("get ud web --no-headers", r"web +9 +9 +5 +9 +\d+s")
    status = web.status
    assert [entry.get("partition", 0) for entry in status["subsetStatuses"]] == [3, 1, 0]
    assert status["currentRevision"] != status["updatedRevision"]
    assert web.revisions == {status["currentRevision"]: 1, status["updatedRevision"]: 2}
    web.kubectl.refuses("wait ud/web --for=condition=UnitedDeploymentUpdated --timeout=0.1s", "error: timed out .*")
    web.kubectl.output(
        'patch ud web --type=merge -p \'{"spec":{"updateStrategy":{"manualUpdate":{"partitions":null}}}}\''
    )
    web.done(9)
    assert {image for images in web.images.values() for image in images} == {"nginx:2"}


def test_an_earlier_template_is_its_revision_again(six: Web, kind: Kind, united: Write) -> None:
    first = six.status["currentRevision"]
    six.apply(united(kind, "nginx:2"))
    six.done(6)
    second = six.status["currentRevision"]
    six.apply(united(kind))
    six.done(6)
    assert six.status["currentRevision"] == first
    assert six.revisions == {first: 3, second: 2}


def test_a_template_that_never_gets_ready_is_left_behind(web: Web, kind: Kind, united: Write) -> None:
    """Row U19: nobody deletes pods by hand, not even where those of a StatefulSet come one after the other."""
    workload = {"podManagementPolicy": "OrderedReady"} if kind.name == "StatefulSet" else {}
    web.apply(united(kind, workload=workload))
    web.done(6)
    web.apply(united(kind, "unready.mockube.io/app", workload=workload))
    web.until(updatedReplicas=3)
    assert "updatedReadyReplicas" not in web.status
    web.apply(united(kind, "nginx:3", workload=workload))
    web.done(6)
    assert web.images == {name: ["nginx:3"] * 2 for name in EVEN}


def test_a_patch_changes_the_pods_of_its_subset_alone(six: Web, kind: Kind, united: Write) -> None:
    """Row U22."""
    before = {pod["metadata"]["uid"] for pod in six.pods}
    patch = {"spec": {"containers": [{"name": "main", "image": "nginx:special"}]}}
    six.apply(united(kind, subsets={"b": {"patch": patch}}))
    name = six.workloads(kind)["zone-b"]["metadata"]["name"]
    image = "{.spec.template.spec.containers[0].image}"
    six.kubectl.output(f"wait {kind.resource}/{name} --for=jsonpath='{image}'=nginx:special --timeout=300s")
    six.settles(lambda: set(six.images["zone-b"]) == {"nginx:special"})
    six.done(6)
    assert six.images == {"zone-a": ["nginx:1"] * 2, "zone-b": ["nginx:special"] * 2, "zone-c": ["nginx:1"] * 2}
    assert len(before & {pod["metadata"]["uid"] for pod in six.pods}) == 4
    assert len(six.revisions) == 1
