"""CloneSets and Advanced StatefulSets, as subsets and alone: updates in place, partitions, pods that are to go."""

import json
from collections.abc import Callable
from typing import Any

import pytest

Kubectl = Any
Web = Any
Write = Callable[..., str]
Obj = dict[str, Any]

IN_PLACE: dict[str, Any] = {"updateStrategy": {"rollingUpdate": {"podUpdatePolicy": "InPlaceIfPossible"}}}
COLUMNS = r"NAME +DESIRED +UPDATED +UPDATED_READY +UPDATED_AVAILABLE +READY +TOTAL +AGE"


def clone_set(image: str = "nginx:1", **spec: Any) -> str:
    labels = {"app": "solo"}
    containers = [{"name": "main", "image": image}, {"name": "side", "image": "side:1"}]
    pods = {"metadata": {"labels": labels}, "spec": {"containers": containers}}
    whole = {"replicas": 3, "selector": {"matchLabels": labels}, "template": pods} | spec
    meta = {"name": "solo"}
    return json.dumps({"apiVersion": "apps.kruise.io/v1beta1", "kind": "CloneSet", "metadata": meta, "spec": whole})


def until(kubectl: Kubectl, **expected: Any) -> None:
    """Wait until the controller has observed the generation of the CloneSet "solo", and its status has these values."""
    generation = kubectl.output("get cloneset solo -o jsonpath={.metadata.generation}")
    for field, value in {"observedGeneration": generation, **expected}.items():
        kubectl.output(f"wait cloneset/solo --for=jsonpath={{.status.{field}}}={value} --timeout=300s")


def pods(kubectl: Kubectl) -> list[Obj]:
    """Return the pods that are not being deleted."""
    pods = json.loads(kubectl.output("get pods -o json"))["items"]
    return [pod for pod in pods if "deletionTimestamp" not in pod["metadata"]]


def identities(pods: list[Obj]) -> set[tuple[str, str, str, str]]:
    """Name, uid, node and address of each."""
    return {
        (pod["metadata"]["name"], pod["metadata"]["uid"], pod["spec"]["nodeName"], pod["status"]["podIP"])
        for pod in pods
    }


def restarts(pods: list[Obj]) -> set[tuple[str, str, int]]:
    """Container, image and how often it was started again, of all."""
    return {
        (each["name"], each["image"], each["restartCount"])
        for pod in pods
        for each in pod["status"]["containerStatuses"]
    }


@pytest.fixture
def solo(kubectl: Kubectl) -> Kubectl:
    """Three pods of a CloneSet that are updated in place."""
    kubectl.says("apply -f -", "cloneset.apps.kruise.io/solo created", clone_set(**IN_PLACE))
    until(kubectl, availableReplicas=3)
    return kubectl


def test_a_new_image_starts_one_container_again_in_the_pod_that_is_there(solo: Kubectl) -> None:
    before = pods(solo)
    solo.says("apply -f -", "cloneset.apps.kruise.io/solo configured", clone_set("nginx:2", **IN_PLACE))
    until(solo, updatedAvailableReplicas=3)
    after = pods(solo)
    assert identities(after) == identities(before)
    assert restarts(after) == {("main", "docker.io/library/nginx:2", 1), ("side", "docker.io/library/side:1", 0)}
    for pod in after:
        assert pod["metadata"]["labels"]["controller-revision-hash"].startswith("solo-")
        assert {"conditionType": "InPlaceUpdateReady"} in pod["spec"]["readinessGates"]
    solo.says("get cloneset", rf"{COLUMNS}\nsolo +3 +3 +3 +3 +3 +3 +\d+s")
    name = after[0]["metadata"]["name"]
    solo.says(
        "describe cloneset solo",
        rf".*  Normal  SuccessfulUpdatePodInPlace +\S+ +cloneset-controller  "
        rf"successfully update pod {name} in-place\(revision solo-\w+\)\n?.*",
    )
    solo.says(f"describe pod {name}", r".*  Normal +Killing .*Container main definition changed, will be restarted.*")


