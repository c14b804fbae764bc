"""Validation of ConfigMaps and Secrets."""

import base64
from typing import Any

import pytest

from apiserver.api.json_syntax import problem
from apiserver.registry.validation import VALIDATORS

KEY = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' "
    "(e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
)
LOCKED = "Forbidden: field is immutable when `immutable` is set"


def messages(errors: Any) -> list[str]:
    return [str(error) for error in errors]


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


@pytest.mark.parametrize(
    ("parts", "errors"),
    [
        ({"data": {"k": "v"}, "binaryData": {"b": "AA=="}}, []),
        ({"data": {"..": ""}}, ["data[..]: Invalid value: \"..\": must not be '..'"]),
        ({"data": {"..a": ""}}, ["data[..a]: Invalid value: \"..a\": must not start with '..'"]),
        ({"data": {"": ""}}, [f'data[]: Invalid value: "": {KEY}']),
        ({"binaryData": {"a b": ""}}, [f'binaryData[a b]: Invalid value: "a b": {KEY}']),
        (
            {"data": {"k": ""}, "binaryData": {"k": ""}},
            ['data[k]: Invalid value: "k": duplicate of key present in binaryData'],
        ),
        ({"data": {"k": "a" * (1 << 20)}}, []),
        ({"data": {"k": "ä" * (1 << 20)}}, ["[]: Too long: may not be more than 1048576 bytes"]),
    ],
)
def test_a_config_map_holds_small_texts_under_plain_keys(parts: dict[str, Any], errors: list[str]) -> None:
    assert messages(VALIDATORS["", "ConfigMap"].create({"metadata": {"name": "c"}} | parts)) == errors


@pytest.mark.parametrize(
    ("parts", "errors"),
    [
        ({"immutable": True, "data": {"k": "v"}}, []),
        ({"immutable": True, "data": {"k": "w"}}, [f"data: {LOCKED}"]),
        ({"data": {"k": "v"}, "binaryData": {"b": ""}}, [f"immutable: {LOCKED}", f"binaryData: {LOCKED}"]),
    ],
)
def test_an_immutable_config_map_stays(parts: dict[str, Any], errors: list[str]) -> None:
    old = {"metadata": {"name": "c"}, "immutable": True, "data": {"k": "v"}}
    assert messages(VALIDATORS["", "ConfigMap"].update({"metadata": {"name": "c"}} | parts, old)) == errors


@pytest.mark.parametrize(
    ("kind", "data", "errors"),
    [
        ("Opaque", {}, []),
        ("example.com/own", {}, []),
        ("kubernetes.io/tls", {"tls.crt": "", "tls.key": ""}, []),
        ("kubernetes.io/tls", {}, ["data[tls.crt]: Required value", "data[tls.key]: Required value"]),
        ("kubernetes.io/basic-auth", {"password": ""}, []),
        ("kubernetes.io/basic-auth", {}, ["data[username]: Required value", "data[password]: Required value"]),
        ("kubernetes.io/ssh-auth", {"ssh-privatekey": ""}, ["data[ssh-privatekey]: Required value"]),
        ("kubernetes.io/dockerconfigjson", {}, ["data[.dockerconfigjson]: Required value"]),
        ("kubernetes.io/dockerconfigjson", {".dockerconfigjson": encoded("{}")}, []),
        (
            "kubernetes.io/dockercfg",
            {".dockercfg": encoded("not json")},
            [
                (
                    'data[.dockercfg]: Invalid value: "<secret contents redacted>": '
                    "invalid character 'o' in literal null (expecting 'u')"
                )
            ],
        ),
        (
            "kubernetes.io/dockercfg",
            {".dockercfg": encoded("[]")},
            [
                (
                    'data[.dockercfg]: Invalid value: "<secret contents redacted>": '
                    "json: cannot unmarshal array into Go value of type map[string]interface {}"
                )
            ],
        ),
        (
            "kubernetes.io/service-account-token",
            {},
            ["metadata.annotations[kubernetes.io/service-account.name]: Required value"],
        ),
    ],
)
def test_a_secrets_type_asks_for_keys(kind: str, data: dict[str, str], errors: list[str]) -> None:
    secret = {"metadata": {"name": "s"}, "type": kind, "data": data}
    assert messages(VALIDATORS["", "Secret"].create(secret)) == errors


def test_a_secrets_type_stays() -> None:
    new, old = ({"metadata": {"name": "s"}, "type": kind} for kind in ("example.com/other", "Opaque"))
    assert messages(VALIDATORS["", "Secret"].update(new, old)) == [
        'type: Invalid value: "example.com/other": field is immutable'
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{}", ""),
        ("", "unexpected end of JSON input"),
        ("{", "unexpected end of JSON input"),
        ("{a}", "invalid character 'a' looking for beginning of object key string"),
        ('{"a" 1}', "invalid character '1' after object key"),
        ('{"a":1 2}', "invalid character '2' after object key:value pair"),
        ('["}" 2]', "invalid character '2' after array element"),
        ("{} x", "invalid character 'x' after top-level value"),
        ("[1,]", "invalid character ']' looking for beginning of value"),
        ("-x", "invalid character 'x' in numeric literal"),
        ("NaN", "invalid character 'N' looking for beginning of value"),
        ('"\\q"', "invalid character 'q' in string escape code"),
    ],
)
def test_bad_json_is_told_as_go_tells_it(text: str, expected: str) -> None:
    assert problem(text) == expected
