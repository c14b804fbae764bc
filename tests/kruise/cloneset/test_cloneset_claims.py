"""Claims of a CloneSet's pods: made before them, of the same id, and gone with them."""

import pytest

from apiserver.api.errors import ApiError
from controller_manager.reconcile.contract import Create
from controller_manager.reconcile.kinds import CLAIM, POD

TEMPLATES = [
    {"metadata": {"name": "data", "labels": {"tier": "disk"}}, "spec": {"accessModes": ["ReadWriteOnce"]}},
    {"metadata": {"name": "logs"}, "spec": {"accessModes": ["ReadWriteOnce"]}},
]
REFUSED = ApiError(403, "Forbidden", "exceeded quota")


def ids(pods):
    return [pod["metadata"]["labels"]["apps.kruise.io/cloneset-instance-id"] for pod in pods.pods]


def claims_of(*numbers):
    return sorted(f"{name}-web-{number}" for number in numbers for name in ("data", "logs"))


@pytest.fixture
def stored(settled_cluster):
    """stored(**spec): a cluster in which the pods of the set have claims."""
    return lambda **spec: settled_cluster(volumeClaimTemplates=TEMPLATES, **spec)


def test_each_pod_has_claims_of_its_id_as_volumes(settled_cluster, template):
    volumes = [{"name": "logs", "emptyDir": {}}, {"name": "cache", "emptyDir": {}}]
    cluster = settled_cluster(replicas=2, volumeClaimTemplates=TEMPLATES, template=template(volumes=volumes))
    assert cluster.claims == claims_of(*ids(cluster))
    number = ids(cluster)[0]
    assert cluster.pods[0]["spec"]["volumes"] == [
        {"name": "data", "persistentVolumeClaim": {"claimName": f"data-web-{number}"}},
        {"name": "logs", "persistentVolumeClaim": {"claimName": f"logs-web-{number}"}},
        {"name": "cache", "emptyDir": {}},
    ]
    claim = cluster.server.objects[CLAIM][f"ns/data-web-{number}"]
    assert claim["metadata"]["labels"] == {
        "app": "web",
        "tier": "disk",
        "apps.kruise.io/cloneset-instance-id": number,
    }
    assert claim["metadata"]["ownerReferences"] == [cluster.pods[0]["metadata"]["ownerReferences"][0]]
    assert claim["spec"] == {"accessModes": ["ReadWriteOnce"]}


def test_claims_are_made_before_pods(new_cluster):
    ran = new_cluster(replicas=3, volumeClaimTemplates=TEMPLATES).run()
    kinds = [request.kind for request in ran.requests if isinstance(request, Create)][1:]
    assert kinds == [CLAIM] * 6 + [POD] * 3


def test_a_pod_whose_claim_is_refused_is_not_made(new_cluster):
    cluster = new_cluster(replicas=2, volumeClaimTemplates=TEMPLATES)
    cluster.server.refuse = lambda request: (
        REFUSED if isinstance(request, Create) and request.obj["metadata"]["name"].startswith("logs") else None
    )
    ran = cluster.run()
    assert ran.made == []
    assert ran.events[0].startswith("FailedCreate: failed to create pvc: exceeded quota, pvc: {")
    assert ran.error is REFUSED
    cluster.server.refuse = lambda _: None
    cluster.settle()
    assert cluster.claims == claims_of(*ids(cluster))
    assert len(cluster.names) == 2


def test_claims_go_with_pods_that_the_set_deletes(stored):
    cluster = stored(replicas=3)
    cluster.edit(replicas=1)
    cluster.settle()
    assert cluster.claims == claims_of(*ids(cluster))


def test_an_update_that_replaces_pods_replaces_their_claims(stored, template):
    cluster = stored(replicas=2)
    before = set(cluster.claims)
    cluster.edit(template=template("web:2"))
    cluster.settle()
    assert cluster.claims == claims_of(*ids(cluster))
    assert not before & set(cluster.claims)


def test_claims_of_a_pod_that_somebody_deletes_become_the_pods_and_go_with_it(stored):
    cluster = stored(replicas=2)
    gone = ids(cluster)[0]
    name = f"web-{gone}"
    cluster.terminate(name)
    cluster.run()
    pod = cluster.server.objects[POD][f"ns/{name}"]
    owners = cluster.server.objects[CLAIM][f"ns/data-web-{gone}"]["metadata"]["ownerReferences"]
    assert [(owner["kind"], owner["uid"]) for owner in owners] == [("Pod", pod["metadata"]["uid"])]
    cluster.settle()
    assert cluster.claims == claims_of(*ids(cluster))
    assert gone not in ids(cluster)


def test_a_claim_whose_pod_is_gone_is_deleted(stored):
    cluster = stored(replicas=1)
    number = ids(cluster)[0]
    cluster.server.drop(POD, f"ns/web-{number}")
    cluster.settle()
    assert number not in ids(cluster)
    assert cluster.claims == claims_of(*ids(cluster))


def test_a_claim_that_cannot_be_cleaned_up_is_told_and_tried_again(stored):
    cluster = stored(replicas=1)
    number = ids(cluster)[0]
    cluster.server.drop(POD, f"ns/web-{number}")
    cluster.server.refuse = lambda request: REFUSED if request.kind is CLAIM else None
    ran = cluster.run()
    assert f"FailedDelete: failed to clean up PVC data-web-{number}: exceeded quota" in ran.events
    assert ran.error is REFUSED


def test_claims_are_used_again_where_the_set_says_so(stored):
    cluster = stored(replicas=2, scaleStrategy={"enablePVCReuse": True})
    number = ids(cluster)[0]
    before = cluster.claims
    cluster.server.drop(POD, f"ns/web-{number}")
    ran = cluster.run()
    assert ran.made == [f"web-{number}"]
    assert ran.names(Create, CLAIM) == []
    cluster.settle()
    assert cluster.claims == before
