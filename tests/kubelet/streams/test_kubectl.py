"""Real kubectls, old ones that speak SPDY and new ones that speak WebSocket, against the server and the kubelets."""

import os
import pty
import re
import select
import shlex
import signal
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from patience import SECONDS

from mockube.control_plane import RunningControlPlane

pytestmark = pytest.mark.kubectl


NOT_FOUND = "executable file not found in $PATH"
RUNC = "OCI runtime exec failed: exec failed: unable to start container process"


@pytest.fixture(scope="module")
def kubectl(each_binary: str, running: RunningControlPlane, kubectl_at: Callable[..., Any]) -> Any:
    return kubectl_at(running.kubeconfig, binary=each_binary)


SAYS = [
    ("logs web -c web", r"mockube: container web \(nginx\) of pod default/web started on node-1"),
    ("logs web --tail=1 -c web --timestamps", r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.0{9}Z mockube: container web .*"),
    ("logs web -c tick --limit-bytes=4", r"0\n1"),
    ("logs web --all-containers --tail=1 --prefix", r"(\[pod/web/(web\] mockube[^\n]*|tick\] \d+)(\n|$)){2}"),
    ("logs web -c tick --since=1h --tail=1", r"\d+"),
    ("exec web -c web -- env", r"PATH=.*\nHOSTNAME=web\nCOLOUR=red\n.*HOME=/root"),
    ("exec web -c web -- sh -c 'echo out; echo err >&2'", r"out\nerr"),
    ("exec web -- hostname", r'web\nDefaulted container "web" out of: web, tick'),
]
REFUSED = [
    ("logs web -c web --previous", r'.*previous terminated container "web" in pod "web" not found'),
    ("logs slow -c web", r'.*container "web" in pod "slow" is waiting to start: ContainerCreating'),
    ("logs web -c none", r"error: container none is not valid for pod web"),
    ("exec slow -c web -- ls", r'error: .*unable to upgrade connection: container not found \("web"\)'),
    ("exec web -c none -- ls", r"Error from server \(BadRequest\): container none is not valid for pod web"),
    ("attach slow -c web", r'.*error: unable to upgrade connection: container not found \("web"\)'),
]


@pytest.mark.parametrize(("line", "pattern"), SAYS)
def test_kubectl_prints_what_it_prints_on_a_real_cluster(kubectl, line, pattern):
    kubectl.says(line, pattern)


@pytest.mark.parametrize(("line", "pattern"), REFUSED)
def test_kubectl_is_refused_in_the_words_of_a_real_cluster(kubectl, line, pattern):
    kubectl.refuses(line, pattern)


@pytest.mark.parametrize(
    ("command", "code", "err"),
    [
        ("true", 0, ""),
        ("false", 1, "command terminated with exit code 1\n"),
        ("sh -c 'exit 42'", 42, "command terminated with exit code 42\n"),
        (
            "nosuch",
            126,
            f'{RUNC}: exec: "nosuch": {NOT_FOUND}: unknown\ncommand terminated with exit code 126\n',
        ),
    ],
)
def test_exec_ends_with_the_commands_exit_code(kubectl, command, code, err):
    ran = kubectl.run(f"exec web -c web -- {command}")
    assert (ran.code, ran.err) == (code, err)


@pytest.mark.parametrize("given", ["", "one line\n", "no end", "x" * 300_000])
def test_exec_reads_what_is_piped_into_it(kubectl, given):
    assert kubectl.output("exec -i web -c web -- cat", given) == given


def test_a_script_is_piped_into_a_shell(kubectl):
    ran = kubectl.run("exec -i web -c web -- sh", "x=1\nfor i in a b; do\necho $i$x\ndone\nexit 7\n")
    assert (ran.code, ran.out) == (7, "a1\nb1\n")


def test_files_are_copied_in_both_directions(kubectl):
    binary = bytes(range(256)) * 1000
    kubectl.file("source/a.txt", "text\n")
    (kubectl.directory / "source" / "deep").mkdir(exist_ok=True)
    (kubectl.directory / "source" / "deep" / "b.bin").write_bytes(binary)
    name = f"copy-{kubectl.directory.name}"
    kubectl.says(f"cp source web:/tmp/{name} -c web", "")
    kubectl.says(f"cp web:/tmp/{name} back -c web", "tar: Removing leading `/' from member names")
    assert (kubectl.directory / "back" / "a.txt").read_text() == "text\n"
    assert (kubectl.directory / "back" / "deep" / "b.bin").read_bytes() == binary
    kubectl.says(f"exec web -c web -- sh -c 'cat /tmp/{name}/a.txt; wc -c < /tmp/{name}/deep/b.bin'", "text\n256000")


@contextmanager
def started(kubectl: Any, line: str) -> Iterator[subprocess.Popen[str]]:
    """A command that goes on until it is interrupted."""
    process = kubectl.start(line)
    try:
        yield process
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            pytest.fail(f"kubectl {line} does not end")


@pytest.mark.parametrize("line", ["logs -f --tail=1 web -c tick", "attach web -c tick"])
def test_what_a_container_prints_is_followed(kubectl, line):
    with started(kubectl, line) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(3)]
    numbers = [int(text) for text in lines if text.strip().isdigit()]
    assert len(numbers) >= 2
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def _forwarded(process: subprocess.Popen[str]) -> int:
    """The port of this machine that leads to the pod."""
    assert process.stdout is not None
    line = process.stdout.readline()
    match = re.match(r"Forwarding from 127\.0\.0\.1:(\d+) -> \d+", line)
    assert match, line
    return int(match[1])


