"""Strategies of the kinds that have rules of their own."""

from collections.abc import Callable

import pytest

from apiserver.api.meta import Obj
from apiserver.registry.strategy import SUBRESOURCES


@pytest.mark.parametrize(
    ("given", "finalizers"),
    [
        ({}, ["kubernetes"]),
        ({"finalizers": ["x"]}, ["x", "kubernetes"]),
        ({"finalizers": ["kubernetes"]}, ["kubernetes"]),
    ],
)
def test_a_namespace_starts_with_its_finalizer(created, given: Obj, finalizers: list[str]):
    assert created("", "Namespace", {"spec": given})["spec"]["finalizers"] == finalizers


def test_a_namespace_is_labelled_once_its_name_is_generated(strategy):
    namespace: Obj = {"metadata": {"name": "n-x7b2c", "generateName": "n-", "labels": {"a": "b"}}}
    strategy("", "Namespace").canonicalize(namespace)
    assert namespace["metadata"]["labels"] == {"a": "b", "kubernetes.io/metadata.name": "n-x7b2c"}


def test_only_finalize_changes_the_finalizers_of_a_namespace(updated):
    old = {"spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Terminating"}}
    assert updated("", "Namespace", {"spec": {}, "status": {}}, old) == old | {"metadata": {"generation": 4}}
    new: Obj = {"metadata": {}, "spec": {}, "status": {}}
    SUBRESOURCES["", "Namespace", "finalize"].prepare_update(new, {"metadata": {}, **old})
    assert new == {"metadata": {}, "spec": {}, "status": {"phase": "Terminating"}}


SNAPSHOT = {"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": "s"}
POPULATOR = {"apiGroup": "example.com", "kind": "Populator", "name": "p"}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"dataSource": SNAPSHOT}, {"dataSource": SNAPSHOT, "dataSourceRef": SNAPSHOT}),
        ({"dataSource": POPULATOR}, {}),
        ({"dataSourceRef": POPULATOR}, {"dataSource": POPULATOR, "dataSourceRef": POPULATOR}),
        ({"dataSourceRef": SNAPSHOT | {"namespace": "n"}}, {"dataSourceRef": SNAPSHOT | {"namespace": "n"}}),
    ],
)
def test_a_claims_source_and_reference_agree(created, given: Obj, expected: Obj):
    assert created("", "PersistentVolumeClaim", {"spec": given})["spec"] == expected


@pytest.mark.parametrize(
    ("old", "given", "expected"),
    [
        ({}, {"dataSource": POPULATOR}, {}),
        ({"dataSource": POPULATOR}, {"dataSource": POPULATOR}, {"dataSource": POPULATOR, "dataSourceRef": POPULATOR}),
        (
            {"dataSourceRef": POPULATOR},
            {"dataSource": POPULATOR},
            {"dataSource": POPULATOR, "dataSourceRef": POPULATOR},
        ),
    ],
)
def test_a_source_that_a_claim_has_already_is_kept(updated, old: Obj, given: Obj, expected: Obj):
    assert updated("", "PersistentVolumeClaim", {"spec": given}, {"spec": old})["spec"] == expected


def test_an_account_keeps_the_names_of_its_secrets(created):
    assert created("", "ServiceAccount", {"secrets": [{"name": "s", "uid": "u"}]})["secrets"] == [{"name": "s"}]


@pytest.fixture
def job(created) -> Callable[..., Obj]:
    return lambda spec, **metadata: created(
        "batch", "Job", {"metadata": {"name": "j", "uid": "u", **metadata}, "spec": spec}
    )


JOB_LABELS = {
    "batch.kubernetes.io/controller-uid": "u",
    "batch.kubernetes.io/job-name": "j",
    "controller-uid": "u",
    "job-name": "j",
}


