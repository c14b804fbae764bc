"""OpenKruise's kinds as kubectl shows them, and UnitedDeployments that the server refuses."""

import json
from collections.abc import Callable
from typing import Any

import pytest

Kind = Any
Kubectl = Any
Web = Any
Write = Callable[..., str]

TOLD: list[tuple[str, str]] = [
    (
        "api-resources --api-group=apps.kruise.io",
        (
            r"NAME +SHORTNAMES +APIVERSION +NAMESPACED +KIND\n"
            r"clonesets +clone +apps.kruise.io/v1beta1 +true +CloneSet\n"
            r"statefulsets +sts,asts +apps.kruise.io/v1beta1 +true +StatefulSet\n"
            r"uniteddeployments +ud +apps.kruise.io/v1beta1 +true +UnitedDeployment"
        ),
    ),
    ("get ud,cloneset,asts", r"No resources found in test-\d+ namespace\."),
    (
        "explain ud",
        (
            r"GROUP: +apps\.kruise\.io\nKIND: +UnitedDeployment\nVERSION: +v1beta1\n\n.*"
            r"  spec\t<Object>\n.*  status\t<Object>\n.*"
        ),
    ),
    (
        "explain ud.spec.topology --recursive",
        (
            r"GROUP: +apps\.kruise\.io\nKIND: +UnitedDeployment\nVERSION: +v1beta1\n\nFIELD: topology <Object>\n.*"
            r"FIELDS:\n"
            r"  scheduleStrategy\t<Object>\n    adaptive\t<Object>\n      rescheduleCriticalSeconds\t<integer>\n"
            r"      reserveUnschedulablePods\t<boolean>\n      unschedulableDuration\t<integer>\n    type\t<string>\n.*"
            r"  subsets\t<\[\]Object>\n.*    name\t<string> -required-\n    nodeSelectorTerm\t<Object>\n"
            r"      matchExpressions\t<\[\]Object>\n        key\t<string> -required-\n.*"
            r"    tolerations\t<\[\]Object>\n.*"
        ),
    ),
    ("explain ud.spec.updateStrategy.manualUpdate.partitions", r".*FIELD: partitions <map\[string\]integer>\n.*"),
    ("explain cloneset.spec.updateStrategy.rollingUpdate", r".*  partition\t<.*  paused\t<boolean>\n.*"),
    ("explain asts.spec.reserveOrdinals", r".*FIELD: reserveOrdinals <\[\].*"),
]


@pytest.mark.parametrize(("line", "says"), TOLD)
def test_kinds_and_fields_are_explained(kubectl: Kubectl, line: str, says: str) -> None:
    kubectl.says(line, says)


def test_rollouts_are_not_for_it(web: Web, kinds: dict[str, Kind], united: Write) -> None:
    """kubectl knows the rollouts of built-in kinds alone; the state of others is in their conditions."""
    web.apply(united(kinds["Deployment"]))
    for line in ("rollout status ud/web", "rollout history ud/web", "rollout restart ud/web"):
        web.kubectl.refuses(line, r'error: no kind "UnitedDeployment" is registered for version .*')


