"""Claims: bound at once, with their pod, or not at all; volumes that are made for them; and volumes that are lost."""

import pytest

from apiserver.api.errors import already_exists, conflict, forbidden
from controller_manager.controllers.volume.persistentvolume import SPEC
from controller_manager.reconcile.contract import Create, Get, RecordEvent, Update
from controller_manager.reconcile.kinds import CLAIM, NODE, POD, STORAGE_CLASS, VOLUME

SIMULATED = "mockube.io/simulated"
BY_CONTROLLER, COMPLETED = "pv.kubernetes.io/bound-by-controller", "pv.kubernetes.io/bind-completed"
SELECTED = "volume.kubernetes.io/selected-node"
BOUND = {COMPLETED: "yes", BY_CONTROLLER: "yes"}
WAITING = (
    "ExternalProvisioning: Waiting for a volume to be created either by the external provisioner '{}' or manually by "
    "the system administrator. If volume creation is delayed, please verify that the provisioner is running and "
    "correctly registered."
)


@pytest.fixture
def do(reconcile, make):
    """do(claim, volumes, classes, pods, nodes): the outcome of a reconcile of the claim."""

    def run(claim, *, volumes=(), classes=None, pods=(), nodes=(), answers=lambda _: None):
        classes = [make.storage_class()] if classes is None else classes
        objects = {CLAIM: [claim], VOLUME: volumes, STORAGE_CLASS: classes, POD: pods, NODE: nodes}
        return reconcile(SPEC, "shop/data", objects, answers)

    return run


def written(done):
    """Return the requests that were written, in order, such as "Update persistentvolumes/status"."""
    return [
        f"{type(request).__name__} {request.kind}{'/' if request.subresource else ''}{request.subresource}"
        for request in done.requests()
    ]


BINDING = [
    "Update persistentvolumes",
    "Update persistentvolumes/status",
    "Update persistentvolumeclaims",
    "Update persistentvolumeclaims/status",
]


# -- binding -----------------------------------------------------------------------------------------------------------


def test_a_claim_is_bound_to_the_volume_that_suits_it_best_the_volume_first(do, make):
    done = do(make.claim(), volumes=[make.volume("big", size="9Gi"), make.volume("fits")])
    assert written(done) == BINDING
    volume, phase, claim, status = (request.obj for request in done.requests())
    assert volume["metadata"]["name"] == "fits"
    assert volume["spec"]["claimRef"]["uid"] == "uid-data"
    assert phase["status"]["phase"] == "Bound"
    assert claim["spec"]["volumeName"] == "fits"
    assert claim["metadata"]["annotations"] == BOUND
    assert status["status"] == {"phase": "Bound", "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}}
    assert done.events == []


def test_a_binding_that_stopped_half_way_goes_on(do, make):
    volume = make.volume(claim="data", phase="Bound", annotations={BY_CONTROLLER: "yes"})
    assert written(do(make.claim(), volumes=[volume])) == BINDING[2:]
    claim = make.claim(volume="disk", annotations=BOUND)
    assert written(do(claim, volumes=[volume])) == BINDING[3:]
    done = make.claim(volume="disk", annotations=BOUND, phase="Bound", accessModes=["ReadWriteOnce"])
    assert do(done, volumes=[volume]).actions == []


def test_who_is_too_late_for_a_volume_tries_again(do, make):
    late = conflict("", "persistentvolumes", name="disk", why="it changed")
    done = do(make.claim(), volumes=[make.volume()], answers=lambda _: late)
    assert done.error is late
    assert written(done) == BINDING[:1]


def test_a_claim_gets_the_volume_that_it_names_whatever_else_suits_it(do, make):
    done = do(make.claim(volume="big"), volumes=[make.volume("big", size="9Gi"), make.volume("fits")])
    assert written(done) == BINDING
    assert done.requests()[0].obj["metadata"]["name"] == "big"
    assert done.requests()[2].obj["metadata"]["annotations"] == {COMPLETED: "yes"}


@pytest.mark.parametrize(
    ("volumes", "events"),
    [
        ([], []),
        (
            [{"size": "1Mi"}],
            ['VolumeMismatch: Cannot bind to requested volume "disk": requested PV is too small'],
        ),
        ([{"claim": "other"}], ['FailedBinding: volume "disk" already bound to a different claim.']),
    ],
)
def test_a_claim_waits_for_the_volume_that_it_names(do, make, volumes, events):
    done = do(make.claim(volume="disk"), volumes=[make.volume(**given) for given in volumes])
    assert done.events == events
    assert done.requests() == []
    assert all(emit.type == "Warning" for emit in done.of(RecordEvent))


def test_a_volume_that_the_controller_gave_to_two_claims_is_an_error(do, make):
    claim = make.claim(volume="disk", annotations={BY_CONTROLLER: "yes"})
    done = do(claim, volumes=[make.volume(claim="other")])
    assert done.events == ['FailedBinding: volume "disk" already bound to a different claim.']
    assert done.error.code == 409


@pytest.mark.parametrize(
    ("claim", "volumes", "event"),
    [
        ({}, [], "ClaimLost: Bound claim has lost reference to PersistentVolume. Data on the volume is lost!"),
        ({"volume": "disk"}, [], "ClaimLost: Bound claim has lost its PersistentVolume. Data on the volume is lost!"),
        (
            {"volume": "disk"},
            [{"claim": "other"}],
            "ClaimMisbound: Two claims are bound to the same volume, this one is bound incorrectly",
        ),
    ],
)
def test_a_claim_that_lost_its_volume_says_so_once(do, make, claim, volumes, event):
    volumes = [make.volume(**given) for given in volumes]
    status = {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}}
    done = do(make.claim(annotations=BOUND, phase="Bound", **status, **claim), volumes=volumes)
    assert [request.obj["status"] for request in done.of(Update)] == [{"phase": "Lost"}]
    assert done.events == [event]
    assert do(make.claim(annotations=BOUND, phase="Lost", **claim), volumes=volumes).actions == []