def test_a_job_selects_its_own_pods(job):
    obj = job({"template": {"metadata": {"labels": {"a": "b"}}}}, labels={"a": "b"})
    assert obj["spec"] == {
        "selector": {"matchLabels": {"batch.kubernetes.io/controller-uid": "u"}},
        "template": {"metadata": {"labels": {"a": "b", **JOB_LABELS}}},
    }
    assert obj["metadata"]["labels"] == {"a": "b"}


def test_a_job_without_labels_is_labelled_like_its_pods(job):
    assert job({})["metadata"]["labels"] == JOB_LABELS


def test_a_job_with_a_manual_selector_stays_as_it_is(job):
    spec = {"manualSelector": True, "selector": {"matchLabels": {"a": "b"}}, "template": {}}
    assert job(spec)["spec"] == spec


TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"


@pytest.mark.parametrize(("annotation", "expected"), [(None, "1"), ("0", "1"), ("7", "7"), ("x", "1")])
def test_the_generation_of_a_daemon_sets_template_is_an_annotation(created, annotation: str | None, expected: str):
    annotations = {} if annotation is None else {TEMPLATE_GENERATION: annotation}
    obj = created("apps", "DaemonSet", {"spec": {}, "metadata": {"annotations": annotations}})
    assert obj["metadata"]["annotations"] == {TEMPLATE_GENERATION: expected}


@pytest.mark.parametrize(("template", "expected"), [({}, "3"), ({"a": 1}, "4")])
def test_the_generation_of_a_daemon_sets_template_moves_with_it(updated, template: Obj, expected: str):
    old = {"spec": {"template": {}}, "metadata": {"annotations": {TEMPLATE_GENERATION: "3"}}}
    new = {"spec": {"template": template}, "metadata": {"annotations": {TEMPLATE_GENERATION: "99", "a": "b"}}}
    obj = updated("apps", "DaemonSet", new, old)
    assert obj["metadata"]["annotations"] == {TEMPLATE_GENERATION: expected, "a": "b"}


def test_a_definition_remembers_every_version_that_stored_something(updated):
    old = {"spec": {"versions": [{"name": "v1", "storage": True}]}, "status": {"storedVersions": ["v1"]}}
    new = {"spec": {"versions": [{"name": "v1"}, {"name": "v2", "storage": True}]}}
    obj = updated("apiextensions.k8s.io", "CustomResourceDefinition", new, old)
    assert obj["status"] == {"storedVersions": ["v1", "v2"]}


def conditions(*types: str, reason: str) -> Obj:
    return {"conditions": [{"type": kind, "reason": reason} for kind in types]}


@pytest.mark.parametrize(
    ("given", "before", "reasons"),
    [
        (("Approved",), ("Approved",), ["old"]),
        (("Failed", "Approved"), ("Approved",), ["new", "old"]),
        (("Approved",), (), ["new"]),
        ((), ("Approved",), []),
    ],
)
def test_a_signer_neither_approves_nor_denies(
    strategy, given: tuple[str, ...], before: tuple[str, ...], reasons: list[str]
):
    new: Obj = {"metadata": {}, "status": conditions(*given, reason="new")}
    old: Obj = {"metadata": {}, "status": conditions(*before, reason="old")}
    strategy("certificates.k8s.io", "CertificateSigningRequest").prepare_status_update(new, old)
    assert [condition["reason"] for condition in new["status"]["conditions"]] == reasons


def test_an_approver_writes_nothing_but_conditions():
    new: Obj = {
        "metadata": {},
        "spec": {"a": 2},
        "status": {"certificate": "mine", "conditions": [{"type": "Approved"}]},
    }
    old: Obj = {"metadata": {}, "spec": {"a": 1}, "status": {"certificate": "x"}}
    SUBRESOURCES["certificates.k8s.io", "CertificateSigningRequest", "approval"].prepare_update(new, old)
    assert new["spec"] == {"a": 1}
    assert new["status"] == {"certificate": "x", "conditions": [{"type": "Approved"}]}
