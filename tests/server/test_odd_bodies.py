"""Odd bodies that once were too much for the server; tests/fuzz looks for more of them."""

from collections.abc import Callable
from typing import Any

import pytest

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
JSON, JSON_PATCH, YAML = "application/json", "application/json-patch+json", "application/yaml"


@pytest.mark.parametrize(
    ("method", "media", "body", "code"),
    [
        ("PATCH", JSON_PATCH, b"null", 200),
        ("PATCH", JSON_PATCH, b"[null]", 422),
        ("POST", JSON, b'{"metadata":{"generation":' + b"9" * 5000 + b"}}", 400),
        ("POST", JSON, b'{"data":' + b"9" * 4301 + b"x}", 400),
        ("POST", JSON, b" " * (3 * 1024 * 1024 + 1), 413),
        ("PATCH", JSON_PATCH, b" " * (3 * 1024 * 1024 + 1), 413),
        ("DELETE", JSON, b" " * (3 * 1024 * 1024 + 1), 413),
        ("POST", YAML, b"a: " + b"[" * 100_000, 400),
        ("POST", YAML, b"a: " + b"{b: " * 100_000, 400),
        ("POST", YAML, b"- " * 100_000, 400),
        ("POST", YAML, b"? " * 100_000, 400),
        ("POST", YAML, b"".join(b"%ba:\n" % (b" " * depth) for depth in range(2400)), 400),
        ("POST", YAML, b"metadata: {name: made}\ndata:\n" + b"".join(b"  a%d: '[{--'\n" % n for n in range(2000)), 201),
    ],
)
def test_an_odd_body_has_an_answer(
    wires: Callable[[str], Any], method: str, media: str, body: bytes, code: int
) -> None:
    wire = wires("1.37")
    wire.ask("POST", CONFIG_MAPS, {"metadata": {"name": "odd"}})
    wire.ask("DELETE", f"{CONFIG_MAPS}/made")
    path = CONFIG_MAPS if method == "POST" else f"{CONFIG_MAPS}/odd"
    answer = wire.send(method, path, body, Content_Type=media)
    assert answer.code == code
    assert answer.obj["kind"] == ("Status" if code >= 400 else "ConfigMap")
