import asyncio
import json
from base64 import b64decode, b64encode
from urllib.parse import urlencode

import aiohttp
import pytest
from aiohttp import WSMsgType

from controller_manager.reconcile.kinds import POD

EXEC = "/exec/shop/web/web"
SUCCESS = {"metadata": {}, "status": "Success"}


def url(*command, path=EXEC, streams="output error"):
    return f"{path}?{urlencode([(name, '1') for name in streams.split()] + [('command', word) for word in command])}"


def failure(code):
    return {
        "metadata": {},
        "status": "Failure",
        "message": f"command terminated with non-zero exit code: exit status {code}",
        "reason": "NonZeroExitCode",
        "details": {"causes": [{"reason": "ExitCode", "message": str(code)}]},
    }


async def received(socket):
    """Return what came on each channel until the server closed, and the code that it closed with."""
    channels: dict[int, bytes] = {}
    async for message in socket:
        assert message.type in (WSMsgType.BINARY, WSMsgType.TEXT)
        if message.type is WSMsgType.TEXT:
            number, data = int(message.data[0]), b64decode(message.data[1:])
        else:
            number, data = message.data[0], message.data[1:]
        channels[number] = channels.get(number, b"") + data
    return channels


@pytest.mark.parametrize("protocol", ["v5.channel.k8s.io", "v4.channel.k8s.io", "v4.base64.channel.k8s.io"])
async def test_output_errors_and_the_exit_code_have_a_channel_each(stage, kubelet, protocol):
    stage.pod()
    async with kubelet.ws_connect(url("sh", "-c", "echo out; echo err >&2; exit 3"), protocols=[protocol]) as socket:
        assert socket.protocol == protocol
        channels = await received(socket)
        assert socket.close_code == 1000
    assert (channels[1], channels[2], json.loads(channels[3])) == (b"out\n", b"err\n", failure(3))


@pytest.mark.parametrize(("protocol", "status"), [("v4.channel.k8s.io", True), ("channel.k8s.io", False)])
async def test_success_is_told_by_newer_protocols_alone(stage, kubelet, protocol, status):
    stage.pod()
    async with kubelet.ws_connect(url("true"), protocols=[protocol]) as socket:
        channels = await received(socket)
    assert (json.loads(channels[3]) == SUCCESS) if status else (3 not in channels)


async def test_the_first_message_is_empty_and_says_that_the_connection_stands(stage, kubelet):
    stage.pod()
    async with kubelet.ws_connect(url("sleep", "100"), protocols=["v4.channel.k8s.io"]) as socket:
        assert await socket.receive_bytes() == b"\x01"


async def test_the_newest_protocol_ends_the_input(stage, kubelet):
    stage.pod()
    streams = "input output"
    async with kubelet.ws_connect(url("cat", streams=streams), protocols=["v5.channel.k8s.io"]) as socket:
        await socket.send_bytes(b"\0hello ")
        await socket.send_bytes(b"\0world")
        await socket.send_bytes(b"\xff\0")
        channels = await received(socket)
    assert (channels[1], json.loads(channels[3])) == (b"hello world", SUCCESS)


async def test_input_may_come_in_letters(stage, kubelet):
    stage.pod()
    request = url("head", "-n", "1", streams="input output")
    async with kubelet.ws_connect(request, protocols=["v4.base64.channel.k8s.io"]) as socket:
        await socket.send_str("0" + b64encode(b"line\nmore").decode())
        assert (await received(socket))[1] == b"line\n"


async def test_what_is_large_passes_in_both_directions(stage, kubelet):
    stage.pod()
    data = bytes(range(256)) * 8192
    streams = "input output"
    async with kubelet.ws_connect(
        url("cat", streams=streams), protocols=["v5.channel.k8s.io"], max_msg_size=0
    ) as socket:

        async def send() -> None:
            for start in range(0, len(data), 30_000):
                await socket.send_bytes(b"\0" + data[start : start + 30_000])
            await socket.send_bytes(b"\xff\0")

        async with asyncio.TaskGroup() as group:
            group.create_task(send())
            channels = await received(socket)
    assert channels[1] == data


