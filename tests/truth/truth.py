#!/usr/bin/env python3
"""Ask API servers the same questions and say where their answers differ.

    truth.py record  --server URL [--token TOKEN] [--ca FILE] --out GOLDEN_DIRECTORY SCENARIO.yaml ...
    truth.py compare --server URL [--token TOKEN] [--ca FILE] [-v] GOLDEN_DIRECTORY SCENARIO.yaml ...

A scenario is a YAML file with `about` and `steps`, which run in order in a namespace of their own (`$NS`). A step has

    name      unique in its file
    request   "METHOD /path?query"; $NS and saved variables are replaced, in the body and the headers too
    body      an object, sent as JSON, or a text, sent as it is
    type      the Content-Type of the body, application/json by default
    accept    the Accept header
    token     another bearer token, "" for none
    headers   further request headers
    save      {VARIABLE: dotted.path.into.the.answer}
    wait      seconds to repeat the request until `until` (dotted.path=value) holds; `never=…` makes it a pause
    watch     seconds to read a stream of events; the body of the answer is then {"events": [...]}
    websocket true: the stream is read as WebSocket frames, until the server ends it
    ignore    dotted paths left out of the comparison, `*` for any key or index
    only      dotted paths (body....) that alone are compared, beside status and type; in a list `*`, an index or
              key=value; a Table's columns and cells by the column's name
    raw       true: the body is compared as text
    setup     true: the step only prepares, its answer is not compared
    heads     names of response headers that are compared as well

A scenario with `exact: true` was answered by the newest release: its wording, the descriptions of columns, null times
and the writing of numbers (1 is not 1.0) are compared as they are. What differs from run to run (UIDs, times, resource
versions, generated names, addresses) is replaced before the comparison.
"""

import argparse
import asyncio
import gzip
import http.client
import json
import ssl
import sys
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, urlsplit

import aiohttp
import yaml
from comparison import Answer, Normaliser, Scenario, Variables, compare, dig

PATIENCE = 60.0
"""Seconds to wait for an answer, and for what a recorded answer has, on a machine that is slow to give them."""

# --- asking ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Reply:
    """A server's answer to one request."""

    status: int
    headers: http.client.HTTPMessage
    raw: bytes

    @property
    def type(self) -> str:
        """Return the Content-Type with its parameters."""
        return self.headers.get("Content-Type") or ""

    def parsed(self, *, raw: bool, exact: bool) -> Any:
        """Return the body as data, or as {"text": ...} where it is neither JSON nor (by its type) YAML."""
        try:
            if not raw and "yaml" in self.type:
                return json.loads(json.dumps(yaml.safe_load(self.raw), default=str))
            if not raw:
                return json.loads(self.raw, parse_float=_number_mark if exact else float) if self.raw else None
        except (ValueError, yaml.YAMLError):
            pass
        return {"text": self.raw.decode(errors="replace")[:4000]}


def _number_mark(text: str) -> str:
    """Return a mark for a number with a fraction or an exponent that tells how it was written."""
    return f"<number {text}>"