def test_a_bound_claim_has_its_volume_bound_again(do, make):
    claim = make.claim(volume="disk", annotations=BOUND, phase="Bound", accessModes=["ReadWriteOnce"])
    assert written(do(claim, volumes=[make.volume()])) == BINDING[:2]


# -- claims for which there is nothing ---------------------------------------------------------------------------------


def test_without_a_class_a_claim_waits_for_somebody_to_make_a_volume(do, make):
    done = do(make.claim(of_class=""))
    why = "no persistent volumes available for this claim and no storage class is set"
    assert done.events == [f"FailedBinding: {why}"]
    assert done.of(RecordEvent)[0].type == "Normal"
    assert done.requests() == []


def test_a_claim_that_was_made_before_the_default_class_gets_it(do, make):
    classes = [make.storage_class(), make.storage_class("best", default="true")]
    (update,) = do(make.claim(of_class=None), classes=classes).actions
    assert update.obj["spec"]["storageClassName"] == "best"
    assert do(make.claim(of_class=""), classes=classes).requests() == []
    bound = do(make.claim(of_class=None), classes=classes, volumes=[make.volume(of_class="")])
    assert written(bound) == BINDING


def test_a_claim_of_a_class_that_is_not_there_fails(do, make):
    done = do(make.claim(of_class="none"))
    assert done.events == ['ProvisioningFailed: storageclass.storage.k8s.io "none" not found']
    assert done.requests() == []


@pytest.mark.parametrize(
    ("pods", "event"),
    [
        ([], "WaitForFirstConsumer: waiting for first consumer to be created before binding"),
        (["web"], "WaitForPodScheduled: waiting for pod web to be scheduled"),
        (["web", "db"], "WaitForPodScheduled: waiting for pods db,web to be scheduled"),
    ],
)
def test_a_claim_may_wait_for_a_pod_that_uses_it(do, make, pods, event):
    classes = [make.storage_class(mode="WaitForFirstConsumer")]
    others = [make.pod("there", "data", node="n1"), make.pod("done", "data", phase="Failed"), make.pod("x", "other")]
    done = do(
        make.claim(), classes=classes, volumes=[make.volume()], pods=[*others, *(make.pod(p, "data") for p in pods)]
    )
    assert done.events == [event]
    assert done.requests() == []


def test_what_the_scheduler_gave_to_a_claim_is_bound(do, make):
    classes = [make.storage_class(mode="WaitForFirstConsumer")]
    done = do(make.claim(), classes=classes, volumes=[make.volume(claim="data", annotations={BY_CONTROLLER: "yes"})])
    assert written(done) == BINDING[1:]


