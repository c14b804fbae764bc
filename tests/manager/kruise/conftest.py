"""UnitedDeployments over the three zones of the simulated nodes, as kubectl shows them."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

Kubectl = Any
Obj = dict[str, Any]

SUBSET = "apps.kruise.io/subset-name"
REVISION = "apps.kruise.io/controller-revision-hash"
PATIENCE = "--timeout=300s"
ZONE = "topology.kubernetes.io/zone"


@dataclass(frozen=True)
class Kind:
    """A kind of workload that subsets may have.

    Attributes:
        name: as events tell it.
        template: the field of spec.template that asks for it.
        resource: as kubectl is asked for it.
        spec: what its template's spec says beside the pods' template.
    """

    name: str
    template: str
    resource: str
    spec: str = "{}"

    @property
    def partitioned(self) -> bool:
        return self.name != "Deployment"


_ORDERED = '{"serviceName": "web", "podManagementPolicy": "Parallel"}'
KINDS = {
    kind.name: kind
    for kind in (
        Kind("StatefulSet", "statefulSetTemplate", "statefulsets.apps", _ORDERED),
        Kind("AdvancedStatefulSet", "advancedStatefulSetTemplate", "asts", _ORDERED),
        Kind("CloneSet", "cloneSetTemplate", "cloneset"),
        Kind("Deployment", "deploymentTemplate", "deployments.apps"),
    )
}


@pytest.fixture
def kinds() -> dict[str, Kind]:
    """Name → kind of subset, of all that there are."""
    return KINDS


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> Kind:
    """Every kind of subset, one after the other."""
    return KINDS[request.param]


@pytest.fixture(params=[name for name, kind in KINDS.items() if kind.partitioned])
def partitioned(request: pytest.FixtureRequest) -> Kind:
    """Each kind with a partition, so that some pods may stay at the old revision."""
    return KINDS[request.param]


Write = Callable[..., str]


@pytest.fixture
def united() -> Write:
    """united(kind, ...): a UnitedDeployment "web" over zones, as JSON.

    Args of it:
        kind: of its workloads.
        image: of its pods' container.
        zones: the letters of its zones.
        subsets: letter of a zone → more about its subset.
        workload: what the template's spec says more.
        annotations: of its pods.
        pods: what the spec of its pods says more.
        spec: what its own spec says more.
    """

    def write(
        kind: Kind,
        image: str = "nginx:1",
        *,
        zones: str = "abc",
        subsets: dict[str, Obj] | None = None,
        workload: Obj | None = None,
        annotations: Obj | None = None,
        pods: Obj | None = None,
        schedule: Obj | None = None,
        **spec: Any,
    ) -> str:
        labels = {"app": "web"}
        containers = [{"name": "main", "image": image}, {"name": "side", "image": "side:1"}]
        pod_spec = {"containers": containers} | (pods or {})
        template = {"metadata": {"labels": labels, "annotations": annotations or {}}, "spec": pod_spec}
        made = {"selector": {"matchLabels": labels}, "template": template} | json.loads(kind.spec) | (workload or {})
        topology: Obj = {"subsets": [_subset(zone) | (subsets or {}).get(zone, {}) for zone in zones]}
        if schedule is not None:
            topology["scheduleStrategy"] = {"type": "Adaptive", "adaptive": schedule}
        whole = {
            "replicas": 6,
            "selector": {"matchLabels": labels},
            "template": {kind.template: {"metadata": {"labels": labels}, "spec": made}},
            "topology": topology,
        } | spec
        meta = {"name": "web"}
        return json.dumps(
            {"apiVersion": "apps.kruise.io/v1beta1", "kind": "UnitedDeployment", "metadata": meta, "spec": whole}
        )

    return write


def _subset(zone: str) -> Obj:
    there = {"key": ZONE, "operator": "In", "values": [f"local-{zone}"]}
    return {"name": f"zone-{zone}", "nodeSelectorTerm": {"matchExpressions": [there]}}


@dataclass(frozen=True)
class Web:
    """The UnitedDeployment "web" as a person with kubectl sees it.

    Attributes:
        settles: waits for what kubectl has no word to wait for.
    """

    kubectl: Kubectl
    settles: Callable[[Callable[[], Any]], Any]

    def apply(self, text: str) -> None:
        """Create or change it."""
        self.kubectl.says("apply -f -", "uniteddeployment.apps.kruise.io/web (created|configured|unchanged)", text)

    def until(self, **expected: Any) -> None:
        """Wait until its controller has observed its generation, and its status has these values."""
        generation = self.kubectl.output("get ud web -o jsonpath={.metadata.generation}")
        for field, value in {"observedGeneration": generation, **expected}.items():
            self.kubectl.output(f"wait ud/web --for=jsonpath={{.status.{field}}}={value} {PATIENCE}")

    def done(self, replicas: int) -> None:
        """Wait until all its pods are there, ready and new."""
        self.until(replicas=replicas, readyReplicas=replicas, updatedReadyReplicas=replicas)
        self.kubectl.says(
            f"wait ud/web --for=condition=UnitedDeploymentUpdated {PATIENCE}",
            "uniteddeployment.apps.kruise.io/web condition met",
        )

    def gone(self, what: str) -> None:
        """Wait until none of these objects is there."""
        self.kubectl.output(f"wait {what} --for=delete {PATIENCE}")

    @property
    def status(self) -> Obj:
        status: Obj = self._got("ud web")["status"]
        return status

    @property
    def pods(self) -> list[Obj]:
        """Its pods that are not being deleted."""
        pods = self._got("pods -l app=web")["items"]
        return [pod for pod in pods if "deletionTimestamp" not in pod["metadata"]]

    @property
    def spread(self) -> dict[str, list[str]]:
        """Return subset → the nodes of its pods, "" for a pod without a node."""
        return self._by_subset(lambda pod: pod["spec"].get("nodeName", ""))

    @property
    def images(self) -> dict[str, list[str]]:
        """Subset → the images of its pods."""
        return self._by_subset(lambda pod: pod["spec"]["containers"][0]["image"])

    def workloads(self, kind: Kind) -> dict[str, Obj]:
        """Subset → workload; no subset twice."""
        workloads = self._got(kind.resource)["items"]
        names = [each["metadata"]["labels"][SUBSET] for each in workloads]
        assert len({*names}) == len(names), names
        return dict(zip(names, workloads, strict=True))

    def sizes(self, kind: Kind) -> dict[str, int]:
        """Subset → the replicas of its workload."""
        return {name: each["spec"]["replicas"] for name, each in self.workloads(kind).items()}

    @property
    def revisions(self) -> dict[str, int]:
        """Name of each of its own revisions → its number."""
        revisions = self._got("controllerrevisions")["items"]
        owned = [each for each in revisions if each["metadata"]["ownerReferences"][0]["kind"] == "UnitedDeployment"]
        return {each["metadata"]["name"]: each["revision"] for each in owned}

    @property
    def events(self) -> list[str]:
        """Reasons and messages, the oldest first."""
        events = self._got("events --field-selector involvedObject.kind=UnitedDeployment")["items"]
        events.sort(key=lambda event: event["metadata"]["creationTimestamp"])
        return [f"{event['reason']}: {event['message']}" for event in events]

    def _by_subset(self, value_of: Callable[[Obj], str]) -> dict[str, list[str]]:
        values: dict[str, list[str]] = {}
        for pod in self.pods:
            values.setdefault(pod["metadata"]["labels"][SUBSET], []).append(value_of(pod))
        return {name: sorted(each) for name, each in sorted(values.items())}

    def _got(self, what: str) -> Any:
        return json.loads(self.kubectl.output(f"get {what} -o json"))


@pytest.fixture
def web(kubectl: Kubectl, wait_for: Callable[..., Any]) -> Web:
    """A UnitedDeployment that is not created yet."""
    return Web(kubectl, wait_for)
