"""Rows S15 to S17: revisions that are made, found again and forgotten."""

from typing import Any

import pytest

from apiserver.api.errors import conflict, not_found
from controller_manager.reconcile.contract import Create, Delete, Update
from controller_manager.reconcile.kinds import CONTROLLER_REVISION
from controller_manager.reconcile.revisions import revision_hash, template_data


def test_s15_going_back_takes_the_old_revision_by_name_and_raises_its_number(settled_cluster, template):
    cluster = settled_cluster()
    [first] = cluster.revisions
    cluster.edit(template=template("v2"))
    cluster.settle()
    cluster.edit(template=template("v1"))
    cluster.settle()

    assert [r["revision"] for r in cluster.revisions] == [2, 3]
    assert cluster.revisions[-1]["metadata"]["name"] == first["metadata"]["name"]
    assert cluster.status["updateRevision"] == cluster.status["currentRevision"] == first["metadata"]["name"]


def test_a_revision_is_renumbered_once_more_after_a_lost_race(settled_cluster, template):
    cluster = settled_cluster()
    cluster.edit(template=template("v2"))
    cluster.settle()
    cluster.edit(template=template("v1"))
    lost: list[Any] = []

    def race(request):
        if isinstance(request, Update) and request.kind is CONTROLLER_REVISION and not lost:
            lost.append(request)
            return conflict("apps", "controllerrevisions", name="x", why="the object has been modified")
        return None

    cluster.refuse = race
    cluster.run()

    assert [r["revision"] for r in cluster.revisions] == [2, 3]


@pytest.mark.parametrize(("limit", "numbers"), [(2, [3, 4, 5]), (0, [5]), (10, [1, 2, 3, 4, 5])])
def test_s16_history_keeps_what_is_live_and_as_many_others_as_the_limit_says(settled_cluster, template, limit, numbers):
    cluster = settled_cluster(revisionHistoryLimit=limit)
    for image in ("v2", "v3", "v4", "v5"):
        cluster.edit(template=template(image))
        cluster.settle()

    assert [r["revision"] for r in cluster.revisions] == numbers


def test_s16_a_revision_that_a_pod_is_made_of_stays(settled_cluster, template):
    cluster = settled_cluster(revisionHistoryLimit=0, updateStrategy={"type": "OnDelete"})
    for image, pod in (("v2", "web-1"), ("v3", "web-2")):
        cluster.edit(template=template(image))
        cluster.settle()
        cluster.terminate(pod)
        cluster.settle()

    assert cluster.images() == {"web-0": "v1", "web-1": "v2", "web-2": "v3"}
    assert [r["revision"] for r in cluster.revisions] == [1, 2, 3]


def test_s17_a_taken_name_with_other_data_raises_the_collision_count(make_cluster, stateful_set, template):
    cluster = make_cluster(stateful_set(replicas=1))
    data = template_data(template("v1"))
    taken = f"web-{revision_hash(data, 0)}"
    cluster.add({"metadata": {"name": taken, "labels": {"app": "x"}}, "revision": 1, "data": {}}, CONTROLLER_REVISION)

    cluster.settle()

    assert cluster.status["collisionCount"] == 1
    assert cluster.status["updateRevision"] == f"web-{revision_hash(data, 1)}"
    assert cluster.run().quiet


def test_s17_a_taken_name_with_the_same_data_is_used(make_cluster, stateful_set, template):
    cluster = make_cluster(stateful_set(replicas=1))
    data = template_data(template("v1"))
    name = f"web-{revision_hash(data, 0)}"
    cluster.add({"metadata": {"name": name}, "revision": 4, "data": data}, CONTROLLER_REVISION)

    cluster.run()

    assert cluster.status["updateRevision"] == name
    assert cluster.status["collisionCount"] == 0


def test_another_refusal_of_a_revision_ends_the_run(make_cluster, stateful_set):
    cluster = make_cluster(stateful_set())
    cluster.refuse = lambda r: conflict("apps", "x", name="x", why="no") if isinstance(r, Create) else None

    ran = cluster.run()

    assert (ran.error.reason, len(ran.requests)) == ("Conflict", 1)


def test_a_revision_that_is_gone_already_is_no_failure(settled_cluster, template):
    cluster = settled_cluster(revisionHistoryLimit=0)
    cluster.edit(template=template("v2"))
    cluster.refuse = lambda r: (
        not_found("apps", "controllerrevisions", "x")
        if isinstance(r, Delete) and r.kind is CONTROLLER_REVISION
        else None
    )

    assert not [ran for ran in cluster.settle() if ran.error]
