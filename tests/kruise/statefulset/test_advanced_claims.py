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


def claims(found):
    """The owners of each claim by its name."""
    return {
        claim["metadata"]["name"]: claim["metadata"].get("ownerReferences", [])
        for claim in sorted(found.all(CLAIM), key=lambda claim: claim["metadata"]["name"])
    }


def own_claims(found, change):
    for claim in found.all(CLAIM):
        found.server.store(CLAIM, change(claim))


def of_the_set(found):
    return {
        "apiVersion": "apps.kruise.io/v1beta1",
        "kind": "StatefulSet",
        "name": "web",
        "uid": found.set["metadata"]["uid"],
    }


def test_each_usable_ordinal_has_its_claim_and_its_pod_uses_it(cluster):
    found = cluster(replicas=2, reserveOrdinals=[1], **CLAIMED)
    assert list(claims(found)) == ["data-web-0", "data-web-2"]
    [volume] = found.pod("web-2")["spec"]["volumes"]
    assert volume == {"name": "data", "persistentVolumeClaim": {"claimName": "data-web-2"}}


def test_events_tell_of_claims_and_pods(new_cluster):
    assert new_cluster(replicas=1, **CLAIMED).run().events == [
        "Normal SuccessfulCreate: create Claim data-web-0 Pod web-0 in StatefulSet web success",
        "Normal SuccessfulCreate: create Pod web-0 in StatefulSet web successful",
    ]


def test_a_claim_of_a_reserved_ordinal_stays_for_when_it_is_reserved_no_more(cluster):
    found = cluster(replicas=2, **CLAIMED)
    before = {claim["metadata"]["name"]: claim["metadata"]["uid"] for claim in found.all(CLAIM)}
    found.edit(reserveOrdinals=[1])
    found.settle()
    found.edit(reserveOrdinals=[])
    found.settle()
    assert found.ordinals == [0, 1]
    assert before.items() <= {claim["metadata"]["name"]: claim["metadata"]["uid"] for claim in found.all(CLAIM)}.items()


def test_no_pod_is_made_while_its_claim_goes(cluster):
    found = cluster(replicas=1, **CLAIMED)
    own_claims(
        found, lambda claim: claim | {"metadata": claim["metadata"] | {"deletionTimestamp": "2027-01-15T08:00:00Z"}}
    )
    found.terminate("web-0")
    found.work()
    ran = found.run()
    assert ran.made == []
    assert ran.events == [
        "Warning FailedCreate: create Pod web-0 in StatefulSet web failed error: pvc data-web-0 is to be deleted"
    ]
    [condition] = found.status["conditions"]
    assert condition["message"] == "StatefulPodControl failed to create Pod error: pvc data-web-0 is to be deleted"
    found.server.drop(CLAIM, "ns/data-web-0")
    found.deliver_all()
    assert found.queue
    assert found.run().made == ["web-0"]


def test_a_claim_that_cannot_be_made_is_told_of_and_its_pod_is_not_made(new_cluster):
    found = new_cluster(replicas=1, **CLAIMED)
    found.server.refuse = lambda request: (
        ApiError(403, "Forbidden", "no") if isinstance(request, Create) and request.kind is CLAIM else None
    )
    why = "failed to create PVC data-web-0: no"
    ran = found.run()
    assert (ran.made, ran.events) == (
        [],
        [
            "Warning FailedCreate: create Claim data-web-0 for Pod web-0 in StatefulSet web failed error: no",
            f"Warning FailedCreate: create Pod web-0 in StatefulSet web failed error: {why}",
        ],
    )


# -- who owns them -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", [{}, keeps()])
def test_claims_belong_to_nobody_unless_the_set_says_so(cluster, policy):
    assert claims(cluster(replicas=2, **CLAIMED, **policy)) == {"data-web-0": [], "data-web-1": []}


def test_claims_that_go_with_the_set_are_owned_by_it_without_being_controlled(cluster):
    found = cluster(replicas=2, **CLAIMED, **keeps(deleted="Delete"))
    assert claims(found) == {"data-web-0": [of_the_set(found)], "data-web-1": [of_the_set(found)]}
    assert found.run().quiet


