from typing import Any

import pytest

from apiserver.api.schema import ConversionError, Schema, available_versions, load_definitions

DEPLOYMENT = "io.k8s.api.apps.v1.Deployment"
SECRET = "io.k8s.api.core.v1.Secret"


@pytest.fixture(scope="module")
def schema() -> Schema:
    return Schema(load_definitions(available_versions()[-1]), available_versions()[-1])


def container(**fields: Any) -> dict[str, Any]:
    return {"spec": {"template": {"spec": {"containers": [{"name": "c", **fields}]}}}}


@pytest.mark.parametrize(
    ("obj", "why"),
    [
        ({"spec": "x"}, "cannot restore struct from: string"),
        ({"spec": []}, "cannot restore struct from: slice"),
        ({"spec": 5}, "cannot restore struct from: int64"),
        ({"spec": True}, "cannot restore struct from: bool"),
        ({"metadata": 1.5}, "cannot restore struct from: float64"),
        ({"metadata": {"labels": "x"}}, "cannot restore map from string"),
        ({"metadata": {"labels": [1]}}, "cannot restore map from slice"),
        ({"metadata": {"finalizers": "x"}}, "cannot restore slice from string"),
        ({"metadata": {"finalizers": {"a": 1}}}, "cannot restore slice from map"),
        ({"metadata": {"labels": {"a": 1}}}, "cannot convert int64 to string"),
        ({"metadata": {"labels": {"a": 1.5}}}, "unrecognized type: string"),
        ({"metadata": {"labels": {"a": True}}}, "unrecognized type: string"),
        ({"metadata": {"name": {}}}, "unrecognized type: string"),
        ({"spec": {"replicas": "3"}}, "unrecognized type: int32"),
        ({"spec": {"replicas": True}}, "unrecognized type: int32"),
        ({"spec": {"replicas": 1.5}}, "cannot convert float64 to int32"),
        ({"spec": {"paused": "true"}}, "unrecognized type: bool"),
        ({"spec": {"paused": 1}}, "unrecognized type: bool"),
        (container(imagePullPolicy=1), "cannot convert int64 to v1.PullPolicy"),
        (container(env=[{"name": "A"}, "x"]), "cannot restore struct from: string"),
        ({"metadata": {"creationTimestamp": 5}}, "json: cannot unmarshal number into Go value of type string"),
        (
            {"spec": {"strategy": {"rollingUpdate": {"maxSurge": 1.5}}}},
            "json: cannot unmarshal number 1.5 into Go value of type int32",
        ),
        (
            container(resources={"limits": {"cpu": "a b"}}),
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
        ),
        ({"metadata": {"name": 1}, "spec": "x"}, "cannot convert int64 to string"),
    ],
)
def test_a_value_of_another_type_is_refused_in_the_words_of_the_converter(schema, obj: Any, why: str):
    with pytest.raises(ConversionError) as refused:
        schema.convert(DEPLOYMENT, obj)
    assert str(refused.value) == why


@pytest.mark.parametrize(
    ("data", "why"),
    [
        ("*", "error decoding from json: illegal base64 data at input byte 0"),
        (5, "cannot restore slice from int64"),
    ],
)
def test_bytes_come_from_base64(schema, data: Any, why: str):
    assert schema.convert(SECRET, {"data": {"a": "eA=="}}) == {"data": {"a": "eA=="}}
    with pytest.raises(ConversionError, match=f"^{why}$"):
        schema.convert(SECRET, {"data": {"a": data}})


@pytest.mark.parametrize(
    ("given", "expected"), [(3, 3), (3.0, 3), (None, None), (2**31, -(2**31)), (-(2**31) - 1, 2**31 - 1)]
)
def test_a_number_becomes_one_of_fewer_bits_as_in_go(schema, given: Any, expected: Any):
    assert schema.convert(DEPLOYMENT, {"spec": {"replicas": given}}) == {"spec": {"replicas": expected}}


def test_unknown_fields_and_the_order_of_fields_stay(schema):
    obj = {"spec": {"zz": [1], "replicas": 1}, "metadata": {"name": "a"}, "aa": True}
    converted = schema.convert(DEPLOYMENT, obj)
    assert (converted, list(converted), list(converted["spec"])) == (obj, list(obj), ["zz", "replicas"])
