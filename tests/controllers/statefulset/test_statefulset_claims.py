"""Rows S18 to S20, S30 to S32: claims that outlive pods, the owners of claims, and pods that lost their labels."""

from typing import Any

import pytest

from apiserver.api.errors import ApiError, already_exists, conflict
from controller_manager.controllers.statefulset.identity import set_names
from controller_manager.reconcile.contract import Create, Update
from controller_manager.reconcile.kinds import CLAIM, POD, STATEFUL_SET
from controller_manager.reconcile.profile import PROFILES
from controller_manager.reconcile.times import format_time

DATA = {"volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": {"storageClassName": "fast"}}]}
TWO = {"volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": {}}, {"metadata": {"name": "log"}, "spec": {}}]}


def retention(*, scaled="Retain", deleted="Retain"):
    return DATA | {"persistentVolumeClaimRetentionPolicy": {"whenScaled": scaled, "whenDeleted": deleted}}


def owners(claim):
    return [(owner["kind"], owner["name"]) for owner in claim["metadata"].get("ownerReferences") or ()]


def collect(cluster):
    """Delete claims whose owners have all gone, as the garbage collector does."""
    uids = {obj["metadata"]["uid"] for kind in (POD, STATEFUL_SET) for obj in cluster.objects[kind].values()}
    for key, claim in list(cluster.objects[CLAIM].items()):
        held = [owner["uid"] for owner in claim["metadata"].get("ownerReferences") or ()]
        if held and not uids.intersection(held):
            cluster.drop(CLAIM, key)


def test_claims_are_made_before_their_pod(make_cluster, stateful_set):
    cluster = make_cluster(stateful_set(replicas=1, **TWO))

    ran = cluster.run()

    assert [(r.kind, r.obj["metadata"]["name"]) for r in ran.requests if isinstance(r, Create)][1:] == [
        (CLAIM, "data-web-0"),
        (CLAIM, "log-web-0"),
        (POD, "web-0"),
    ]
    assert ran.events == [
        "SuccessfulCreate: create Claim data-web-0 Pod web-0 in StatefulSet web success",
        "SuccessfulCreate: create Claim log-web-0 Pod web-0 in StatefulSet web success",
        "SuccessfulCreate: create Pod web-0 in StatefulSet web successful",
    ]


def test_a_claim_is_its_template_with_the_labels_of_the_selector(settled_cluster):
    template = {"metadata": {"name": "data", "labels": {"tier": "disk"}}, "spec": {"storageClassName": "fast"}}
    claim = settled_cluster(replicas=1, volumeClaimTemplates=[template]).claim("data-web-0")

    assert claim["metadata"]["labels"] == {"tier": "disk", "app": "web"}
    assert claim["spec"] == {"storageClassName": "fast"}
    assert owners(claim) == []


def test_a_volume_of_the_template_gives_way_to_the_claim_of_its_name(settled_cluster, template):
    given = template("v1")
    given["spec"]["volumes"] = [{"name": "data", "emptyDir": {}}, {"name": "tmp", "emptyDir": {}}]

    pod = settled_cluster(replicas=1, template=given, **DATA).pod("web-0")

    assert pod["spec"]["volumes"] == [
        {"name": "data", "persistentVolumeClaim": {"claimName": "data-web-0"}},
        {"name": "tmp", "emptyDir": {}},
    ]


def test_s18_a_claim_from_an_earlier_life_is_used_again(settled_cluster):
    cluster = settled_cluster(**DATA)
    uid = cluster.claim("data-web-2")["metadata"]["uid"]
    cluster.edit(replicas=1)
    cluster.settle()
    assert sorted(cluster.objects[CLAIM]) == ["ns/data-web-0", "ns/data-web-1", "ns/data-web-2"]
    cluster.edit(replicas=3)
    claimed = [name for ran in cluster.settle() for name in ran.claimed]

    assert claimed == []
    assert cluster.claim("data-web-2")["metadata"]["uid"] == uid


def test_s19_a_pod_waits_while_its_claim_is_being_deleted(make_cluster, stateful_set):
    cluster = make_cluster(stateful_set(replicas=1, **DATA))
    cluster.add({"metadata": {"name": "data-web-0", "deletionTimestamp": format_time(cluster.now)}, "spec": {}}, CLAIM)

    ran = cluster.run()

    assert (ran.made, ran.claimed) == ([], [])
    assert ran.events == [
        "FailedCreate: create Pod web-0 in StatefulSet web failed error: pvc data-web-0 is being deleted"
    ]
    assert ran.error is not None
    cluster.queue.clear()
    cluster.drop(CLAIM, "ns/data-web-0")
    cluster.deliver_all()
    assert cluster.queue == {"ns/web"}
    assert cluster.run().made == ["web-0"]


