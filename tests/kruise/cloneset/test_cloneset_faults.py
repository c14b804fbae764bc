"""CloneSets that no webhook has checked: what cannot work is reported, and no pods are made of it."""

from typing import Any

import pytest

MISMATCH = "`selector` does not match template `labels`"
NO_TEMPLATE = "spec.template is no template of a pod"
NO_CLAIMS = "spec.volumeClaimTemplates are no claims with names"
SPEC_OF_A_POD = {"containers": [{"name": "main", "image": "web:1"}]}

FAULTS: dict[str, tuple[dict[str, Any], str]] = {
    "a template that is none": ({"template": "x"}, NO_TEMPLATE),
    "an empty template": ({"template": {}}, NO_TEMPLATE),
    "a template with a strange spec": ({"template": {"metadata": {"labels": {"app": "web"}}, "spec": []}}, NO_TEMPLATE),
    "a template with strange metadata": ({"template": {"metadata": "x", "spec": SPEC_OF_A_POD}}, NO_TEMPLATE),
    "a template with strange labels": ({"template": {"metadata": {"labels": "x"}, "spec": SPEC_OF_A_POD}}, NO_TEMPLATE),
    "a template without labels": ({"template": {"metadata": None, "spec": SPEC_OF_A_POD}}, MISMATCH),
    "another selector": ({"selector": {"matchLabels": {"app": "other"}}}, MISMATCH),
    "claims that are none": ({"volumeClaimTemplates": "x"}, NO_CLAIMS),
    "a claim without a name": ({"volumeClaimTemplates": [{}]}, NO_CLAIMS),
    "a selector that means nothing": (
        {"selector": {"matchExpressions": [{"key": "app", "operator": "Near"}]}},
        '"Near" is not a valid label selector operator',
    ),
}


@pytest.mark.parametrize("case", FAULTS)
def test_what_cannot_work_is_reported_and_makes_no_pods(new_cluster, case):
    spec, why = FAULTS[case]
    cluster = new_cluster(**spec)
    ran = cluster.run()
    assert ran.events == [f"FailedCreate: failed to create pod: {why}"]
    assert (ran.requests, ran.later, ran.error) == ([], [], None)


@pytest.mark.parametrize("spec", [{"template": {}}, {"selector": {"matchLabels": {"app": "other"}}}])
def test_pods_stay_when_their_set_becomes_one_that_cannot_work(settled_cluster, spec):
    cluster = settled_cluster()
    before = cluster.names
    cluster.edit(**spec)
    cluster.settle()
    assert cluster.names == before


def test_it_works_once_it_can(new_cluster, template):
    cluster = new_cluster(template=template(labels={"app": "other"}))
    cluster.run()
    cluster.edit(template=template())
    cluster.settle()
    assert cluster.status["readyReplicas"] == 3


def test_a_template_without_metadata_does_for_a_selector_of_everything(new_cluster):
    cluster = new_cluster(selector={}, template={"metadata": None, "spec": SPEC_OF_A_POD})
    cluster.settle()
    assert cluster.status["readyReplicas"] == 3
