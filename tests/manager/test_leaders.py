"""Of two managers one works: it is killed, stopped or put to sleep amid its work, and nothing is done twice."""

import json
import signal
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

Kubectl = Any
Write = Callable[..., str]

HASTY = (
    "--leader-elect-lease-duration=3s",
    "--leader-elect-renew-deadline=2s",
    "--leader-elect-retry-period=0.5s",
)
PATIENT = ("--leader-elect-lease-duration=60s", "--leader-elect-renew-deadline=50s", "--leader-elect-retry-period=0.5s")
MADE = (
    "get pods --watch --output-watch-events --no-headers "
    "-o 'custom-columns=:.type,:.object.spec.containers[0].image,:.object.metadata.name'"
)

TURN = 16
"""More requests than a manager sends in one turn of its loop."""


@dataclass(frozen=True)
class TwoManagers:
    """A server, a manager that leads and one that waits."""

    kubectl: Kubectl
    leader: Any
    other: Any
    kubeconfig: Any

    def holder(self) -> str:
        """Return the holder of the lease, "" if nobody has it."""
        lease = "lease/kube-controller-manager -n kube-system"
        holder: str = self.kubectl.output(f"get {lease} -o jsonpath={{.spec.holderIdentity}}")
        return holder

    def transitions(self) -> int:
        lease = "lease/kube-controller-manager -n kube-system"
        return int(self.kubectl.output(f"get {lease} -o jsonpath={{.spec.leaseTransitions}}"))


@pytest.fixture
def two(serve: Any, manage: Any, kubectl_at: Any) -> Callable[..., TwoManagers]:
    def start(*terms: str) -> TwoManagers:
        server = serve()
        leader = manage(server.kubeconfig, *terms)
        assert leader.line().startswith("ready")
        return TwoManagers(kubectl_at(server.kubeconfig), leader, manage(server.kubeconfig, *terms), server.kubeconfig)

    return start


@dataclass(frozen=True)
class Births:
    """Watches pods come and go."""

    watch: subprocess.Popen[str]

    def until(self, enough: Callable[[Counter[str]], bool]) -> Counter[str]:
        """Return the number of pods made of each image, as soon as that is enough."""
        assert self.watch.stdout is not None
        made: Counter[str] = Counter()
        while not enough(made):
            kind, image, _ = self.watch.stdout.readline().split()
            made[image] += kind == "ADDED"
        return made

    def rest(self) -> Counter[str]:
        """Stop the watch and return the number of further pods made of each image until now."""
        assert self.watch.stdout is not None
        self.watch.terminate()
        lines = [line.split() for line in self.watch.stdout]
        return Counter(image for kind, image, _ in lines if kind == "ADDED")


@pytest.fixture
def births() -> Iterator[Callable[[Kubectl], Births]]:
    watches = []

    def watch(kubectl: Kubectl) -> Births:
        watches.append(kubectl.start(MADE))
        return Births(watches[-1])

    yield watch
    for each in watches:
        each.kill()
        each.communicate()


def rolled_out(kubectl: Kubectl, images: dict[str, int]) -> None:
    """The Deployment "web" comes to its end with as many ReplicaSets as templates, and revisions in order."""
    kubectl.says("rollout status deployment/web --timeout=300s", '.*deployment "web" successfully rolled out')
    sets = json.loads(kubectl.output("get replicasets -o json"))["items"]
    sizes = {each["spec"]["template"]["spec"]["containers"][0]["image"]: each["spec"]["replicas"] for each in sets}
    assert (sizes, len(sets)) == (images, len(images))
    revisions = sorted(each["metadata"]["annotations"]["deployment.kubernetes.io/revision"] for each in sets)
    assert revisions == [str(number) for number in range(1, len(images) + 1)]
    pods = json.loads(kubectl.output("get pods -o json"))["items"]
    assert len([pod for pod in pods if "deletionTimestamp" not in pod["metadata"]]) == sum(images.values())


@pytest.mark.slow
@pytest.mark.kubectl
def test_the_other_takes_over_from_a_leader_that_is_killed_and_does_nothing_twice(
    two: Any, births: Any, deployment: Write
) -> None:
    it = two(*HASTY)
    it.kubectl.output("apply -f -", deployment(replicas=12))
    rolled_out(it.kubectl, {"nginx:1": 12})
    made = births(it.kubectl)
    assert made.until(lambda made: made["nginx:1"] == 12) == {"nginx:1": 12}
    slow = {"mockube.io/ready-after": "2s"}
    it.kubectl.output("apply -f -", deployment(image="nginx:2", annotations=slow, replicas=12))
    before = made.until(lambda made: made["nginx:2"] >= 6)
    assert it.leader.ended(signal.SIGKILL) == -signal.SIGKILL
    assert it.other.line().startswith("ready")
    rolled_out(it.kubectl, {"nginx:1": 0, "nginx:2": 12})
    assert before + made.rest() == {"nginx:2": 12}
    assert it.transitions() == 1


@pytest.mark.kubectl
def test_a_leader_that_is_stopped_gives_its_lease_up_at_once(two: Any, births: Any, deployment: Write) -> None:
    it = two(*PATIENT)
    made = births(it.kubectl)
    it.kubectl.output("apply -f -", deployment(replicas=100))
    before = made.until(lambda made: made["nginx:1"] >= 10)
    first = it.holder()
    assert it.leader.ended(signal.SIGTERM) == 0
    assert it.holder() != first
    assert it.other.line().startswith("ready")
    assert it.holder() not in ("", first)
    rolled_out(it.kubectl, {"nginx:1": 100})
    assert before + made.rest() == {"nginx:1": 100}
    assert it.other.ended(signal.SIGTERM) == 0
    assert it.holder() == ""


@pytest.mark.slow
@pytest.mark.kubectl
def test_a_leader_that_slept_past_its_lease_wakes_ends_and_does_nothing(
    two: Any, births: Any, deployment: Write
) -> None:
    """It sleeps amid the creation of pods, with many more to come: some hundred, if nothing held it back.

    A request that it hands to its socket in the turn of the loop in which it falls asleep goes out when it wakes: no
    lease can prevent that, upstream's neither. They are few.
    """
    it = two(*HASTY)
    made = births(it.kubectl)
    it.kubectl.output("apply -f -", deployment(replicas=300))
    before = made.until(lambda made: made["nginx:1"] >= 20)
    it.leader.send(signal.SIGSTOP)
    assert it.other.line().startswith("ready")
    rolled_out(it.kubectl, {"nginx:1": 300})
    it.leader.send(signal.SIGCONT)
    assert it.leader.ended() == 1
    assert "controller_manager: the lease kube-system/kube-controller-manager " in it.leader.said.read_text()
    rolled_out(it.kubectl, {"nginx:1": 300})
    assert 300 <= (before + made.rest()).total() < 300 + TURN
    assert it.transitions() == 1


def test_a_leader_ends_well_though_its_server_does_not_answer(serve: Any, manage: Any) -> None:
    server = serve()
    leader = manage(server.kubeconfig)
    assert leader.line().startswith("ready")
    server.running.send(signal.SIGSTOP)
    assert leader.ended(signal.SIGTERM) == 0
    assert "Traceback" not in leader.said.read_text()
