"""The number of pods of a CloneSet that may be unavailable during an update, for whatever reason: row C2."""

from collections import Counter
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from controller_manager.kruise.cloneset.rolling import Diff, pods_to_update
from controller_manager.kruise.cloneset.spec import Strategy, members_of
from controller_manager.reconcile.times import format_time

NOW = 1_800_000_000.0
REVISION = "web-new"
STATE = "lifecycle.apps.kruise.io/state"
GRACE = "apps.kruise.io/inplace-update-grace"
GATE = "InPlaceUpdateReady"


def a_pod(name="p", *, revision=REVISION, ready="True", age=60, gate=None, state=None, grace=False, phase="Running"):
    """A pod that is ready, or not, since `age` seconds; its gate, lifecycle and grace as they are given."""
    conditions = [{"type": "Ready", "status": ready, "lastTransitionTime": format_time(NOW - age)}]
    conditions += [{"type": GATE, "status": gate}] if gate else []
    labels = {"controller-revision-hash": revision} | ({STATE: state} if state else {})
    return {
        "metadata": {
            "name": name,
            "uid": f"uid-{name}",
            "labels": labels,
            "annotations": {GRACE: '{"revision":"web-new"}'} if grace else {},
            "creationTimestamp": format_time(NOW - 1000),
        },
        "spec": {"nodeName": "node-1", "containers": []},
        "status": {"phase": phase, "conditions": conditions},
    }


def a_strategy(**more):
    known: dict[str, Any] = {
        "partition": 0,
        "max_unavailable": 2,
        "max_surge": 0,
        "scale_max_unavailable": 2**31 - 1,
        "paused": False,
        "on_delete": False,
        "policy": "InPlaceIfPossible",
        "grace": 0,
        "minimum": 0,
        "reuses_claims": False,
        "named": frozenset(),
    }
    return Strategy(10, **(known | more))


@pytest.mark.parametrize(
    ("pod", "minimum", "ready", "available"),
    [
        (a_pod(), 0, True, True),
        (a_pod(age=9), 10, True, False),
        (a_pod(age=10), 10, True, True),
        (a_pod(ready="False"), 0, False, False),
        (a_pod(phase="Pending"), 0, False, False),
        (a_pod(gate="True"), 0, True, True),
        (a_pod(gate="False"), 0, False, False),  # the kubelet has not closed it yet
        (a_pod(state="Normal"), 0, True, True),
        (a_pod(state="Updating"), 0, True, False),  # it has no gate, so that it is ready all the time
        (a_pod(state="PreparingNormal"), 0, True, False),
    ],
)
def test_a_pod_is_available_while_nothing_is_done_to_it(pod, minimum, ready, available):
    [member] = members_of([pod], REVISION, strategy=a_strategy(minimum=minimum), now=NOW)
    assert (member.ready, member.available) == (ready, available)
    assert member.is_serving == (ready and pod["metadata"]["labels"].get(STATE, "Normal") == "Normal")


pods = st.builds(
    a_pod,
    revision=st.sampled_from(["web-old", "web-old", "web-old", REVISION]),
    ready=st.sampled_from(["True", "True", "False"]),
    age=st.sampled_from([5, 60]),
    gate=st.sampled_from([None, "True", "False"]),
    state=st.sampled_from([None, "Normal", "Updating"]),
    grace=st.sampled_from([False, False, True]),
)
sets = st.lists(pods, max_size=10).map(
    lambda drawn: [pod | {"metadata": pod["metadata"] | {"name": f"p{i}"}} for i, pod in enumerate(drawn)]
)


IN_GRACE = a_pod("p0", revision="web-old", state="Updating", grace=True)
SHORTLY_READY = a_pod("p1", revision="web-old", age=5)
OLD = a_pod("p2", revision="web-old")


@example(pod_list=[IN_GRACE, OLD], update=2, limit=1)
@example(pod_list=[IN_GRACE, SHORTLY_READY, OLD], update=1, limit=2)
@example(pod_list=[OLD, OLD, OLD], update=3, limit=2)
@given(pod_list=sets, update=st.integers(0, 10), limit=st.integers(0, 5))
def test_whatever_is_updated_stays_within_the_budget_and_fills_it(pod_list, update, limit):
    members = members_of(pod_list, REVISION, strategy=a_strategy(minimum=10), now=NOW)
    chosen = pods_to_update(members, Diff(update=update, update_limit=limit))
    can_be = [each for each in members if not each.updated and GRACE not in each.pod["metadata"]["annotations"]]
    assert all(each in can_be for each in chosen)
    down = Counter(each.updated for each in members if not each.available)
    healthy = sum(each.available for each in chosen)
    assert not healthy or down.total() + healthy <= limit
    assert not chosen or down[True] + len(chosen) <= limit
    assert len(chosen) <= update
    left = min(len(can_be), update) - len(chosen)
    full = down[True] + len(chosen) >= limit or down.total() + healthy >= limit
    assert full or not left, "a pod waits although the budget allows it"


@pytest.mark.parametrize("annotation", [GRACE, "inplace-update-grace"], ids=["of today", "before OpenKruise 1.0"])
def test_a_pod_in_its_grace_is_not_chosen_again_whichever_annotation_says_so(annotation):
    pod = a_pod(revision="web-old", state="Updating", grace=True)
    pod["metadata"]["annotations"] = {annotation: '{"revision":"web-new"}'}
    members = members_of([pod], REVISION, strategy=a_strategy(), now=NOW)
    assert pods_to_update(members, Diff(update=1, update_limit=2)) == []


def is_down(pod):
    [member] = members_of([pod], REVISION, strategy=a_strategy(), now=NOW)
    return not member.available


@pytest.mark.parametrize("gated", [True, False], ids=["with a gate", "without a gate"])
@pytest.mark.parametrize("grace", [0, 5])
def test_pods_are_updated_in_place_within_the_budget(settled_cluster, template, gated, grace):
    """C2 in place: 10 replicas, maxUnavailable 20 %; pods made before the policy was chosen have no gate."""
    policy = {"podUpdatePolicy": "InPlaceIfPossible", "inPlaceUpdateStrategy": {"gracePeriodSeconds": grace}}
    cluster = settled_cluster(replicas=10, rolling=policy if gated else {})
    before = cluster.names
    cluster.rolling(**policy)
    cluster.settle()
    cluster.edit(template=template("web:2"))
    most = 0
    for _ in range(1000):
        cluster.deliver_all()
        if cluster.queue:
            cluster.run()
        elif not cluster.work():
            if cluster.images == {"web:2": 10}:
                break
            cluster.tick(1)
        underway = sum(pod["metadata"]["labels"].get(STATE) == "Updating" for pod in cluster.pods)
        assert underway <= 2
        assert sum(map(is_down, cluster.pods)) <= 2
        most = max(most, underway)
    assert most == 2
    assert (cluster.names, cluster.images) == (before, {"web:2": 10})
