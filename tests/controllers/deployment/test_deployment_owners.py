"""Owners of ReplicaSets: adopted, released and left alone (rows D25, D35 to D38, D48)."""

import pytest

from apiserver.api.errors import conflict, not_found
from controller_manager.reconcile.contract import Create, Get, Patch, Update, key_of
from controller_manager.reconcile.kinds import DEPLOYMENT, REPLICA_SET


def refused(error, kind=Create):
    return lambda request: error if isinstance(request, kind) else None


def test_d25_a_selector_of_all_pods_is_refused(run, make_deployment, make_set, statuses):
    deployment = make_deployment(selector={}, status={"observedGeneration": 2})
    done = run(deployment, [make_set(1, 10)])
    told_ = "This deployment is selecting all pods. A non-empty selector is required."
    assert done.events == [f"SelectingAll: {told_}"]
    assert statuses(done)[-1] == {"observedGeneration": 3}
    assert len(done.requests()) == 1
    assert run(deployment | {"status": {"observedGeneration": 3}}).requests() == []


@pytest.mark.parametrize("paused", [True, False])
def test_d35_one_that_is_being_deleted_only_counts(run, make_deployment, make_set, paused):
    deployment = make_deployment("web:2", replicas=20, paused=paused)
    deployment["metadata"] |= {"deletionTimestamp": "2027-01-15T08:00:00Z", "finalizers": ["foregroundDeletion"]}
    done = run(deployment, [make_set(1, 10, desired=(10, 13)), make_set(3, 1, owner=None)])
    [written] = done.requests()
    assert (written.kind, written.subresource) == (DEPLOYMENT, "status")
    assert written.obj["status"]["replicas"] == 10


def test_d36_an_orphan_of_the_template_is_adopted_and_new(run, make_deployment, make_set, statuses):
    deployment, orphan = make_deployment("web:1"), make_set(1, 10, owner=None)
    adopted = make_set(1, 10)
    answers = {Get: deployment, Patch: adopted}
    done = run(deployment, [orphan], answers=lambda request: answers.get(type(request)))
    [patch] = done.of(Patch)
    assert patch.key == "default/web-1"
    assert patch.body["metadata"]["ownerReferences"][0]["uid"] == "uid-web"
    assert done.of(Create) == []
    assert statuses(done)[-1]["updatedReplicas"] == 10


def test_d36_nobody_is_adopted_by_a_deployment_that_is_another_by_now(run, make_deployment, make_set):
    deployment = make_deployment("web:1")
    other = deployment | {"metadata": deployment["metadata"] | {"uid": "uid-later"}}
    done = run(
        deployment, [make_set(1, 10, owner=None)], answers=lambda request: other if isinstance(request, Get) else None
    )
    assert done.error.code == 409
    assert done.of(Patch) == []


def test_d37_a_set_whose_labels_no_longer_match_is_let_go_and_replaced(run, make_deployment, make_set):
    stray = make_set(1, 10)
    stray["metadata"]["labels"] = {"app": "other"}
    done = run(make_deployment("web:1"), [stray], answers=lambda request: stray if isinstance(request, Patch) else None)
    [patch] = done.of(Patch)
    assert patch.body["metadata"]["ownerReferences"] == [{"$patch": "delete", "uid": "uid-web"}]
    assert len(done.of(Create)) == 1


def test_d38_a_set_of_a_namesake_is_left_alone(run, make_deployment, make_set):
    done = run(make_deployment("web:1"), [make_set(1, 10, owner="uid-of-the-former")])
    assert [type(request) for request in done.requests() if getattr(request, "kind", None) is REPLICA_SET] == [Create]


def test_d48_sets_that_a_selector_misses_are_let_go_should_it_ever_change(run, make_deployment, make_set):
    deployment = make_deployment("web:1", selector={"matchLabels": {"app": "web", "tier": "front"}})
    done = run(deployment, [make_set(1, 10)], answers=refused(not_found("apps", "replicasets", "web-1"), Patch))
    assert [patch.key for patch in done.of(Patch)] == ["default/web-1"]
    assert done.error is None


# -- rest --------------------------------------------------------------------------------------------------------------


def test_a_lost_race_is_an_error_and_nothing_is_overwritten(run, make_deployment, make_set):
    stale = conflict("apps", "deployments", name="web", why="modified")
    done = run(make_deployment(), [make_set(1, 10)], answers=refused(stale, Update))
    assert done.error is stale
    assert len(done.requests()) == 1


@pytest.mark.parametrize("paused", [True, False])
def test_a_second_run_without_a_change_writes_nothing(run, make_deployment, make_set, paused):
    deployment, sets = (
        make_deployment("web:2", surge=3, unavailable=2, paused=paused),
        [make_set(1, 8), make_set(2, 5, 0)],
    )
    for _ in range(4):
        done = run(deployment, sets)
        for written in done.of(Update):
            if written.kind is DEPLOYMENT:
                deployment = written.obj
            else:
                sets = [
                    written.obj if key_of(replica_set) == key_of(written.obj) else replica_set for replica_set in sets
                ]
    assert done.requests() == done.events == []
