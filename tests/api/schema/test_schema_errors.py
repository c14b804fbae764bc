"""The errors of a body that does not decode, in the words of Go's decoder, and those of unknown fields."""

import functools

import orjson
import pytest

from apiserver.api.schema import DecodeError, Schema, load_definitions, strict_message

CORE = "io.k8s.api.core.v1"
APPS = "io.k8s.api.apps.v1"
CRD = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"
QUANTITY = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
TIME = 'as "2006-01-02T15:04:05Z07:00": cannot parse'


@functools.cache
def schema():
    return Schema(load_definitions("1.37"), "1.37")


def failure(definition, body):
    with pytest.raises(DecodeError) as caught:
        schema().decode(definition, orjson.loads(body), body=body.encode())
    return str(caught.value)


def errors(definition, body, *, strict=True):
    return list(schema().decode(definition, orjson.loads(body), body=body.encode(), strict=strict).errors)


@pytest.mark.parametrize(
    ("definition", "body", "message"),
    [
        (f"{CORE}.Pod", '{"spec": {"containers": "x"}}', "string|PodSpec.spec.containers|[]v1.Container"),
        (f"{CORE}.Pod", '{"spec": {"containers": ["x"]}}', "string|PodSpec.spec.containers|v1.Container"),
        (f"{CORE}.Pod", '{"spec": {"containers": {}}}', "object|PodSpec.spec.containers|[]v1.Container"),
        (f"{CORE}.Pod", '{"spec": []}', "array|Pod.spec|v1.PodSpec"),
        (f"{CORE}.Pod", '{"metadata": {"name": 1}}', "number|ObjectMeta.metadata.name|string"),
        (f"{CORE}.Pod", '{"metadata": {"name": true}}', "bool|ObjectMeta.metadata.name|string"),
        (f"{CORE}.Pod", '{"metadata": {"labels": {"a": 1}}}', "number|ObjectMeta.metadata.labels|string"),
        (f"{CORE}.Pod", '{"metadata": {"labels": []}}', "array|ObjectMeta.metadata.labels|map[string]string"),
        (f"{CORE}.Pod", '{"metadata": {"uid": 1}}', "number|ObjectMeta.metadata.uid|types.UID"),
        (
            f"{CORE}.Pod",
            '{"metadata": {"deletionTimestamp": 1}}',
            "number|ObjectMeta.metadata.deletionTimestamp|string",
        ),
        (f"{CORE}.Pod", '{"spec": {"restartPolicy": 1}}', "number|PodSpec.spec.restartPolicy|v1.RestartPolicy"),
        (f"{CORE}.Pod", '{"spec": {"hostNetwork": "yes"}}', "string|PodSpec.spec.hostNetwork|bool"),
        (f"{CORE}.Pod", '{"spec": {"hostNetwork": 1}}', "number|PodSpec.spec.hostNetwork|bool"),
        (f"{CORE}.Pod", '{"spec": {"overhead": 1}}', "number|PodSpec.spec.overhead|v1.ResourceList"),
        (f"{CORE}.ConfigMap", '{"data": [1]}', "array|ConfigMap.data|map[string]string"),
        (f"{CORE}.ConfigMap", '{"data": {"k": {}}}', "object|ConfigMap.data|string"),
        (f"{CORE}.Secret", '{"data": {"k": 1}}', "number|Secret.data|[]uint8"),
        (
            f"{CORE}.Service",
            '{"spec": {"ports": [{"targetPort": 1.5}]}}',
            "number 1.5|ServicePort.spec.ports.targetPort|int32",
        ),
        (
            f"{CORE}.Service",
            '{"spec": {"ports": [{"targetPort": {}}]}}',
            "object|ServicePort.spec.ports.targetPort|int32",
        ),
        (
            f"{CORE}.Service",
            '{"spec": {"ports": [{"protocol": 6}]}}',
            "number|ServicePort.spec.ports.protocol|v1.Protocol",
        ),
        (f"{APPS}.Deployment", '{"spec": {"replicas": 1.50}}', "number 1.50|DeploymentSpec.spec.replicas|int32"),
        (f"{APPS}.Deployment", '{"spec": {"replicas": 1.0}}', "number 1.0|DeploymentSpec.spec.replicas|int32"),
        (f"{APPS}.Deployment", '{"spec": {"replicas": 1e3}}', "number 1e3|DeploymentSpec.spec.replicas|int32"),
        (
            f"{APPS}.Deployment",
            '{"spec": {"replicas": 2147483648}}',
            "number 2147483648|DeploymentSpec.spec.replicas|int32",
        ),
        (f"{APPS}.Deployment", '{"spec": {"replicas": "3"}}', "string|DeploymentSpec.spec.replicas|int32"),
        (
            f"{CORE}.Pod",
            '{"spec": {"activeDeadlineSeconds": 99999999999999999999}}',
            "number 99999999999999999999|PodSpec.spec.activeDeadlineSeconds|int64",
        ),
        (CRD, '{"properties": {"a": {"items": {"type": 1}}}}', "number|JSONSchemaProps.properties.items.type|string"),
        (CRD, '{"maximum": "1"}', "string|JSONSchemaProps.maximum|float64"),
    ],
)
def test_a_value_of_a_wrong_type_is_told_with_its_field_and_go_type(definition, body, message):
    value, field, go_type = message.split("|")
    assert failure(definition, body) == f"json: cannot unmarshal {value} into Go struct field {field} of type {go_type}"