async def test_a_terminal_shows_what_is_typed_and_has_one_output(stage, kubelet):
    stage.pod()
    request = url("sh", streams="input output error tty")
    async with kubelet.ws_connect(request, protocols=["v5.channel.k8s.io"]) as socket:
        await socket.send_bytes(b'\4{"Width":80,"Height":24}')
        for keys in (b"ech\x7fho a\r", b"nosuch\r", b"\x04"):
            await socket.send_bytes(b"\0" + keys)
        channels = await received(socket)
    assert channels[1].startswith(b"/ # ")
    assert b"\r\na\r\n" in channels[1]
    assert b"sh: nosuch: not found\r\n" in channels[1]
    assert 2 not in channels
    assert json.loads(channels[3]) == failure(127)


async def test_ctrl_c_ends_what_runs_and_not_the_shell(stage, kubelet):
    stage.pod()
    request = url("sh", streams="input output tty")
    async with kubelet.ws_connect(request, protocols=["v5.channel.k8s.io"]) as socket:
        await socket.send_bytes(b"\0sleep 1000\r")
        await stage.clock.until_sleeping()
        await socket.send_bytes(b"\0\x03")
        await socket.send_bytes(b"\0echo $?; exit 5\r")
        channels = await received(socket)
    assert b"130\r\n" in channels[1]
    assert json.loads(channels[3]) == failure(5)


async def test_files_stay_until_the_container_ends(stage, kubelet):
    pod = stage.pod()

    async def run(script: str) -> bytes:
        async with kubelet.ws_connect(url("sh", "-c", script), protocols=["v5.channel.k8s.io"]) as socket:
            return bytes((await received(socket)).get(1, b""))

    assert await run("echo kept > /tmp/f") == b""
    assert await run("cat /tmp/f") == b"kept\n"
    again = [{"name": "web", "containerID": "c://web-2", "state": pod["status"]["containerStatuses"][0]["state"]}]
    stage.pod(status={"containerStatuses": again})
    assert await run("ls /tmp") == b""


async def test_what_runs_is_killed_when_its_container_ends(stage, kubelet):
    pod = stage.pod()
    async with kubelet.ws_connect(url("sleep", "1000"), protocols=["v5.channel.k8s.io"]) as socket:
        await stage.clock.until_sleeping()
        stage.ended(pod)
        assert json.loads((await received(socket))[3]) == failure(137)


async def test_a_pod_that_changes_otherwise_disturbs_nobody(stage, kubelet):
    stage.pod()
    request = url("sh", "-c", "sleep 5; echo done")
    async with kubelet.ws_connect(request, protocols=["v5.channel.k8s.io"]) as socket:
        await stage.clock.until_sleeping()
        stage.pod(labels={"new": "label"})
        stage.clock.advance(5)
        assert (await received(socket))[1] == b"done\n"


async def test_what_runs_ends_when_its_client_goes(stage, kubelet):
    stage.pod()
    async with kubelet.ws_connect(url("sleep", "1000"), protocols=["v5.channel.k8s.io"]) as socket:
        await stage.clock.until_sleeping()
        await socket.close()
    await stage.clock.until_sleeping(0)


REFUSED = [
    (url("ls", path="/exec/shop/none/web"), 404, "pod does not exist"),
    (url("ls", path="/exec/shop/web/other"), 500, 'container not found ("other")'),
    (url("ls", streams=""), 400, "you must specify at least 1 of stdin, stdout, stderr"),
    (url("ls", streams="error tty"), 400, "you must specify at least 1 of stdin, stdout, stderr"),
]


@pytest.mark.parametrize(("request_", "code", "text"), REFUSED)
async def test_a_command_that_cannot_run_is_refused_before_the_handshake(stage, kubelet, request_, code, text):
    stage.pod()
    with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
        await kubelet.ws_connect(request_, protocols=["v5.channel.k8s.io"])
    assert refused.value.status == code
    async with kubelet.get(request_) as answer:
        assert (answer.status, await answer.text()) == (code, text)


