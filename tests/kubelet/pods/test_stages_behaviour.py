"""The life of a container by its annotations, image and command."""

from math import inf

import pytest

from controller_manager.kubelet.pods.behaviour import (
    DEFAULT_BEHAVIOUR,
    Behaviour,
    behaviour_of,
    evicted_after,
    invalid_override_messages,
    overrides_of,
)

JOB = {"ownerReferences": [{"kind": "Job", "name": "j", "uid": "u"}]}


@pytest.fixture
def behaviour(make_pod):
    def find(*args, is_init=False, **more):
        pod = make_pod(*args, **more)
        return behaviour_of(pod["spec"]["containers"][0], pod=pod, overrides=overrides_of(pod), is_init=is_init)

    return find


def test_a_container_without_annotations_runs_on(behaviour):
    assert behaviour("nginx:1.27") is DEFAULT_BEHAVIOUR


@pytest.mark.parametrize(
    ("annotations", "fields"),
    [
        ({"ready-after": "10s"}, {"ready_after": 10}),
        ({"ready-after": "never"}, {"ready_after": inf}),
        ({"start-after": "3"}, {"start_after": 3}),
        ({"exit-after": "1m"}, {"exit_after": 60}),
        ({"exit-code": "3"}, {"exit_after": 0, "exit_code": 3}),
        ({"exit-code": "3", "exit-after": "5", "exit-times": "2"}, {"exit_after": 5, "exit_code": 3, "exit_times": 2}),
        ({"oom-after": "5"}, {"exit_after": 5, "exit_code": 137, "exit_reason": "OOMKilled"}),
        ({"unhealthy-after": "30s"}, {"unhealthy_after": 30}),
        ({"stop-after": "forever"}, {"stop_after": inf}),
        ({"pull-error": "no access"}, {"pull_error": "no access"}),
        ({"other": "5"}, {}),
        ({"exit-after": "soon"}, {}),
        ({"exit-code": "256"}, {}),
    ],
)
def test_annotations_say_what_a_container_does(behaviour, annotations, fields):
    given = {f"mockube.io/{name}": value for name, value in annotations.items()}
    assert behaviour(annotations=given) == Behaviour(**fields)


def test_the_usual_pull_error_need_not_be_written_down(behaviour):
    error = behaviour(annotations={"mockube.io/pull-error": "true"}).pull_error
    assert error.endswith("docker.io/library/nginx:1.27: not found")
    assert behaviour(annotations={"mockube.io/pull-failures": "2"}) == Behaviour(pull_error=error, pull_failures=2)
    assert behaviour("nginx:1.161", annotations={"mockube.io/pull-error": "false"}) == DEFAULT_BEHAVIOUR


@pytest.mark.parametrize(
    ("annotations", "code"),
    [
        ({"web.mockube.io/exit-code": "1"}, 1),
        ({"db.mockube.io/exit-code": "1"}, 0),
        ({"web.mockube.io/exit-code": "2", "mockube.io/exit-code": "1"}, 2),
        ({"mockube.io/exit-code": "1", "web.mockube.io/exit-code": "2"}, 2),
        ({"webmockube.io/exit-code": "1"}, 0),
        ({"mockube.io.example/exit-code": "1"}, 0),
    ],
)
def test_an_annotation_may_name_one_container(behaviour, annotations, code):
    assert behaviour(annotations=annotations).exit_code == code


def test_an_init_container_heeds_only_what_names_it(behaviour):
    assert behaviour(annotations={"mockube.io/exit-code": "1"}, is_init=True).exit_code == 0
    assert behaviour(annotations={"web.mockube.io/exit-code": "1"}, is_init=True).exit_code == 1


@pytest.mark.parametrize(
    ("image", "fields"),
    [
        ("crash.mockube.io/app", {"exit_after": 0, "exit_code": 1}),
        ("complete.mockube.io/app:1", {"exit_after": 0}),
        ("oom.mockube.io/app", {"exit_after": 0, "exit_code": 137, "exit_reason": "OOMKilled"}),
        ("slow.mockube.io/app", {"ready_after": 10}),
        ("unready.mockube.io/app", {"ready_after": inf}),
        ("stubborn.mockube.io/app", {"stop_after": inf}),
        ("other.mockube.io/app", {}),
        ("crash.example.com/app", {}),
    ],
)
def test_an_image_may_say_what_it_does(behaviour, image, fields):
    assert behaviour(image) == Behaviour(**fields)


def test_an_image_that_fails_cannot_be_pulled(behaviour):
    assert behaviour("fail.mockube.io/app").pull_error.endswith("fail.mockube.io/app:latest: not found")


def test_commands_say_when_a_container_ends(behaviour):
    assert behaviour("busybox", command=["sh", "-c", "sleep 5; exit 3"]) == Behaviour(exit_after=5, exit_code=3)


def test_an_image_and_a_command_go_together(behaviour):
    assert behaviour("slow.mockube.io/app", command=["sleep", "60"]) == Behaviour(ready_after=10, exit_after=60)
    assert behaviour("crash.mockube.io/app", command=["sleep", "60"]) == Behaviour(exit_after=0, exit_code=1)


def test_what_is_there_to_end_ends_although_its_command_is_not_understood(behaviour):
    command = ["perl", "-wle", "print bpi(2000)"]
    assert behaviour("perl", command=command) == DEFAULT_BEHAVIOUR
    assert behaviour("perl", command=command, meta=JOB) == Behaviour(exit_after=0)
    assert behaviour("perl", command=command, is_init=True) == Behaviour(exit_after=0)


def test_what_runs_on_for_certain_runs_on_in_a_job_too(behaviour):
    assert behaviour("busybox", command=["sleep", "infinity"], meta=JOB) == DEFAULT_BEHAVIOUR


def test_values_that_mean_nothing_are_told(make_pod):
    pod = make_pod(
        annotations={"mockube.io/exit-code": "many", "web.mockube.io/evict-after": "x", "other/exit-code": "y"}
    )
    assert list(invalid_override_messages(overrides_of(pod))) == [
        'Annotation mockube.io/exit-code is ignored: "many" is no number',
        'Annotation web.mockube.io/evict-after is ignored: "x" is no duration: write "90", "1m30s" or "never"',
    ]
    assert evicted_after(overrides_of(pod)) == inf