def test_a_document_of_a_wrong_type_is_told_with_its_go_type():
    assert failure(f"{CORE}.Pod", "[]") == "json: cannot unmarshal array into Go value of type v1.Pod"


@pytest.mark.parametrize("value", ["x", "1xi", "", True, {}, []])
def test_a_bad_quantity_is_told_without_its_field(value):
    body = orjson.dumps({"limits": {"cpu": value}}).decode()
    assert failure(f"{CORE}.ResourceRequirements", body) == QUANTITY


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x", f'parsing time "x" {TIME} "x" as "2006"'),
        ("", f'parsing time "" {TIME} "" as "2006"'),
        ("2020", f'parsing time "2020" {TIME} "" as "-"'),
        ("2020-1-02T03:04:05Z", f'parsing time "2020-1-02T03:04:05Z" {TIME} "1-02T03:04:05Z" as "01"'),
        ("2020-01-02 03:04:05Z", f'parsing time "2020-01-02 03:04:05Z" {TIME} " 03:04:05Z" as "T"'),
        ("2020-01-02T03:04:05", f'parsing time "2020-01-02T03:04:05" {TIME} "" as "Z07:00"'),
        ("2020-01-02T03:04:05+0200", f'parsing time "2020-01-02T03:04:05+0200" {TIME} "+0200" as "Z07:00"'),
        ("2020-13-02T03:04:05Z", 'parsing time "2020-13-02T03:04:05Z": month out of range'),
        ("2020-02-30T03:04:05Z", 'parsing time "2020-02-30T03:04:05Z": day out of range'),
        ("2020-01-02T24:04:05Z", 'parsing time "2020-01-02T24:04:05Z": hour out of range'),
        ("2020-01-02T03:60:05Z", 'parsing time "2020-01-02T03:60:05Z": minute out of range'),
        ("2020-01-02T03:04:60Z", 'parsing time "2020-01-02T03:04:60Z": second out of range'),
        ("2020-01-02T03:04:05Zx", 'parsing time "2020-01-02T03:04:05Zx": extra text: "x"'),
        (
            "2020-01-02T03:04:05+24:00",
            'parsing time "2020-01-02T03:04:05+24:00": time zone offset hour out of range',
        ),
    ],
)
def test_a_bad_time_is_told_as_go_tells_it(text, message):
    body = orjson.dumps({"metadata": {"creationTimestamp": text}}).decode()
    assert failure(f"{CORE}.Pod", body) == message


def test_a_micro_time_needs_six_digits():
    assert failure("io.k8s.api.coordination.v1.LeaseSpec", '{"renewTime": "2020-01-02T03:04:05Z"}') == (
        'parsing time "2020-01-02T03:04:05Z" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "Z" as ".000000"'
    )


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("a-b=", 1),
        ("YQ", 0),
        ("abcdY", 4),
        ("=abc", 0),
        ("Y===", 1),
        ("YQ=", 3),
        ("YQ=x", 2),
        ("YQ==x", 4),
        ("YWI=x", 4),
        ("YQ\n?=", 3),
    ],
)
def test_bad_base64_is_told_with_its_place(text, path):
    body = orjson.dumps({"data": {"k": text}}).decode()
    assert failure(f"{CORE}.Secret", body) == f"illegal base64 data at input byte {path}"


def test_only_the_first_wrong_type_is_told():
    assert "Pod.spec" in failure(f"{CORE}.Pod", '{"spec": 1, "status": 2}')


