"""Validation of Jobs and CronJobs, and of changes to them."""

from typing import Any

import pytest

from apiserver.groups.batch.cronjobs import schedule_error
from apiserver.registry.kind_tables import set_defaults
from apiserver.registry.validation import VALIDATORS

Obj = dict[str, Any]
JOB, CRON_JOB = VALIDATORS["batch", "Job"], VALIDATORS["batch", "CronJob"]
LABELS = {
    "controller-uid": "u",
    "job-name": "j",
    "batch.kubernetes.io/controller-uid": "u",
    "batch.kubernetes.io/job-name": "j",
}


def pods(labels: Obj, **spec: Any) -> Obj:
    return {
        "metadata": {"labels": labels},
        "spec": {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never"} | spec,
    }


def job(template: Obj | None = None, **spec: Any) -> Obj:
    selector = {"matchLabels": {"batch.kubernetes.io/controller-uid": "u"}}
    given = {"selector": selector, "template": template or pods(LABELS)} | spec
    obj: Obj = {"kind": "Job", "metadata": {"name": "j", "namespace": "ns", "uid": "u"}, "spec": given}
    set_defaults("batch", "v1", "Job", obj)
    return obj


def cron_job(name: str = "c", **spec: Any) -> Obj:
    given = {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": pods({})}}} | spec
    obj: Obj = {"kind": "CronJob", "metadata": {"name": name, "namespace": "ns"}, "spec": given}
    set_defaults("batch", "v1", "CronJob", obj)
    return obj


def messages(errors: Any) -> list[str]:
    return [str(error) for error in errors]


INDEXED = {"completionMode": "Indexed", "completions": 3}


@pytest.mark.parametrize(
    ("spec", "wrong"),
    [
        ({}, []),
        ({"parallelism": -1}, ["spec.parallelism: Invalid value: -1: must be greater than or equal to 0"]),
        (
            {"template": pods(LABELS, restartPolicy="Always")},
            ['spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"'],
        ),
        (
            {"completionMode": "Odd"},
            ['spec.completionMode: Unsupported value: "Odd": supported values: "NonIndexed", "Indexed"'],
        ),
        (
            {"completionMode": "Indexed", "completions": None},
            ["spec.completions: Required value: when completion mode is Indexed"],
        ),
        (
            {"backoffLimitPerIndex": 1},
            ["spec.backoffLimitPerIndex: Invalid value: 1: requires indexed completion mode"],
        ),
        ({"selector": None}, ["spec.selector: Required value"]),
        (
            {"template": pods(LABELS | {"job-name": "k"})},
            [
                (
                    'spec.template.metadata.labels[job-name]: Invalid value: {"controller-uid":"u","job-name":"k",'
                    '"batch.kubernetes.io/controller-uid":"u","batch.kubernetes.io/job-name":"j"}: '
                    "must be 'j'"
                )
            ],
        ),
        (
            {"podFailurePolicy": {"rules": [{"action": "FailJob"}]}},
            [
                (
                    "spec.podFailurePolicy.rules[0]: Invalid value: "
                    "specifying one of OnExitCodes and OnPodConditions is required"
                )
            ],
        ),
        (
            INDEXED | {"successPolicy": {"rules": [{"succeededIndexes": "2-1", "succeededCount": 4}]}},
            [
                f"spec.successPolicy.rules[0].{rest}"
                for rest in (
                    (
                        'succeededIndexes: Invalid value: "2-1": error parsing succeededIndexes: '
                        "non-increasing order, previous: 2, current: 1"
                    ),
                    (
                        "succeededCount: Invalid value: 4: "
                        "must be less than or equal to 3 (the number of specified completions)"
                    ),
                    (
                        "succeededCount: Invalid value: 4: must be less than or equal to 0 "
                        "(the number of indexes in the specified succeededIndexes field)"
                    ),
                )
            ],
        ),
        (
            {"managedBy": "me"},
            ['spec.managedBy: Invalid value: "me": must be a domain-prefixed path (such as "acme.io/foo")'],
        ),
    ],
)
def test_a_job_is_refused_for_each_reason(spec: Obj, wrong: list[str]) -> None:
    errors = messages(JOB.create(job(**spec)))
    assert [error for error in errors if "`selector` does not match" not in error] == wrong


@pytest.mark.parametrize(
    ("old", "new", "wrong"),
    [
        ({}, {"completions": 1, "parallelism": 5}, []),
        ({}, {"completions": 5}, ["spec.completions: Invalid value: 5: field is immutable"]),
        (INDEXED, INDEXED | {"completions": 4, "parallelism": 4}, []),
        (
            INDEXED,
            INDEXED | {"completions": 4},
            ["spec.completions: Invalid value: 4: can only be modified in tandem with spec.parallelism"],
        ),
        ({"suspend": True}, {"suspend": True, "template": pods(LABELS, nodeSelector={"a": "b"})}, []),
        ({}, {"template": pods(LABELS, nodeSelector={"a": "b"})}, ["spec.template: Invalid value"]),
    ],
)
def test_a_job_may_change_only_so_far(old: Obj, new: Obj, wrong: list[str]) -> None:
    errors = messages(JOB.update(job(**new), job(**old)))
    assert len(errors) == len(wrong)
    assert all(error.startswith(start) for error, start in zip(errors, wrong, strict=True))


@pytest.mark.parametrize(
    ("spec", "wrong"),
    [
        ({}, []),
        ({"schedule": ""}, ["spec.schedule: Required value"]),
        (
            {"schedule": "* * *"},
            ['spec.schedule: Invalid value: "* * *": expected exactly 5 fields, found 3: [* * *]'],
        ),
        (
            {"schedule": "TZ=UTC * * * * *"},
            [
                ('spec.schedule: Invalid value: "TZ=UTC * * * * *": '
                "cannot use TZ or CRON_TZ in schedule, use timeZone field instead")
            ],
        ),
        ({"timeZone": "Europe/Berlin"}, []),
        ({"timeZone": "A/B"}, ['spec.timeZone: Invalid value: "A/B": unknown time zone A/B']),
        (
            {"timeZone": "Local"},
            [
                ('spec.timeZone: Invalid value: "Local": '
                "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones")
            ],
        ),
        (
            {"concurrencyPolicy": "Maybe"},
            ['spec.concurrencyPolicy: Unsupported value: "Maybe": supported values: "Allow", "Forbid", "Replace"'],
        ),
        (
            {"jobTemplate": {"spec": {"template": pods({}), "manualSelector": True}}},
            ['spec.jobTemplate.spec.manualSelector: Unsupported value: true: supported values: "nil", "false"'],
        ),
    ],
)  # fmt: skip
def test_a_cron_job_is_refused_for_each_reason(spec: Obj, wrong: list[str]) -> None:
    assert messages(CRON_JOB.create(cron_job(**spec))) == wrong


def test_a_cron_jobs_name_leaves_room_for_its_jobs_names_when_it_is_new() -> None:
    long = "c" * 53
    assert messages(CRON_JOB.create(cron_job(long))) == [
        f'metadata.name: Invalid value: "{long}": must be no more than 52 characters'
    ]
    assert messages(CRON_JOB.update(cron_job(long), cron_job(long))) == []


@pytest.mark.parametrize(
    ("schedule", "error"),
    [
        ("*/5 0-23/2 1,15 jan-dec MON-fri", ""),
        ("@hourly", ""),
        ("@every 1h30m", ""),
        ("@sometimes", "unrecognized descriptor: @sometimes"),
        ("60 * * * *", "end of range (60) above maximum (59): 60"),
        ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
        ("5-1 * * * *", "beginning of range (5) beyond end of range (1): 5-1"),
        ("*/0 * * * *", "step of range should be a positive number: */0"),
        ("1-2-3 * * * *", "too many hyphens: 1-2-3"),
        ("1/2/3 * * * *", "too many slashes: 1/2/3"),
        ("x * * * *", 'failed to parse int from x: strconv.Atoi: parsing "x": invalid syntax'),
        ("TZ=Mars * * * * *", "provided bad location Mars: unknown time zone Mars"),
    ],
)
def test_a_schedule_is_told_what_it_lacks(schedule: str, error: str) -> None:
    assert schedule_error(schedule) == error


def test_a_schedule_that_has_a_time_zone_may_keep_one_but_not_two() -> None:
    old = cron_job(schedule="TZ=UTC 1 * * * *")
    assert messages(CRON_JOB.update(cron_job(schedule="TZ=UTC 2 * * * *"), old)) == []
    assert messages(CRON_JOB.update(cron_job(schedule="TZ=UTC 2 * * * *", timeZone="UTC"), old)) == [
        'spec.schedule: Invalid value: "TZ=UTC 2 * * * *": cannot use both timeZone field and TZ or CRON_TZ in schedule'
    ]


def conditions(*true: str) -> list[Obj]:
    return [{"type": name, "status": "True"} for name in true]


DONE = {
    "startTime": "2024-01-01T00:00:00Z",
    "completionTime": "2024-01-01T00:01:00Z",
    "conditions": conditions("SuccessCriteriaMet", "Complete"),
    "succeeded": 1,
}


@pytest.mark.parametrize(
    ("old", "new", "wrong"),
    [
        ({}, {"active": 1, "ready": 1}, []),
        ({}, {"ready": 1}, ["status.ready: Invalid value: 1: cannot set more ready pods than active"]),
        ({}, DONE, []),
        (
            {},
            {"conditions": conditions("Complete")},
            [
                "status.completionTime: Required value: completionTime is required for Complete jobs",
                (
                    "status.conditions: Invalid value: "
                    "cannot set Complete=True condition without the SuccessCriteriaMet=true condition"
                ),
                "status.startTime: Required value: startTime is required for finished job",
            ],
        ),
        (
            DONE,
            DONE | {"conditions": conditions("SuccessCriteriaMet")},
            [
                (
                    'status.completionTime: Invalid value: "2024-01-01T00:01:00Z": '
                    "cannot set completionTime when there is no Complete=True condition"
                ),
                "status.conditions: Invalid value: cannot disable the terminal Complete=True condition",
            ],
        ),
        ({"failed": 2}, {"failed": 1}, ["status.failed: Invalid value: 1: cannot decrease the failed counter"]),
        (DONE, DONE, []),
    ],
)
def test_the_status_of_a_job_goes_forward_only(old: Obj, new: Obj, wrong: list[str]) -> None:
    assert messages(JOB.status_update(job() | {"status": new}, job() | {"status": old})) == wrong


def test_a_duration_of_very_many_digits_is_refused_in_no_time() -> None:
    duration = f"{'1' * 500_000}x"
    assert schedule_error(f"@every {duration}").endswith(f'time: invalid duration "{duration}"')