@pytest.mark.parametrize(
    ("headers", "code", "text"),
    [
        ({}, 400, "Upgrade request required"),
        (
            {"Connection": "Upgrade", "Upgrade": "SPDY/3.1"},
            400,
            "unable to upgrade: header X-Stream-Protocol-Version does not exist in request with",
        ),
        (
            {"Connection": "Upgrade", "Upgrade": "SPDY/3.1", "X-Stream-Protocol-Version": "v9.channel.k8s.io"},
            403,
            "unable to upgrade: unable to negotiate protocol: client supports [v9.channel.k8s.io], server accepts [v4.",
        ),
        (
            {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Protocol": "v9.channel.k8s.io"},
            400,
            "unable to upgrade: none of the protocols [v9.channel.k8s.io] is known",
        ),
    ],
)
async def test_a_client_that_speaks_nothing_known_is_told(stage, kubelet, headers, code, text):
    stage.pod()
    async with kubelet.post(url("ls"), headers=headers) as answer:
        assert answer.status == code
        assert (await answer.text()).startswith(text)


ODD = [
    [b""],
    [b"\x09what"],
    [b"\xff"],
    [b"\xff\x07"],
    ["text"],
    ["9text"],
    [""],
    [b"\x04no json"],
    [b"\0" + bytes(1_000_000)] * 3,
    [b"\0\x1b[[[[[[[[", b"\0\x1b", b"\0\xff\xfe\x7f\x7f\x7f\x17\x15"],
]


@pytest.mark.parametrize("tty", ["", " tty"])
@pytest.mark.parametrize("messages", ODD, ids=range(len(ODD)))
async def test_odd_messages_do_no_harm(stage, kubelet, caplog, messages, tty):
    stage.pod()
    request = url("sh", streams=f"input output{tty}")
    async with kubelet.ws_connect(request, protocols=["v5.channel.k8s.io"]) as socket:
        for message in messages:
            await (socket.send_bytes(message) if isinstance(message, bytes) else socket.send_str(message))
        await socket.close()
    async with kubelet.ws_connect(url("true"), protocols=["v5.channel.k8s.io"]) as socket:
        assert json.loads((await received(socket))[3]) == SUCCESS
    assert not [record for record in caplog.records if record.exc_info]


# -- attach


async def test_attach_shows_what_a_container_prints_from_now_on(stage, kubelet):
    pod = stage.pod(container={"command": ["sh", "-c", "i=0; while :; do echo $i; i=$((i+1)); sleep 1; done"]})
    stage.clock.advance(5)
    async with kubelet.ws_connect(url(path="/attach/shop/web/web"), protocols=["v5.channel.k8s.io"]) as socket:
        assert await socket.receive_bytes() == b"\x01"
        assert await socket.receive_bytes() == b"\x015\n"
        await stage.clock.until_sleeping()
        stage.clock.advance(1)
        assert await socket.receive_bytes() == b"\x016\n"
        stage.ended(pod)
        assert json.loads((await received(socket))[3]) == SUCCESS


async def test_attach_to_a_shell_that_reads_is_the_shell(stage, kubelet):
    stage.pod(container={"image": "busybox", "command": ["sh"], "stdin": True, "tty": True})
    request = url(path="/attach/shop/web/web", streams="input output tty")
    async with kubelet.ws_connect(request, protocols=["v5.channel.k8s.io"]) as socket:
        await socket.send_bytes(b"\0hostname\r")
        await socket.send_bytes(b"\0exit 3\r")
        assert b"\r\nweb\r\n" in (await received(socket))[1]


async def test_a_shell_that_is_left_ends_its_container(stage, kubelet):
    stage.pod(container={"image": "busybox", "command": ["sh"], "stdin": True})
    stage.clock.advance(2.5)
    request = url(path="/attach/shop/web/web", streams="input output")
    async with kubelet.ws_connect(request, protocols=["v5.channel.k8s.io"]) as socket:
        await socket.send_bytes(b"\0exit 3\n")
        assert json.loads((await received(socket))[3]) == SUCCESS
    (patch,) = stage.asked
    assert (patch.kind, patch.key, patch.body["metadata"]["uid"]) == (POD, "shop/web", "uid-web")
    assert patch.body["metadata"]["annotations"] == {
        "web.mockube.io/exit-after": "2.500s",
        "web.mockube.io/exit-code": "3",
        "web.mockube.io/exit-times": "1",
    }


async def test_a_shell_whose_client_goes_runs_on(stage, kubelet):
    stage.pod(container={"image": "busybox", "command": ["sh"], "stdin": True})
    request = url(path="/attach/shop/web/web", streams="input output")
    async with kubelet.ws_connect(request, protocols=["v5.channel.k8s.io"]) as socket:
        await socket.send_bytes(b"\0sleep 100\n")
        await stage.clock.until_sleeping()
    await stage.clock.until_sleeping(0)
    assert stage.asked == []
