"""Defaults of workloads and of the kinds that scale them."""

import pytest

from apiserver.api.meta import Obj

POD_SPEC = {
    "dnsPolicy": "ClusterFirst",
    "restartPolicy": "Always",
    "schedulerName": "default-scheduler",
    "securityContext": {},
    "terminationGracePeriodSeconds": 30,
}
TEMPLATE = {"spec": POD_SPEC}
LABELLED = {"metadata": {"labels": {"a": "b"}}, "spec": POD_SPEC}
ROLLING = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}}
DEPLOYMENT = {"progressDeadlineSeconds": 600, "replicas": 1, "revisionHistoryLimit": 10, "template": TEMPLATE}
DAEMON_SET = {"revisionHistoryLimit": 10, "template": TEMPLATE}
DAEMONS_ROLLING = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}
STATEFUL_SET = {
    "podManagementPolicy": "OrderedReady",
    "replicas": 1,
    "revisionHistoryLimit": 10,
    "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Retain"},
    "template": TEMPLATE,
}
JOB = {
    "backoffLimit": 6,
    "completionMode": "NonIndexed",
    "manualSelector": False,
    "parallelism": 1,
    "podReplacementPolicy": "TerminatingOrFailed",
    "suspend": False,
    "template": TEMPLATE,
}
CRON_JOB = {
    "concurrencyPolicy": "Allow",
    "failedJobsHistoryLimit": 1,
    "successfulJobsHistoryLimit": 3,
    "suspend": False,
}
CLAIM_TEMPLATE = {
    "apiVersion": "v1",
    "kind": "PersistentVolumeClaim",
    "spec": {"volumeMode": "Filesystem"},
    "status": {"phase": "Pending"},
}
CPU_METRIC = {
    "type": "Resource",
    "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}},
}
UP = {
    "stabilizationWindowSeconds": 0,
    "selectPolicy": "Max",
    "policies": [
        {"type": "Pods", "value": 4, "periodSeconds": 15},
        {"type": "Percent", "value": 100, "periodSeconds": 15},
    ],
}
DOWN = {"selectPolicy": "Max", "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}]}


@pytest.mark.parametrize(
    ("kind", "given", "spec"),
    [
        ("Deployment", {}, {**DEPLOYMENT, "strategy": ROLLING}),
        ("Deployment", {"replicas": 0}, {**DEPLOYMENT, "replicas": 0, "strategy": ROLLING}),
        ("Deployment", {"strategy": {"type": "Recreate"}}, {**DEPLOYMENT, "strategy": {"type": "Recreate"}}),
        (
            "Deployment",
            {"strategy": {"rollingUpdate": {"maxSurge": 2}}},
            {
                **DEPLOYMENT,
                "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 2, "maxUnavailable": "25%"}},
            },
        ),
        ("ReplicaSet", {}, {"replicas": 1, "template": TEMPLATE}),
        ("DaemonSet", {}, {**DAEMON_SET, "updateStrategy": DAEMONS_ROLLING}),
        (
            "DaemonSet",
            {"updateStrategy": {"type": "OnDelete"}},
            {**DAEMON_SET, "updateStrategy": {"type": "OnDelete"}},
        ),
        (
            "StatefulSet",
            {},
            {**STATEFUL_SET, "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}}},
        ),
        (
            "StatefulSet",
            {"updateStrategy": {"type": "RollingUpdate"}},
            {**STATEFUL_SET, "updateStrategy": {"type": "RollingUpdate"}},
        ),
        (
            "StatefulSet",
            {"updateStrategy": {"type": "OnDelete"}, "volumeClaimTemplates": [{}]},
            {**STATEFUL_SET, "updateStrategy": {"type": "OnDelete"}, "volumeClaimTemplates": [CLAIM_TEMPLATE]},
        ),
    ],
)
def test_workloads_of_apps(defaulted, kind: str, given: Obj, spec: Obj):
    assert defaulted(kind, {"spec": given}, group="apps")["spec"] == spec


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"spec": {}}, {"metadata": {}, "spec": {**JOB, "completions": 1}}),
        ({"spec": {"parallelism": 0}}, {"metadata": {}, "spec": {**JOB, "parallelism": 0}}),
        ({"spec": {"completions": 3}}, {"metadata": {}, "spec": {**JOB, "completions": 3}}),
        (
            {"spec": {"backoffLimitPerIndex": 1, "completions": 1}},
            {
                "metadata": {},
                "spec": {**JOB, "completions": 1, "backoffLimitPerIndex": 1, "backoffLimit": 2147483647},
            },
        ),
        (
            {
                "spec": {
                    "completions": 1,
                    "podFailurePolicy": {
                        "rules": [{"action": "Ignore", "onPodConditions": [{"type": "x", "status": ""}]}]
                    },
                }
            },
            {
                "metadata": {},
                "spec": {
                    **JOB,
                    "completions": 1,
                    "podReplacementPolicy": "Failed",
                    "podFailurePolicy": {
                        "rules": [{"action": "Ignore", "onPodConditions": [{"type": "x", "status": "True"}]}],
                    },
                },
            },
        ),
        (
            {"spec": {"template": {"metadata": {"labels": {"a": "b"}}}}},
            {"metadata": {"labels": {"a": "b"}}, "spec": {**JOB, "completions": 1, "template": LABELLED}},
        ),
        (
            {"metadata": {"labels": {"x": "y"}}, "spec": {"template": {"metadata": {"labels": {"a": "b"}}}}},
            {"metadata": {"labels": {"x": "y"}}, "spec": {**JOB, "completions": 1, "template": LABELLED}},
        ),
    ],
)
def test_jobs(defaulted, given: Obj, expected: Obj):
    assert defaulted("Job", given, group="batch") == expected


