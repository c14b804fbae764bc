"""Claims and volumes: matching, their fields once they are bound, and volumes that are provisioned for a class."""

import pytest

from apiserver.api.storage_classes import default_of
from controller_manager.controllers.volume.provisioning import (
    PROVISIONER,
    claim_with_provisioner,
    default_classes,
    is_deletable,
    new_volume,
    provisioner_of,
    undeletable_reason,
    unprovisionable_reason,
)
from controller_manager.reconcile.volumes import (
    best_match,
    bound_claim,
    bound_volume,
    claim_keys,
    claim_status,
    class_of,
    has_class,
    is_reserved_for,
    mismatch_reason,
    unbound_volume,
    volume_status,
)

NOW = 1_800_000_000.0
STAMP = "2027-01-15T08:00:00Z"
BY_CONTROLLER, COMPLETED = "pv.kubernetes.io/bound-by-controller", "pv.kubernetes.io/bind-completed"
OLD_CLASS = "volume.beta.kubernetes.io/storage-class"
BY = "pv.kubernetes.io/provisioned-by"
TWO_MODES = ("ReadWriteOnce", "ReadWriteMany")


# -- which volume ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("claim", "volumes", "expected"),
    [
        ({}, {"big": {"size": "5Gi"}, "fits": {"size": "2Gi"}, "small": {"size": "1Mi"}}, "fits"),
        ({}, {"b": {}, "a": {}}, "a"),
        ({}, {"other": {"of_class": "fast"}}, None),
        ({"of_class": ""}, {"classless": {"of_class": ""}}, "classless"),
        ({}, {"many": {"modes": TWO_MODES}, "one": {"size": "9Gi"}}, "one"),
        ({"modes": ("ReadWriteMany",)}, {"many": {"modes": TWO_MODES}, "one": {}}, "many"),
        ({"spec": {"volumeMode": "Block"}}, {"files": {}, "block": {"spec": {"volumeMode": "Block"}}}, "block"),
        ({}, {"going": {"deleting": True}}, None),
        ({}, {"pending": {"phase": "Pending"}, "released": {"phase": "Released"}}, None),
        ({}, {"theirs": {"claim": "other"}}, None),
        ({}, {"free": {}, "mine": {"claim": "data", "size": "9Gi", "phase": "Bound"}}, "mine"),
        (
            {},
            {"meant": {"spec": {"claimRef": {"namespace": "shop", "name": "data"}, "storageClassName": "x"}}},
            "meant",
        ),
        ({}, {"former": {"spec": {"claimRef": {"namespace": "shop", "name": "data", "uid": "former"}}}}, None),
        ({}, {"mine": {"claim": "data", "size": "1Mi"}}, None),
        ({"spec": {"selector": {"matchLabels": {"a": "b"}}}}, {"no": {}, "yes": {"labels": {"a": "b"}}}, "yes"),
        ({"spec": {"selector": {"matchExpressions": [{"key": "a", "operator": "Odd"}]}}}, {"no": {}}, None),
    ],
)
def test_the_best_match_of_a_claim(make, claim, volumes, expected):
    match = best_match(
        make.claim(**claim), [make.volume(name, **given) for name, given in volumes.items()], waits=False
    )
    assert (match and match["metadata"]["name"]) == expected


def test_a_claim_that_waits_for_a_pod_gets_only_what_is_meant_for_it(make):
    claim = make.claim()
    assert best_match(claim, [make.volume()], waits=True) is None
    meant = make.volume(claim="data")
    assert best_match(claim, [make.volume("free"), meant], waits=True) is meant


@pytest.mark.parametrize(
    ("volume", "expected"),
    [
        ({}, ""),
        ({"deleting": True}, 'the volume is marked for deletion "disk"'),
        ({"size": "1Mi"}, "requested PV is too small"),
        ({"of_class": "fast"}, "storageClassName does not match"),
        ({"spec": {"volumeMode": "Block"}}, "incompatible volumeMode"),
        ({"modes": ("ReadOnlyMany",)}, "incompatible accessMode"),
    ],
)
def test_why_a_volume_is_not_what_a_claim_asks_for(make, volume, expected):
    assert mismatch_reason(make.volume(**volume), make.claim()) == expected


