"""Decoding a body: zero values, canonical values, nulls, and fields that are always part of an answer."""

import functools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.api.schema import Schema, load_definitions
from apiserver.api.schema.times import SECONDS, _parse, is_canonical

CORE = "io.k8s.api.core.v1"
APPS = "io.k8s.api.apps.v1"
EXTENSIONS = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1"
META = "io.k8s.apimachinery.pkg.apis.meta.v1"


@functools.cache
def schema():
    return Schema(load_definitions("1.37"), "1.37")


def decoded(definition, obj):
    return schema().decode(definition, obj).obj


EMPTY_CONTAINER = {"name": "", "resources": {}}


@pytest.mark.parametrize(
    ("definition", "given"),
    [
        (f"{CORE}.Container", {"image": "", "stdin": False, "args": [], "terminationMessagePath": ""}),
        (f"{CORE}.Container", {"image": None, "stdin": None, "args": None, "livenessProbe": None}),
        (f"{CORE}.Container", {"resources": None}),
    ],
)
def test_zero_values_and_nulls_of_optional_fields_are_dropped(definition, given):
    assert decoded(definition, given) == EMPTY_CONTAINER


@pytest.mark.parametrize(
    ("definition", "given"),
    [
        (f"{APPS}.DeploymentSpec", {"replicas": 0}),
        (f"{CORE}.PodSpec", {"enableServiceLinks": False}),
        (f"{CORE}.PersistentVolumeClaimSpec", {"storageClassName": ""}),
        (f"{CORE}.SecurityContext", {"runAsUser": 0}),
        (f"{CORE}.PodSpec", {"securityContext": {}}),
        (f"{CORE}.Volume", {"emptyDir": {}}),
    ],
)
def test_zero_values_of_pointers_are_kept(definition, given):
    assert given.items() <= decoded(definition, given).items()


@pytest.mark.parametrize(
    ("definition", "expected"),
    [
        (f"{CORE}.Pod", {"metadata": {}, "spec": {"containers": None}, "status": {}}),
        (f"{CORE}.ConfigMap", {"metadata": {}}),
        (f"{CORE}.Container", EMPTY_CONTAINER),
        (f"{CORE}.ContainerPort", {"containerPort": 0}),
        (f"{CORE}.ServicePort", {"port": 0, "targetPort": 0}),
        (f"{CORE}.PodCondition", {"type": "", "status": "", "lastProbeTime": None, "lastTransitionTime": None}),
        (f"{CORE}.LimitRangeSpec", {"limits": None}),
        (f"{CORE}.ContainerStateTerminated", {"exitCode": 0, "startedAt": None, "finishedAt": None}),
        (f"{CORE}.ResourceFieldSelector", {"resource": "", "divisor": "0"}),
        ("io.k8s.api.rbac.v1.Role", {"metadata": {}, "rules": None}),
        (f"{META}.ObjectMeta", {}),
        (
            f"{APPS}.DeploymentSpec",
            {"selector": None, "strategy": {}, "template": {"metadata": {}, "spec": {"containers": None}}},
        ),
    ],
)
def test_fields_without_omitempty_and_structs_that_are_no_pointers_are_always_told(definition, expected):
    assert decoded(definition, {}) == expected


def test_an_empty_list_without_omitempty_is_null_as_it_is_after_the_store():
    assert decoded("io.k8s.api.rbac.v1.Role", {"rules": []})["rules"] is None


def test_a_creation_timestamp_of_null_is_dropped():
    assert decoded(f"{META}.ObjectMeta", {"creationTimestamp": None, "name": "a"}) == {"name": "a"}


