"""The outcome of an eviction, by the pod and by its budget (core/pod/storage/eviction.go)."""

from importlib import import_module
from typing import Any

import pytest

from apiserver.api.meta import Obj

eviction = import_module("apiserver.registry.subresources.eviction")  # its package has a function of that name

BUDGETS = "/apis/policy/v1/namespaces/n/poddisruptionbudgets"
PODS = "/api/v1/namespaces/n/pods"
POD = {"metadata": {"name": "p", "labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
SELECTOR = {"selector": {"matchLabels": {"a": "b"}}}
EVICTION = {"metadata": {"name": "p"}}

FREE, SPENT, REFUSED = "evicted at no cost", "evicted for one disruption", "refused"
READY, UNREADY, NO_CONDITION = "True", "False", None


async def make_pod(client, *, ready, phase="Running"):
    await client.do("POST /api/v1/namespaces", {"metadata": {"name": "n"}})
    await client.do(f"POST {PODS}", POD)
    conditions = [{"type": "Ready", "status": ready}] if ready else []
    await client.patch(f"{PODS}/p/status", {"status": {"phase": phase, "conditions": conditions}})


async def make_budget(client, policy, **status):
    spec = SELECTOR | {"minAvailable": 1} | ({"unhealthyPodEvictionPolicy": policy} if policy else {})
    await client.do(f"POST {BUDGETS}", {"metadata": {"name": "b"}, "spec": spec})
    await client.patch(f"{BUDGETS}/b/status", {"status": {"observedGeneration": 1} | status})


async def evict(client, **options):
    """Evict the pod, and return the outcome."""
    before = (await client.do(f"GET {BUDGETS}/b"))["status"]["disruptionsAllowed"]
    code, answer = await client.ask(f"POST {PODS}/p/eviction", EVICTION | options)
    after = (await client.do(f"GET {BUDGETS}/b"))["status"]["disruptionsAllowed"]
    status, _ = await client.ask(f"GET {PODS}/p")
    if code == 429:
        assert (status, after) == (200, before), answer
        return REFUSED
    assert (code, status) == (201, 404), answer
    return {0: FREE, 1: SPENT}[before - after]


@pytest.mark.parametrize("allowed", [0, 1])
@pytest.mark.parametrize(
    ("ready", "policy", "healthy", "free"),
    [
        (READY, None, (2, 1), False),
        (READY, "IfHealthyBudget", (2, 1), False),
        (READY, "AlwaysAllow", (2, 1), False),
        (READY, None, (0, 0), False),
        (READY, "AlwaysAllow", (0, 0), False),
        (UNREADY, None, (3, 2), True),
        (UNREADY, None, (2, 2), True),
        (UNREADY, None, (1, 2), False),
        (UNREADY, None, (1, 1), True),
        (UNREADY, None, (0, 0), False),
        (UNREADY, None, (1, 0), False),
        (UNREADY, "IfHealthyBudget", (2, 2), True),
        (UNREADY, "IfHealthyBudget", (1, 2), False),
        (UNREADY, "IfHealthyBudget", (0, 0), False),
        (UNREADY, "IfHealthyBudget", (1, 0), False),
        (UNREADY, "AlwaysAllow", (2, 2), True),
        (UNREADY, "AlwaysAllow", (1, 2), True),
        (UNREADY, "AlwaysAllow", (0, 0), True),
        (UNREADY, "AlwaysAllow", (1, 0), True),
        (NO_CONDITION, None, (2, 2), True),
        (NO_CONDITION, None, (1, 0), False),
        ("Unknown", None, (1, 1), True),
        ("Unknown", None, (0, 1), False),
    ],
)
async def test_an_unready_pod_costs_nothing_where_the_others_are_enough(client, ready, policy, healthy, free, allowed):
    """`healthy` is how many pods are, and how many should be."""
    current, desired = healthy
    await make_pod(client, ready=ready)
    await make_budget(client, policy, desiredHealthy=desired, currentHealthy=current, disruptionsAllowed=allowed)
    assert await evict(client) == (FREE if free else SPENT if allowed else REFUSED)


@pytest.mark.parametrize("phase", ["Pending", "Succeeded", "Failed"])
async def test_a_pod_that_does_not_run_costs_nothing(client, phase):
    await make_pod(client, ready=READY, phase=phase)
    await make_budget(client, None, desiredHealthy=2, currentHealthy=1, disruptionsAllowed=0)
    assert await evict(client) == FREE


async def test_a_pod_that_is_going_already_costs_nothing(client):
    await make_pod(client, ready=READY)
    await client.patch(f"{PODS}/p", {"metadata": {"finalizers": ["example.com/wait"]}})
    await client.do(f"DELETE {PODS}/p")
    await make_budget(client, None, desiredHealthy=2, currentHealthy=1, disruptionsAllowed=0)
    await client.do(f"POST {PODS}/p/eviction", EVICTION)
    assert "disruptedPods" not in (await client.do(f"GET {BUDGETS}/b"))["status"]


@pytest.mark.parametrize(("count", "code"), [(2000, 201), (2001, 403)])
async def test_evictions_that_the_disruption_controller_has_not_noticed_are_limited(client, count, code):
    await make_pod(client, ready=READY)
    disrupted = {f"p-{number}": "2026-01-01T00:00:00Z" for number in range(count)}
    await make_budget(client, None, currentHealthy=9, desiredHealthy=1, disruptionsAllowed=8, disruptedPods=disrupted)
    status, answer = await client.ask(f"POST {PODS}/p/eviction", EVICTION)
    assert status == code
    message = "DisruptedPods map too big - too many evictions not confirmed by PDB controller"
    assert code == 201 or answer["message"].endswith(message)


async def test_a_budget_that_could_not_be_worked_out_says_why(client):
    await make_pod(client, ready=READY)
    condition: Obj = {"type": "DisruptionAllowed", "status": "False", "reason": "SyncFailed", "message": "no scale"}
    condition |= {"lastTransitionTime": "2026-01-01T00:00:00Z", "observedGeneration": 1}
    await make_budget(client, None, desiredHealthy=2, currentHealthy=1, conditions=[condition])
    _, answer = await client.ask(f"POST {PODS}/p/eviction", EVICTION)
    why = "does not allow evicting pods currently because it failed sync: no scale"
    assert answer["details"]["causes"] == [{"reason": "DisruptionBudget", "message": f"The disruption budget b {why}"}]


async def test_a_budget_that_no_controller_has_observed_refuses_an_unready_pod_too(client):
    await make_pod(client, ready=UNREADY)
    await make_budget(client, None, observedGeneration=0)
    assert await evict(client) == REFUSED


READY_NOW = {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}


@pytest.fixture
def becomes_ready(monkeypatch, client):
    """Let the pod become ready after an eviction has read it, and before it is deleted."""
    look_up = eviction._budgets

    async def meanwhile(registry, namespace):
        await client.patch(f"{PODS}/p/status", READY_NOW)
        return await look_up(registry, namespace)

    monkeypatch.setattr(eviction, "_budgets", meanwhile)


@pytest.mark.parametrize("policy", [None, "AlwaysAllow"])
async def test_a_pod_that_becomes_ready_meanwhile_is_not_evicted_for_nothing(client, becomes_ready, policy):
    await make_pod(client, ready=UNREADY)
    await make_budget(client, policy, desiredHealthy=1, currentHealthy=1, disruptionsAllowed=0)
    code, answer = await client.ask(f"POST {PODS}/p/eviction", EVICTION)
    assert (code, answer["details"]["retryAfterSeconds"]) == (429, 10)
    assert answer["details"]["causes"][0]["message"] == (
        "The disruption budget b is still being processed by the server."
    )
    assert "deletionTimestamp" not in (await client.do(f"GET {PODS}/p"))["metadata"]


async def test_who_names_the_version_of_the_pod_is_told_that_it_has_changed(client, becomes_ready):
    await make_pod(client, ready=UNREADY)
    await make_budget(client, None, desiredHealthy=1, currentHealthy=1, disruptionsAllowed=0)
    version = (await client.do(f"GET {PODS}/p"))["metadata"]["resourceVersion"]
    options = {"deleteOptions": {"preconditions": {"resourceVersion": version}}}
    code, answer = await client.ask(f"POST {PODS}/p/eviction", EVICTION | options)
    assert (code, answer["reason"]) == (409, "Conflict")


@pytest.fixture
def runs_at_last(monkeypatch, client):
    """Let a Pending pod run and be ready after an eviction has read it for the first time."""
    looks: list[Any] = []
    read = eviction.read_parent

    async def look(call):
        pod = await read(call)
        if not looks:
            await client.patch(f"{PODS}/p/status", READY_NOW)
        looks.append(pod)
        return pod

    monkeypatch.setattr(eviction, "read_parent", look)
    return looks


@pytest.mark.parametrize(("allowed", "outcome"), [(0, REFUSED), (1, SPENT)])
async def test_a_pending_pod_that_becomes_ready_meanwhile_is_under_its_budget(client, runs_at_last, allowed, outcome):
    await make_pod(client, ready=None, phase="Pending")
    await make_budget(client, None, desiredHealthy=1, currentHealthy=1, disruptionsAllowed=allowed)
    assert await evict(client) == outcome
    assert len(runs_at_last) == 2


@pytest.mark.parametrize(("named", "looks"), [("resourceVersion", 1), ("uid", 20)])
async def test_a_pod_that_is_not_the_one_that_was_meant_is_not_evicted(client, runs_at_last, named, looks):
    await make_pod(client, ready=None, phase="Pending")
    runs_at_last.append("has run before")
    meta = (await client.do(f"GET {PODS}/p"))["metadata"]
    other = {"uid": "11111111-1111-4111-a111-111111111111", "resourceVersion": str(int(meta["resourceVersion"]) - 1)}
    options = {"deleteOptions": {"preconditions": {named: other[named]}}}
    code, answer = await client.ask(f"POST {PODS}/p/eviction", EVICTION | options)
    assert (code, answer["reason"]) == (409, "Conflict")
    assert len(runs_at_last) == looks + 1
