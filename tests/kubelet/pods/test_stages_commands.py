"""Commands, images and times as the kubelet reads them."""

from math import inf

import pytest

from controller_manager.kubelet.pods.commands import CommandEnding, ending_of
from controller_manager.kubelet.pods.durations import duration
from controller_manager.kubelet.pods.restarts import pull_attempt, pull_due, restart_delay, should_restart
from controller_manager.reconcile.images import image_of

RUNS_ON, UNKNOWN = CommandEnding(inf), None


@pytest.mark.parametrize(
    ("command", "ending"),
    [
        (["sleep", "5"], CommandEnding(5)),
        (["/bin/sleep", "1m"], CommandEnding(60)),
        (["sleep", "infinity"], RUNS_ON),
        (["sleep", "soon"], UNKNOWN),
        (["sleep"], UNKNOWN),
        (["true"], CommandEnding()),
        (["false"], CommandEnding(code=1)),
        (["echo", "hello"], CommandEnding()),
        (["tail", "-f", "/dev/null"], RUNS_ON),
        (["nginx", "-g", "daemon off;"], UNKNOWN),
        (["sh"], RUNS_ON),
        (["sh", "-c"], UNKNOWN),
        (["sh", "script.sh"], UNKNOWN),
        (["sh", "-c", "exit 3"], CommandEnding(code=3)),
        (["sh", "-c", "exit 300"], CommandEnding(code=44)),
        (["sh", "-c", "exit $CODE"], UNKNOWN),
        (["bash", "-ec", "sleep 2; false; sleep 5"], CommandEnding(2, 1)),
        (["/bin/sh", "-c", "echo hello && sleep 3600"], CommandEnding(3600)),
        (["sh", "-c", "sleep 2; sleep 3; exit 7"], CommandEnding(5, 7)),
        (["sh", "-c", "false && sleep 9"], CommandEnding(0, 1)),
        (["sh", "-c", "false || sleep 9"], CommandEnding(9)),
        (["sh", "-c", "false; exit"], CommandEnding(0, 1)),
        (["sh", "-c", "set -e; false; sleep 9"], CommandEnding(0, 1)),
        (["sh", "-c", "set -e\n# a comment\nfalse || true\nsleep 9"], CommandEnding(9)),
        (["sh", "-c", "sleep 1; exec sleep 2"], CommandEnding(3)),
        (["sh", "-c", "while true; do date; sleep 5; done"], RUNS_ON),
        (["sh", "-c", "sleep 3; while :; do :; done"], RUNS_ON),
        (["sh", "-c", "for i in 1 2 3; do sleep $i; done"], UNKNOWN),
        (["sh", "-c", "sleep 5 & wait"], UNKNOWN),
        (["sh", "-c", "sleep 2; serve --port 80"], UNKNOWN),
        (["sh", "-c", "exit 1; serve"], CommandEnding(0, 1)),
        (["sh", "-c", "echo 'unbalanced"], UNKNOWN),
        (["sh", "-c", ""], CommandEnding()),
        (["sh", "-c", "echo done > /tmp/x; test -f /tmp/x"], CommandEnding()),
    ],
)
def test_a_command_is_understood_or_not(command, ending):
    assert ending_of({"command": command}, image_of("web:1")) == ending


@pytest.mark.parametrize(
    ("image", "container", "ending"),
    [
        ("busybox", {"args": ["sleep", "5"]}, CommandEnding(5)),
        ("docker.io/library/alpine:3", {"args": ["false"]}, CommandEnding(code=1)),
        ("nginx", {"args": ["false"]}, UNKNOWN),
        ("nginx", {}, UNKNOWN),
        ("busybox", {}, CommandEnding()),
        ("busybox", {"stdin": True}, RUNS_ON),
        ("hello-world", {}, CommandEnding()),
        ("web:1", {"command": ["sh", "-c"], "args": ["exit 4"]}, CommandEnding(code=4)),
    ],
)
def test_what_an_image_runs_by_itself_is_known_of_shells(image, container, ending):
    assert ending_of(container, image_of(image)) == ending


