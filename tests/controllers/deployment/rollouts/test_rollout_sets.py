"""The ReplicaSets of whole rollouts: made, found again, taken in and forgotten."""

import pytest

from controller_manager.reconcile.kinds import DEPLOYMENT, POD, REPLICA_SET

REVISION = "deployment.kubernetes.io/revision"
HISTORY = "deployment.kubernetes.io/revision-history"
RESTARTED = "kubectl.kubernetes.io/restartedAt"


def restart(cluster, at):
    """Do what kubectl rollout restart does."""
    old = cluster.deployment["spec"]["template"]
    cluster.edit(template=old | {"metadata": old["metadata"] | {"annotations": {RESTARTED: at}}})


def test_d8_a_template_that_comes_back_finds_its_set_again(make_cluster):
    cluster = make_cluster("web:1", replicas=2)
    cluster.settle()
    [first] = cluster.sets
    for image in ("web:2", "web:1"):
        cluster.set_image(image)
        cluster.settle()
    assert cluster.sets[0]["metadata"]["name"] == first["metadata"]["name"]
    assert cluster.sets[0]["metadata"]["annotations"][HISTORY] == "1"
    assert cluster.deployment["metadata"]["annotations"][REVISION] == "3"


def test_d9_to_and_fro_takes_two_sets_and_five_revisions(make_cluster):
    cluster = make_cluster("web:a", replicas=3)
    cluster.settle()
    seen = [1]
    for image in ("web:b", "web:a", "web:b", "web:a"):
        cluster.set_image(image)
        cluster.settle()
        seen.append(int(cluster.deployment["metadata"]["annotations"][REVISION]))
    assert seen == [1, 2, 3, 4, 5]
    assert [replica_set["metadata"]["annotations"][HISTORY] for replica_set in cluster.sets] == ["1,3", "2"]


def test_d21_after_a_collision_the_set_gets_another_name(make_cluster):
    cluster = make_cluster("web:1", replicas=3)
    cluster.settle()
    [own] = cluster.sets
    cluster.server.delete(REPLICA_SET, "default/" + own["metadata"]["name"])
    foreign = own | {"metadata": own["metadata"] | {"labels": {"app": "other"}, "ownerReferences": []}}
    cluster.server.create(REPLICA_SET, foreign | {"spec": own["spec"] | {"replicas": 0}})
    cluster.settle()
    assert cluster.deployment["status"]["collisionCount"] == 1
    assert [replica_set["spec"]["replicas"] for replica_set in cluster.sets] == [0, 3]
    assert len({replica_set["metadata"]["name"] for replica_set in cluster.sets}) == 2


def test_d36_orphans_are_taken_in_by_a_deployment_of_the_same_template(make_cluster):
    cluster = make_cluster("web:1", replicas=3)
    cluster.settle()
    pods = {pod["metadata"]["uid"] for pod in cluster.pods()}
    old, [kept] = cluster.deployment, cluster.sets
    cluster.server.remove(DEPLOYMENT, "default/web")
    cluster.server.update(REPLICA_SET, kept | {"metadata": kept["metadata"] | {"ownerReferences": []}})
    cluster.settle()
    cluster.server.create(DEPLOYMENT, old | {"status": {}})
    cluster.settle()
    assert [replica_set["metadata"]["uid"] for replica_set in cluster.sets] == [kept["metadata"]["uid"]]
    assert cluster.sets[0]["metadata"]["ownerReferences"][0]["uid"] == cluster.deployment["metadata"]["uid"]
    assert {pod["metadata"]["uid"] for pod in cluster.pods()} == pods


@pytest.mark.parametrize("kind", [POD, REPLICA_SET], ids=str)
def test_a_child_orphaned_once_more_while_the_watch_was_broken_is_taken_in(make_cluster, kind):
    cluster = make_cluster("web:1", replicas=1)
    cluster.settle()
    [key] = cluster.server.objects[kind]

    def orphan():
        child = cluster.server.get(kind, key)
        cluster.server.update(kind, child | {"metadata": child["metadata"] | {"ownerReferences": []}})

    orphan()
    cluster.deliver(kind)
    cluster.run("deployment" if kind is REPLICA_SET else "replicaset")
    assert cluster.server.get(kind, key)["metadata"]["ownerReferences"]
    orphan()
    cluster.relist(kind)
    cluster.settle()
    assert cluster.server.get(kind, key)["metadata"]["ownerReferences"]


def test_d37_a_set_that_was_relabelled_is_replaced_and_taken_in_again(make_cluster):
    cluster = make_cluster("web:1", replicas=3)
    cluster.settle()
    [stray] = cluster.sets
    labels = stray["metadata"]["labels"]
    cluster.server.update(REPLICA_SET, stray | {"metadata": stray["metadata"] | {"labels": {"app": "other"}}})
    cluster.settle()
    key = "default/" + stray["metadata"]["name"]
    let_go = cluster.server.get(REPLICA_SET, key)
    assert let_go["metadata"]["ownerReferences"] == []
    assert cluster.deployment["status"]["collisionCount"] == 1
    assert len(cluster.sets) == 2
    cluster.server.update(REPLICA_SET, let_go | {"metadata": let_go["metadata"] | {"labels": labels}})
    cluster.settle()
    assert cluster.server.get(REPLICA_SET, key)["metadata"]["ownerReferences"]
    assert [replica_set["spec"]["replicas"] for replica_set in cluster.sets] == [3, 0]


def test_d46_a_restart_is_a_new_template_once_a_second(make_cluster):
    cluster = make_cluster("web:1", replicas=2)
    cluster.settle()
    for at in ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z"):
        restart(cluster, at)
        cluster.settle()
    assert cluster.revisions == [1, 2, 3]


def test_history_is_kept_up_to_its_limit(make_cluster):
    cluster = make_cluster("web:0", replicas=1, revisionHistoryLimit=2)
    cluster.settle()
    for number in range(1, 6):
        cluster.set_image(f"web:{number}")
        cluster.settle()
    assert cluster.revisions == [4, 5, 6]
