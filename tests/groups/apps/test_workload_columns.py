from typing import Any

import pytest

TEMPLATE = {"spec": {"containers": [{"name": "a", "image": "i:1"}, {"name": "b", "image": "j:2"}]}}
SELECTOR = {"matchLabels": {"app": "x"}}


@pytest.mark.parametrize(
    ("group", "kind", "body", "expected"),
    [
        (
            "apps",
            "Deployment",
            {
                "spec": {"replicas": 3, "selector": SELECTOR, "template": TEMPLATE},
                "status": {"readyReplicas": 1, "updatedReplicas": 2, "availableReplicas": 1},
            },
            ["x", "1/3", 2, 1, "60m", "a,b", "i:1,j:2", "app=x"],
        ),
        ("apps", "Deployment", {}, ["x", "0/0", 0, 0, "60m", "", "", ""]),
        (
            "apps",
            "Deployment",
            {"spec": {"selector": {"matchExpressions": [{"key": "a", "operator": "Near"}]}}},
            ["x", "0/0", 0, 0, "60m", "", "", "<invalid>"],
        ),
        (
            "apps",
            "ReplicaSet",
            {
                "spec": {"replicas": 3, "selector": SELECTOR, "template": TEMPLATE},
                "status": {"replicas": 2, "readyReplicas": 1},
            },
            ["x", 3, 2, 1, "60m", "a,b", "i:1,j:2", "app=x"],
        ),
        (
            "",
            "ReplicationController",
            {
                "spec": {"replicas": 3, "selector": {"b": "2", "a": "1"}, "template": TEMPLATE},
                "status": {"replicas": 2},
            },
            ["x", 3, 2, 0, "60m", "a,b", "i:1,j:2", "a=1,b=2"],
        ),
        (
            "apps",
            "StatefulSet",
            {"spec": {"replicas": 3, "template": TEMPLATE}, "status": {"readyReplicas": 2, "replicas": 3}},
            ["x", "2/3", "60m", "a,b", "i:1,j:2"],
        ),
        (
            "apps",
            "DaemonSet",
            {
                "spec": {
                    "selector": SELECTOR,
                    "template": {"spec": {**TEMPLATE["spec"], "nodeSelector": {"disk": "ssd"}}},
                },
                "status": {
                    "desiredNumberScheduled": 5,
                    "currentNumberScheduled": 4,
                    "numberReady": 3,
                    "updatedNumberScheduled": 2,
                    "numberAvailable": 1,
                },
            },
            ["x", 5, 4, 3, 2, 1, "disk=ssd", "60m", "a,b", "i:1,j:2", "app=x"],
        ),
        (
            "apps",
            "ControllerRevision",
            {
                "metadata": {
                    "ownerReferences": [
                        {"apiVersion": "v1", "kind": "Pod", "name": "p"},
                        {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "s", "controller": True},
                    ]
                },
                "revision": 7,
            },
            ["x", "statefulset.apps/s", 7, "60m"],
        ),
        (
            "apps",
            "ControllerRevision",
            {"metadata": {"ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": "n", "controller": True}]}},
            ["x", "node/n", 0, "60m"],
        ),
        ("apps", "ControllerRevision", {"revision": 1}, ["x", "<none>", 1, "60m"]),
        (
            "",
            "PodTemplate",
            {"template": {"metadata": {"labels": {"z": "1", "a": "2"}}, **TEMPLATE}},
            ["x", "a,b", "i:1,j:2", "a=2,z=1"],
        ),
        (
            "policy",
            "PodDisruptionBudget",
            {"spec": {"minAvailable": "50%"}, "status": {"disruptionsAllowed": 2}},
            ["x", "50%", "N/A", 2, "60m"],
        ),
        ("policy", "PodDisruptionBudget", {"spec": {"maxUnavailable": 0}}, ["x", "N/A", "0", 0, "60m"]),
        ("autoscaling", "Scale", {"spec": {"replicas": 3}, "status": {"replicas": 2}}, ["x", 3, 2, "60m"]),
        (
            "batch",
            "CronJob",
            {
                "spec": {
                    "schedule": "*/5 * * * *",
                    "timeZone": "Europe/Oslo",
                    "suspend": False,
                    "jobTemplate": {"spec": {"template": TEMPLATE}},
                },
                "status": {"active": [{}, {}], "lastScheduleTime": "2024-01-01T00:58:00Z"},
            },
            ["x", "*/5 * * * *", "Europe/Oslo", "False", 2, "2m", "60m", "a,b", "i:1,j:2", "<none>"],
        ),
        (
            "batch",
            "CronJob",
            {"spec": {"schedule": "@daily", "suspend": True}},
            ["x", "@daily", "<none>", "True", 0, "<none>", "60m", "", "", "<none>"],
        ),
        ("batch", "CronJob", {}, ["x", "", "<none>", "<unset>", 0, "<none>", "60m", "", "", "<none>"]),
    ],
)
def test_a_workloads_row(printed: Any, group: str, kind: str, body: dict[str, Any], expected: list[Any]) -> None:
    assert list(printed(group, kind, body).values()) == expected


@pytest.mark.parametrize(
    ("spec", "status", "expected"),
    [
        ({"completions": 3}, {"succeeded": 1}, "1/3"),
        ({"completions": 0}, {}, "0/0"),
        ({"parallelism": 4}, {"succeeded": 1}, "1/1 of 4"),
        ({"parallelism": 1}, {}, "0/1"),
        ({}, {}, "0/1"),
    ],
)
def test_a_jobs_completions(printed: Any, spec: Any, status: Any, expected: str) -> None:
    assert printed("batch", "Job", {"spec": spec, "status": status})["Completions"] == expected


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ({}, ""),
        ({"startTime": "2024-01-01T00:30:00Z"}, "30m"),
        ({"startTime": "2024-01-01T00:30:00Z", "completionTime": "2024-01-01T00:30:07Z"}, "7s"),
    ],
)
def test_a_jobs_duration_runs_until_it_is_complete(printed: Any, status: Any, expected: str) -> None:
    assert printed("batch", "Job", {"status": status})["Duration"] == expected


@pytest.mark.parametrize(
    ("conditions", "deleted", "expected"),
    [
        ([], False, "Running"),
        (["Suspended"], False, "Suspended"),
        (["FailureTarget"], False, "FailureTarget"),
        (["SuccessCriteriaMet"], False, "SuccessCriteriaMet"),
        (["SuccessCriteriaMet", "Complete"], False, "Complete"),
        (["FailureTarget", "Failed"], True, "Failed"),
        (["Suspended"], True, "Terminating"),
    ],
)
def test_a_jobs_status(printed: Any, conditions: list[str], *, deleted: bool, expected: str) -> None:
    body = {
        "metadata": {"deletionTimestamp": "2024-01-01T00:59:00Z"} if deleted else {},
        "status": {"conditions": [{"type": condition, "status": "True"} for condition in conditions]},
    }
    assert printed("batch", "Job", body)["Status"] == expected


def test_a_condition_that_is_false_says_nothing_of_a_job(printed: Any) -> None:
    body = {"status": {"conditions": [{"type": "Suspended", "status": "False"}]}}
    assert printed("batch", "Job", body)["Status"] == "Running"
