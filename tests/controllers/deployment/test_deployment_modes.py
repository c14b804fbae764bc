"""One run to recreate, resize, pause or roll back: rows D10 to D13, D18 to D20, D26 to D28, D40, D41, D47."""

import pytest

from controller_manager.reconcile.contract import Create, Delete, RecordEvent, RequeueAfter, Update
from controller_manager.reconcile.controller_ref import owner_reference
from controller_manager.reconcile.kinds import DEPLOYMENT, REPLICA_SET

REVISION = "deployment.kubernetes.io/revision"
ROLLBACK_TO = "deprecated.deployment.rollback.to"


def with_progress(deployment):
    """A Deployment that has the revision of its new ReplicaSet, and says that it makes progress."""
    noted = {"type": "Progressing", "status": "True", "reason": "ReplicaSetUpdated", "message": "told before"}
    times = {"lastUpdateTime": "2027-01-15T07:59:00Z", "lastTransitionTime": "2027-01-15T07:59:00Z"}
    status = deployment["status"] | {"conditions": [noted | times]}
    return deployment | {"status": status}


def pod(name, owner, phase="Running", **meta):
    reference = owner_reference(REPLICA_SET, owner)
    return {
        "metadata": {"name": name, "namespace": "default", "uid": name, "ownerReferences": [reference]} | meta,
        "status": {"phase": phase},
    }


# -- recreate ----------------------------------------------------------------------------------------------------------


RECREATE = {"type": "Recreate"}


def test_to_recreate_takes_all_old_pods_away_first(run, make_deployment, make_set, sizes):
    done = run(make_deployment("web:3", strategy=RECREATE), [make_set(1, 4), make_set(2, 6)])
    assert sizes(done) == {"web-1": 0, "web-2": 0}
    assert done.of(Create) == []


@pytest.mark.parametrize(
    ("phase", "meta", "waits"),
    [
        pytest.param("Running", {"deletionTimestamp": "2027-01-15T08:00:00Z"}, True, id="D26-terminating"),
        pytest.param("Pending", {}, True, id="pending"),
        pytest.param("Unknown", {}, True, id="D27-unknown"),
        pytest.param("Failed", {}, False, id="D27-failed"),
        pytest.param("Succeeded", {}, False, id="D27-succeeded"),
    ],
)
def test_new_pods_wait_until_the_last_old_one_has_ended(run, make_deployment, make_set, phase, meta, waits):
    old = make_set(1, 0)
    done = run(make_deployment("web:2", strategy=RECREATE), [old], [pod("last", old, phase, **meta)])
    assert [made.obj["spec"]["replicas"] for made in done.of(Create)] == ([] if waits else [10])


@pytest.mark.parametrize(("pods", "waits"), [pytest.param(1, True, id="D26"), pytest.param(0, False, id="D28")])
def test_new_pods_wait_while_an_old_set_counts_any(run, make_deployment, make_set, pods, waits):
    done = run(make_deployment("web:2", strategy=RECREATE), [make_set(1, 0, pods=pods)])
    assert [made.obj["spec"]["replicas"] for made in done.of(Create)] == ([] if waits else [10])


def test_d26_a_new_set_that_is_there_stays_empty_meanwhile(run, make_deployment, make_set, sizes):
    old, new = make_set(1, 0), make_set(2, 0)
    deployment = make_deployment("web:2", strategy=RECREATE)
    assert sizes(run(deployment, [old, new], [pod("last", old)])) == {}
    assert sizes(run(deployment, [old, new], [pod("first", new)])) == {"web-2": 10}


# -- resizing and pausing ----------------------------------------------------------------------------------------------


def test_d18_the_size_is_changed_before_the_template(run, make_deployment, make_set, sizes):
    deployment = make_deployment("web:2", replicas=20)
    done = run(deployment, [make_set(1, 10, desired=(10, 13))])
    assert sizes(done) == {"web-1": 20}
    assert done.of(Create) == []
    after = run(deployment, [make_set(1, 20, desired=(20, 25))])
    assert len(after.of(Create)) == 1


def test_d47_a_new_size_changes_the_set_and_what_it_is_told_and_nothing_else(run, make_deployment, make_set, statuses):
    done = run(make_deployment(replicas=12), [make_set(1, 10, desired=(10, 13))])
    [changed] = [update.obj for update in done.of(Update) if update.kind is REPLICA_SET]
    before = make_set(1, 10, desired=(12, 15))
    assert changed["spec"] == before["spec"] | {"replicas": 12}
    assert changed["metadata"] == before["metadata"]
    assert done.events == ["ScalingReplicaSet: Scaled up replica set web-1 from 10 to 12"]
    assert statuses(done)[-1]["observedGeneration"] == 3


