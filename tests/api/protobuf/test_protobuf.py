from typing import Any

import pytest

from apiserver.api.protobuf import MalformedError, encode_status, read_object
from apiserver.api.protobuf.messages import load_messages


def number(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*out, value))


def sent(fields: dict[int, Any]) -> bytes:
    """A message: numbers as varints, everything else with its length; lists are repeated fields."""
    out = b""
    for tag, value in fields.items():
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, int):
                out += number(tag << 3) + number(each)
            else:
                data = each if isinstance(each, bytes) else each.encode() if isinstance(each, str) else sent(each)
                out += number(tag << 3 | 2) + number(len(data)) + data
    return out


def body(api_version: str, kind: str, message: dict[int, Any]) -> bytes:
    return b"k8s\x00" + sent({1: {1: api_version, 2: kind}, 2: message, 3: "", 4: ""})


EMPTY_METADATA = {1: "", 2: "", 3: "", 4: "", 5: "", 6: "", 7: 0, 8: {}}
"""The fields of an empty ObjectMeta that a Go client sends: each one that is no pointer."""


@pytest.mark.parametrize(
    ("api_version", "kind", "message", "expected"),
    [
        pytest.param("v1", "ConfigMap", {1: {1: "a"}, 2: {1: "k", 2: "v"}}, {"data": {"k": "v"}}, id="map"),
        pytest.param("v1", "ConfigMap", {1: {1: "a"}, 2: {1: "k"}}, {"data": {"k": None}}, id="map-without-a-value"),
        pytest.param(
            "v1", "ConfigMap", {1: {1: "a"}, 3: {1: "k", 2: b"\xff"}}, {"binaryData": {"k": "/w=="}}, id="bytes"
        ),
        pytest.param("v1", "ConfigMap", {1: {1: "a"}, 4: 0}, {"immutable": False}, id="a-pointer-to-zero-is-told"),
        pytest.param("v1", "ConfigMap", {1: {1: "a"}, 99: "later"}, {}, id="unknown-fields-are-passed-over"),
        pytest.param("v1", "ConfigMap", {1: EMPTY_METADATA | {1: "a"}}, {}, id="what-nobody-set-is-not-told"),
        pytest.param(
            "apps/v1", "Deployment", {1: {1: "a"}, 2: {1: 0, 5: 0}}, {"spec": {"replicas": 0}}, id="zero-or-nothing"
        ),
        pytest.param(
            "scheduling.k8s.io/v1", "PriorityClass", {1: {1: "a"}, 2: -7}, {"value": -7}, id="negative-numbers"
        ),
        pytest.param(
            "v1",
            "Pod",
            {1: {1: "a"}, 2: {1: {1: "v", 2: {2: {1: ""}}}, 2: [{1: "c", 8: {1: {1: "cpu", 2: {1: "1"}}}}, {1: "d"}]}},
            {
                "spec": {
                    "volumes": [{"name": "v", "emptyDir": {}}],
                    "containers": [{"name": "c", "resources": {"limits": {"cpu": "1"}}}, {"name": "d"}],
                }
            },
            id="inlined-and-repeated-messages-and-quantities",
        ),
        pytest.param(
            "v1",
            "Service",
            {1: {1: "a"}, 2: {1: [{1: "x", 3: 80, 4: {1: 0, 2: 8080, 3: ""}}, {3: 81, 4: {1: 1, 2: 0, 3: "web"}}]}},
            {"spec": {"ports": [{"name": "x", "port": 80, "targetPort": 8080}, {"port": 81, "targetPort": "web"}]}},
            id="numbers-or-text",
        ),
        pytest.param(
            "v1",
            "Pod",
            {1: {1: "a", 8: {1: 1700000000, 2: 5}}},
            {"metadata": {"name": "a", "creationTimestamp": "2023-11-14T22:13:20Z"}},
            id="times",
        ),
        pytest.param(
            "coordination.k8s.io/v1",
            "Lease",
            {1: {1: "a"}, 2: {3: {1: 1700000000, 2: 123456789}}},
            {"spec": {"acquireTime": "2023-11-14T22:13:20.123456Z"}},
            id="times-with-microseconds",
        ),
        pytest.param(
            "apps/v1",
            "ControllerRevision",
            {1: {1: "a"}, 2: {1: '{"x":[1]}'}, 3: 4},
            {"data": {"x": [1]}, "revision": 4},
            id="json-within",
        ),
        pytest.param(
            "authorization.k8s.io/v1",
            "SubjectAccessReview",
            {1: {1: "a"}, 2: {5: {1: "k", 2: {1: ["x", "y"]}}}},
            {"spec": {"extra": {"k": ["x", "y"]}}},
            id="a-message-that-json-has-a-list-for",
        ),
    ],
)
def test_a_message_is_the_object_that_json_would_have_brought(
    api_version: str, kind: str, message: dict[int, Any], expected: dict[str, Any]
) -> None:
    read = read_object(body(api_version, kind, message), kind)

    assert read == {"kind": kind, "apiVersion": api_version, "metadata": {"name": "a"}} | expected


