import pytest

COUNT = {"command": ["sh", "-c", "i=0; while :; do echo line $i; i=$((i+1)); sleep 1; done"]}
PATH = "/containerLogs/shop/web/web"


async def log(kubelet, query="", code=200, path=PATH):
    async with kubelet.get(f"{path}?{query}") as answer:
        text = await answer.text()
        assert answer.status == code, text
        return text


PARTS = [
    ("", "line 0\nline 1\nline 2\nline 3\n"),
    ("tailLines=2", "line 2\nline 3\n"),
    ("tailLines=0", ""),
    ("sinceSeconds=1", "line 2\nline 3\n"),
    ("sinceTime=2027-01-15T08:00:03Z", "line 3\n"),
    ("sinceTime=2027-01-15T09:00:03%2B01:00", "line 3\n"),
    ("tailLines=3&sinceSeconds=1", "line 2\nline 3\n"),
    ("limitBytes=9", "line 0\nli"),
    ("tailLines=1&timestamps=true", "2027-01-15T08:00:03.000000000Z line 3\n"),
    ("stream=Stdout&tailLines=1", "line 3\n"),
    ("stream=Stderr", ""),
    ("stream=All&tailLines=1", "line 3\n"),
]


@pytest.mark.parametrize(("query", "expected"), PARTS)
async def test_a_log_is_as_long_as_one_wants(stage, kubelet, query, expected):
    stage.pod(container=COUNT)
    stage.clock.advance(3)
    assert await log(kubelet, query) == expected


REFUSED = [
    ("/containerLogs/shop/none/web", "", 404, 'pod "none" does not exist'),
    ("/containerLogs/other/web/web", "", 404, 'pod "web" does not exist'),
    ("/containerLogs/shop/web/none", "", 404, 'container "none" not found in pod "web"'),
    (PATH, "previous=true", 400, 'previous terminated container "web" in pod "web" not found'),
    (PATH, "tailLines=many", 400, "invalid literal for int() with base 10: 'many'"),
    ("/containerLogs/shop/web", "", 404, "404 page not found"),
    ("/nothing", "", 404, "404 page not found"),
]


@pytest.mark.parametrize(("path", "query", "code", "text"), REFUSED)
async def test_a_log_that_is_not_there_says_why(stage, kubelet, path, query, code, text):
    stage.pod()
    assert await log(kubelet, query, code, path) == text


async def test_a_container_that_waits_has_no_log(stage, kubelet):
    waiting = [{"name": "web", "state": {"waiting": {"reason": "ContainerCreating"}}}]
    stage.pod(status={"containerStatuses": waiting})
    assert (
        await log(kubelet, "follow=true", 400) == 'container "web" in pod "web" is waiting to start: ContainerCreating'
    )


async def test_the_log_of_a_run_ends_where_the_run_did(stage, kubelet):
    stage.ended(stage.pod(container=COUNT))
    stage.clock.advance(60)
    assert (await log(kubelet, "tailLines=1"), await log(kubelet, "tailLines=1&follow=true")) == ("line 10\n",) * 2


async def test_the_run_before_has_a_log_of_its_own(stage, kubelet):
    last = {
        "terminated": {
            "containerID": "c://0",
            "startedAt": "2027-01-15T07:00:00Z",
            "finishedAt": "2027-01-15T07:00:02Z",
        }
    }
    running = {"running": {"startedAt": "2027-01-15T08:00:00Z"}}
    statuses = [{"name": "web", "containerID": "c://1", "state": running, "lastState": last}]
    stage.pod(container=COUNT, status={"containerStatuses": statuses})
    assert await log(kubelet, "previous=true") == "line 0\nline 1\nline 2\n"
    assert await log(kubelet) == "line 0\n"


async def test_a_followed_log_goes_on_until_the_container_ends(stage, kubelet):
    pod = stage.pod(container=COUNT)
    async with kubelet.get(f"{PATH}?follow=true&tailLines=1") as answer:
        assert await answer.content.readline() == b"line 0\n"
        for number in (1, 2):
            await stage.clock.until_sleeping()
            stage.clock.advance(1)
            assert await answer.content.readline() == f"line {number}\n".encode()
        stage.ended(pod)
        assert await answer.content.read() == b""


async def test_a_followed_log_ends_with_its_pod(stage, kubelet):
    pod = stage.pod()
    async with kubelet.get(f"{PATH}?follow=true") as answer:
        assert (await answer.content.readline()).startswith(b"mockube: container web (nginx)")
        stage.gone(pod)
        assert await answer.content.read() == b""


async def test_who_stops_following_leaves_nothing_behind(stage, kubelet):
    stage.pod(container=COUNT)
    async with kubelet.get(f"{PATH}?follow=true") as answer:
        assert await answer.content.readline() == b"line 0\n"
        await stage.clock.until_sleeping()
    await stage.clock.until_sleeping(0)


async def test_reading_a_log_leaves_nothing_in_the_volumes_of_the_pod(stage, kubelet):
    writes = {
        "command": ["sh", "-c", "echo line >> /e/f; cat /e/f"],
        "volumeMounts": [{"name": "e", "mountPath": "/e"}],
    }
    stage.pod(container=writes, spec={"volumes": [{"name": "e", "emptyDir": {}}]})
    assert [await log(kubelet) for _ in range(3)] == ["line\n"] * 3
