"""Advanced StatefulSets that update pods as they are: the same pods, one container started again."""

import pytest

from apiserver.api.errors import ApiError
from controller_manager.reconcile.contract import Update
from controller_manager.reconcile.kinds import POD

GATE = "InPlaceUpdateReady"
IN_PLACE = {"podUpdatePolicy": "InPlaceIfPossible"}


@pytest.fixture
def in_place(cluster):
    """in_place(policy=…, grace=…, rolling={…}, **spec): a set at rest that updates its pods in place."""

    def make(*, policy="InPlaceIfPossible", grace=0, rolling=None, **spec):
        strategy = {"podUpdatePolicy": policy} | (rolling or {})
        if grace:
            strategy["inPlaceUpdateStrategy"] = {"gracePeriodSeconds": grace}
        return cluster(rolling=strategy, **spec)

    return make


def identity(pod):
    meta, status = pod["metadata"], pod["status"]
    return meta["name"], meta["uid"], pod["spec"]["nodeName"], status["podIP"], status["startTime"]


def identities(found):
    return sorted(identity(pod) for pod in found.all(POD))


def state_of(pod, type_):
    return next((each["status"] for each in pod["status"]["conditions"] if each["type"] == type_), None)


def lifecycle(pod):
    return pod["metadata"]["labels"]["lifecycle.apps.kruise.io/state"]


def events_of(runs):
    return [event for ran in runs for event in ran.events]


def two_containers(template, *images):
    containers = [{"name": name, "image": image} for name, image in zip(("main", "side"), images, strict=True)]
    return template(containers=containers)


@pytest.mark.parametrize("policy", ["InPlaceIfPossible", "InPlaceOnly"])
@pytest.mark.parametrize("parallel", [False, True])
def test_a_new_image_starts_one_container_again_and_the_pod_is_the_same(in_place, template, policy, parallel):
    found = in_place(policy=policy, parallel=parallel, template=two_containers(template, "web:1", "log:1"))
    before, statuses = identities(found), [pod["status"]["containerStatuses"] for pod in found.all(POD)]
    found.edit(template=two_containers(template, "web:2", "log:1"))
    runs = found.settle()
    assert identities(found) == before
    for pod, (_, former_side) in zip(found.all(POD), statuses, strict=True):
        main, side = pod["status"]["containerStatuses"]
        assert (main["image"], main["restartCount"]) == ("docker.io/library/web:2", 1)
        assert side == former_side
    assert not any(ran.made or ran.deleted for ran in runs)
    assert found.status["currentRevision"] == found.status["updateRevision"]
    assert (found.status["updatedReadyReplicas"], found.down) == (3, [])
    assert found.run().quiet


def test_pods_are_updated_from_the_highest_ordinal_down_and_events_tell_of_each(in_place, template):
    found = in_place()
    found.edit(template=template("web:2"))
    told = "Normal SuccessfulUpdatePodInPlace: successfully update pod web-{} in-place(revision {})"
    events = events_of(found.settle())
    assert events == [told.format(number, found.status["updateRevision"]) for number in (2, 1, 0)]


def test_a_pod_goes_through_updating_and_is_not_ready_until_its_container_runs(in_place, template):
    found = in_place(replicas=1)
    found.edit(template=template("web:2"))
    found.run()
    pod = found.pod("web-0")
    assert (state_of(pod, GATE), state_of(pod, "Ready"), lifecycle(pod)) == ("False", "False", "Updating")
    assert pod["metadata"]["labels"]["controller-revision-hash"] == found.status["updateRevision"]
    assert found.status["currentReplicas"] == 0
    found.run()
    assert (found.status["updatedReplicas"], found.status["availableReplicas"]) == (1, 0)
    found.work()
    found.run()
    pod = found.pod("web-0")
    assert (state_of(pod, GATE), lifecycle(pod)) == ("True", "Normal")
    found.work()
    assert state_of(found.pod("web-0"), "Ready") == "True"


def test_no_more_are_updated_at_a_time_than_may_be_unavailable(in_place, template):
    found = in_place(parallel=True, replicas=6, rolling={"maxUnavailable": 2})
    found.edit(template=template("web:2"))
    most: list[int] = []
    for _ in range(200):
        found.deliver_all()
        if found.queue:
            found.run()
        elif not found.work():
            break
        most = max(most, found.down, key=len)
    assert len(most) == 2
    assert set(found.images.values()) == {"web:2"}


def test_a_partition_and_reserved_ordinals_hold(in_place, template):
    found = in_place(replicas=4, reserveOrdinals=["1-2"], rolling={"partition": 3})
    found.edit(template=template("web:2"))
    found.settle()
    assert found.images == {0: "web:1", 3: "web:1", 4: "web:1", 5: "web:2"}


def test_while_it_is_paused_what_has_begun_comes_to_its_end(in_place, template):
    found = in_place()
    found.edit(template=template("web:2"))
    found.run()
    found.rolling(paused=True)
    found.settle()
    assert (found.images, found.down) == ({0: "web:1", 1: "web:1", 2: "web:2"}, [])


def test_min_ready_seconds_are_waited_for_between_two_pods(in_place, template):
    found = in_place(replicas=2, rolling={"minReadySeconds": 10})
    found.edit(template=template("web:2"))
    found.settle()
    assert found.images == {0: "web:1", 1: "web:2"}
    found.rest()
    assert set(found.images.values()) == {"web:2"}