# -- volumes that are made ---------------------------------------------------------------------------------------------


def test_a_volume_is_made_and_bound(do, make):
    done = do(make.claim(size="3Gi"))
    assert written(done) == ["Update persistentvolumeclaims", "Create persistentvolumes", *BINDING[1:]]
    assert done.requests()[0].obj["metadata"]["annotations"] == {
        "volume.kubernetes.io/storage-provisioner": SIMULATED,
        "volume.beta.kubernetes.io/storage-provisioner": SIMULATED,
    }
    volume = done.of(Create)[0].obj
    assert volume["metadata"]["name"] == "pvc-uid-data"
    assert "nodeAffinity" not in volume["spec"]
    assert done.requests()[-1].obj["status"]["capacity"] == {"storage": "3Gi"}
    assert done.requests()[-1].obj["metadata"]["annotations"][BY_CONTROLLER] == "yes"
    assert done.events == [
        WAITING.format(SIMULATED),
        'Provisioning: External provisioner is provisioning volume for claim "shop/data"',
        "ProvisioningSucceeded: Successfully provisioned volume pvc-uid-data",
    ]
    assert [emit.component for emit in done.of(RecordEvent)] == ["", SIMULATED, SIMULATED]


def test_a_volume_for_a_pod_is_made_on_its_node(do, make):
    classes = [make.storage_class(mode="WaitForFirstConsumer")]
    done = do(make.claim(annotations={SELECTED: "n1"}), classes=classes, nodes=[make.node()])
    (term,) = done.of(Create)[0].obj["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
    assert term["matchExpressions"][0]["values"] == ["n1"]


def test_a_node_that_is_not_there_is_given_back_to_the_scheduler(do, make):
    classes = [make.storage_class(mode="WaitForFirstConsumer")]
    done = do(make.claim(annotations={SELECTED: "gone", "mine": "yes"}), classes=classes)
    assert done.of(Create) == []
    assert done.events[-1] == 'ProvisioningFailed: failed to get target node: node "gone" not found'
    left = done.of(Update)[-1].obj["metadata"]["annotations"]
    assert SELECTED not in left
    assert left["mine"] == "yes"


@pytest.mark.parametrize(
    ("provisioner", "event"),
    [
        ("csi.example.com", WAITING.format("csi.example.com")),
        ("kubernetes.io/gce-pd", WAITING.format("pd.csi.storage.gke.io")),
    ],
)
def test_volumes_of_other_classes_are_made_by_others(do, make, provisioner, event):
    done = do(make.claim(), classes=[make.storage_class(provisioner=provisioner)])
    assert written(done) == ["Update persistentvolumeclaims"]
    assert done.events == [event]
    again = do(done.requests()[0].obj, classes=[make.storage_class(provisioner=provisioner)])
    assert again.requests() == []
    assert again.events == [event]


def test_what_no_provisioner_makes_is_told(do, make):
    done = do(make.claim(), classes=[make.storage_class(provisioner="kubernetes.io/no-provisioner")])
    assert done.events == ["ProvisioningFailed: no volume plugin matched name: kubernetes.io/no-provisioner"]
    assert done.requests() == []


def test_for_a_claim_that_goes_no_volume_is_made(do, make):
    assert do(make.claim(deleting=True)).of(Create) == []


def test_a_volume_that_was_made_before_is_taken(do, make):
    taken = already_exists("", "persistentvolumes", "pvc-uid-data")
    volume = make.volume("pvc-uid-data", claim="data", phase="Pending")
    answer = {Create: taken, Get: volume}
    done = do(make.claim(), answers=lambda request: answer.get(type(request)))
    assert written(done)[1:] == ["Create persistentvolumes", "Get persistentvolumes", *BINDING[1:]]


def test_a_volume_that_cannot_be_made_is_told_and_tried_again(do, make):
    refusal = forbidden("", "persistentvolumes", name="pvc-uid-data", why="no")
    done = do(make.claim(), answers=lambda request: refusal if isinstance(request, Create) else None)
    assert done.error is refusal
    assert done.events[-1] == (
        "ProvisioningFailed: Error creating provisioned PV object for claim shop/data: "
        f"{refusal.message}. Deleting the volume."
    )