class Server:
    """A server that is asked.

    Args:
        url: where it listens.
        token: the bearer token to show, "" for none.
        ca: the file of the CA that signed its certificate; None trusts any.
        patience: seconds to wait for an answer, and for what a recorded answer has.
    """

    def __init__(self, url: str, token: str, ca: str | None = None, *, patience: float = PATIENCE) -> None:
        self._url: SplitResult = urlsplit(url)
        self._token = token
        self.patience = patience
        self._tls = ssl.create_default_context(cafile=ca) if ca else ssl._create_unverified_context()

    def ask(self, step: dict[str, Any], fill: Callable[[str], str], expected_events: int = 0) -> Reply:
        """Send the request of a step and return the answer.

        Args:
            step: of a scenario.
            fill: replaces variables in a text.
            expected_events: how many events of a watch are worth waiting for beyond the step's seconds.
        """
        method, path = fill(step["request"]).split(" ", 1)
        headers = {"Accept": step.get("accept", "application/json"), "User-Agent": "truth/1"}
        headers |= {name: fill(value) for name, value in step.get("headers", {}).items()}
        if token := fill(step.get("token", self._token) or ""):
            headers["Authorization"] = f"Bearer {token}"
        if step.get("websocket"):
            return asyncio.run(self._read_websocket(path, headers))
        body = step.get("body")
        if body is not None:
            body = fill(body if isinstance(body, str) else json.dumps(body)).encode()
            headers["Content-Type"] = step.get("type", "application/json")
        connection = self._connect()
        try:
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            if "watch" in step and response.status == http.HTTPStatus.OK:
                raw = self._read_watch(connection, response, step["watch"], expected_events)
            else:
                raw = response.read()
            if raw and response.getheader("Content-Encoding") == "gzip":
                raw = gzip.decompress(raw)
            return Reply(response.status, response.msg, raw)
        except (OSError, http.client.HTTPException) as error:
            return Reply(0, http.client.HTTPMessage(), json.dumps({"transport": type(error).__name__}).encode())
        finally:
            connection.close()

    def _connect(self) -> http.client.HTTPConnection:
        host, port = self._url.hostname or "", self._url.port
        if self._url.scheme == "https":
            return http.client.HTTPSConnection(host, port, context=self._tls, timeout=self.patience)
        return http.client.HTTPConnection(host, port, timeout=self.patience)

    async def _read_websocket(self, path: str, headers: dict[str, str]) -> Reply:
        url = self._url.geturl() + path
        async with (
            aiohttp.ClientSession() as session,
            session.ws_connect(url, headers=headers, ssl=self._tls) as socket,
        ):
            events = [json.loads(message.data) async for message in socket]
        return Reply(http.HTTPStatus.SWITCHING_PROTOCOLS, http.client.HTTPMessage(), _events_body(events))

    def _read_watch(
        self, connection: http.client.HTTPConnection, response: http.client.HTTPResponse, seconds: float, expected: int
    ) -> bytes:
        """Read events for so many seconds, or until the server ends the stream; longer only for expected events."""
        lines: list[bytes] = []
        buffer = b""
        start = time.monotonic()
        while (elapsed := time.monotonic() - start) < (self.patience if len(lines) < expected else seconds):
            if connection.sock:
                connection.sock.settimeout(max(0.05, (self.patience if len(lines) < expected else seconds) - elapsed))
            try:
                chunk = response.read1(65536)
            except OSError:
                break
            if not chunk:
                break
            *complete, buffer = (buffer + chunk).split(b"\n")
            lines += [line for line in complete if line.strip()]
        return _events_body([_event(line) for line in lines])


def _event(line: bytes) -> Any:
    return json.loads(line) if line.lstrip()[:1] == b"{" else {"text": line.decode(errors="replace")}


def _events_body(events: list[Any]) -> bytes:
    return json.dumps({"events": events}).encode()


# --- scenarios ------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Run:
    """One run of a scenario against a server.

    Attributes:
        server: which is asked.
        scenario: its steps.
        golden: the recorded answers by step, if there are any: they say how many events are worth waiting for, and
            that what a step waits for came.
        longest_wait: seconds to which waits for a condition are cut; None leaves them as the scenario has them, or
            makes them as long as the server's patience where there are recorded answers.
        complaints: what went wrong in steps that prepare.
    """

    server: Server
    scenario: Scenario
    golden: dict[str, Answer] = field(default_factory=dict)
    longest_wait: float | None = None
    complaints: list[str] = field(default_factory=list)
    _variables: Variables = field(default_factory=lambda: {"NS": f"truth-{uuid.uuid4().hex[:8]}"})

    def answers(self) -> dict[str, Answer]:
        """Ask all steps in order and return the normalised answers of those that are compared, by name."""
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "$NS"}}
        self.server.ask({"request": "POST /api/v1/namespaces", "body": namespace}, self._fill)
        try:
            return {step["name"]: answer for step in self.scenario["steps"] if (answer := self._answer(step))}
        finally:
            self.server.ask({"request": "DELETE /api/v1/namespaces/$NS"}, self._fill)

    def _answer(self, step: dict[str, Any]) -> Answer | None:
        exact = self.scenario.get("exact", False)
        reply, body = self._ask_until(step, exact=exact)
        for name, path in step.get("save", {}).items():
            value = dig(body, path)
            self._variables[name] = "" if value is None else str(value)
        if step.get("setup"):
            if not self._holds(step, body) if "until" in step else reply.status >= 400:
                self.complaints.append(f"{step['name']}: this preparing step got {reply.status}: {str(body)[:900]}")
            return None
        normal = Normaliser(self._variables, exact).normal
        answer = {
            "status": reply.status,
            "type": reply.type.split(";")[0],
            "warnings": normal(reply.headers.get_all("Warning") or []),
            "body": normal(body),
        }
        heads = step.get("heads") if reply.status else None
        return answer | ({"heads": {name: reply.headers.get(name) for name in heads}} if heads else {})

    def _ask_until(self, step: dict[str, Any], *, exact: bool) -> tuple[Reply, Any]:
        deadline = time.monotonic() + self._longest_wait(step)
        while True:
            reply = self.server.ask(step, self._fill, self._expected_events(step))
            body = reply.parsed(raw=step.get("raw", False), exact=exact)
            if "until" not in step or self._holds(step, body) or time.monotonic() > deadline:
                return reply, body
            time.sleep(0.1)

    def _longest_wait(self, step: dict[str, Any]) -> float:
        seconds: float = step.get("wait", 0)
        if "until" not in step or step["until"].startswith("never="):
            return seconds
        if self.longest_wait is not None:
            return min(seconds, self.longest_wait)
        return max(seconds, self.server.patience) if self.golden else seconds

    def _expected_events(self, step: dict[str, Any]) -> int:
        body = self.golden.get(step["name"], {}).get("body") if "watch" in step else None
        return len(body.get("events") or []) if isinstance(body, dict) else 0

    def _holds(self, step: dict[str, Any], body: Any) -> bool:
        path, want = step["until"].rsplit("=", 1)
        return str(dig(body, path)) == self._fill(want)

    def _fill(self, text: str) -> str:
        for name in sorted(self._variables, key=len, reverse=True):
            text = text.replace(f"${name}", self._variables[name])
        return text