# -- grace -------------------------------------------------------------------------------------------------------------


def test_a_pod_is_unready_for_its_grace_before_its_image_changes(in_place, template):
    found = in_place(replicas=2, grace=30)
    before = identities(found)
    found.edit(template=template("web:2"))
    assert found.run().later == [30.0]
    found.settle()
    assert (found.images, found.down) == ({0: "web:1", 1: "web:1"}, [1])
    found.tick(29)
    found.settle()
    assert found.images == {0: "web:1", 1: "web:1"}
    found.tick(1)
    found.settle()
    assert (found.images, found.down) == ({0: "web:1", 1: "web:2"}, [0])
    found.rest()
    assert (found.images, identities(found)) == ({0: "web:2", 1: "web:2"}, before)
    assert found.run().quiet


def test_a_template_that_comes_back_during_grace_leaves_the_pod_as_it_was(in_place, template):
    found = in_place(replicas=1, parallel=True, grace=30)
    before = identities(found)
    found.edit(template=template("web:2"))
    found.settle()
    found.edit(template=template("web:1"))
    found.rest()
    assert (found.images, found.down, identities(found)) == ({0: "web:1"}, [], before)
    assert found.run().quiet


# -- what stands in the way --------------------------------------------------------------------------------------------


def test_in_parallel_an_image_that_cannot_be_pulled_is_repaired_by_another(in_place, template):
    found = in_place(parallel=True, replicas=4, rolling={"maxUnavailable": 2})
    before = identities(found)
    found.edit(template=template("fail.mockube.io/web:2"))
    found.settle()
    assert (found.down, len(set(found.images.values()))) == ([2, 3], 2)
    found.edit(template=template("web:3"))
    found.rest()
    assert (set(found.images.values()), identities(found), found.down) == ({"web:3"}, before, [])


def test_another_change_replaces_pods_if_that_may_be(in_place, template):
    found = in_place()
    before = identities(found)
    found.edit(template=template("web:2", hostNetwork=True))
    runs = found.settle()
    assert not set(identities(found)) & set(before)
    assert "Normal SuccessfulDelete: delete Pod web-2 in StatefulSet web successful" in events_of(runs)


def test_another_change_is_refused_where_pods_must_stay(in_place, template):
    found = in_place(policy="InPlaceOnly")
    before = identities(found)
    found.edit(template=template("web:2", hostNetwork=True))
    ran = found.run()
    assert ran.error.message == "find strategy is InPlaceOnly but Pod web-2 can not update in-place"
    assert (ran.events, identities(found)) == ([], before)
    assert (found.status["observedGeneration"], found.status.get("conditions")) == (2, None)


def test_a_pod_whose_revision_is_gone_is_replaced(in_place, template):
    found = in_place(replicas=1)
    found.mark("web-0", labels={"controller-revision-hash": "web-unknown"})
    assert found.run().deleted == ["web-0"]


def test_a_pod_that_is_being_prepared_for_its_end_is_not_updated(in_place, template):
    found = in_place(replicas=1)
    found.mark("web-0", labels={"lifecycle.apps.kruise.io/state": "PreparingDelete"})
    found.edit(template=template("web:2"), podManagementPolicy="Parallel")
    ran = found.run()
    assert ran.error.message == "not allowed to in-place update pod web-0 in state PreparingDelete"
    assert found.status["availableReplicas"] == 0


def test_pods_without_a_lifecycle_and_without_a_gate_are_updated_too_one_after_the_other(in_place, template):
    def bare(image):
        return template(image, readinessGates=[])

    found = in_place(replicas=2, parallel=True, template=bare("web:1"))
    for name in ("web-0", "web-1"):
        found.mark(name, labels={"lifecycle.apps.kruise.io/state": None})
    before = identities(found)
    found.edit(template=bare("web:2"))
    found.run()
    assert "lifecycle.apps.kruise.io/state" not in found.pod("web-1")["metadata"]["labels"]
    assert (found.images, found.down) == ({0: "web:1", 1: "web:2"}, [])
    assert not found.run().names(Update)
    found.settle()
    assert (found.images, identities(found), found.down) == ({0: "web:2", 1: "web:2"}, before, [])


def test_a_refusal_is_told_of(in_place, template):
    found = in_place(replicas=1)
    found.edit(template=template("web:2"))
    found.server.refuse = lambda request: (
        ApiError(403, "Forbidden", "no") if isinstance(request, Update) and request.kind is POD else None
    )
    ran = found.run()
    revision = found.revisions[-1]["metadata"]["name"]
    why = f"Warning FailedUpdatePodInPlace: failed to update pod web-0 in-place(revision {revision}): no"
    assert (ran.events, ran.error.code) == ([why], 403)


def test_a_labelled_pod_is_replaced_and_not_updated_in_place(in_place, template):
    found = in_place(parallel=True, rolling={"maxUnavailable": 3})
    before = found.pod("web-1")["metadata"]["uid"]
    found.give_up("web-1")
    found.edit(template=template("web:2"))
    runs = found.settle()
    assert [ran.deleted for ran in runs if ran.deleted] == [["web-1"]]
    assert found.pod("web-1")["metadata"]["uid"] != before
    assert set(found.images.values()) == {"web:2"}