def test_a_refused_claim_is_reported_and_its_pod_is_not_made(make_cluster, stateful_set):
    cluster = make_cluster(stateful_set(replicas=1, **TWO))
    cluster.refuse = lambda r: (
        ApiError(403, "Forbidden", f"quota {r.obj['metadata']['name']}")
        if isinstance(r, Create) and r.kind is CLAIM
        else None
    )

    ran = cluster.run()

    assert ran.made == []
    why = "failed to create PVC data-web-0: quota data-web-0"
    assert ran.events == [
        "FailedCreate: create Claim data-web-0 for Pod web-0 in StatefulSet web failed error: quota data-web-0",
        f"FailedCreate: create Pod web-0 in StatefulSet web failed error: {why}",
    ]
    assert ran.error.code == 403


def test_a_claim_that_somebody_else_made_meanwhile_is_no_event_of_its_own(make_cluster, stateful_set):
    cluster = make_cluster(stateful_set(replicas=1, **DATA))
    cluster.refuse = lambda r: (
        already_exists("", "persistentvolumeclaims", "data-web-0")
        if isinstance(r, Create) and r.kind is CLAIM
        else None
    )

    ran = cluster.run()

    assert [event.partition(":")[0] for event in ran.events] == ["FailedCreate"]
    assert ran.error.reason == "AlreadyExists"


def test_parallel_makes_the_pods_whose_claims_exist(make_cluster, stateful_set):
    cluster = make_cluster(stateful_set(podManagementPolicy="Parallel", **DATA))
    cluster.add({"metadata": {"name": "data-web-1", "deletionTimestamp": format_time(cluster.now)}, "spec": {}}, CLAIM)

    ran = cluster.run()

    assert ran.made == ["web-0", "web-2"]
    assert ran.error is not None


def test_a_pending_pod_gets_the_claims_that_went_away(make_cluster, stateful_set):
    cluster = make_cluster(stateful_set(replicas=1, **DATA))
    cluster.run()
    cluster.drop(CLAIM, "ns/data-web-0")

    ran = cluster.run()

    assert (ran.claimed, ran.made) == (["data-web-0"], [])
    assert cluster.run().quiet


def test_a_pending_pod_whose_claim_is_being_deleted_is_an_error_without_an_event(make_cluster, stateful_set):
    cluster = make_cluster(stateful_set(replicas=1, **DATA))
    cluster.run()
    claim = cluster.claim("data-web-0")
    cluster.store(CLAIM, claim | {"metadata": claim["metadata"] | {"deletionTimestamp": format_time(cluster.now)}})

    ran = cluster.run()

    assert (ran.error.message, ran.events) == ("pvc data-web-0 is being deleted", [])


def test_s20_a_lost_label_is_put_back_without_a_restart(settled_cluster):
    cluster = settled_cluster()
    uid, labels = cluster.pod("web-1")["metadata"]["uid"], cluster.pod("web-1")["metadata"]["labels"]
    cluster.relabel("web-1", {name: labels[name] for name in ("app", "controller-revision-hash")})

    ran = cluster.run()

    assert (ran.updated, ran.deleted, ran.made) == (["web-1"], [], [])
    assert ran.events[0] == "SuccessfulUpdate: update Pod web-1 in StatefulSet web successful"
    labels = cluster.pod("web-1")["metadata"]["labels"]
    assert labels["statefulset.kubernetes.io/pod-name"] == "web-1"
    assert labels["apps.kubernetes.io/pod-index"] == "1"
    assert cluster.pod("web-1")["metadata"]["uid"] == uid


def test_s20_a_label_lost_once_more_while_the_watch_was_broken_is_put_back(settled_cluster):
    cluster = settled_cluster()
    labels = cluster.pod("web-1")["metadata"]["labels"]
    fewer = {name: value for name, value in labels.items() if name != "statefulset.kubernetes.io/pod-name"}
    cluster.relabel("web-1", fewer)
    cluster.deliver_all()
    assert cluster.run(fresh=False).updated == ["web-1"]
    cluster.relabel("web-1", fewer)
    cluster.relist(POD)

    cluster.settle()

    assert cluster.pod("web-1")["metadata"]["labels"] == labels


