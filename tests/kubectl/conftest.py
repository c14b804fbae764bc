import json
import ssl
import urllib.request
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from patience import SECONDS

from mockube.cluster import Cluster


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(here):
            item.add_marker(pytest.mark.kubectl)


Kubectl = Any
"""One kubectl with a kubeconfig, a home, a working directory and a namespace of its own."""
Make = Callable[..., Kubectl]


@pytest.fixture(scope="session")
def quiet_cluster() -> Iterator[Cluster]:
    """A cluster for the whole run that sends no warnings of its own: kubectl prints what it prints on real clusters."""
    with Cluster(warn_unsupported=False) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def kubectl_in(kubectl_path: str, quiet_cluster: Cluster, kubectl_at: Make) -> Make:
    """Return a function that makes a kubectl (by default the PATH's) in a fresh namespace of the shared cluster."""
    numbers = count(1)
    trust = ssl.create_default_context(cafile=str(quiet_cluster.ca_file))

    def make(binary: str = kubectl_path) -> Kubectl:
        namespace = f"test-{next(numbers)}"
        _create_namespace(quiet_cluster, trust, namespace)
        return kubectl_at(quiet_cluster.kubeconfig, namespace=namespace, binary=binary)

    return make


@pytest.fixture(scope="module")
def each_kubectl(each_binary: str, kubectl_in: Make) -> Kubectl:
    """Every kubectl there is, one after the other, each in a namespace of its own."""
    return kubectl_in(each_binary)


@pytest.fixture
def kubectl(kubectl_in: Make) -> Kubectl:
    """The kubectl of the PATH in a namespace of this test's own."""
    return kubectl_in()


def _create_namespace(cluster: Cluster, trust: ssl.SSLContext, name: str) -> None:
    request = urllib.request.Request(
        f"{cluster.url}/api/v1/namespaces",
        json.dumps({"metadata": {"name": name}}).encode(),
        {"Authorization": f"Bearer {cluster.token}", "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, context=trust, timeout=SECONDS) as answer:
        assert answer.status == 201


@pytest.fixture(scope="module")
def reader(kubectl_in: Make) -> Kubectl:
    """The kubectl of the PATH, for tests that write nothing and share a namespace."""
    return kubectl_in()


TEMPLATE = "{metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}"
ONCE = "{spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}"
THINGS = """
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Pod
  metadata: {name: p, labels: {app: a, tier: x}}
  spec: {containers: [{name: c, image: i}]}
- {apiVersion: v1, kind: Pod, metadata: {name: q, labels: {app: b}}, spec: {containers: [{name: c, image: i}]}}
- apiVersion: v1
  kind: Service
  metadata: {name: s}
  spec: {clusterIP: None, selector: {app: a}, ports: [{port: 80}]}
- {apiVersion: v1, kind: ServiceAccount, metadata: {name: robot}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: cm}, data: {k: v}}
- {apiVersion: v1, kind: Secret, metadata: {name: top}, stringData: {k: v}}
- apiVersion: v1
  kind: PersistentVolumeClaim
  metadata: {name: pvc}
  spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
- {apiVersion: v1, kind: LimitRange, metadata: {name: lr}, spec: {limits: [{type: Pod, max: {cpu: "1"}}]}}
- {apiVersion: v1, kind: ReplicationController, metadata: {name: rc}, spec: {selector: {a: b}, template: TEMPLATE}}
- apiVersion: apps/v1
  kind: DaemonSet
  metadata: {name: ds}
  spec: {selector: {matchLabels: {a: b}}, template: TEMPLATE}
- apiVersion: apps/v1
  kind: StatefulSet
  metadata: {name: sts}
  spec: {serviceName: s, selector: {matchLabels: {a: b}}, template: TEMPLATE}
- apiVersion: apps/v1
  kind: ReplicaSet
  metadata: {name: rs}
  spec: {selector: {matchLabels: {a: b}}, template: TEMPLATE}
- apiVersion: apps/v1
  kind: Deployment
  metadata: {name: d}
  spec: {selector: {matchLabels: {a: b}}, template: TEMPLATE}
- {apiVersion: batch/v1, kind: Job, metadata: {name: j}, spec: {template: ONCE}}
- apiVersion: batch/v1
  kind: CronJob
  metadata: {name: cj}
  spec: {schedule: "* * * * *", jobTemplate: {spec: {template: ONCE}}}
- apiVersion: networking.k8s.io/v1
  kind: Ingress
  metadata: {name: ing}
  spec: {defaultBackend: {service: {name: s, port: {number: 80}}}}
- apiVersion: networking.k8s.io/v1
  kind: NetworkPolicy
  metadata: {name: np}
  spec: {podSelector: {matchLabels: {a: b}}}
- apiVersion: policy/v1
  kind: PodDisruptionBudget
  metadata: {name: pdb}
  spec: {minAvailable: 1, selector: {matchLabels: {a: b}}}
- apiVersion: rbac.authorization.k8s.io/v1
  kind: Role
  metadata: {name: r}
  rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]
- apiVersion: rbac.authorization.k8s.io/v1
  kind: RoleBinding
  metadata: {name: rb}
  roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: r}
  subjects: [{kind: User, name: u, apiGroup: rbac.authorization.k8s.io}]
- apiVersion: autoscaling/v2
  kind: HorizontalPodAutoscaler
  metadata: {name: hpa}
  spec: {maxReplicas: 3, scaleTargetRef: {kind: Deployment, name: d, apiVersion: apps/v1}}
- {apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: l}, spec: {holderIdentity: me}}
- apiVersion: discovery.k8s.io/v1
  kind: EndpointSlice
  metadata: {name: eps}
  addressType: IPv4
  endpoints: [{addresses: [10.0.0.1]}]
  ports: [{port: 80}]
- apiVersion: v1
  kind: Event
  metadata: {name: e, namespace: NAMESPACE}
  involvedObject: {apiVersion: v1, kind: Pod, name: p, namespace: NAMESPACE}
  reason: Seen
  message: it was seen
  type: Normal
  count: 2
  lastTimestamp: "2020-01-01T00:00:00Z"
"""
"""One of each of the commonest kinds."""


def written(text: str, **words: str) -> str:
    for word, meaning in words.items():
        text = text.replace(word, meaning)
    return text


@pytest.fixture(scope="module")
def furnished(kubectl_in: Make) -> Kubectl:
    kubectl = kubectl_in()
    kubectl.output("create -f -", written(THINGS, NAMESPACE=kubectl.namespace, TEMPLATE=TEMPLATE, ONCE=ONCE))
    return kubectl