def test_a_policy_that_changes_changes_the_owners_of_claims_that_there_are(cluster):
    found = cluster(replicas=2, **CLAIMED)
    found.edit(**keeps(deleted="Delete"))
    found.settle()
    assert claims(found)["data-web-1"] == [of_the_set(found)]
    found.edit(**keeps())
    found.settle()
    assert claims(found) == {"data-web-0": [], "data-web-1": []}


def test_claims_of_pods_that_are_scaled_away_go_with_them(cluster):
    found = cluster(replicas=3, **CLAIMED, **keeps(scaled="Delete", deleted="Delete"))
    found.edit(replicas=1)
    found.run()
    pod = found.pod("web-2")["metadata"]
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "web-2", "uid": pod["uid"]}
    assert claims(found)["data-web-2"] == [owner]
    found.settle()
    assert claims(found) == {"data-web-0": [of_the_set(found)]}


def test_the_claim_of_an_ordinal_that_becomes_reserved_goes_with_its_pod(cluster):
    found = cluster(replicas=2, **CLAIMED, **keeps(scaled="Delete"))
    found.edit(reserveOrdinals=[0])
    found.settle()
    assert list(claims(found)) == ["data-web-1", "data-web-2"]


def test_a_new_pod_waits_until_the_claim_of_its_forerunner_is_gone(cluster):
    found = cluster(replicas=2, **CLAIMED, **keeps(scaled="Delete"))
    former = {"apiVersion": "v1", "kind": "Pod", "name": "web-2", "uid": "former"}
    made = TEMPLATE | {"metadata": {"name": "data-web-2", "ownerReferences": [former]}}
    found.server.store(CLAIM, made)
    found.edit(replicas=3)
    assert found.run().made == []
    found.settle()
    assert found.ordinals == [0, 1]
    found.collect()
    found.settle()
    assert found.ordinals == [0, 1, 2]


def test_somebody_elses_claim_on_a_claim_is_no_matter(cluster):
    found = cluster(replicas=1, **CLAIMED)
    other = {"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "x", "controller": True}
    own_claims(found, lambda claim: claim | {"metadata": claim["metadata"] | {"ownerReferences": [other]}})
    found.edit(**keeps(deleted="Delete"))
    ran = found.run()
    assert claims(found) == {"data-web-0": [other, of_the_set(found)]}
    assert ran.events == ["Normal SuccessfulUpdate: update Pod web-0 in StatefulSet web successful"]


def test_owners_that_cannot_be_written_are_told_of(cluster):
    found = cluster(replicas=1, **CLAIMED)
    found.edit(**keeps(deleted="Delete"))
    found.server.refuse = lambda request: (
        ApiError(403, "Forbidden", "no") if isinstance(request, Update) and request.kind is CLAIM else None
    )
    why = "Could not update claim data-web-0 for delete policy ownerRefs: no"
    assert found.run().events == [f"Warning FailedUpdate: update Pod web-0 in StatefulSet web failed error: {why}"]
    [condition] = found.status["conditions"]
    assert (condition["type"], condition["message"]) == (
        "FailedUpdatePod",
        f"StatefulPodControl failed to update Pod error: {why}",
    )


# -- how they are counted ----------------------------------------------------------------------------------------------


def room(capacity, *, requested="1Gi", **spec):
    def change(claim):
        told = claim["spec"] | {"resources": {"requests": {"storage": requested}}} | spec
        return claim | {"spec": told, "status": {"capacity": {"storage": capacity}}}

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
def test_the_status_counts_claims_that_are_as_their_template_has_them(cluster, change, fitting, ready):
    found = cluster(replicas=2, **CLAIMED)
    own_claims(found, change)
    found.run()
    assert found.status["volumeClaims"] == [
        {"volumeClaimName": "data", "compatibleReplicas": fitting, "compatibleReadyReplicas": ready}
    ]
    assert found.run().quiet


def test_a_claim_of_another_class_than_its_template_asks_for_does_not_fit(cluster):
    template = TEMPLATE | {"spec": TEMPLATE["spec"] | {"storageClassName": "slow"}}
    found = cluster(replicas=1, volumeClaimTemplates=[template])
    own_claims(found, room("1Gi", storageClassName="fast"))
    found.run()
    assert found.status["volumeClaims"][0]["compatibleReplicas"] == 0