def test_options_of_a_delete_are_those_of_every_group() -> None:
    read = read_object(body("apps/v1", "DeleteOptions", {1: 0, 4: "Foreground"}), "DeleteOptions")

    assert (read["gracePeriodSeconds"], read["propagationPolicy"]) == (0, "Foreground")


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        pytest.param(b"", r"expected prefix \[107 56 115 0\]", id="nothing"),
        pytest.param(b'{"kind":"Pod"}', r"expected prefix \[107 56 115 0\]", id="json"),
        pytest.param(body("v1", "Nonsense", {}), 'no kind "Nonsense" is registered for version "v1"', id="kind"),
        pytest.param(body("v9", "Pod", {}), 'no kind "Pod" is registered for version "v9"', id="version"),
        pytest.param(body("v1", "Pod", {})[:-1], "unexpected EOF", id="cut"),
        pytest.param(body("v1", "Pod", {1: b"\xff" * 11}), "integer overflow", id="endless-number"),
        pytest.param(body("v1", "Pod", {1: b"\x0c"}), "illegal wireType 4", id="group"),
        pytest.param(body("v1", "Pod", {1: 7}), "wrong wireType = 0 for field metadata", id="number-for-message"),
        pytest.param(body("v1", "Pod", {1: {8: {1: 1 << 60}}}), "illegal time", id="no-such-year"),
        pytest.param(body("apps/v1", "ControllerRevision", {2: {1: "{"}}), "cannot be read", id="json-within"),
        pytest.param(b"k8s\x00" + sent({1: {2: b"\xff"}}), "the kind is no text", id="kind-in-no-alphabet"),
    ],
)
def test_bytes_that_are_no_such_message_are_refused(raw: bytes, why: str) -> None:
    with pytest.raises(MalformedError, match=why):
        read_object(raw, "Pod")


def test_every_message_of_the_table_compiles() -> None:
    messages = load_messages()
    for message in messages._table:
        assert messages.message(message)(b"") in ({}, [])


def test_a_status_is_written_as_go_writes_it_with_what_is_empty() -> None:
    status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "reason": "R", "code": 406}
    message = b'\n\x06\n\x00\x12\x00\x1a\x00\x12\x07Failure\x1a\x00"\x01R0\x96\x03'
    kind = b"\n\x0c\n\x02v1\x12\x06Status"
    assert encode_status(status) == b"k8s\x00" + kind + b"\x12" + bytes([len(message)]) + message + b'\x1a\x00"\x00'


def test_the_details_of_a_status_are_written_too() -> None:
    causes = [{"reason": "R", "message": "M", "field": "f"}, {"message": "N"}]
    details = {"name": "n", "group": "g", "kind": "k", "uid": "u", "causes": causes, "retryAfterSeconds": 300}
    status = {"kind": "Status", "apiVersion": "v1", "metadata": {"continue": "c", "remainingItemCount": 2}}
    raw = encode_status(status | {"details": details, "message": "a" * 200})
    cause = b'"\x09\n\x01R\x12\x01M\x1a\x01f"\x07\n\x00\x12\x01N\x1a\x00'
    assert b"\n\x01n\x12\x01g\x1a\x01k" + cause + b"(\xac\x022\x01u" in raw
    assert b"\n\x09\n\x00\x12\x00\x1a\x01c \x02" in raw
    assert b"\x1a\xc8\x01" + b"a" * 200 in raw