LABELS = r"`selector` does not match template `labels`"
REFUSED: dict[str, tuple[str, dict[str, Any], str]] = {
    "a minimum above the maximum": (
        "Deployment",
        {"subsets": {"a": {"minReplicas": 4, "maxReplicas": 2}}},
        (
            r"spec\.topology\.subsets\[0\]\.minReplicas: Invalid value: 4: subset\[0\]\.minReplicas must be less than "
            r"or equal to maxReplicas"
        ),
    ),
    "a size and a maximum": (
        "Deployment",
        {"subsets": {"a": {"replicas": 2, "maxReplicas": 2}}},
        (
            r"spec\.topology\.subsets: Invalid value: \[.*\]: subset\.Replicas and "
            r"subset\.MinReplicas/subset\.MaxReplicas are mutually exclusive in a UnitedDeployment"
        ),
    ),
    "room for too few": (
        "Deployment",
        {"subsets": {zone: {"maxReplicas": 2} for zone in "abc"}},
        r"spec\.topology\.subsets: Invalid value: 3: at least one subset\.maxReplicas must be empty",
    ),
    "more than the total": (
        "Deployment",
        {"subsets": {"a": {"replicas": 7}}},
        (
            r"spec\.topology\.subsets: Invalid value: 7: sum of indicated subset replicas 7 should not be greater than "
            r"UnitedDeployment replicas 6"
        ),
    ),
    "a subset twice": (
        "Deployment",
        {"zones": "aab"},
        r'spec\.topology\.subsets\[1\]\.name: Invalid value: "zone-a": duplicated subset name zone-a',
    ),
    "a name that is none": (
        "Deployment",
        {"subsets": {"a": {"name": "Zone_A"}}},
        r'spec\.topology\.subsets\[0\]\.name: Invalid value: "Zone_A": invalid subset name a lowercase RFC 1123 .*',
    ),
    "a partition of nobody": (
        "StatefulSet",
        {"updateStrategy": {"manualUpdate": {"partitions": {"zone-x": 1}}}},
        r'spec\.updateStrategy\.manualUpdate\.partitions: Invalid value: \{"zone-x":1\}: subset zone-x does not exist',
    ),
    "a partition of Deployments": (
        "Deployment",
        {"updateStrategy": {"manualUpdate": {"partitions": {"zone-a": 1}}}},
        r"spec\.updateStrategy\.manualUpdate\.partitions\[zone-a\]: Invalid value: 1: a Deployment knows no partition",
    ),
    "reserving what has a name": (
        "StatefulSet",
        {"schedule": {"reserveUnschedulablePods": True}},
        (
            r"spec\.topology\.scheduleStrategy: Invalid value: .*: only stateless workloads "
            r"\(Deployment and CloneSet\) are supported by reserved rescheduling"
        ),
    ),
    "another selector": (
        "Deployment",
        {"selector": {"matchLabels": {"app": "other"}}},
        (
            rf"\n\* spec\.template\.deploymentTemplate\.metadata\.labels: Invalid value: .*: {LABELS}\n"
            rf"\* spec\.template\.deploymentTemplate\.spec\.template\.metadata\.labels: Invalid value: .*: {LABELS}"
        ),
    ),
    "fewer than none": ("CloneSet", {"replicas": -1}, r".*spec\.replicas: Invalid value: -1: must be greater than .*"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_work_is_refused(kubectl: Kubectl, kinds: dict[str, Kind], united: Write, case: str) -> None:
    kind, given, why = REFUSED[case]
    kubectl.refuses("apply -f -", rf'The UnitedDeployment "web" is invalid: {why}', united(kinds[kind], **given))


def test_one_template_is_wanted(kubectl: Kubectl, kinds: dict[str, Kind], united: Write) -> None:
    two = json.loads(united(kinds["Deployment"]))
    two["spec"]["template"] |= json.loads(united(kinds["CloneSet"]))["spec"]["template"]
    kubectl.refuses(
        "apply -f -",
        r'The UnitedDeployment "web" is invalid: spec\.template: Invalid value: .*: should provide only one of '
        r"statefulSetTemplate, advancedStatefulSetTemplate, cloneSetTemplate, or deploymentTemplate",
        json.dumps(two),
    )
    kubectl.refuses(
        "apply -f -",
        r'The UnitedDeployment "web" is invalid: spec\.template: Required value: should provide one of .*',
        json.dumps(two | {"spec": two["spec"] | {"template": {}}}),
    )


def test_what_cannot_be_made_is_reported_and_the_rest_is_there(web: Web, kinds: dict[str, Kind], united: Write) -> None:
    """Row U20: the server takes a patch that it cannot know to be wrong, and the workload's own kind refuses it."""
    patch = {"metadata": {"labels": {"app": "other"}}}
    web.apply(united(kinds["Deployment"], subsets={"b": {"patch": patch}}))
    web.until(readyReplicas=4)
    web.kubectl.output("wait ud/web --for=condition=SubsetProvisioned=false --timeout=300s")
    [why] = [each["message"] for each in web.status["conditions"] if each["type"] == "SubsetProvisioned"]
    assert why.startswith("fail to create Subset (Deployment) zone-b: Deployment.apps ")
    assert why.endswith(f" {LABELS}")
    failed = "FailedUpdateSubset: fail to manage Subset provision: fail to create Subset (Deployment) zone-b: "
    web.settles(lambda: any(event.startswith(failed) for event in web.events))
    web.apply(united(kinds["Deployment"]))
    web.done(6)
    web.kubectl.output("wait ud/web --for=condition=SubsetProvisioned --timeout=300s")