def test_a_port_is_forwarded_again_and_again(kubectl):
    with started(kubectl, "port-forward --address 127.0.0.1 pod/web :80") as process:
        port = _forwarded(process)
        for path in ("/a", "/b", "/c"):
            with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=SECONDS) as answer:
                assert answer.read().decode() == f"pod default/web, port 80: {path}\n"


def test_a_port_at_which_nobody_listens_is_reported(kubectl):
    with started(kubectl, "port-forward --address 127.0.0.1 pod/web :81") as process:
        port = _forwarded(process)
        with pytest.raises(OSError, match=r".*"):
            urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=SECONDS)
        assert process.stderr is not None
        assert re.search(r"error forwarding port 81 to pod [0-9a-f]{64}, uid : .*refused", process.stderr.readline())


def typed(kubectl: Any, line: str, *keys: tuple[bytes, bytes]) -> tuple[str, int]:
    """Run a command on a terminal: each time a text has appeared, keys are typed; all that appeared, and its end."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(kubectl.binary, [kubectl.binary, *shlex.split(line)], kubectl.environment)
    shown, waiting, end = b"", list(keys), time.monotonic() + SECONDS
    while time.monotonic() < end:
        if select.select([terminal], [], [], 0.1)[0]:
            try:
                data = os.read(terminal, 4096)
            except OSError:
                break
            shown += data
        if waiting and waiting[0][0] in shown:
            os.write(terminal, waiting.pop(0)[1])
    os.close(terminal)
    return shown.decode(), os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def test_a_person_types_into_a_shell(kubectl):
    shown, code = typed(
        kubectl,
        "exec -it web -c web -- sh",
        (b"/ # ", b"echo a\x7fb$((1+1))\r"),
        (b"\nb2\r\n/ # ", b"sleep 1000\r"),
        (b"sleep 1000\r\n", b"\x03"),
        (b"^C\r\n/ # ", b"exit 9\r"),
    )
    assert code == 9
    assert shown.endswith("exit 9\r\ncommand terminated with exit code 9\r\n")


def test_what_is_typed_ends_with_ctrl_d(kubectl):
    shown, code = typed(
        kubectl,
        "exec -it web -c web -- sh -c 'echo ready; cat'",
        (b"ready\r\n", b"line\r"),
        (b"line\r\nline\r\n", b"\x04"),
    )
    assert (shown.replace("\r\n", "|"), code) == ("ready|line|line|", 0)
