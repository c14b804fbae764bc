"""Validation of the workloads that make pods, and of changes to them."""

from typing import Any

import pytest

from apiserver.registry.kind_tables import set_defaults
from apiserver.registry.validation import VALIDATORS

Obj = dict[str, Any]
SELECTOR = {"matchLabels": {"app": "a"}}
MISMATCH = '{"b":"c"}: `selector` does not match template `labels`'


def template(labels: Obj | None = None, **spec: Any) -> Obj:
    return {
        "metadata": {"labels": {"app": "a"} if labels is None else labels},
        "spec": {"containers": [{"name": "c", "image": "i"}]} | spec,
    }


def made(kind: str, group: str = "apps", **spec: Any) -> Obj:
    given = {"selector": {"app": "a"} if kind == "ReplicationController" else SELECTOR, "template": template()} | spec
    spec_of = {name: value for name, value in given.items() if value is not None}
    obj: Obj = {"kind": kind, "metadata": {"name": "d", "namespace": "ns"}, "spec": spec_of}
    set_defaults(group, "v1", kind, obj)
    return obj


def messages(errors: Any) -> list[str]:
    return [str(error) for error in errors]


IN_WITHOUT = {"matchExpressions": [{"key": "a", "operator": "In"}]}


@pytest.mark.parametrize(
    ("spec", "wrong"),
    [
        ({}, []),
        ({"replicas": -1}, ["spec.replicas: Invalid value: -1: must be greater than or equal to 0"]),
        (
            {"selector": None},
            [
                "spec.selector: Required value",
                (
                    'spec.template.metadata.labels: Invalid value: {"app":"a"}: '
                    "`selector` does not match template `labels`"
                ),
            ],
        ),
        ({"selector": {}}, ["spec.selector: Invalid value: {}: empty selector is invalid for deployment"]),
        ({"template": template({"b": "c"})}, [f"spec.template.metadata.labels: Invalid value: {MISMATCH}"]),
        (
            {"selector": IN_WITHOUT},
            [
                (
                    "spec.selector.matchExpressions[0].values: Required value: "
                    "must be specified when `operator` is 'In' or 'NotIn'"
                ),
                (
                    'spec.selector: Invalid value: {"matchExpressions":[{"key":"a","operator":"In"}]}: '
                    "invalid label selector"
                ),
            ],
        ),
        (
            {"template": template(restartPolicy="Never")},
            ['spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"'],
        ),
        (
            {"template": template(activeDeadlineSeconds=5)},
            [
                (
                    "spec.template.spec.activeDeadlineSeconds: Forbidden: "
                    "activeDeadlineSeconds in ReplicaSet is not Supported"
                )
            ],
        ),
        ({"template": template(containers=[])}, ["spec.template.spec.containers: Required value"]),
        (
            {"strategy": {"type": "Recreate", "rollingUpdate": {}}},
            [("spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'")],
        ),
        (
            {"strategy": {"type": "Slow"}},
            ['spec.strategy: Unsupported value: {"type":"Slow"}: supported values: "Recreate", "RollingUpdate"'],
        ),
        (
            {"strategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 0}}},
            [("spec.strategy.rollingUpdate.maxUnavailable: Invalid value: 0: may not be 0 when `maxSurge` is 0")],
        ),
        (
            {"strategy": {"rollingUpdate": {"maxSurge": "25", "maxUnavailable": "101%"}}},
            [
                (
                    'spec.strategy.rollingUpdate.maxSurge: Invalid value: "25": '
                    "a valid percent string must be a numeric "
                    "string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"
                ),
                'spec.strategy.rollingUpdate.maxUnavailable: Invalid value: "101%": must not be greater than 100%',
            ],
        ),
        (
            {"minReadySeconds": 60, "progressDeadlineSeconds": 60},
            ["spec.progressDeadlineSeconds: Invalid value: 60: must be greater than minReadySeconds"],
        ),
    ],
)
def test_a_deployment_is_refused_for_each_reason(spec: Obj, wrong: list[str]) -> None:
    assert messages(VALIDATORS["apps", "Deployment"].create(made("Deployment", **spec))) == wrong


@pytest.mark.parametrize(
    ("kind", "group", "spec", "wrong"),
    [
        ("ReplicaSet", "apps", {"selector": {}}, ["spec.selector: Invalid value"]),
        ("ReplicationController", "", {"selector": {"x": "y"}}, ["spec.template.metadata.labels: Invalid value"]),
        ("ReplicationController", "", {"template": None, "selector": None}, ["spec.selector: R", "spec.template: R"]),
        ("DaemonSet", "apps", {"updateStrategy": {"type": "Now"}}, ["spec.updateStrategy: Unsupported value"]),
        (
            "DaemonSet",
            "apps",
            {"updateStrategy": {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 1}}},
            ["spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: 1: may not be set when"],
        ),
        (
            "DaemonSet",
            "apps",
            {"updateStrategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 0}}},
            ["spec.updateStrategy.rollingUpdate.maxUnavailable: Required value: cannot be 0 when maxSurge is 0"],
        ),
        ("StatefulSet", "apps", {"podManagementPolicy": "Any"}, ['spec.podManagementPolicy: Invalid value: "Any": m']),
        (
            "StatefulSet",
            "apps",
            {"selector": {}},
            ["spec.selector: Invalid value: {}: empty selector is invalid for s"],
        ),
        (
            "StatefulSet",
            "apps",
            {"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": -1}}},
            ["spec.updateStrategy.rollingUpdate.partition: Invalid value: -1"],
        ),
        (
            "StatefulSet",
            "apps",
            {"persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Burn", "whenScaled": "Retain"}},
            ["spec.persistentVolumeClaimRetentionPolicy.whenDeleted: Unsupported value"],
        ),
        ("StatefulSet", "apps", {"template": template(containers=[])}, []),
        ("Deployment", "apps", {"template": template({"a b": "c", "app": "a"})}, ["spec.template.labels: Invalid"]),
    ],
)
def test_each_kind_of_controller_has_its_rules(kind: str, group: str, spec: Obj, wrong: list[str]) -> None:
    errors = messages(VALIDATORS[group, kind].create(made(kind, group, **spec)))
    assert len(errors) == len(wrong)
    assert all(error.startswith(start) for error, start in zip(errors, wrong, strict=True))