def test_s20_after_a_lost_race_the_label_is_put_on_the_newest_state(settled_cluster):
    cluster = settled_cluster()
    labels = cluster.pod("web-1")["metadata"]["labels"]
    del labels["statefulset.kubernetes.io/pod-name"]
    cluster.relabel("web-1", labels)
    lost: list[Any] = []

    def race(request):
        if isinstance(request, Update) and request.kind is POD and not lost:
            lost.append(request)
            cluster.relabel("web-1", labels | {"mine": "yes"})

    cluster.refuse = race
    ran = cluster.run()

    assert ran.updated == ["web-1", "web-1"]
    assert cluster.pod("web-1")["metadata"]["labels"]["mine"] == "yes"
    assert ran.events == ["SuccessfulUpdate: update Pod web-1 in StatefulSet web successful"]


def test_s20_a_race_lost_every_time_is_reported_and_tried_again(settled_cluster):
    cluster = settled_cluster()
    labels = cluster.pod("web-1")["metadata"]["labels"]
    del labels["statefulset.kubernetes.io/pod-name"]
    cluster.relabel("web-1", labels)
    cluster.refuse = lambda r: (
        conflict("", "pods", name="web-1", why="no") if isinstance(r, Update) and r.kind is POD else None
    )

    ran = cluster.run()

    assert ran.error.code == 409
    assert ran.updated == ["web-1"] * 5
    assert [event.partition(":")[0] for event in ran.events] == ["FailedUpdate"]


def test_an_adopted_pod_without_its_claim_is_mended(settled_cluster):
    cluster = settled_cluster(replicas=1, **DATA)
    pod = cluster.pod("web-0")
    cluster.store(POD, pod | {"spec": pod["spec"] | {"volumes": [{"name": "data", "emptyDir": {}}]}})
    cluster.drop(CLAIM, "ns/data-web-0")

    ran = cluster.run()

    assert (ran.claimed, ran.updated) == (["data-web-0"], ["web-0"])
    assert cluster.pod("web-0")["spec"]["volumes"][0]["persistentVolumeClaim"]["claimName"] == "data-web-0"


# -- retention ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scaled", "deleted", "kept", "condemned"),
    [
        ("Retain", "Retain", [], []),
        ("Retain", "Delete", [("StatefulSet", "web")], [("StatefulSet", "web")]),
        ("Delete", "Retain", [], [("Pod", "web-1")]),
        ("Delete", "Delete", [("StatefulSet", "web")], [("Pod", "web-1")]),
    ],
)
def test_claims_belong_to_the_set_or_to_a_condemned_pod(settled_cluster, scaled, deleted, kept, condemned):
    cluster = settled_cluster(replicas=2, **retention(scaled=scaled, deleted=deleted))
    assert owners(cluster.claim("data-web-1")) == kept
    cluster.edit(replicas=1)

    ran = cluster.run()

    assert ran.deleted == ["web-1"]
    assert owners(cluster.claim("data-web-0")) == kept
    assert owners(cluster.claim("data-web-1")) == condemned
    assert all(type(request) is not Update or request.kind is not POD for request in ran.requests)


def test_s30_claims_go_with_scaled_down_pods_and_new_pods_wait_for_stale_claims(settled_cluster):
    cluster = settled_cluster(**retention(scaled="Delete"))
    first = {name: cluster.claim(name)["metadata"]["uid"] for name in ("data-web-0", "data-web-1", "data-web-2")}
    cluster.edit(replicas=1)
    cluster.settle()
    assert cluster.pods == ["web-0"]

    cluster.edit(replicas=3)
    ran = cluster.run()
    assert (ran.made, ran.error, ran.events) == ([], None, [])
    cluster.queue.clear()
    collect(cluster)
    cluster.deliver_all()
    assert cluster.queue == {"ns/web"}
    cluster.settle()

    assert cluster.pods == ["web-0", "web-1", "web-2"]
    same = [name for name, uid in first.items() if cluster.claim(name)["metadata"]["uid"] == uid]
    assert same == ["data-web-0"]


def test_s30_an_ordinal_back_in_range_before_its_pod_went_keeps_its_claim(settled_cluster):
    cluster = settled_cluster(podManagementPolicy="Parallel", **retention(scaled="Delete"))
    cluster.edit(replicas=1)
    cluster.refuse = lambda r: ApiError(500, "InternalError", "no") if type(r).__name__ == "Delete" else None
    cluster.run()
    assert owners(cluster.claim("data-web-2")) == [("Pod", "web-2")]
    cluster.refuse = lambda _: None
    cluster.edit(replicas=3)

    ran = cluster.run()

    assert owners(cluster.claim("data-web-2")) == []
    assert "SuccessfulUpdate: update Pod web-2 in StatefulSet web successful" in ran.events
    assert ran.updated == []