@pytest.mark.parametrize(
    ("claim", "expected", "names"),
    [
        ({}, "slow", True),
        ({"of_class": ""}, "", True),
        ({"of_class": None}, "", False),
        ({"of_class": None, "annotations": {OLD_CLASS: "old"}}, "old", True),
    ],
)
def test_a_class_is_named_by_field_or_annotation_or_not_at_all(make, claim, expected, names):
    assert (class_of(make.claim(**claim)), has_class(make.claim(**claim))) == (expected, names)


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        (None, False),
        ({"namespace": "shop", "name": "data"}, True),
        ({"namespace": "shop", "name": "data", "uid": "uid-data"}, True),
        ({"namespace": "shop", "name": "data", "uid": "former"}, False),
        ({"namespace": "other", "name": "data"}, False),
    ],
)
def test_the_claim_that_a_volume_is_for(make, reference, expected):
    assert is_reserved_for(make.volume(spec={"claimRef": reference}), make.claim()) is expected


def test_the_claims_of_a_pod_are_those_of_its_volumes(make):
    assert list(claim_keys(make.pod("web", "a", "b", ephemeral=["scratch"]))) == [
        "shop/a",
        "shop/b",
        "shop/web-scratch",
    ]


# -- bound to each other -----------------------------------------------------------------------------------------------


def test_a_free_volume_is_bound_by_the_controller(make):
    claim = make.claim()
    bound = bound_volume(make.volume(annotations={"mine": "yes"}), claim)
    assert bound["metadata"]["annotations"] == {"mine": "yes", BY_CONTROLLER: "yes"}
    assert bound["spec"]["claimRef"] == {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "namespace": "shop",
        "name": "data",
        "uid": "uid-data",
        "resourceVersion": "7",
    }
    assert bound_volume(bound, claim) is bound


def test_a_volume_that_is_meant_for_a_claim_only_learns_its_uid(make):
    bound = bound_volume(make.volume(spec={"claimRef": make.reference("data", uid="")}), make.claim())
    assert bound["spec"]["claimRef"]["uid"] == "uid-data"
    assert "annotations" not in bound["metadata"]


def test_unbinding_undoes_just_that(make):
    volume, claim = make.volume(), make.claim()
    assert unbound_volume(bound_volume(volume, claim)) == volume
    meant = make.volume(spec={"claimRef": make.reference("data", uid="")})
    assert unbound_volume(make.volume(claim="data")) == meant


def test_a_claim_is_bound_once(make):
    bound = bound_claim(make.claim(annotations={"mine": "yes"}), make.volume())
    assert bound["spec"]["volumeName"] == "disk"
    assert bound["metadata"]["annotations"] == {"mine": "yes", BY_CONTROLLER: "yes", COMPLETED: "yes"}
    assert bound_claim(bound, make.volume()) is bound


def test_a_claim_that_names_its_volume_was_not_bound_by_the_controller(make):
    assert bound_claim(make.claim(volume="disk"), make.volume())["metadata"]["annotations"] == {COMPLETED: "yes"}


def test_a_claim_tells_what_its_volume_offers(make):
    volume = make.volume(size="5Gi", modes=TWO_MODES)
    status = claim_status(make.claim(conditions=["kept"]), "Bound", volume)
    assert status == {
        "phase": "Bound",
        "accessModes": list(TWO_MODES),
        "capacity": {"storage": "5Gi"},
        "conditions": ["kept"],
    }
    resized = make.volume(size="9Gi", modes=TWO_MODES)
    assert claim_status(make.claim() | {"status": status}, "Bound", resized) == status
    assert claim_status(make.claim() | {"status": status}, "Lost") == {"phase": "Lost", "conditions": ["kept"]}


def test_the_time_of_a_volume_moves_with_its_phase(make):
    status = volume_status(make.volume(message="old"), "Failed", now=NOW, message="why")
    assert status == {"phase": "Failed", "message": "why", "lastPhaseTransitionTime": STAMP}
    again = volume_status(make.volume() | {"status": status}, "Failed", now=NOW + 9, message="other")
    assert again is status
    assert "message" not in volume_status(make.volume() | {"status": status}, "Released", now=NOW)


