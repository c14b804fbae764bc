"""The definitions of every release, and properties that hold for each kind in them."""

import contextlib
import functools

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apiserver.api.schema import DecodeError, Schema, available_versions, load_definitions
from apiserver.api.schema.go_types import load_go_types
from apiserver.api.schema.strict import decode_errors
from apiserver.api.schema.type_decoders import TypeDecoders

VERSIONS = ["1.25", "1.30", available_versions()[-1]]


@functools.cache
def schema_of(version):
    return Schema(load_definitions(version), version)


def test_the_releases_stand_in_their_order():
    assert available_versions() == [f"1.{minor}" for minor in range(25, 38)]


@pytest.mark.parametrize("version", ["1.24", "1", "", "../1.30"])
def test_an_unknown_release_is_refused_with_those_there_are(version):
    with pytest.raises(ValueError, match=r"there are 1\.25, .*, 1\.37"):
        load_definitions(version)


@pytest.mark.parametrize("version", VERSIONS)
def test_every_definition_compiles(version):
    definitions = load_definitions(version)
    shapes = TypeDecoders(definitions, load_go_types())
    assert all(shapes[name].decode for name in definitions)


@pytest.mark.parametrize("version", VERSIONS)
def test_the_zero_object_of_every_kind_decodes_to_itself(version):
    schema = schema_of(version)
    for kind in schema.kinds():
        zero = schema.decode(kind.definition, {}).obj
        assert schema.decode(kind.definition, zero).obj == zero


@pytest.mark.parametrize("version", VERSIONS)
def test_a_kind_is_found_by_its_group_version_and_name(version):
    schema = schema_of(version)
    assert schema.definition_of("", "v1", "Pod") == "io.k8s.api.core.v1.Pod"
    assert schema.definition_of("apps", "v1", "Deployment") == "io.k8s.api.apps.v1.Deployment"
    assert schema.definition_of("apps", "v1", "Pod") is None


@pytest.mark.parametrize("version", VERSIONS)
def test_lists_and_options_are_no_kinds_of_objects(version):
    kinds = {kind.kind for kind in schema_of(version).kinds()}
    assert {"Pod", "Deployment", "CustomResourceDefinition", "APIService", "Binding"} <= kinds
    assert not kinds & {"PodList", "DeleteOptions", "Status", "WatchEvent"}


scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**64 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(["", "a", "1", "100m", "2020-01-01T00:00:00Z", "YQ==", "x:y"]),
)
FIELDS = (
    "metadata",
    "spec",
    "status",
    "data",
    "name",
    "labels",
    "template",
    "containers",
    "resources",
    "limits",
    "ports",
)
names = st.sampled_from(
    [*FIELDS, "containerPort", "env", "replicas", "creationTimestamp", "volumes", "emptyDir", "foo"]
)
documents = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=5), max_leaves=20
)
bodies = st.dictionaries(names, documents, max_size=5)
definitions = st.sampled_from(
    [
        "io.k8s.api.core.v1.Pod",
        "io.k8s.api.core.v1.Secret",
        "io.k8s.api.core.v1.Container",
        "io.k8s.api.apps.v1.Deployment",
        "io.k8s.api.apps.v1.ControllerRevision",
        "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps",
    ]
)


@settings(max_examples=300, deadline=None)
@given(definitions, bodies | documents)
def test_garbage_is_decoded_or_refused_with_a_message(definition, obj):
    body = orjson.dumps(obj)
    schema = schema_of("1.37")
    with contextlib.suppress(DecodeError):
        decoded = schema.decode(definition, orjson.loads(body), body=body)
        again = schema.decode(definition, decoded.obj, body=orjson.dumps(decoded.obj))
        assert again.obj == decoded.obj
        assert not again.errors


def from_schema(schema, name, depth=3):
    """Bodies that fit a definition, some levels deep."""
    definition = schema.definitions[name]
    if name.rpartition(".")[2] in LEAVES:
        return LEAVES[name.rpartition(".")[2]]
    fields = {key: value_of(schema, each, depth) for key, each in definition.get("properties", {}).items()}
    some = st.sets(st.sampled_from(sorted(fields)), max_size=4) if fields and depth else st.just(set())
    return some.flatmap(lambda keys: st.fixed_dictionaries({key: fields[key] for key in sorted(keys)}))


LEAVES = {
    "Time": st.sampled_from(["2020-01-01T00:00:00Z", "2020-01-01T00:00:00.5+01:00"]),
    "MicroTime": st.sampled_from(["2020-01-01T00:00:00.000000Z"]),
    "Quantity": st.sampled_from(["1", "1000m", "2Gi", 1, 0.5]),
    "IntOrString": st.sampled_from([0, 80, "http", "25%"]),
    "RawExtension": st.sampled_from([{"a": 1}, {}]),
    "FieldsV1": st.just({"f:a": {}}),
    "JSON": scalars,
    "JSONSchemaPropsOrBool": st.booleans(),
    "JSONSchemaPropsOrArray": st.just({}),
    "JSONSchemaPropsOrStringArray": st.just(["a"]),
}
FORMATS = {
    "string": st.sampled_from(["", "a"]),
    "byte": st.sampled_from(["", "YQ==", "YR=="]),
    "integer": st.sampled_from([0, 1, -5, 2**31 - 1]),
    "boolean": st.booleans(),
    "number": st.sampled_from([0, 1, 0.5, 2.0]),
}


def value_of(schema, each, depth):
    if "$ref" in each:
        name = each["$ref"].rpartition("/")[2]
        return st.none() | st.deferred(lambda: from_schema(schema, name, depth - 1))
    kind = each["type"] if isinstance(each["type"], str) else each["type"][0]
    if kind == "array":
        return st.lists(value_of(schema, each["items"], depth), max_size=2)
    if kind == "object":
        return st.dictionaries(
            st.sampled_from(["k", "l"]), value_of(schema, each["additionalProperties"], depth), max_size=2
        )
    return st.none() | FORMATS["byte" if each.get("format") == "byte" else kind]


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_decoding_twice_is_decoding_once(data):
    schema = schema_of("1.37")
    kind = data.draw(st.sampled_from(schema.kinds()))
    obj = data.draw(from_schema(schema, kind.definition, 4))
    once = schema.decode(kind.definition, obj, body=orjson.dumps(obj))
    assert not once.errors
    assert schema.decode(kind.definition, once.obj).obj == once.obj
    assert decode_errors(schema._shapes[kind.definition], orjson.dumps(once.obj)) == []