def load_scenario(path: Path) -> Scenario:
    """Return the scenario in a YAML file, with its name."""
    scenario: Scenario = yaml.safe_load(path.read_text())
    return scenario | {"name": path.stem}


def load_golden(path: Path) -> dict[str, Answer]:
    """Return the recorded answers of a scenario, by step."""
    answers: dict[str, Answer] = json.loads(path.read_text())
    return answers


# --- the command line -----------------------------------------------------------------------------------------------


def main() -> int:
    """Record or compare; return 1 if an answer differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    modes = parser.add_subparsers(dest="mode", required=True)
    record, comparison = modes.add_parser("record"), modes.add_parser("compare")
    record.add_argument("--out", required=True, type=Path, help="where the answers are written")
    comparison.add_argument("golden", type=Path, help="where the recorded answers are")
    comparison.add_argument("-v", "--verbose", action="store_true", help="show the first differences of each answer")
    for mode in (record, comparison):
        mode.add_argument("--server", required=True, metavar="URL")
        mode.add_argument("--token", default="", help="a bearer token of an administrator")
        mode.add_argument("--ca", help="the CA of the server's certificate; any is trusted without it")
        mode.add_argument("files", nargs="+", type=Path, metavar="SCENARIO.yaml")
    options = parser.parse_args()
    server = Server(options.server, options.token, options.ca)
    return _record(server, options) if options.mode == "record" else _compare(server, options)


def _record(server: Server, options: argparse.Namespace) -> int:
    options.out.mkdir(parents=True, exist_ok=True)
    for path in options.files:
        answers = _report_answers(Run(server, load_scenario(path)))
        text = json.dumps(answers, indent=1, sort_keys=True, ensure_ascii=False)
        (options.out / f"{path.stem}.json").write_text(f"{text}\n")
        print(f"{path.stem}: {len(answers)} answers recorded")
    return 0


def _compare(server: Server, options: argparse.Namespace) -> int:
    same = total = 0
    for path in options.files:
        scenario, golden = load_scenario(path), load_golden(options.golden / f"{path.stem}.json")
        result = compare(scenario, golden, _report_answers(Run(server, scenario, golden)))
        for step, lines in result.items() if options.verbose else ():
            if lines:
                print(f"  {path.stem}/{step}", *(f"      {line}" for line in lines[:12]), sep="\n")
        agreeing = sum(not lines for lines in result.values())
        same, total = same + agreeing, total + len(result)
        print(f"{path.stem}: {agreeing} of {len(result)} answers the same")
    print(f"TRUTH {same} of {total} = {100 * same / max(total, 1):.1f} %")
    return int(same != total)


def _report_answers(run: Run) -> dict[str, Answer]:
    answers = run.answers()
    for complaint in run.complaints:
        print(f"  {run.scenario['name']}/{complaint}", file=sys.stderr)
    return answers


if __name__ == "__main__":
    sys.exit(main())
