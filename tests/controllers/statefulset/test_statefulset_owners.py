"""Rows S21 to S23: which pods and revisions are a set's own, which it adopts, and which it lets go."""

from controller_manager.reconcile.contract import Create, Patch
from controller_manager.reconcile.kinds import CONTROLLER_REVISION, POD, STATEFUL_SET


def test_s21_a_pod_of_another_name_is_not_adopted(settled_cluster):
    cluster = settled_cluster(replicas=1)
    for name in ("web", "web-x", "other-0", "web-00", "web-99999999999", "web-1-0"):
        cluster.add({"metadata": {"name": name, "labels": {"app": "web"}}, "status": {"phase": "Running"}}, POD)

    assert cluster.run().quiet


def test_s21_an_owned_pod_of_another_name_is_released(settled_cluster):
    cluster = settled_cluster(replicas=1)
    owners = cluster.pod("web-0")["metadata"]["ownerReferences"]
    meta = {"name": "web-x", "labels": {"app": "web"}, "ownerReferences": owners}
    cluster.add({"metadata": meta, "status": {"phase": "Running"}}, POD)

    ran = cluster.run()

    assert [(r.key, r.body["metadata"]["ownerReferences"][0]["$patch"]) for r in ran.requests] == [
        ("ns/web-x", "delete")
    ]


def test_a_pod_that_the_selector_no_longer_matches_is_released_and_blocks_its_ordinal(settled_cluster):
    cluster = settled_cluster(replicas=1)
    cluster.relabel("web-0", {"app": "other"})

    ran = cluster.run()

    assert [type(r) for r in ran.requests[:2]] == [Patch, Create]
    assert ran.error.reason == "AlreadyExists"
    assert not [event for event in ran.events if event.startswith("FailedCreate")]


def test_s22_an_orphan_of_the_right_name_is_adopted(settled_cluster):
    cluster = settled_cluster(replicas=2)
    pod = cluster.pod("web-1")
    cluster.store(POD, pod | {"metadata": pod["metadata"] | {"ownerReferences": []}})

    ran = cluster.run()

    assert (ran.names(Patch, POD), ran.made) == (["web-1"], [])
    assert cluster.pod("web-1")["metadata"]["ownerReferences"][0]["name"] == "web"


def test_s22_an_orphan_is_not_adopted_by_a_set_that_is_gone_by_now(settled_cluster):
    cluster = settled_cluster(replicas=2)
    pod = cluster.pod("web-1")
    cluster.store(POD, pod | {"metadata": pod["metadata"] | {"ownerReferences": []}})
    cluster.deliver_all()
    live = cluster.objects[STATEFUL_SET]["ns/web"]
    cluster.objects[STATEFUL_SET]["ns/web"] = live | {"metadata": live["metadata"] | {"uid": "other"}}

    ran = cluster.run()

    assert not ran.names(Patch, POD)
    assert ran.error is not None


def test_s23_a_pod_belongs_to_the_set_of_the_longest_name(make_cluster, stateful_set):
    cluster = make_cluster(stateful_set("web", replicas=1), stateful_set("web-1", replicas=1))
    cluster.settle()
    pod = cluster.pod("web-1-0")
    cluster.store(POD, pod | {"metadata": pod["metadata"] | {"ownerReferences": []}})
    cluster.deliver_all()

    assert cluster.queue == {"ns/web-1"}
    assert cluster.run("ns/web").quiet
    assert cluster.run("ns/web-1").names(Patch, POD) == ["web-1-0"]


def test_orphaned_revisions_are_adopted(settled_cluster):
    cluster = settled_cluster(replicas=1)
    [revision] = cluster.revisions
    cluster.store(CONTROLLER_REVISION, revision | {"metadata": revision["metadata"] | {"ownerReferences": []}})

    ran = cluster.run()

    assert ran.names(Patch, CONTROLLER_REVISION) == [revision["metadata"]["name"]]
    assert len(cluster.revisions) == 1
    assert cluster.run().quiet


def test_another_controllers_revisions_and_pods_are_left_alone(settled_cluster):
    cluster = settled_cluster(replicas=1)
    owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "x", "uid": "x", "controller": True}
    meta = {"name": "web-7", "labels": {"app": "web"}, "ownerReferences": [owner]}
    cluster.add({"metadata": meta, "status": {"phase": "Running"}}, POD)
    cluster.add({"metadata": meta | {"name": "web-abc"}, "revision": 9, "data": {}}, CONTROLLER_REVISION)

    assert cluster.run().quiet
