"""Validation of metadata, for all kinds: its fields, and which of them may change."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.api.resources import Resource
from apiserver.api.validation import names
from apiserver.registry.validation import validate_create, validate_update

SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    "an alphanumeric character (e.g. 'my-name',  or '123-abc', "
    "regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
KEY = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', "
    "regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
OWNER = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "u"}


def row(kind: str = "ServiceAccount", group: str = "", *, namespaced: bool = True) -> Resource:
    lower = kind.lower()
    return Resource(
        group=group,
        version="v1",
        kind=kind,
        plural=f"{lower}s",
        singular=lower,
        namespaced=namespaced,
        definition=f"io.k8s.api.core.v1.{kind}",
        storage_group=group,
        storage_version="v1",
        storage_prefix=f"{lower}s",
    )


def obj(**meta: Any) -> dict[str, Any]:
    return {"metadata": {"name": "a", "namespace": "ns"} | meta}


def messages(errors: Any) -> list[str]:
    return [str(error) for error in errors]


@pytest.mark.parametrize(
    ("meta", "wrong"),
    [
        ({}, []),
        ({"name": ""}, ["metadata.name: Required value: name or generateName is required"]),
        ({"name": "A_b"}, [f'metadata.name: Invalid value: "A_b": {SUBDOMAIN}']),
        ({"name": "a" * 254}, [f'metadata.name: Invalid value: "{"a" * 254}": must be no more than 253 characters']),
        ({"generateName": "web-"}, []),
        ({"generateName": "W-"}, []),
        ({"generateName": "We-"}, [f'metadata.generateName: Invalid value: "We-": {SUBDOMAIN}']),
        ({"namespace": ""}, ["metadata.namespace: Required value"]),
        ({"namespace": "N"}, [f'metadata.namespace: Invalid value: "N": {LABEL}']),
        ({"generation": -1}, ["metadata.generation: Invalid value: -1: must be greater than or equal to 0"]),
        ({"labels": {"a b": "c"}}, [f'metadata.labels: Invalid value: "a b": {KEY}']),
        ({"labels": {"/z": ""}}, ['metadata.labels: Invalid value: "/z": prefix part must be non-empty']),
        ({"annotations": {"Example.com/A": "x y"}}, []),
        ({"annotations": {"no good": ""}}, [f'metadata.annotations: Invalid value: "no good": {KEY}']),
        ({"annotations": {"a": "x" * 262144}}, ["metadata.annotations: Too long: may not be more than 262144 bytes"]),
        ({"annotations": {"a": "é" * 131072}}, ["metadata.annotations: Too long: may not be more than 262144 bytes"]),
        ({"ownerReferences": [OWNER]}, []),
        (
            {"ownerReferences": [{}]},
            [
                'metadata.ownerReferences.apiVersion: Invalid value: "": version must not be empty',
                *(
                    f'metadata.ownerReferences.{name}: Invalid value: "": must not be empty'
                    for name in ("kind", "name", "uid")
                ),
            ],
        ),
        (
            {"ownerReferences": [OWNER | {"apiVersion": "a/b/c"}]},
            ['metadata.ownerReferences.apiVersion: Invalid value: "a/b/c": version must not be empty'],
        ),
        (
            {"ownerReferences": [OWNER, OWNER | {"apiVersion": "v1", "kind": "Event"}]},
            [
                (
                    "metadata.ownerReferences: Invalid value: "
                    '{"apiVersion":"v1","kind":"Event","name":"r","uid":"u"}: '
                    "/v1, Kind=Event is disallowed from being an owner"
                )
            ],
        ),
        (
            {"ownerReferences": [OWNER | {"controller": True}, OWNER | {"controller": True, "name": "s"}]},
            [
                (
                    "metadata.ownerReferences: Invalid value: "
                    '[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"r","uid":"u","controller":true},'
                    '{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"s","uid":"u","controller":true}]: '
                    'Only one reference can have Controller set to true. Found "true" in references for '
                    "ReplicaSet/r and ReplicaSet/s"
                )
            ],
        ),
        (
            {"finalizers": ["mine"]},
            [
                (
                    'metadata.finalizers[0]: Invalid value: "mine": '
                    "name is neither a standard finalizer name nor is it fully qualified"
                )
            ],
        ),
        ({"finalizers": ["example.com/mine", "orphan"]}, []),
        (
            {"finalizers": ["orphan", "foregroundDeletion"]},
            [
                (
                    'metadata.finalizers: Invalid value: ["orphan","foregroundDeletion"]: '
                    "finalizer orphan and foregroundDeletion cannot be both set"
                )
            ],
        ),
        (
            {"managedFields": [{"operation": "Guess"}]},
            ['metadata.managedFields[0].operation: Unsupported value: "Guess": supported values: "Apply", "Update"'],
        ),
    ],
)
def test_new_metadata_is_refused_for_each_reason(meta: dict[str, Any], wrong: list[str]) -> None:
    assert messages(validate_create(row(), obj(**meta))) == wrong


@pytest.mark.parametrize(
    ("kind", "group", "name", "good"),
    [
        ("Namespace", "", "a.b", False),
        ("Service", "", "1st", False),
        ("StatefulSet", "apps", "a.b", False),
        ("Role", "rbac.authorization.k8s.io", "system:Nodes", True),
        ("Role", "rbac.authorization.k8s.io", "a/b", False),
        ("Secret", "", "a.b", True),
    ],
)
def test_names_follow_the_rule_of_their_kind(kind: str, group: str, name: str, *, good: bool) -> None:
    errors = validate_create(row(kind, group), obj(name=name))
    assert (not [e for e in errors if e.path == "metadata.name"]) is good


def test_an_object_outside_namespaces_has_no_namespace() -> None:
    errors = validate_create(row("Gadget", namespaced=False), obj())
    assert messages(errors) == ["metadata.namespace: Forbidden: not allowed on this type"]


def test_custom_resources_may_have_finalizers_of_one_word() -> None:
    definition = Resource("x.io", "v1", "W", "ws", "w", True, "io.x.v1.W", "x.io", "v1", "x.io/ws")
    assert validate_create(definition, obj(finalizers=["mine"])) == []


MARKED = {"deletionTimestamp": "2024-01-01T00:00:00Z", "finalizers": ["example.com/a"]}


@pytest.mark.parametrize(
    ("old", "new", "wrong"),
    [
        ({}, {}, []),
        ({"uid": "1"}, {"uid": "2"}, ['metadata.uid: Invalid value: "2": field is immutable']),
        ({"generation": 2}, {"generation": 1}, ["metadata.generation: Invalid value: 1: must not be decremented"]),
        (
            {},
            {"deletionTimestamp": "2001-01-01T00:00:00Z"},
            ['metadata.deletionTimestamp: Invalid value: "2001-01-01T00:00:00Z": field is immutable'],
        ),
        (MARKED, MARKED | {"finalizers": []}, []),
        (
            MARKED,
            MARKED | {"finalizers": ["example.com/a", "example.com/c", "example.com/b"]},
            [
                (
                    "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, "
                    'found new finalizers []string{"example.com/b", "example.com/c"}'
                )
            ],
        ),
        ({}, {"labels": {"a b": ""}}, [f'metadata.labels: Invalid value: "a b": {KEY}']),
    ],
)
def test_a_change_of_metadata_is_refused_for_each_reason(
    old: dict[str, Any], new: dict[str, Any], wrong: list[str]
) -> None:
    errors = messages(validate_update(row(), obj(**new), obj(**old)))
    assert list(dict.fromkeys(errors)) == wrong


def test_both_passes_over_a_change_stand_among_the_causes() -> None:
    assert len(validate_update(row(), obj(uid="2"), obj(uid="1"))) == 2


@pytest.mark.parametrize(
    ("check", "value", "wrong"),
    [
        (names.dns1123_label, "a.b", ("must not contain dots",)),
        (names.port_name, "8080", ("must contain at least one letter (a-z)",)),
        (names.port_name, "-a--b", ("must not contain consecutive hyphens", "must not begin or end with a hyphen")),
        (names.config_map_key, "..", ("must not be '..'",)),
        (names.config_map_key, "..a", ("must not start with '..'",)),
        (names.env_var_name, "a b", ()),
        (names.env_var_name, "a=b", (names.env_var_name("=")[0],)),
        (names.path_segment, "..", ("may not be '..'",)),
        (names.path_segment, "a%/", ("may not contain '/'", "may not contain '%'")),
        (names.ip, "10.0.0.1", ()),
        (names.ip, "010.0.0.1", ("must not have leading 0s",)),
        (names.ip, "::ffff:1.2.3.4", ("must not be an IPv4-mapped IPv6 address",)),
        (names.ip, "fe80::1%eth0", ("must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)",)),
        (names.canonical_ip, "2001:DB8::1", ('must be in canonical form ("2001:db8::1")',)),
        (names.cidr, "10.0.0.0/8", ()),
        (names.cidr, "10.0.0.1/8", ("must not have bits set beyond the prefix length",)),
        (names.cidr, "10.0.0.0/33", ("must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)",)),
    ],
)
def test_strings_are_told_what_they_lack(check: names.Check, value: str, wrong: tuple[str, ...]) -> None:
    assert check(value) == wrong


def test_a_huge_name_is_refused_and_not_kept() -> None:
    assert names.dns1123_label("a" * 100_000) == ("must be no more than 63 characters",)


@given(st.from_regex(r"[0-9]{1,4}(\.[0-9]{1,4}){2,4}", fullmatch=True) | st.text("0127.:/\n", max_size=9))
def test_plain_addresses_are_told_from_others_as_the_full_rule_does(text):
    assert names.ip(text) == names._ip(text)
