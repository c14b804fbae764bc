"""Claims of Advanced StatefulSets: made before pods, counted, and owned as OpenKruise has it."""

from typing import Any

import pytest

from apiserver.api.errors import ApiError
from controller_manager.reconcile.contract import Create, Update
from controller_manager.reconcile.kinds import CLAIM

TEMPLATE: dict[str, Any] = {
    "metadata": {"name": "data"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}
CLAIMED = {"volumeClaimTemplates": [TEMPLATE]}


def keeps(*, scaled="Retain", deleted="Retain"):
    return {"persistentVolumeClaimRetentionPolicy": {"whenScaled": scaled, "whenDeleted": deleted}}


def claims(cluster):
    """The owners of each claim by its name."""
    return {
        claim["metadata"]["name"]: claim["metadata"].get("ownerReferences", [])
        for claim in sorted(cluster.all(CLAIM), key=lambda claim: claim["metadata"]["name"])
    }


def own_claims(cluster, change):
    for claim in cluster.all(CLAIM):
        cluster.server.store(CLAIM, change(claim))


def of_the_set(cluster):
    return {
        "apiVersion": "apps.kruise.io/v1beta1",
        "kind": "StatefulSet",
        "name": "web",
        "uid": cluster.set["metadata"]["uid"],
    }


def test_each_usable_ordinal_has_its_claim_and_its_pod_uses_it(settled_cluster):
    cluster = settled_cluster(replicas=2, reserveOrdinals=[1], **CLAIMED)
    assert list(claims(cluster)) == ["data-web-0", "data-web-2"]
    [volume] = cluster.pod("web-2")["spec"]["volumes"]
    assert volume == {"name": "data", "persistentVolumeClaim": {"claimName": "data-web-2"}}


def test_events_tell_of_claims_and_pods(new_cluster):
    assert new_cluster(replicas=1, **CLAIMED).run().events == [
        "Normal SuccessfulCreate: create Claim data-web-0 Pod web-0 in StatefulSet web success",
        "Normal SuccessfulCreate: create Pod web-0 in StatefulSet web successful",
    ]


def test_a_claim_of_a_reserved_ordinal_stays_for_when_it_is_reserved_no_more(settled_cluster):
    cluster = settled_cluster(replicas=2, **CLAIMED)
    before = {claim["metadata"]["name"]: claim["metadata"]["uid"] for claim in cluster.all(CLAIM)}
    cluster.edit(reserveOrdinals=[1])
    cluster.settle()
    cluster.edit(reserveOrdinals=[])
    cluster.settle()
    assert cluster.ordinals == [0, 1]
    assert (
        before.items() <= {claim["metadata"]["name"]: claim["metadata"]["uid"] for claim in cluster.all(CLAIM)}.items()
    )


def test_no_pod_is_made_while_its_claim_goes(settled_cluster):
    cluster = settled_cluster(replicas=1, **CLAIMED)
    own_claims(
        cluster, lambda claim: claim | {"metadata": claim["metadata"] | {"deletionTimestamp": "2027-01-15T08:00:00Z"}}
    )
    cluster.terminate("web-0")
    cluster.work()
    ran = cluster.run()
    assert ran.made == []
    assert ran.events == [
        "Warning FailedCreate: create Pod web-0 in StatefulSet web failed error: pvc data-web-0 is to be deleted"
    ]
    [condition] = cluster.status["conditions"]
    assert condition["message"] == "StatefulPodControl failed to create Pod error: pvc data-web-0 is to be deleted"
    cluster.server.drop(CLAIM, "ns/data-web-0")
    cluster.deliver_all()
    assert cluster.queue
    assert cluster.run().made == ["web-0"]


def test_a_claim_that_cannot_be_made_is_reported_and_its_pod_is_not_made(new_cluster):
    cluster = new_cluster(replicas=1, **CLAIMED)
    cluster.server.refuse = lambda request: (
        ApiError(403, "Forbidden", "no") if isinstance(request, Create) and request.kind is CLAIM else None
    )
    why = "failed to create PVC data-web-0: no"
    ran = cluster.run()
    assert (ran.made, ran.events) == (
        [],
        [
            "Warning FailedCreate: create Claim data-web-0 for Pod web-0 in StatefulSet web failed error: no",
            f"Warning FailedCreate: create Pod web-0 in StatefulSet web failed error: {why}",
        ],
    )


# -- who owns them -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", [{}, keeps()])
def test_claims_belong_to_nobody_unless_the_set_says_so(settled_cluster, policy):
    assert claims(settled_cluster(replicas=2, **CLAIMED, **policy)) == {"data-web-0": [], "data-web-1": []}


def test_claims_that_go_with_the_set_are_owned_by_it_without_being_controlled(settled_cluster):
    cluster = settled_cluster(replicas=2, **CLAIMED, **keeps(deleted="Delete"))
    assert claims(cluster) == {"data-web-0": [of_the_set(cluster)], "data-web-1": [of_the_set(cluster)]}
    assert cluster.run().quiet


def test_a_policy_that_changes_changes_the_owners_of_claims_that_there_are(settled_cluster):
    cluster = settled_cluster(replicas=2, **CLAIMED)
    cluster.edit(**keeps(deleted="Delete"))
    cluster.settle()
    assert claims(cluster)["data-web-1"] == [of_the_set(cluster)]
    cluster.edit(**keeps())
    cluster.settle()
    assert claims(cluster) == {"data-web-0": [], "data-web-1": []}


def test_claims_of_pods_that_are_scaled_away_go_with_them(settled_cluster):
    cluster = settled_cluster(replicas=3, **CLAIMED, **keeps(scaled="Delete", deleted="Delete"))
    cluster.edit(replicas=1)
    cluster.run()
    pod = cluster.pod("web-2")["metadata"]
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "web-2", "uid": pod["uid"]}
    assert claims(cluster)["data-web-2"] == [owner]
    cluster.settle()
    assert claims(cluster) == {"data-web-0": [of_the_set(cluster)]}