def test_s31_claims_of_an_orphaning_deletion_stay(settled_cluster):
    cluster = settled_cluster(**retention(deleted="Delete"))
    live = cluster.objects[STATEFUL_SET]["ns/web"]
    meta = live["metadata"] | {"deletionTimestamp": format_time(cluster.now), "finalizers": ["orphan"]}
    cluster.store(STATEFUL_SET, live | {"metadata": meta})
    for kind in (POD, CLAIM):  # what the garbage collector does
        for obj in list(cluster.objects[kind].values()):
            cluster.store(kind, obj | {"metadata": obj["metadata"] | {"ownerReferences": []}})
    cluster.run()
    cluster.drop(STATEFUL_SET, "ns/web")
    collect(cluster)

    assert len(cluster.objects[CLAIM]) == 3
    assert all(owners(claim) == [] for claim in cluster.objects[CLAIM].values())
    assert cluster.run().quiet


def test_s32_a_changed_policy_gives_existing_claims_an_owner(settled_cluster):
    cluster = settled_cluster(**retention())
    cluster.edit(**retention(deleted="Delete"))

    ran = cluster.run()

    assert all(owners(claim) == [("StatefulSet", "web")] for claim in cluster.objects[CLAIM].values())
    assert (ran.deleted, ran.made, ran.updated) == ([], [], [])
    assert ran.events == [f"SuccessfulUpdate: update Pod web-{n} in StatefulSet web successful" for n in range(3)]
    assert cluster.run().quiet
    cluster.edit(**retention())
    cluster.run()
    assert all(owners(claim) == [] for claim in cluster.objects[CLAIM].values())


def test_a_claim_that_cannot_be_given_an_owner_is_reported(settled_cluster):
    cluster = settled_cluster(replicas=1, **retention())
    cluster.edit(**retention(deleted="Delete"))
    cluster.refuse = lambda r: ApiError(403, "Forbidden", "no") if isinstance(r, Update) and r.kind is CLAIM else None

    ran = cluster.run()

    why = "could not update claim data-web-0 for delete policy ownerRefs: no"
    assert ran.events == [f"FailedUpdate: update Pod web-0 in StatefulSet web failed error: {why}"]
    assert ran.error.code == 403


def test_before_1_27_the_policy_is_not_heeded(settled_cluster):
    cluster = settled_cluster(profile=PROFILES["1.20"], **retention(scaled="Delete", deleted="Delete"))

    assert all(owners(claim) == [] for claim in cluster.objects[CLAIM].values())


def test_a_claim_that_somebody_else_controls_is_left_alone_and_reported(make_cluster, stateful_set):
    cluster = make_cluster(stateful_set(replicas=1, **retention(deleted="Delete")))
    other = {"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "x", "controller": True}
    cluster.add({"metadata": {"name": "data-web-0", "ownerReferences": [other]}, "spec": {}}, CLAIM)

    ran = cluster.run()

    assert ran.events[-1] == (
        "ConflictingController: PersistentVolumeClaim data-web-0 has a conflicting OwnerReference that acts as a "
        "manging controller, the retention policy is ignored for this claim"
    )
    cluster.settle()
    assert owners(cluster.claim("data-web-0")) == [("ConfigMap", "x")]
    assert cluster.run().quiet


def test_a_claim_of_a_former_set_of_that_name_is_not_touched(make_cluster, stateful_set):
    cluster = make_cluster(stateful_set(replicas=1, **retention(deleted="Delete")))
    former = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "uid": "old", "controller": True}
    cluster.add({"metadata": {"name": "data-web-0", "ownerReferences": [former]}, "spec": {}}, CLAIM)

    cluster.settle()

    assert cluster.claim("data-web-0")["metadata"]["ownerReferences"] == [former]


def test_an_owner_that_is_no_controller_becomes_one(settled_cluster):
    cluster = settled_cluster(replicas=1, **retention(deleted="Delete"))
    claim = cluster.claim("data-web-0")
    [owner] = claim["metadata"]["ownerReferences"]
    cluster.store(CLAIM, claim | {"metadata": claim["metadata"] | {"ownerReferences": [owner | {"controller": False}]}})

    cluster.run()

    assert cluster.claim("data-web-0")["metadata"]["ownerReferences"] == [owner]


@pytest.mark.parametrize(
    ("claim", "names"),
    [
        ("data-web-0", ["web"]),
        ("www-data-my-web-12", ["data-my-web", "my-web", "web"]),
        ("web-0", []),
        ("data-web-x", []),
        ("plain", []),
    ],
)
def test_a_claims_name_tells_the_sets_that_it_may_be_of(claim, names):
    assert list(set_names(claim)) == names