def test_d13_each_set_gets_its_share_and_the_new_total_in_its_annotation(run, make_deployment, make_set, sizes):
    deployment = make_deployment("web:2", replicas=10, surge=0, unavailable=1)
    done = run(deployment, [make_set(1, 3, desired=(5, 5)), make_set(2, 2, desired=(5, 5))])
    assert sizes(done) == {"web-1": 6, "web-2": 4}
    for changed in (update.obj for update in done.of(Update) if update.kind is REPLICA_SET):
        assert changed["metadata"]["annotations"]["deployment.kubernetes.io/desired-replicas"] == "10"
        assert changed["metadata"]["annotations"]["deployment.kubernetes.io/max-replicas"] == "10"


def test_d20_a_set_that_keeps_its_size_gets_the_new_total_in_its_annotation(run, make_deployment, make_set, sizes):
    deployment = make_deployment("web:2")
    done = run(deployment, [make_set(1, 3, desired=(8, 11)), make_set(2, 10, 4, desired=(10, 13))])
    assert sizes(done) == {"web-1": 3}
    assert done.events == []


def test_a_new_size_leaves_progress_alone(run, make_deployment, make_set, statuses, progress):
    deployment = with_progress(make_deployment(replicas=12, annotations={REVISION: "1"}))
    done = run(deployment, [make_set(1, 10, desired=(10, 13))])
    assert progress(statuses(done)[-1]).startswith("True/ReplicaSetUpdated: ")
    assert done.of(RequeueAfter) == []


def test_d10_no_set_is_made_while_paused_and_one_when_resumed(run, make_deployment, make_set, statuses, progress):
    done = run(make_deployment("web:2", paused=True), [make_set(1, 10)])
    assert done.of(Create) == []
    assert progress(statuses(done)[-1]).startswith("Unknown/DeploymentPaused: ")
    done = run(make_deployment("web:2", status=statuses(done)[-1]), [make_set(1, 10)])
    assert len(done.of(Create)) == 1
    first = next(update.obj["status"] for update in done.of(Update) if update.kind is DEPLOYMENT)
    assert progress(first).startswith("Unknown/DeploymentResumed: ")


def test_d11_a_paused_deployment_is_resized_in_proportion(run, make_deployment, make_set, sizes):
    deployment = make_deployment("web:2", replicas=50, surge=6, paused=True)
    done = run(deployment, [make_set(1, 8, desired=(10, 13)), make_set(2, 5, desired=(10, 13))])
    assert sizes(done)["web-1"] == 34
    assert sizes(done)["web-2"] == 22


def test_d12_a_pause_in_the_middle_leaves_sizes_as_they_are(run, make_deployment, make_set, sizes):
    deployment = make_deployment("web:2", surge=3, unavailable=2, paused=True)
    done = run(deployment, [make_set(1, 8, desired=(10, 13)), make_set(2, 5, desired=(10, 13))])
    assert sizes(done) == {}


def test_a_paused_deployment_forgets_old_sets_unless_it_is_to_go_back(run, make_deployment, make_set):
    sets = [make_set(1, 0), make_set(2, 0), make_set(3, 10)]
    deployment = make_deployment("web:3", paused=True, revisionHistoryLimit=1)
    assert [deletion.key for deletion in run(deployment, sets).of(Delete)] == ["default/web-1"]
    deployment["metadata"]["annotations"][ROLLBACK_TO] = "1"
    assert run(deployment, sets).of(Delete) == []


# -- rolling back by annotation ----------------------------------------------------------------------------------------


def rolled(done):
    """The Deployment that was PUT as a whole."""
    [update] = [update.obj for update in done.of(Update) if update.kind is DEPLOYMENT and not update.subresource]
    return update


@pytest.mark.parametrize(("asked", "revision"), [("0", 2), ("1", 1)])
def test_an_annotation_takes_the_template_back(run, make_deployment, make_set, asked, revision):
    deployment = make_deployment("web:3", annotations={ROLLBACK_TO: asked, REVISION: "3"})
    done = run(deployment, [make_set(1, 0), make_set(2, 0), make_set(3, 10)])
    assert rolled(done)["spec"]["template"] == make_deployment(f"web:{revision}")["spec"]["template"]
    assert ROLLBACK_TO not in rolled(done)["metadata"]["annotations"]
    assert done.events == [f'DeploymentRollback: Rolled back deployment "web" to revision {revision}']


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        pytest.param("0", "DeploymentRollbackRevisionNotFound: Unable to find last revision.", id="D40"),
        ("7", "DeploymentRollbackRevisionNotFound: Unable to find the revision to rollback to."),
        pytest.param(
            "1",
            "DeploymentRollbackTemplateUnchanged: "
            'The rollback revision contains the same template as current deployment "web"',
            id="D41",
        ),
    ],
)
def test_what_cannot_be_gone_back_to_is_a_warning(run, make_deployment, make_set, asked, words):
    deployment = make_deployment("web:1", annotations={ROLLBACK_TO: asked, "team": "red"})
    done = run(deployment, [make_set(1, 10)])
    assert done.events == [words]
    assert [event.type for event in done.of(RecordEvent)] == ["Warning"]
    assert rolled(done)["metadata"]["annotations"] == {"team": "red", REVISION: "1"}
    assert rolled(done)["spec"] == deployment["spec"]