def test_the_claim_of_an_ordinal_that_becomes_reserved_goes_with_its_pod(settled_cluster):
    cluster = settled_cluster(replicas=2, **CLAIMED, **keeps(scaled="Delete"))
    cluster.edit(reserveOrdinals=[0])
    cluster.settle()
    assert list(claims(cluster)) == ["data-web-1", "data-web-2"]


def test_a_new_pod_waits_until_the_claim_of_its_forerunner_is_gone(settled_cluster):
    cluster = settled_cluster(replicas=2, **CLAIMED, **keeps(scaled="Delete"))
    former = {"apiVersion": "v1", "kind": "Pod", "name": "web-2", "uid": "former"}
    made = TEMPLATE | {"metadata": {"name": "data-web-2", "ownerReferences": [former]}}
    cluster.server.store(CLAIM, made)
    cluster.edit(replicas=3)
    assert cluster.run().made == []
    cluster.settle()
    assert cluster.ordinals == [0, 1]
    cluster.collect()
    cluster.settle()
    assert cluster.ordinals == [0, 1, 2]


def test_somebody_elses_claim_on_a_claim_is_no_matter(settled_cluster):
    cluster = settled_cluster(replicas=1, **CLAIMED)
    other = {"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "x", "controller": True}
    own_claims(cluster, lambda claim: claim | {"metadata": claim["metadata"] | {"ownerReferences": [other]}})
    cluster.edit(**keeps(deleted="Delete"))
    ran = cluster.run()
    assert claims(cluster) == {"data-web-0": [other, of_the_set(cluster)]}
    assert ran.events == ["Normal SuccessfulUpdate: update Pod web-0 in StatefulSet web successful"]


def test_owners_that_cannot_be_written_are_reported(settled_cluster):
    cluster = settled_cluster(replicas=1, **CLAIMED)
    cluster.edit(**keeps(deleted="Delete"))
    cluster.server.refuse = lambda request: (
        ApiError(403, "Forbidden", "no") if isinstance(request, Update) and request.kind is CLAIM else None
    )
    why = "Could not update claim data-web-0 for delete policy ownerRefs: no"
    assert cluster.run().events == [f"Warning FailedUpdate: update Pod web-0 in StatefulSet web failed error: {why}"]
    [condition] = cluster.status["conditions"]
    assert (condition["type"], condition["message"]) == (
        "FailedUpdatePod",
        f"StatefulPodControl failed to update Pod error: {why}",
    )


# -- how they are counted ----------------------------------------------------------------------------------------------


def room(capacity, *, requested="1Gi", **spec):
    def change(claim):
        raising_spec = claim["spec"] | {"resources": {"requests": {"storage": requested}}} | spec
        return claim | {"spec": raising_spec, "status": {"capacity": {"storage": capacity}}}

    return change


@pytest.mark.parametrize(
    ("change", "fitting", "ready"),
    [
        (lambda claim: claim, 2, 0),
        (room("1Gi"), 2, 2),
        (room("1024Mi"), 2, 2),
        (room("1Gi", requested="2Gi"), 2, 0),
        (room("2Gi", requested="512Mi"), 0, 0),
        (room("1Gi", accessModes=["ReadWriteMany"]), 0, 0),
        (room("1Gi", storageClassName="fast"), 2, 2),
        (room("much"), 2, 0),
        (lambda claim: room("1Gi")(claim) | {"metadata": claim["metadata"] | {"deletionTimestamp": "x"}}, 0, 0),
    ],
)
def test_the_status_counts_claims_that_are_as_their_template_has_them(settled_cluster, change, fitting, ready):
    cluster = settled_cluster(replicas=2, **CLAIMED)
    own_claims(cluster, change)
    cluster.run()
    assert cluster.status["volumeClaims"] == [
        {"volumeClaimName": "data", "compatibleReplicas": fitting, "compatibleReadyReplicas": ready}
    ]
    assert cluster.run().quiet


def test_a_claim_of_another_class_than_its_template_asks_for_does_not_fit(settled_cluster):
    template = TEMPLATE | {"spec": TEMPLATE["spec"] | {"storageClassName": "slow"}}
    cluster = settled_cluster(replicas=1, volumeClaimTemplates=[template])
    own_claims(cluster, room("1Gi", storageClassName="fast"))
    cluster.run()
    assert cluster.status["volumeClaims"][0]["compatibleReplicas"] == 0
