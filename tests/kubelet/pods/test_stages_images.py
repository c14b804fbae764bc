"""Pods whose images cannot be pulled."""

MISSING = "docker.io/library/nginx:1.161"
PULL_ERROR = (
    f'rpc error: code = NotFound desc = failed to pull and unpack image "{MISSING}": '
    f'failed to resolve reference "{MISSING}": {MISSING}: not found'
)


def test_a_pull_that_fails_is_tried_again_and_again(live):
    life = live("nginx:1.161").until(75)
    assert life.event_times("Pulling") == [0, 10, 30, 70]
    assert life.event_times("BackOff") == [2, 12, 32, 72]
    assert (life.phase, life.container()["restartCount"]) == ("Pending", 0)
    assert life.event_texts[:5] == [
        'Pulling: Pulling image "nginx:1.161"',
        f'Failed: Failed to pull image "nginx:1.161": {PULL_ERROR}',
        "Failed: Error: ErrImagePull",
        'BackOff: Back-off pulling image "nginx:1.161"',
        "Failed: Error: ImagePullBackOff",
    ]


def test_a_pull_that_fails_shows_why(live):
    life = live("nginx:1.161")
    life.look()
    assert life.container()["state"]["waiting"] == {"reason": "ErrImagePull", "message": PULL_ERROR}
    life.until(3)
    why = f'Back-off pulling image "nginx:1.161": ErrImagePull: {PULL_ERROR}'
    assert life.container()["state"]["waiting"] == {"reason": "ImagePullBackOff", "message": why}


def test_a_pull_that_failed_may_succeed_later(live):
    life = live(annotations={"mockube.io/pull-failures": "2"}).until(31)
    assert life.event_times("Started") == [30]
    assert life.is_ready()


def test_an_image_that_is_put_right_is_taken_at_once(live):
    life = live("nginx:1.161").until(5)
    life.pod["spec"]["containers"][0]["image"] = "nginx:1.16.1"
    life.look(6)
    assert (life.is_ready(), life.container()["restartCount"]) == (True, 0)


def test_an_image_that_breaks_under_a_running_container_keeps_its_last_end(live):
    life = live()
    life.look()
    life.pod["spec"]["containers"][0]["image"] = "nginx:1.161"
    life.look(100)
    assert life.shown() == "ErrImagePull"
    assert life.container()["lastState"]["terminated"]["exitCode"] == 143
    life.pod["spec"]["containers"][0]["image"] = "nginx:1.27"
    life.look(104)
    assert (life.is_ready(), life.container()["restartCount"]) == (True, 1)


def test_an_image_that_breaks_during_a_back_off_is_noticed_at_the_next_start(live):
    life = live("crash.mockube.io/app").until(5)
    life.pod["spec"]["containers"][0]["image"] = "nginx:1.161"
    life.until(20)
    assert (life.shown(), life.container()["lastState"]["terminated"]["exitCode"]) == ("ImagePullBackOff", 1)
    assert life.phase == "Running"
    life.pod["spec"]["containers"][0]["image"] = "Nginx"
    assert life.until(32).shown() == "InvalidImageName"


def test_a_name_that_is_no_image_waits_for_another(live):
    life = live("Nginx")
    life.until(60)
    message = (
        'Failed to apply default image tag "Nginx": couldn\'t parse image name "Nginx": '
        "invalid reference format: repository name (library/Nginx) must be lowercase"
    )
    assert life.container()["state"]["waiting"] == {"reason": "InvalidImageName", "message": message}
    assert life.event_texts == [f"InspectFailed: {message}", "Failed: Error: InvalidImageName"]
    life.pod["spec"]["containers"][0]["image"] = "nginx"
    life.look(61)
    assert life.is_ready()