# -- classes and what they make ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("classes", "expected"),
    [
        ({}, None),
        ({"a": {}, "b": {"default": "false"}}, None),
        ({"a": {}, "b": {"default": "true"}}, "b"),
        ({"a": {"default": "true"}, "b": {"default": "true", "created": "2028-01-01T00:00:00Z"}}, "b"),
        ({"b": {"default": "true"}, "a": {"default": "true"}}, "a"),
    ],
)
def test_of_several_default_classes_the_newest_is_it(make, classes, expected):
    default = default_of(make.storage_class(name, **given) for name, given in classes.items())
    assert (default and default["metadata"]["name"]) == expected


def test_a_new_cluster_has_a_default_class_and_one_that_waits():
    first, second = default_classes()
    assert default_of([first, second]) is first
    assert [each["metadata"]["name"] for each in (first, second)] == ["standard", "standard-wait"]
    assert [each["volumeBindingMode"] for each in (first, second)] == ["Immediate", "WaitForFirstConsumer"]
    assert {each["provisioner"] for each in (first, second)} == {PROVISIONER}
    assert {each["reclaimPolicy"] for each in (first, second)} == {"Delete"}


def test_a_volume_is_made_as_it_was_asked_for(make):
    claim = make.claim(size="3Gi", modes=TWO_MODES)
    volume = new_volume(claim, make.storage_class(reclaimPolicy="Retain", mountOptions=["ro"]), None)
    assert volume["metadata"] == {"name": "pvc-uid-data", "annotations": {BY: PROVISIONER}}
    spec = volume["spec"]
    assert is_reserved_for(volume, claim)
    assert spec["claimRef"]["uid"] == "uid-data"
    assert {name: spec[name] for name in spec if name not in ("claimRef", "hostPath")} == {
        "accessModes": list(TWO_MODES),
        "capacity": {"storage": "3Gi"},
        "persistentVolumeReclaimPolicy": "Retain",
        "storageClassName": "slow",
        "volumeMode": "Filesystem",
        "mountOptions": ["ro"],
    }


@pytest.mark.parametrize(("labels", "hostname"), [({"kubernetes.io/hostname": "h1"}, "h1"), ({}, "n1")])
def test_a_volume_for_a_node_is_there_alone(make, labels, hostname):
    volume = new_volume(make.claim(), make.storage_class(), make.node(**labels))
    (term,) = volume["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
    assert term == {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [hostname]}]}


def test_a_claim_says_in_both_annotations_who_is_to_make_its_volume(make):
    claim = make.claim(annotations={"mine": "yes"})
    assigned = claim_with_provisioner(claim, "csi.example.com")
    assert assigned["metadata"]["annotations"] == {
        "mine": "yes",
        "volume.kubernetes.io/storage-provisioner": "csi.example.com",
        "volume.beta.kubernetes.io/storage-provisioner": "csi.example.com",
    }
    assert claim_with_provisioner(assigned, "csi.example.com") is assigned


@pytest.mark.parametrize(
    ("provisioner", "name", "why"),
    [
        (PROVISIONER, PROVISIONER, ""),
        ("csi.example.com", "csi.example.com", ""),
        ("kubernetes.io/aws-ebs", "ebs.csi.aws.com", ""),
        ("kubernetes.io/no-provisioner",) * 2 + ("no volume plugin matched name: kubernetes.io/no-provisioner",),
    ],
)
def test_who_makes_the_volumes_of_a_class(make, provisioner, name, why):
    actual = provisioner_of(make.storage_class(provisioner=provisioner))
    assert (actual, unprovisionable_reason(actual)) == (name, why)


@pytest.mark.parametrize(
    ("annotations", "source", "ours", "why"),
    [
        ({BY: PROVISIONER}, {"hostPath": {"path": "/var"}}, True, ""),
        ({BY: "csi.example.com"}, {"hostPath": {"path": "/var"}}, False, None),
        ({}, {"csi": {"driver": "d"}}, False, None),
        ({}, {"hostPath": {"path": "/tmp/a"}}, True, ""),
        (
            {},
            {"hostPath": {"path": "/data"}},
            True,
            "host_path deleter only supports /tmp/.+ but received provided /data",
        ),
        (
            {},
            {"nfs": {}},
            True,
            'error getting deleter volume plugin for volume "disk": no deletable volume plugin matched',
        ),
    ],
)
def test_who_deletes_a_volume_and_whether_that_can_be_done(make, annotations, source, ours, why):
    volume = make.volume(annotations=annotations, spec=source)
    assert is_deletable(volume) is ours
    assert not ours or undeletable_reason(volume) == why