def test_a_value_that_reads_itself_takes_precedence_over_a_wrong_type_before_it():
    body = '{"name": 1, "resources": {"limits": {"cpu": "x"}}}'
    assert failure(f"{CORE}.Container", body) == QUANTITY


@pytest.mark.parametrize("value", [1, "text", []])
def test_neither_bool_nor_schema_is_told(value):
    body = orjson.dumps({"additionalProperties": value}).decode()
    assert failure(CRD, body) == "boolean or JSON schema expected"


@pytest.mark.parametrize(
    ("definition", "body", "expected"),
    [
        (f"{CORE}.Pod", '{"foo": 1}', ['unknown field "foo"']),
        (f"{CORE}.Pod", '{"foo": null}', ['unknown field "foo"']),
        (f"{CORE}.Pod", '{"spec": {"foo": {"a": 1, "a": 2}}}', ['unknown field "spec.foo"']),
        (
            f"{CORE}.Pod",
            '{"spec": {"containers": [{"name": "a"}, {"foo": 1}]}}',
            ['unknown field "spec.containers[1].foo"'],
        ),
        (f"{CORE}.Pod", '{"metadata": {"name": "a", "name": "b"}}', ['duplicate field "metadata.name"']),
        (f"{CORE}.ConfigMap", '{"data": {"k": "a", "k": "b"}}', ['duplicate field "data.k"']),
        (f"{CORE}.ConfigMap", '{"data": {"k": "a", "\\u006b": "b"}}', ['duplicate field "data.k"']),
        (f"{CORE}.ConfigMap", '{"data": {"k:": "\\u003a", "k:": ""}}', ['duplicate field "data.k:"']),
        (
            f"{CORE}.ConfigMap",
            '{"data": {"k" : "a:b\\":c", "k"\\n:"d"}}'.replace("\\n", "\n"),
            ['duplicate field "data.k"'],
        ),
        (f"{CORE}.ConfigMap", '{"data": {"a\\tb\\"": "1", "a\\tb\\"": "2"}}', ['duplicate field "data.a\\tb\\""']),
        (
            f"{APPS}.Deployment",
            '{"spec": {"replicas": 1, "foo": 1, "replicas": 2}, "bar": 1}',
            ['unknown field "spec.foo"', 'duplicate field "spec.replicas"', 'unknown field "bar"'],
        ),
        (f"{APPS}.ControllerRevision", '{"data": {"a": 1, "a": 2}}', []),
        (CRD, '{"items": {"foo": 1}}', []),
        (
            CRD,
            '{"foo": 1, "properties": {"a": {"bar": 1}}}',
            ['unknown field "foo"', 'unknown field "properties.a.bar"'],
        ),
        (f"{CORE}.ConfigMap", '{"data": {"k": "a:\\u003ab"}}', []),
    ],
)
def test_unknown_and_repeated_fields_are_told_in_their_order(definition, body, expected):
    assert errors(definition, body) == expected


def test_a_field_is_told_once_however_often_it_is_repeated():
    assert errors(f"{CORE}.ConfigMap", '{"data": {"k": "", "k": "", "k": ""}}') == ['duplicate field "data.k"']


def test_no_more_than_a_hundred_fields_are_told():
    body = orjson.dumps({f"foo{n}": n for n in range(200)}).decode()
    assert len(errors(f"{CORE}.ConfigMap", body)) == 100


def test_nothing_is_told_where_nobody_asks_and_unknown_fields_are_dropped():
    body = '{"data": {"k": "a", "k": "b"}, "foo": 1}'
    assert errors(f"{CORE}.ConfigMap", body, strict=False) == []
    assert schema().decode(f"{CORE}.ConfigMap", orjson.loads(body)).obj == {"data": {"k": "b"}, "metadata": {}}


def test_a_document_that_did_not_come_as_json_is_told_as_well():
    decoded = schema().decode(f"{CORE}.ConfigMap", {"foo": 1})
    assert decoded.errors == ('unknown field "foo"',)


def test_a_strict_server_tells_all_errors_in_one_sentence():
    assert strict_message(['unknown field "a"', 'duplicate field "b"']) == (
        'strict decoding error: unknown field "a", duplicate field "b"'
    )


def test_a_document_that_is_nested_too_deeply_is_an_error_not_a_crash():
    body = '{"properties":{"a":' * 400 + "{}" + "}}" * 400
    assert failure(CRD, body) == "exceeded max depth"
