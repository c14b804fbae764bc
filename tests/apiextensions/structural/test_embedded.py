import pytest

from apiserver.api.schema import DecodeError
from apiserver.api.schema.keywords import EMBEDDED, PRESERVE

WHOLE = {"type": "object", EMBEDDED: True, PRESERVE: True}


def resource(**meta):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta}


def test_metadata_becomes_what_its_type_has(of_properties):
    obj = {"kind": "A", "metadata": {"name": "n", "odd": 1, "labels": {}, "creationTimestamp": None}}
    assert of_properties({}).coerce(obj) == ["metadata.odd"]
    assert obj == {"kind": "A", "metadata": {"name": "n"}}


def test_unknown_fields_of_metadata_come_first_and_those_of_embedded_resources_last(of_properties):
    obj = {
        "metadata": {"z": 1},
        "b": 1,
        "f": resource(y=1, name="n"),
        "g": [resource(x=1)],
        "h": {"k": resource(w=1)},
    }
    listed, mapped = {"type": "array", "items": WHOLE}, {"type": "object", "additionalProperties": WHOLE}
    unknown = of_properties({"f": WHOLE, "g": listed, "h": mapped}).coerce(obj)
    assert unknown == ["metadata.z", "b", "f.metadata.y", "g[0].metadata.x", "h[k].metadata.w"]
    assert obj["f"] == resource(name="n")


@pytest.mark.parametrize(
    ("obj", "message"),
    [
        (
            {"metadata": {"name": 1}},
            "json: cannot unmarshal number into Go struct field ObjectMeta.name of type string",
        ),
        (
            {"f": resource(labels={"a": 1})},
            (
                'f.metadata: Invalid value: {"labels":{"a":1}}: '
                "json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string"
            ),
        ),
        (
            {"f": {"metadata": "x"}},
            'f.metadata: Invalid value: "x": json: cannot unmarshal string into Go value of type v1.ObjectMeta',
        ),
        ({"f": {"apiVersion": 1}}, "f.apiVersion: Invalid value: 1: must be a string"),
        ({"f": {"kind": {"a": 1}}}, 'f.kind: Invalid value: {"a":1}: must be a string'),
    ],
)
def test_malformed_metadata_is_told(of_properties, obj, message):
    with pytest.raises(DecodeError) as caught:
        of_properties({"f": WHOLE}).coerce(obj)
    assert str(caught.value) == message


def test_what_is_malformed_in_the_store_is_left_out(of_properties):
    obj = {
        "metadata": {"name": "n", "labels": 5},
        "f": {"apiVersion": 1, "kind": "Pod", "metadata": {"name": "x", "annotations": {"a": 1}, "odd": 1}},
    }
    assert of_properties({"f": WHOLE}).coerce(obj, drops=True) == ["f.metadata.odd"]
    assert obj == {"metadata": {"name": "n"}, "f": {"kind": "Pod", "metadata": {"name": "x"}}}


def test_metadata_that_is_null_becomes_empty(of_properties):
    obj = {"f": {"metadata": None}}
    assert of_properties({"f": WHOLE}).coerce(obj) == []
    assert obj == {"f": {"metadata": {}}}


def test_embedded_resources_are_found_with_their_paths(of_properties):
    inner = {"type": "object", EMBEDDED: True, "properties": {"spec": {"type": "array", "items": WHOLE}}}
    obj = {"f": {"spec": [resource(name="a"), "text"]}, "g": resource()}
    embedded = of_properties({"f": inner, "g": {"type": "object"}}).embedded(obj)
    assert embedded == [("f", obj["f"]), ("f.spec[0]", resource(name="a"))]
    assert of_properties({"g": {"type": "object"}}).embedded(obj) == []