@pytest.mark.parametrize(
    ("written", "reference"),
    [
        ("nginx", "docker.io/library/nginx:latest"),
        ("nginx:1.27", "docker.io/library/nginx:1.27"),
        ("me/app", "docker.io/me/app:latest"),
        ("localhost/app:2", "localhost/app:2"),
        ("registry.k8s.io/pause:3.9", "registry.k8s.io/pause:3.9"),
        ("host:5000/app", "host:5000/app:latest"),
        (f"nginx@sha256:{'a' * 64}", f"docker.io/library/nginx@sha256:{'a' * 64}"),
        (f"nginx:1@sha256:{'a' * 64}", f"docker.io/library/nginx:1@sha256:{'a' * 64}"),
    ],
)
def test_an_image_has_a_full_name(written, reference):
    image = image_of(written)
    assert (image.reference, image.invalid) == (reference, "")
    assert (
        image.id.partition("@")[0] == reference.partition("@")[0].removesuffix(":1").rpartition(":")[0]
        or "@" in image.id
    )


@pytest.mark.parametrize(
    ("written", "why"),
    [
        ("Nginx", "invalid reference format: repository name (library/Nginx) must be lowercase"),
        ("nginx:", "invalid reference format"),
        ("web app", "invalid reference format"),
        ("nginx:a:b", "invalid reference format"),
        ("-", "invalid reference format"),
    ],
)
def test_a_name_that_is_no_image_is_told_as_the_kubelet_does(written, why):
    message = f'Failed to apply default image tag "{written}": couldn\'t parse image name "{written}": {why}'
    assert image_of(written).invalid == message


@pytest.mark.parametrize(
    ("written", "missing"),
    [
        ("nginx:1.161", True),
        ("nosuchimage", True),
        ("no-such/image:1", True),
        ("nginx:does-not-exist", True),
        ("nginx:doesnotexist", True),
        ("app:nonexistent", True),
        ("app:not-found", True),
        ("nginx:1.16", False),
        ("cache-invalidator", False),
    ],
)
def test_names_that_say_so_are_missing(written, missing):
    assert image_of(written).missing is missing


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("5", 5), ("1.5", 1.5), ("90s", 90), ("1m30s", 90), ("2h", 7200), ("500ms", 0.5), ("never", inf)],
)
def test_durations_are_read(text, seconds):
    assert duration(text) == seconds


@pytest.mark.parametrize("text", ["", "soon", "-1", "1m 30s", "5 apples", "1e3"])
def test_what_is_no_duration_is_refused(text):
    with pytest.raises(ValueError, match="is no duration"):
        duration(text)


def test_restarts_wait_twice_as_long_each_time_up_to_five_minutes():
    assert [restart_delay(restarts, 1) for restarts in range(9)] == [0, 10, 20, 40, 80, 160, 300, 300, 300]


def test_a_run_of_ten_minutes_is_forgiven():
    assert (restart_delay(5, 599), restart_delay(5, 600)) == (160, 0)


def test_pulls_wait_twice_as_long_each_time_up_to_five_minutes():
    assert [pull_due(number) for number in range(9)] == [0, 10, 30, 70, 150, 310, 610, 910, 1210]


@pytest.mark.parametrize("elapsed", [0, 9.9, 10, 29, 30, 69.5, 150, 309, 310, 611, 5000, 1e6])
def test_the_last_pull_that_is_due_is_found(elapsed):
    number = pull_attempt(elapsed)
    assert pull_due(number) <= elapsed < pull_due(number + 1)


@pytest.mark.parametrize(
    ("container", "policy", "code", "restarts"),
    [
        ({}, "Always", 0, True),
        ({}, "OnFailure", 0, False),
        ({}, "OnFailure", 1, True),
        ({}, "Never", 1, False),
        ({"restartPolicy": "Always"}, "Never", 0, True),
        ({"restartPolicy": "Never"}, "Always", 1, False),
        ({"restartPolicy": "Never"}, "Always", 42, False),
        (
            {
                "restartPolicy": "Never",
                "restartPolicyRules": [{"action": "Restart", "exitCodes": {"operator": "In", "values": [42]}}],
            },
            "Never",
            42,
            True,
        ),
        (
            {
                "restartPolicy": "Never",
                "restartPolicyRules": [{"action": "Restart", "exitCodes": {"operator": "NotIn", "values": [42]}}],
            },
            "Never",
            42,
            False,
        ),
    ],
)
def test_who_is_started_again_follows_from_policies_and_rules(container, policy, code, restarts):
    assert should_restart(container, policy, code) is restarts
