"""A cluster of one set, whose pods run on nodes with real kubelets."""

from collections.abc import Collection
from typing import Any

from fake_server import FakeServer
from lagging_cluster import LaggingCluster, RunResult

from apiserver.api.meta import Obj
from controller_manager.kubelet.pods.lifecycle import next_step
from controller_manager.kubelet.pods.pod_sync import NodeContext
from controller_manager.reconcile.contract import ControllerSpec, DelayedKey, Delete
from controller_manager.reconcile.kinds import POD, Kind
from controller_manager.runtime.cache import Caches

KEY = "ns/web"


class SetCluster(LaggingCluster):
    """The server, caches that lag behind it, nodes that run pods, and the controller of the set "web".

    Attributes:
        kind: of the set.
        most: how many turns controller and nodes may take until they come to rest.
        queue: whether a trigger, or a wait, asked for a run.
    """

    most = 400

    def __init__(self, kind: Kind, spec: ControllerSpec, world: Caches, server: FakeServer) -> None:
        super().__init__(spec, world, server)
        self.kind = kind
        self.queue, self.timer, self.node = True, float("inf"), 0

    def wake(self, keys: Collection[str | DelayedKey]) -> None:
        self.queue = self.queue or KEY in keys

    @property
    def now(self) -> float:
        return self.server.now

    def run(self, *, fresh: bool = True, actions: int | None = None) -> RunResult:
        """Run the set as the manager would, once its own writes were seen; it may be killed after so many actions."""
        self.catch_up(fresh=fresh)
        self.queue = False
        ran = self.carry_out(KEY, actions)
        self.timer = min([self.timer, *(self.now + seconds for seconds in ran.later)])
        self.queue = self.queue or ran.error is not None
        if fresh:
            self.deliver_all()
        return ran

    # -- the nodes

    def work(self, *names: str) -> bool:
        """Let the scheduler and the kubelets look at all pods or at some; return False if there was nothing to do."""
        before = len(self.server.log[POD])
        for key, pod in sorted(self.server.objects[POD].items()):
            if names and pod["metadata"]["name"] not in names:
                continue
            if "nodeName" not in pod["spec"]:
                self.node = self.node % 3 + 1
                self.server.store(POD, pod | {"spec": pod["spec"] | {"nodeName": f"node-{self.node}"}})
            else:
                self._look(key, pod)
        return len(self.server.log[POD]) > before

    def _look(self, key: str, pod: Obj) -> None:
        address = f"10.244.0.{pod['metadata']['uid'].removeprefix('uid-')}"
        step = next_step(pod, NodeContext(pod["spec"]["nodeName"], "172.18.0.2", address), self.now)
        if step.delete:
            self.server.drop(POD, key)
        elif step.status is not None:
            self.server.store(POD, pod | {"status": step.status})

    def settle(self) -> list[RunResult]:
        """Let controller and nodes work until nothing is left to do but to wait; return all runs."""
        runs = []
        for _ in range(self.most):
            self.tidy()
            self.deliver_all()
            if self.queue:
                runs.append(self.run())
            elif not self.work():
                return runs
        raise AssertionError("the cluster does not come to rest")

    def tidy(self) -> None:
        """Do what others do before each turn: nothing, unless a test is about that."""

    def tick(self, seconds: float) -> None:
        """Let time pass."""
        self.server.now += seconds
        if self.timer <= self.now:
            self.queue, self.timer = True, float("inf")

    # -- what people do

    def edit(self, **spec: Any) -> None:
        """Change fields of the set's spec."""
        self.server.change(self.kind, self.set, self.set | {"spec": self.set["spec"] | spec})

    def rolling(self, **strategy: Any) -> None:
        """Change fields of its updateStrategy.rollingUpdate."""
        update_strategy = self.set["spec"]["updateStrategy"]
        self.edit(updateStrategy=update_strategy | {"rollingUpdate": update_strategy["rollingUpdate"] | strategy})

    def mark(self, name: str, **conditions: dict[str, str | None]) -> None:
        """Change labels or annotations of a pod; None removes one."""
        pod = self.server.objects[POD][f"ns/{name}"]
        meta = pod["metadata"]
        for part, given in conditions.items():
            merged = meta.get(part, {}) | given
            meta = meta | {part: {key: value for key, value in merged.items() if value is not None}}
        self.server.store(POD, pod | {"metadata": meta})

    def take_down(self, *names: str) -> None:
        """Let containers of pods stop being ready."""
        for name in names:
            self.mark(name, annotations={"mockube.io/ready-after": "9000h"})
            self.work(name)

    def terminate(self, *names: str) -> None:
        """Mark pods for deletion, as kubectl delete does."""
        for name in names:
            self.server.delete(Delete(POD, f"ns/{name}"), self.server.objects[POD][f"ns/{name}"])

    # -- what they see

    @property
    def set(self) -> Any:
        return self.server.objects[self.kind][KEY]

    @property
    def status(self) -> Any:
        return self.set["status"]
