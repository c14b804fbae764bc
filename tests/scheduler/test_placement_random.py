"""Whatever happens in whatever order, the state kept incrementally equals one computed from scratch."""

from collections import Counter

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from apiserver.api.selectors import label_selector_of
from controller_manager.scheduler.snapshot import Cluster

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
APPS = ("web", "db")
NODES = tuple("abcde")


def _selecting(app):
    return {"labelSelector": {"matchLabels": {"app": app}}}


def _spread(app, key, *, hard):
    action = "DoNotSchedule" if hard else "ScheduleAnyway"
    return {"topologyKey": key, "maxSkew": 1, "whenUnsatisfiable": action, **_selecting(app)}


def _pod_affinity(verb, when, term):
    return {"affinity": {verb: {f"{when}DuringSchedulingIgnoredDuringExecution": [term]}}}


def _specs(app):
    other = APPS[1 - APPS.index(app)]
    near, host = {"topologyKey": ZONE, **_selecting(app)}, {"topologyKey": HOST, **_selecting(app)}
    return [
        {},
        {"priority": 5},
        {"topologySpreadConstraints": [_spread(app, ZONE, hard=True)]},
        {"topologySpreadConstraints": [_spread(app, HOST, hard=True), _spread(app, ZONE, hard=False)]},
        _pod_affinity("podAntiAffinity", "required", host),
        _pod_affinity("podAffinity", "required", near),
        _pod_affinity("podAntiAffinity", "preferred", {"weight": 10, "podAffinityTerm": near}),
        _pod_affinity("podAffinity", "preferred", {"weight": 20, "podAffinityTerm": near | _selecting(other)}),
        {"nodeSelector": {"disk": "ssd"}},
        {"tolerations": [{"key": "k", "operator": "Exists"}]},
    ]


SPECS = [(app, spec) for app in APPS for spec in _specs(app)]
SELECTORS = {app: label_selector_of({"matchLabels": {"app": app}}) for app in APPS}


def _pod(uid, app, spec, **more):
    meta = {"name": uid, "uid": uid, "namespace": "default", "labels": {"app": app}, "generation": 1}
    container = {"resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}
    return {"metadata": meta | more, "spec": {"containers": [container], **spec}}


class PlacementMachine(RuleBasedStateMachine):
    """Nodes and pods that come, change and go; some pods are placed by the cluster itself."""

    def __init__(self):
        super().__init__()
        self.cluster, self.nodes, self.pods, self.count = Cluster(), {}, {}, 0

    @rule(
        name=st.sampled_from(NODES),
        zone=st.sampled_from(["", "1", "2"]),
        cpu=st.integers(0, 4),
        ssd=st.booleans(),
        taint=st.sampled_from(["", "NoSchedule", "PreferNoSchedule"]),
    )
    def a_node_comes_or_changes(self, name, zone, cpu, ssd, taint):
        labels = {HOST: name} | ({ZONE: zone} if zone else {}) | ({"disk": "ssd"} if ssd else {})
        self.nodes[name] = {
            "metadata": {"name": name, "labels": labels},
            "spec": {"taints": [{"key": "k", "effect": taint}]} if taint else {},
            "status": {"allocatable": {"cpu": str(cpu), "memory": "4Gi", "pods": "3"}},
        }
        self.cluster.node_changed(name, self.nodes[name])

    @precondition(lambda self: self.nodes)
    @rule(data=st.data())
    def a_node_goes(self, data):
        name = data.draw(st.sampled_from(sorted(self.nodes)))
        del self.nodes[name]
        self.cluster.node_changed(name, None)

    @rule(name=st.sampled_from(NODES), kind=st.sampled_from(SPECS))
    def a_pod_is_on_a_node(self, name, kind):
        self.count += 1
        app, spec = kind
        pod = _pod(f"p{self.count}", app, spec | {"nodeName": name})
        self.pods[pod["metadata"]["uid"]] = pod
        self.cluster.pod_changed(None, pod)

    @rule(kind=st.sampled_from(SPECS), confirmed=st.booleans())
    def a_pod_is_placed(self, kind, confirmed):
        self.count += 1
        app, spec = kind
        pod = _pod(f"p{self.count}", app, spec)
        node = self._board(self.cluster, pod).best_node()
        if node is None:
            return
        uid = pod["metadata"]["uid"]
        self.cluster.assume_pod(uid, self.cluster.info_of(pod), node=node)
        self.pods[uid] = bound = pod | {"spec": pod["spec"] | {"nodeName": node.name}}
        if confirmed:
            self.cluster.pod_changed(pod, bound)

    @precondition(lambda self: self.pods)
    @rule(data=st.data())
    def a_pod_goes(self, data):
        pod = self.pods.pop(data.draw(st.sampled_from(sorted(self.pods))))
        self.cluster.pod_changed(pod, None)

    @precondition(lambda self: self.pods)
    @rule(data=st.data(), app=st.sampled_from(APPS), leaves=st.booleans())
    def a_pod_changes(self, data, app, leaves):
        uid = data.draw(st.sampled_from(sorted(self.pods)))
        old = self.pods[uid]
        meta = (
            old["metadata"]
            | {"labels": {"app": app}}
            | ({"deletionTimestamp": "2027-01-15T08:00:00Z"} if leaves else {})
        )
        self.pods[uid] = new = old | {"metadata": meta}
        self.cluster.pod_changed(old, new)

    def _board(self, cluster, pod):
        return cluster.feasible_nodes(cluster.info_of(pod), lambda: SELECTORS[pod["metadata"]["labels"]["app"]])

    @invariant()
    def it_is_as_if_all_were_new(self):
        fresh = Cluster()
        for name in self.cluster.nodes:  # the same order, which decides between equals
            if name in self.nodes:
                fresh.node_changed(name, self.nodes[name])
        for pod in self.pods.values():
            fresh.pod_changed(None, pod)
        for app, spec in SPECS:
            pod = _pod("new", app, spec)
            ours, theirs = self._board(self.cluster, pod), self._board(fresh, pod)
            for name in self.nodes:
                assert ours.status(self.cluster.nodes[name]) == theirs.status(fresh.nodes[name])
            chosen, expected = ours.best_node(), theirs.best_node()
            assert (chosen and chosen.name) == (expected and expected.name)
            assert ours.diagnose().reasons == theirs.diagnose().reasons
        counted = Counter(pod["spec"]["nodeName"] for pod in self.pods.values())
        assert {node.name: node.pods for node in self.cluster.nodes.values() if node.pods} == counted


PlacementMachine.TestCase.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)
TestPlacing = PlacementMachine.TestCase