def test_a_cron_job_leaves_its_job_open(defaulted):
    obj = defaulted("CronJob", {"spec": {}}, group="batch")
    assert obj["spec"] == {**CRON_JOB, "jobTemplate": {"spec": {"template": TEMPLATE}}}


def test_a_replication_controller_takes_selector_and_labels_from_its_template(defaulted):
    obj = defaulted("ReplicationController", {"spec": {"template": {"metadata": {"labels": {"a": "b"}}}}})
    assert obj == {
        "metadata": {"labels": {"a": "b"}},
        "spec": {"replicas": 1, "selector": {"a": "b"}, "template": LABELLED},
    }


def test_labels_taken_from_a_template_are_a_copy(defaulted):
    obj = defaulted("ReplicationController", {"spec": {"template": {"metadata": {"labels": {"a": "b"}}}}})
    obj["metadata"]["labels"]["c"] = "d"
    assert obj["spec"]["selector"] == {"a": "b"}


@pytest.mark.parametrize(
    ("version", "given", "expected"),
    [
        ("v1", {"spec": {}}, {"minReplicas": 1, "targetCPUUtilizationPercentage": 80}),
        (
            "v1",
            {"metadata": {"annotations": {"autoscaling.alpha.kubernetes.io/metrics": "[]"}}, "spec": {}},
            {"minReplicas": 1},
        ),
        ("v2", {"spec": {}}, {"minReplicas": 1, "metrics": [CPU_METRIC]}),
        (
            "v2",
            {"spec": {"minReplicas": 2, "behavior": {"scaleDown": {"selectPolicy": "Min"}}}},
            {
                "minReplicas": 2,
                "metrics": [CPU_METRIC],
                "behavior": {"scaleUp": UP, "scaleDown": {**DOWN, "selectPolicy": "Min"}},
            },
        ),
    ],
)
def test_autoscalers_differ_by_version(defaulted, version: str, given: Obj, expected: Obj):
    obj = defaulted("HorizontalPodAutoscaler", given, group="autoscaling", version=version)
    assert obj["spec"] == expected


@pytest.mark.parametrize("kind", ["Deployment", "DaemonSet", "ReplicaSet", "StatefulSet"])
def test_a_template_without_containers_is_validations_matter(defaulted, kind: str):
    obj = defaulted(kind, {"spec": {"template": {"spec": {"containers": None}}}}, group="apps")
    assert obj["spec"]["template"] == {"spec": {"containers": None, **POD_SPEC}}


def test_defaulting_again_changes_nothing(defaulted):
    once = defaulted("Deployment", {"spec": {}}, group="apps")
    assert defaulted("Deployment", once, group="apps") == once