def test_a_set_as_released_versions_write_it_is_updated_as_it_says(kubectl: Kubectl) -> None:
    """v1alpha1 has in updateStrategy.type what v1beta1 has in rollingUpdate.podUpdatePolicy."""

    def released(image: str) -> str:
        strategy = {"type": "InPlaceIfPossible", "maxUnavailable": 3, "partition": 1}
        made = json.loads(clone_set(image, updateStrategy=strategy)) | {"apiVersion": "apps.kruise.io/v1alpha1"}
        return json.dumps(made)

    kubectl.says("apply -f -", "cloneset.apps.kruise.io/solo created", released("nginx:1"))
    until(kubectl, availableReplicas=3)
    before = pods(kubectl)
    kubectl.says("apply -f -", "cloneset.apps.kruise.io/solo configured", released("nginx:2"))
    until(kubectl, updatedAvailableReplicas=2, availableReplicas=3)
    assert identities(pods(kubectl)) == identities(before)
    old = "get clonesets.v1alpha1.apps.kruise.io solo -o jsonpath={.spec.updateStrategy.type}"
    kubectl.says(old, "InPlaceIfPossible")
    generation = kubectl.output("get cloneset solo -o jsonpath={.metadata.generation}")
    kubectl.output("apply -f -", released("nginx:2"))  # with a list of containers that lacks what was filled in
    kubectl.says("get cloneset solo -o jsonpath={.metadata.generation}", generation)


def test_more_than_a_new_image_makes_new_pods(solo: Kubectl) -> None:
    before = {pod["metadata"]["uid"] for pod in pods(solo)}
    changed = json.loads(clone_set(**IN_PLACE))
    changed["spec"]["template"]["spec"]["containers"][0]["env"] = [{"name": "A", "value": "B"}]
    solo.output("apply -f -", json.dumps(changed))
    until(solo, updatedAvailableReplicas=3)
    assert not before & {pod["metadata"]["uid"] for pod in pods(solo)}


def test_a_partition_holds_pods_back(solo: Kubectl) -> None:
    held = {"updateStrategy": {"rollingUpdate": {"podUpdatePolicy": "InPlaceIfPossible", "partition": "50%"}}}
    solo.output("apply -f -", clone_set("nginx:2", **held))
    until(solo, updatedReadyReplicas=1, expectedUpdatedReplicas=1)
    assert sorted(pod["spec"]["containers"][0]["image"] for pod in pods(solo)) == ["nginx:1", "nginx:1", "nginx:2"]
    solo.output("apply -f -", clone_set("nginx:2", **IN_PLACE))
    until(solo, updatedReadyReplicas=3)


def test_a_pod_that_is_named_goes_when_the_set_gets_smaller(solo: Kubectl) -> None:
    """Row C4."""
    named, *others = sorted(pod["metadata"]["name"] for pod in pods(solo))
    patch = json.dumps({"spec": {"replicas": 2, "scaleStrategy": {"podsToDelete": [named]}}})
    solo.output(f"patch cloneset solo --type=merge -p '{patch}'")
    solo.output(f"wait pod/{named} --for=delete --timeout=300s")
    until(solo, replicas=2, readyReplicas=2)
    assert sorted(pod["metadata"]["name"] for pod in pods(solo)) == others
    solo.says("scale cloneset solo --replicas=4", "cloneset.apps.kruise.io/solo scaled")
    until(solo, readyReplicas=4)


@pytest.mark.parametrize("kind", ["CloneSet", "AdvancedStatefulSet"], indirect=True)
def test_subsets_are_updated_in_place_as_far_as_partitions_let_them(web: Web, kind: Any, united: Write) -> None:
    gate = {"readinessGates": [{"conditionType": "InPlaceUpdateReady"}]}  # which Advanced StatefulSets ask for
    in_place: Obj = {"workload": IN_PLACE, "pods": gate}
    web.apply(united(kind, **in_place))
    web.done(6)
    before = web.pods
    held = {"manualUpdate": {"partitions": {"zone-a": 2, "zone-b": 1}}}
    web.apply(united(kind, "nginx:2", **in_place, updateStrategy=held))
    web.until(updatedReadyReplicas=3)
    assert web.images == {
        "zone-a": ["nginx:1"] * 2,
        "zone-b": ["nginx:1", "nginx:2"],
        "zone-c": ["nginx:2"] * 2,
    }
    web.apply(united(kind, "nginx:2", **in_place))
    web.done(6)
    assert identities(web.pods) == identities(before)
    assert restarts(web.pods) == {("main", "docker.io/library/nginx:2", 1), ("side", "docker.io/library/side:1", 0)}
