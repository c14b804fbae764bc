"""The project's own scenarios, in the form of the shared suite: questions in scenarios/, checked answers in golden/.

`python tests/truth/scenarios.py URL TOKEN NAME...` writes the answers of a running server to golden/; look at what
changes before it is committed. A scenario has `about`, `ignore` and `steps`; a step has

    name, request      "GET /path"; $NS is a namespace of the run's own, other $NAMEs are saved by earlier steps
    body, type         an object (sent as JSON) or a text, and its Content-Type
    accept, headers    of the request
    setup              true: the answer is not compared
    save               {NAME: dotted path} of the answer's body
    only, ignore       dotted paths that are, or are not, compared, "body" first; * is every item of a list
    show               names of headers that belong to the answer
    watch, websocket   true: the body is the list of events of a stream, which ends by timeoutSeconds
"""

import asyncio
import gzip
import http.client
import json
import re
import sys
import uuid
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import yaml

HERE = Path(__file__).parent
SECONDS = 30
CHANGING = frozenset(("uid", "resourceVersion", "creationTimestamp", "continue", "storageVersionHash", "time"))
"""Fields that differ from run to run."""
MOMENT = re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z\b")
AGE = re.compile(r"(\d+[ydhms])+")

Variables = dict[str, str]


def names() -> list[str]:
    return sorted(path.stem for path in (HERE / "scenarios").glob("*.yaml"))


def golden(name: str) -> dict[str, Any]:
    return json.loads((HERE / "golden" / f"{name}.json").read_text())


def run(url: str, token: str, name: str) -> dict[str, Any]:
    """The answers to the compared steps of a scenario, by name."""
    scenario = yaml.safe_load((HERE / "scenarios" / f"{name}.yaml").read_text())
    variables = {"NS": f"own-{uuid.uuid4().hex[:8]}"}
    namespace = {"request": "POST /api/v1/namespaces", "body": {"metadata": {"name": "$NS"}}}
    _ask(url, token, namespace, variables)
    answers = {}
    for step in scenario["steps"]:
        answer = _ask(url, token, step, variables)
        for variable, path in step.get("save", {}).items():
            variables[variable] = str(_at(answer["body"], path.split(".")))
        if not step.get("setup"):
            answers[step["name"]] = _compared(answer, step, scenario.get("ignore", []), variables)
    return answers


def _ask(url: str, token: str, step: dict[str, Any], variables: Variables) -> dict[str, Any]:
    method, path = _filled(step["request"], variables).split(" ", 1)
    headers = {"Authorization": f"Bearer {token}", "User-Agent": "own/1", "Accept": step.get("accept", "*/*")}
    headers |= {name: _filled(value, variables) for name, value in step.get("headers", {}).items()}
    if step.get("websocket"):
        return {"status": 101, "body": asyncio.run(_messages(url + path, headers))}
    body = step.get("body")
    if body is not None:
        body = _filled(body if isinstance(body, str) else json.dumps(body), variables).encode()
        headers["Content-Type"] = step.get("type", "application/json")
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=SECONDS)
    try:
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        raw = answer.read()
    finally:
        connection.close()
    found = {"status": answer.status, "type": answer.getheader("Content-Type"), "body": _parsed(answer, raw, step)}
    if warnings := answer.msg.get_all("Warning"):
        found["warnings"] = warnings
    return found | {name: answer.getheader(name) for name in step.get("show", [])}


async def _messages(url: str, headers: dict[str, str]) -> list[Any]:
    async with aiohttp.ClientSession() as session, session.ws_connect(url, headers=headers) as socket:
        return [json.loads(message.data) async for message in socket]


def _parsed(answer: http.client.HTTPResponse, raw: bytes, step: dict[str, Any]) -> Any:
    if answer.getheader("Content-Encoding") == "gzip":
        raw = gzip.decompress(raw)
    if step.get("watch") and answer.status == http.HTTPStatus.OK:
        return [json.loads(line) for line in raw.splitlines()]
    media = answer.getheader("Content-Type") or ""
    if media.startswith("application/json") and not step.get("raw"):
        return json.loads(raw) if raw else None
    return raw.decode()


def _compared(answer: dict[str, Any], step: dict[str, Any], ignore: list[str], variables: Variables) -> Any:
    for path in (*ignore, *step.get("ignore", [])):
        _drop(answer, path.split("."))
    if "only" in step:
        answer = answer | {"body": {path: _at(answer, path.split(".")) for path in step["only"]}}
    return _constant(answer, {text: f"${name}" for name, text in variables.items() if text})


def _constant(value: Any, known: Variables, field: str = "") -> Any:
    """The value with a mark for all that changes from run to run."""
    if isinstance(value, dict):
        return {key: _constant(each, known, key) for key, each in value.items()}
    if isinstance(value, list):
        return [_constant(each, known, "cell" if field == "cells" else "") for each in value]
    if field in CHANGING and value:
        return f"<{field}>"
    if not isinstance(value, str):
        return value
    if field == "cell" and AGE.fullmatch(value):
        return "<age>"
    for text, name in known.items():
        value = value.replace(text, name)
    return MOMENT.sub("<time>", value)


def _filled(text: str, variables: Variables) -> str:
    for name in sorted(variables, key=len, reverse=True):
        text = text.replace(f"${name}", variables[name])
    return text


def _at(value: Any, path: list[str]) -> Any:
    if not path:
        return value
    head, *rest = path
    if isinstance(value, list):
        return [_at(each, rest) for each in value] if head == "*" else _at(_chosen(value, head), rest)
    return _at(value.get(head.replace("~", ".")), rest) if isinstance(value, dict) else None


def _chosen(items: list[Any], which: str) -> Any:
    """The item at an index, or the one of which field=value holds."""
    if which.isdigit():
        return items[int(which)] if int(which) < len(items) else None
    field, _, wanted = which.partition("=")
    return next((item for item in items if str(item.get(field)) == wanted.replace("~", ".")), None)


def _drop(value: Any, path: list[str]) -> None:
    head, *rest = path
    if isinstance(value, list):
        for each in value if head == "*" else [_chosen(value, head)]:
            _drop(each, rest)
    elif isinstance(value, dict) and rest:
        _drop(value.get(head), rest)
    elif isinstance(value, dict):
        value.pop(head, None)


def record(url: str, token: str, chosen: list[str]) -> None:
    for name in chosen or names():
        text = json.dumps(run(url, token, name), indent=1, ensure_ascii=False)
        (HERE / "golden" / f"{name}.json").write_text(text + "\n")


if __name__ == "__main__":
    record(sys.argv[1], sys.argv[2], sys.argv[3:])
