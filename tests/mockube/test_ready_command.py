"""`mockube ready`: what health checks of containers ask."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

Refused = Callable[..., str]


def ready(*arguments: str | Path) -> tuple[int, str]:
    """Return the exit code and the message."""
    ran = subprocess.run(
        [sys.executable, "-m", "mockube", "ready", *map(str, arguments)], capture_output=True, text=True, check=False
    )
    assert ran.stdout == ""
    return ran.returncode, ran.stderr


class Page(BaseHTTPRequestHandler):
    """Answers with the code that its path names, or not at all."""

    def do_GET(self) -> None:
        if self.path == "/nothing":
            return
        self.send_response(int(self.path[1:4]) if "?" not in self.path else 404)
        self.send_header("Location", "/200")
        self.end_headers()
        self.wfile.write(b"not ready: etcd\n")

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def page() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), Page) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_a_server_that_is_ready_is_known_by_its_authority(up: Callable[..., Any], home: Path) -> None:
    url = f"{up().url}/readyz"
    assert ready(url, "--certificate-authority", home / ".local/share/mockube/pki/ca.crt") == (0, "")
    code, said = ready(url)
    assert code == 1
    assert "certificate verify failed" in said


@pytest.mark.parametrize("code", [301, 401, 500, 503])
def test_any_answer_but_that_it_is_ready_is_told(page: str, code: int) -> None:
    assert ready(f"{page}/{code}") == (1, f"mockube: {page}/{code} is not ready: {code}: not ready: etcd\n")


def test_a_plain_page_is_asked_too(page: str) -> None:
    assert ready(f"{page}/200") == (0, "")


def test_a_server_that_is_away_or_ends_the_connection_is_not_ready(page: str, unused_tcp_port: int) -> None:
    code, said = ready(f"http://127.0.0.1:{unused_tcp_port}/readyz")
    assert (code, "Connection refused" in said) == (1, True)
    code, said = ready(f"{page}/nothing")
    assert (code, "is not ready: " in said) == (1, True)


@pytest.mark.parametrize("url", ["file:///etc/passwd", "127.0.0.1:6443", "https://", "https://a:b/"])
def test_what_is_no_page_is_refused(refused: Refused, url: str) -> None:
    assert refused("ready", url).startswith(f"mockube ready: argument URL: {url} is no page: give a URL such as ")


@pytest.mark.parametrize("seconds", ["0", "-1", "nan", "inf", "soon"])
def test_what_is_no_time_is_refused(refused: Refused, seconds: str) -> None:
    line = refused("ready", "https://127.0.0.1:1/", f"--timeout={seconds}")
    assert line.startswith(f"mockube ready: argument --timeout: {seconds} is no time: ")


def test_parts_of_a_page_can_be_asked_for(page: str) -> None:
    assert ready(f"{page}/200?exclude=etcd")[0] == 1  # the test's page knows no questions: it came with the path


def test_an_authority_that_cannot_be_read_is_refused(refused: Refused, tmp_path: Path) -> None:
    missing = tmp_path / "ca.crt"
    line = refused("ready", "https://127.0.0.1:1/", "--certificate-authority", missing)
    assert line == f"mockube: --certificate-authority: {missing}: [Errno 2] No such file or directory"
    missing.write_text("nothing")
    assert str(missing) in refused("ready", "https://127.0.0.1:1/", "--certificate-authority", missing)