@pytest.mark.parametrize("kind", ["Deployment", "ReplicaSet", "DaemonSet"])
def test_a_selector_stays(kind: str) -> None:
    new = made(kind, selector={"matchLabels": {"b": "c"}}, template=template({"b": "c"}))
    assert messages(VALIDATORS["apps", kind].update(new, made(kind))) == [
        'spec.selector: Invalid value: {"matchLabels":{"b":"c"}}: field is immutable'
    ]


@pytest.mark.parametrize(("spec", "good"), [({"replicas": 3}, True), ({"serviceName": "other"}, False)])
def test_only_some_of_a_stateful_set_may_change(spec: Obj, *, good: bool) -> None:
    errors = messages(VALIDATORS["apps", "StatefulSet"].update(made("StatefulSet", **spec), made("StatefulSet")))
    frozen = (
        "spec: Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', "
        "'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' "
        "are forbidden"
    )
    assert errors == ([] if good else [frozen])


KEPT = {"collisionCount": 2}
OVER = "cannot be greater than status.replicas"


@pytest.mark.parametrize(
    ("kind", "status", "wrong"),
    [
        ("Deployment", {"replicas": 2, "updatedReplicas": 1, "collisionCount": 2}, []),
        (
            "Deployment",
            {"replicas": -1, "availableReplicas": 3, "collisionCount": 2},
            [
                "status.replicas: Invalid value: -1: must be greater than or equal to 0",
                f"status.updatedReplicas: Invalid value: 0: {OVER}",
                f"status.readyReplicas: Invalid value: 0: {OVER}",
                f"status.availableReplicas: Invalid value: 3: {OVER}",
                "status.availableReplicas: Invalid value: 3: cannot be greater than readyReplicas",
            ],
        ),
        ("Deployment", {"collisionCount": 1}, ["status.collisionCount: Invalid value: 1: cannot be decremented"]),
        ("StatefulSet", KEPT | {"currentReplicas": 1}, [f"status.currentReplicas: Invalid value: 1: {OVER}"]),
        (
            "DaemonSet",
            {"numberReady": -1, "collisionCount": 2},
            ["status.numberReady: Invalid value: -1: must be greater than or equal to 0"],
        ),
    ],
)  # fmt: skip
def test_the_counts_of_a_status_go_together(kind: str, status: Obj, wrong: list[str]) -> None:
    old = {"status": {"collisionCount": 2}}
    assert messages(VALIDATORS["apps", kind].status_update({"status": status}, old)) == wrong


def test_a_revision_keeps_its_data() -> None:
    revision = VALIDATORS["apps", "ControllerRevision"]
    assert messages(revision.create({"revision": -1})) == [
        "data: Required value: data is mandatory",
        "revision: Invalid value: -1: must be greater than or equal to 0",
    ]
    assert messages(revision.update({"data": {"a": 1}}, {"data": {"a": 2}})) == [
        'data: Invalid value: {"a":1}: field is immutable'
    ]