@pytest.mark.parametrize(
    ("definition", "field", "given", "expected"),
    [
        (f"{CORE}.PodSpec", "containers", [None], [EMPTY_CONTAINER]),
        (f"{CORE}.Container", "args", ["a", None], ["a", ""]),
        (f"{CORE}.ConfigMap", "data", {"k": None}, {"k": ""}),
        (f"{CORE}.Secret", "data", {"k": None}, {"k": ""}),
        (f"{CORE}.ResourceRequirements", "limits", {"cpu": None}, {"cpu": "0"}),
    ],
)
def test_a_null_in_a_list_or_map_is_the_zero_value(definition, field, given, expected):
    assert decoded(definition, {field: given})[field] == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [("1000m", "1"), (1, "1"), (0.5, "500m"), ("1024Mi", "1Gi"), (" 1 ", "1"), ("0.1", "100m")],
)
def test_quantities_are_canonical(given, expected):
    assert decoded(f"{CORE}.ResourceRequirements", {"limits": {"cpu": given}}) == {"limits": {"cpu": expected}}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("2020-01-02T03:04:05Z", "2020-01-02T03:04:05Z"),
        ("2020-01-02T03:04:05.999Z", "2020-01-02T03:04:05Z"),
        ("2020-01-02T03:04:05+02:00", "2020-01-02T01:04:05Z"),
        ("2020-01-02T3:04:05Z", "2020-01-02T03:04:05Z"),
        ("0999-01-02T03:04:05Z", "0999-01-02T03:04:05Z"),
        ("0999-01-02T03:04:05.5Z", "0999-01-02T03:04:05Z"),
    ],
)
def test_times_are_whole_seconds_in_utc(given, expected):
    assert decoded(f"{META}.ObjectMeta", {"creationTimestamp": given}) == {"creationTimestamp": expected}


def test_the_zero_time_is_null():
    obj = decoded(f"{CORE}.PodCondition", {"lastProbeTime": "0001-01-01T00:00:00Z"})
    assert obj["lastProbeTime"] is None


def test_micro_times_have_six_digits_in_utc():
    spec = {"renewTime": "2020-01-02T03:04:05.000100+01:00"}
    assert decoded("io.k8s.api.coordination.v1.LeaseSpec", spec) == {"renewTime": "2020-01-02T02:04:05.000100Z"}


@pytest.mark.parametrize(("given", "expected"), [("YQ==", "YQ=="), ("YR==", "YQ=="), ("Y\nQ=\r\n=", "YQ=="), ("", "")])
def test_bytes_are_canonical_base64(given, expected):
    assert decoded(f"{CORE}.Secret", {"data": {"k": given}})["data"] == {"k": expected}


@pytest.mark.parametrize("port", [80, "http", 0])
def test_an_int_or_string_keeps_its_type(port):
    assert decoded(f"{CORE}.ServicePort", {"port": 1, "targetPort": port})["targetPort"] == port


@pytest.mark.parametrize("value", [{"a": [1.0, None, ""], "b": {}}, "text", 7, [], False])
def test_raw_values_stay_as_they_are(value):
    assert decoded(f"{APPS}.ControllerRevision", {"data": value})["data"] == value
    assert decoded(f"{EXTENSIONS}.JSONSchemaProps", {"default": value}) == {"default": value}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"items": {"type": "string", "unknown": 1}}, {"items": {"type": "string"}}),
        ({"items": [{"title": ""}]}, {"items": [{}]}),
        ({"items": 7}, {"items": None}),
        ({"additionalProperties": False}, {"additionalProperties": False}),
        ({"additionalProperties": {"type": "string"}}, {"additionalProperties": {"type": "string"}}),
        ({"dependencies": {"a": ["b"], "c": {"type": "x"}}}, {"dependencies": {"a": ["b"], "c": {"type": "x"}}}),
        ({"maximum": 1.0, "minimum": 0}, {"maximum": 1, "minimum": 0}),
    ],
)
def test_the_schema_of_a_custom_resource_is_decoded_all_the_way_down(given, expected):
    assert decoded(f"{EXTENSIONS}.JSONSchemaProps", {"properties": {"p": given}}) == {"properties": {"p": expected}}


def test_the_body_is_left_as_it_was():
    body = {"metadata": {"labels": {"a": "b"}}, "data": {"k": "v"}}
    obj = decoded(f"{CORE}.ConfigMap", body)
    obj["metadata"]["labels"]["a"] = obj["data"]["k"] = "changed"
    assert body == {"metadata": {"labels": {"a": "b"}}, "data": {"k": "v"}}


TIMES = st.from_regex(r"[0-9]{4}-[01][0-9]-[0-3][0-9][Tt ][0-2][0-9]:[0-5][0-9]:[0-6][0-9][Zz,]?", fullmatch=True)


@given(TIMES | st.datetimes().map(lambda moment: moment.strftime("%Y-%m-%dT%H:%M:%SZ")))
def test_times_that_are_kept_as_they_are_would_come_out_as_they_are(text):
    if is_canonical(text):
        assert _parse(text, SECONDS).strftime("%Y-%m-%dT%H:%M:%SZ").rjust(20, "0") == text
