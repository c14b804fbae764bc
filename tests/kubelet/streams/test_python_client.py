"""The official Python client: exec and attach over WebSocket channels, logs, and its port-forward."""

import gc
import threading

import pytest
from kubernetes import client, stream
from kubernetes.client import ApiClient, Configuration, CoreV1Api
from patience import SECONDS

pytestmark = [  # the client leaves sockets of its own to the collector
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
WEB = {"name": "web", "namespace": "default", "container": "web"}


@pytest.fixture
def api(running):
    settings = Configuration(
        host=running.url,
        api_key={"authorization": f"Bearer {running.certificates.token}"},
    )
    settings.ssl_ca_cert = str(running.certificates.authority)
    with ApiClient(settings) as connected:
        yield CoreV1Api(connected)
    gc.collect()


def execute(api, *command, **more):
    options = {"command": list(command), "stdout": True, "stderr": True, "stdin": False, "tty": False} | more
    return stream.stream(api.connect_get_namespaced_pod_exec, **WEB | options)


def test_a_command_gives_what_it_puts_out(api):
    assert execute(api, "sh", "-c", "echo $COLOUR; echo err >&2") == "red\nerr\n"


def test_the_exit_code_is_told(api):
    socket = execute(api, "sh", "-c", "exit 5", _preload_content=False)
    socket.run_forever(timeout=SECONDS)
    assert socket.returncode == 5
    socket.close()


def test_a_shell_reads_line_by_line(api):
    socket = execute(api, "sh", stdin=True, _preload_content=False)
    socket.write_stdin("hostname\n")
    assert socket.readline_stdout(timeout=SECONDS) == "web"
    socket.write_stdin("nosuch\n")
    assert socket.readline_stderr(timeout=SECONDS) == "sh: nosuch: not found"
    socket.write_stdin("exit 3\n")
    socket.run_forever(timeout=SECONDS)
    assert socket.returncode == 3
    socket.close()


def test_attach_shows_what_is_printed(api):
    attached = WEB | {"container": "tick", "stdout": True, "stderr": True, "_preload_content": False}
    socket = stream.stream(api.connect_get_namespaced_pod_attach, **attached)
    first, second = (int(socket.readline_stdout(timeout=SECONDS)) for _ in range(2))
    assert second == first + 1
    socket.close()


def test_a_log_is_read_and_followed(api):
    assert api.read_namespaced_pod_log(**WEB).startswith("mockube: container web")
    followed = api.read_namespaced_pod_log(**WEB | {"container": "tick"}, follow=True, _preload_content=False)
    assert next(iter(followed.stream(2))) == b"0\n"
    followed.close()


def test_a_container_that_is_not_there_is_refused(api):
    with pytest.raises(client.ApiException) as refused:
        execute(api, "ls", container="none")
    assert refused.value.status == 0
    assert "400 Bad Request" in refused.value.reason


def test_ports_are_forwarded_on_channels(api):
    forward = stream.portforward(api.connect_get_namespaced_pod_portforward, "web", "default", ports="80,81")
    socket = forward.socket(80)
    socket.settimeout(20)
    socket.sendall(b"GET /python HTTP/1.1\r\nHost: web\r\nConnection: close\r\n\r\n")
    answer = b""
    while data := socket.recv(4096):
        answer += data
    assert answer.endswith(b"pod default/web, port 80: /python\n")
    assert "connect: connection refused" in forward.error(81)
    for port in (80, 81):
        forward.socket(port).close()
    for thread in threading.enumerate():
        if thread.name.startswith("Kubernetes port forward proxy"):
            thread.join(timeout=SECONDS)
    forward.websocket.close()
