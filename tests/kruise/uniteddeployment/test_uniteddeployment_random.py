"""Whatever happens to a UnitedDeployment: it comes to rest as its spec says, and then writes nothing."""

import random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apiserver.api.errors import unavailable
from controller_manager.reconcile.contract import Create, Delete, Patch, Update
from controller_manager.reconcile.kinds import ADVANCED_STATEFUL_SET, CLONE_SET, DEPLOYMENT, STATEFUL_SET

FIELDS = {
    "statefulSetTemplate": STATEFUL_SET,
    "advancedStatefulSetTemplate": ADVANCED_STATEFUL_SET,
    "cloneSetTemplate": CLONE_SET,
    "deploymentTemplate": DEPLOYMENT,
}
STATELESS = ("cloneSetTemplate", "deploymentTemplate")
REVISION = "apps.kruise.io/controller-revision-hash"
NAMES = "abcd"


class Story:
    """A random sequence of changes to a UnitedDeployment and its pods.

    Attributes:
        rooms: subset → how many of its pods find a node.
    """

    def __init__(self, lab, draw: random.Random, template, topology) -> None:
        self.lab, self.draw, self.template, self.topology = lab, draw, template, topology
        self.rooms: dict[str, int] = {}
        self.images = 1

    def step(self) -> None:
        ops = (self.scale, self.roll, self.hold, self.rearrange, self.switch, self.tamper, self.remove, self.crowd)
        self.draw.choice(ops)()
        for _ in range(self.draw.randrange(3)):
            self.turn(faults=self.draw.random() < 0.3)

    def turn(self, *, faults: bool = False) -> None:
        """The controller runs, with or without trouble, and the workloads may follow."""
        writes = (Create, Update, Patch, Delete)
        away = unavailable("not now")
        chance = self.draw.random
        self.lab.refuse = lambda request: away if faults and isinstance(request, writes) and chance() < 0.3 else None
        self.lab.run()
        self.lab.refuse = lambda _: None
        if chance() < 0.7:
            self.lab.play(room=self.rooms)
        self.lab.now += self.draw.choice((1, 40, 400))

    def scale(self) -> None:
        self.lab.change(replicas=self.draw.randrange(12))

    def roll(self) -> None:
        self.images += 1
        self.lab.change(template={self.field: self.template(f"web:{self.draw.randrange(1, self.images + 1)}")})

    @property
    def field(self) -> str:
        template: dict[str, Any] = self.lab.united["spec"]["template"]
        return next(iter(template))

    def hold(self) -> None:
        partitions = {name: self.draw.randrange(4) for name in NAMES if self.draw.random() < 0.3}
        self.lab.change(updateStrategy={"type": "Manual", "manualUpdate": {"partitions": partitions}})

    def rearrange(self) -> None:
        names = self.draw.sample(NAMES, self.draw.randrange(1, len(NAMES) + 1))
        subsets: list[dict[str, Any]] = [{"name": name} for name in names]
        strategy = self.draw.choice(("", "Adaptive", "Reserve"))
        if strategy or self.draw.random() < 0.5:
            for subset in subsets[:-1]:
                subset["maxReplicas"] = self.draw.randrange(5)
        adaptive = {"reserveUnschedulablePods": strategy == "Reserve" and self.field in STATELESS}
        more = {"type": "Adaptive", "adaptive": adaptive} if strategy else {}
        self.lab.change(topology=self.topology(*subsets, **more))

    def switch(self) -> None:
        reserves = (self.lab.united["spec"]["topology"].get("scheduleStrategy") or {}).get("adaptive") or {}
        fields = STATELESS if reserves.get("reserveUnschedulablePods") else tuple(FIELDS)
        self.lab.change(template={self.draw.choice(fields): self.template(f"web:{self.images}")})

    def tamper(self) -> None:
        """Scale a workload by hand."""
        for kind in FIELDS.values():
            for key, obj in list(self.lab.objects[kind].items()):
                if self.draw.random() < 0.4:
                    self.lab.amend(kind, key, spec=obj["spec"] | {"replicas": self.draw.randrange(5)})

    def remove(self) -> None:
        """Delete a workload."""
        for kind in FIELDS.values():
            for key in list(self.lab.objects[kind]):
                if self.draw.random() < 0.2:
                    del self.lab.objects[kind][key]

    def crowd(self) -> None:
        self.rooms = {name: self.draw.randrange(4) for name in NAMES if self.draw.random() < 0.4}


@pytest.fixture
def begin(make_lab, template, topology):
    """begin(seed): a story about a new UnitedDeployment."""

    def make(draw):
        lab = make_lab()
        spec = {
            "replicas": 6,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {draw.choice(list(FIELDS)): template()},
            "topology": topology("a", "b"),
            "revisionHistoryLimit": 3,
        }
        lab.store(lab.kind, {"metadata": {"name": "web"}, "spec": spec})
        return Story(lab, draw, template, topology)

    return make


@settings(
    max_examples=120, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], deadline=None
)
@given(seed=st.integers(0, 2**32), steps=st.integers(1, 10))
def test_it_comes_to_rest_as_its_spec_says(begin, seed, steps):
    story = begin(random.Random(seed))
    for _ in range(steps):
        story.step()
    lab = story.lab
    for _ in range(4):  # whatever had to wait has waited long enough
        lab.now += 400
        lab.settle()

    assert lab.run().quiet
    spec, status = lab.united["spec"], lab.status
    names = [subset["name"] for subset in spec["topology"]["subsets"]]
    owned = [obj for kind in FIELDS.values() for obj in lab.objects[kind].values()]
    kinds = {obj["kind"] for obj in owned}
    assert kinds == {FIELDS[story.field].kind}
    assert sorted(lab.workloads()) == sorted(names)
    assert len(owned) == len(names)
    assert sum(lab.sizes().values()) == spec["replicas"]
    for subset in spec["topology"]["subsets"]:
        assert lab.sizes()[subset["name"]] <= subset.get("maxReplicas", 100)
    assert {obj["metadata"]["labels"][REVISION] for obj in owned} == {status["updatedRevision"]}
    assert status["replicas"] == status.get("readyReplicas", 0) == spec["replicas"]
    assert status["observedGeneration"] == lab.united["metadata"]["generation"]
    assert [entry["name"] for entry in status["subsetStatuses"]] == names
    numbers = [obj["revision"] for obj in lab.revisions()]
    assert len(numbers) == len(set(numbers))
    assert lab.revisions()[-1]["metadata"]["name"] == status["updatedRevision"]
    assert len(numbers) <= 3 + 2
