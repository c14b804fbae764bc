"""Claims and volumes, as kubectl shows them on a whole cluster."""

import json
from collections.abc import Callable
from typing import Any

import pytest

Kubectl = Any

TIMEOUT = "--timeout=300s"
BOUND = "--for='jsonpath={.status.phase}=Bound'"


@pytest.fixture
def claim(kubectl: Kubectl) -> Callable[..., None]:
    """Makes a claim; its class is the default one unless it is named."""

    def make(name: str, storage_class: str | None = None, **spec: Any) -> None:
        spec |= {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
        spec |= {} if storage_class is None else {"storageClassName": storage_class}
        obj = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": spec}
        kubectl.output("create -f -", json.dumps(obj))

    return make


@pytest.fixture
def pod(kubectl: Kubectl) -> Callable[..., None]:
    """Makes a pod with a volume."""

    def make(name: str, **volume: Any) -> None:
        containers = [{"name": "main", "image": "nginx", "volumeMounts": [{"name": "data", "mountPath": "/data"}]}]
        spec = {"containers": containers, "volumes": [{"name": "data"} | volume], "terminationGracePeriodSeconds": 0}
        obj = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}
        kubectl.output("create -f -", json.dumps(obj))

    return make


def by_claim(name: str) -> dict[str, Any]:
    return {"persistentVolumeClaim": {"claimName": name}}


def test_a_claim_of_the_default_class_is_bound_at_once(kubectl: Kubectl, claim: Callable[..., None]) -> None:
    claim("data")
    kubectl.output(f"wait pvc/data {BOUND} {TIMEOUT}")
    kubectl.says("get pvc data --no-headers", r"data +Bound +pvc-\S+ +1Gi +RWO +standard .*")
    volume = kubectl.output("get pvc data -o 'jsonpath={.spec.volumeName}'")
    kubectl.says(
        f"get pv {volume} --no-headers", rf"pvc-\S+ +1Gi +RWO +Delete +Bound +{kubectl.namespace}/data +standard.*"
    )
    kubectl.output("delete pvc data")
    kubectl.output(f"wait pv/{volume} --for=delete {TIMEOUT}")


def test_a_claim_that_waits_is_bound_where_its_pod_goes(
    kubectl: Kubectl, claim: Callable[..., None], pod: Callable[..., None]
) -> None:
    claim("data", "standard-wait")
    kubectl.output(
        f"wait event --for='jsonpath={{.reason}}=WaitForFirstConsumer' "
        f"--field-selector=involvedObject.name=data {TIMEOUT}"
    )
    pod("web", **by_claim("data"))
    kubectl.output(f"wait pod/web --for=condition=Ready {TIMEOUT}")
    node = kubectl.output("get pod web -o 'jsonpath={.spec.nodeName}'")
    volume = kubectl.output("get pvc data -o 'jsonpath={.spec.volumeName}'")
    assert node in kubectl.output(f"get pv {volume} -o 'jsonpath={{.spec.nodeAffinity}}'")


def test_a_claim_stays_while_a_pod_uses_it(
    kubectl: Kubectl, claim: Callable[..., None], pod: Callable[..., None]
) -> None:
    claim("data")
    pod("web", **by_claim("data"))
    kubectl.output(f"wait pod/web --for=condition=Ready {TIMEOUT}")
    kubectl.output("delete pvc data --wait=false")
    kubectl.says("get pvc data --no-headers", r"data +Terminating .*")
    kubectl.output("delete pod web")
    kubectl.output(f"wait pvc/data --for=delete {TIMEOUT}")


def test_a_volume_of_somebodys_own_is_kept_when_its_claim_goes(kubectl: Kubectl, claim: Callable[..., None]) -> None:
    name = f"{kubectl.namespace}-disk"
    spec = {"capacity": {"storage": "2Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/x"}}
    spec |= {"claimRef": {"namespace": kubectl.namespace, "name": "data"}}
    volume = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}, "spec": spec}
    kubectl.output("create -f -", json.dumps(volume))
    claim("data", "")
    kubectl.output(f"wait pvc/data {BOUND} {TIMEOUT}")
    kubectl.says("get pvc data --no-headers", rf"data +Bound +{name} +2Gi .*")
    kubectl.output("delete pvc data")
    kubectl.output(f"wait pv/{name} --for='jsonpath={{.status.phase}}=Released' {TIMEOUT}")
    kubectl.output(f"delete pv {name}")


def test_an_ephemeral_volume_comes_and_goes_with_its_pod(kubectl: Kubectl, pod: Callable[..., None]) -> None:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    pod("web", ephemeral={"volumeClaimTemplate": {"spec": spec}})
    kubectl.output(f"wait pod/web --for=condition=Ready {TIMEOUT}")
    kubectl.says("get pvc --no-headers", r"web-data +Bound .*")
    kubectl.output("delete pod web")
    kubectl.output(f"wait pvc/web-data --for=delete {TIMEOUT}")
