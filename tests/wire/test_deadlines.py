"""The parameter timeout of a request, as kube-apiserver's request deadline has it."""

import asyncio

import pytest

from apiserver.api.golang.durations import go_duration
from apiserver.api.parameters import Parameters
from apiserver.endpoints.deadlines import MAX_SECONDS, requested_seconds

PODS = "/api/v1/namespaces/default/pods"
NO_LENGTHS = [
    ("abc", 'time: invalid duration "abc"'),
    ("10", 'time: missing unit in duration "10"'),
    ("1x", 'time: unknown unit "x" in duration "1x"'),
    ("1h2", 'time: missing unit in duration "1h2"'),
    (".s", 'time: invalid duration ".s"'),
    ("-", 'time: invalid duration "-"'),
    ("1.2.3s", 'time: missing unit in duration "1.2.3s"'),
    ("1ü", 'time: unknown unit "\\xc3\\xbc" in duration "1\\xc3\\xbc"'),
    ("9999999999h", 'time: invalid duration "9999999999h"'),
]


@pytest.mark.parametrize(("text", "why"), NO_LENGTHS)
def test_what_is_no_length_of_time_is_told_as_go_does(text, why):
    with pytest.raises(ValueError, match=r"^time: ") as raised:
        go_duration(text)
    assert str(raised.value) == why


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("", MAX_SECONDS),
        ("0", MAX_SECONDS),
        ("0s", MAX_SECONDS),
        ("-1s", MAX_SECONDS),
        ("1h", MAX_SECONDS),
        ("5s", 5),
        ("+1m0.5ms", MAX_SECONDS),
        ("1.5s", 1.5),
    ],
)
def test_a_client_gives_less_than_the_most(text, seconds):
    assert requested_seconds(Parameters([("timeout", text)])) == seconds


@pytest.mark.parametrize("path", [PODS, f"{PODS}/a", "/version", "/healthz", "/nowhere", "/api/v1/nonsense"])
async def test_garbage_is_refused_of_whatever_answers_at_once(api, path):
    refused = await api.get(f"{path}?timeout=abc")
    message = 'invalid timeout specified in the request URL - time: invalid duration "abc"'
    assert (refused.code, refused.json["reason"], refused.message) == (400, "BadRequest", message)


async def test_a_request_within_its_time_is_answered(api):
    assert (await api.get(f"{PODS}?timeout=30s")).code == 200
    assert (await api.post("/api/v1/namespaces?timeout=30s", {"metadata": {"name": "x"}})).code == 201


async def test_a_watch_goes_on_whatever_its_timeout_says(api):
    assert (await api.get(f"{PODS}?watch=true&timeoutSeconds=1&timeout=abc")).code == 200


@pytest.mark.parametrize("length", ["1ns", "100ms"])
async def test_a_request_that_is_late_is_told_so(api, length):
    """The body does not come, so that only the deadline can end the request."""
    reader, writer = await asyncio.open_connection(api.running.host, api.running.port)
    token = api.session.headers["Authorization"]
    head = f"POST /api/v1/namespaces?timeout={length} HTTP/1.1\r\nHost: x\r\nAuthorization: {token}\r\n"
    writer.write(f"{head}Content-Type: application/json\r\nContent-Length: 10\r\n\r\n".encode())
    assert (await reader.readline()).split()[1] == b"504"
    body = (await reader.readuntil(b"}")).rpartition(b"\r\n")[2] + await reader.readuntil(b"504")
    assert b'"reason":"Timeout"' in body
    assert b'"message":"Timeout: request did not complete within the allotted timeout"' in body
    writer.close()
