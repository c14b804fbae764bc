"""The CEL values that rules see of an object, by the schema of each of its parts."""

from typing import Any

import pytest
from rule_schemas import NUMBER, TEXT, TRUTH, WHOLE, many, of, values

MOMENT, DAY, SPAN, BYTES = (TEXT | {"format": form} for form in ("date-time", "date", "duration", "byte"))
EITHER = {"x-kubernetes-int-or-string": True}
KEPT = {"x-kubernetes-preserve-unknown-fields": True}


@pytest.mark.parametrize(
    ("schema", "obj", "rule"),
    [
        (TEXT, "a", "self == 'a' && type(self) == string"),
        (WHOLE, 5, "self == 5 && type(self) == int"),
        (NUMBER, 5, "self == 5.0 && type(self) == double && self > 4"),
        (NUMBER, 1.5, "self == 1.5"),
        (TRUTH, True, "self && type(self) == bool"),
        (MOMENT, "2023-12-25T01:00:00+01:00", "self == timestamp('2023-12-25T00:00:00Z')"),
        (MOMENT, "2023-12-25t00:00:00z", "self == timestamp('2023-12-25T00:00:00Z')"),
        (DAY, "2023-12-25", "self == timestamp('2023-12-25T00:00:00Z')"),
        (SPAN, "1h30m", "self == duration('5400s')"),
        (SPAN, "2 days", "self == duration('48h')"),
        (BYTES, "aGk=", "self == b'hi' && string(self) == 'hi'"),
        (EITHER, 5, "type(self) == int ? self < 10 : self == '5%'"),
        (EITHER, "5%", "type(self) == int ? self < 10 : self == '5%'"),
        (EITHER, 5, "self + self == 10"),
        (of(a=TEXT), {"a": "x"}, "self.a == 'x' && has(self.a)"),
        (of(a=TEXT, b=TEXT), {"a": "x"}, "has(self.a) && !has(self.b)"),
        (of(a=TEXT | {"nullable": True}), {"a": None}, "!has(self.a)"),
        (of(a=of(b=TEXT)), {"a": {"b": "x"}}, "self.a.b == 'x' && self == self"),
        (of(a=TEXT), {"a": "x"}, "self.?a.orValue('') == 'x'"),
        (of(a=TEXT, b=TEXT), {"a": "x"}, "self.?b.orValue('none') == 'none'"),
        (values(WHOLE), {"a": 1, "b": 2}, "self.a == 1 && self['b'] == 2 && 'a' in self && !('c' in self)"),
        (values(WHOLE), {"a-b": 1}, "self['a-b'] == 1 && self.all(k, self[k] == 1) && size(self) == 1"),
        (values(WHOLE), {"a": 1}, "self == {'a': 1} && self.?c.orValue(7) == 7"),
        (values(WHOLE | {"nullable": True}), {"a": None}, "has(self.a) && self.map(k, k) == ['a']"),
        (many(WHOLE), [1, 2], "self == [1, 2] && self != [2, 1] && self[1] == 2 && self.size() == 2 && 2 in self"),
        (many(WHOLE), [1, 2], "self + [2] == [1, 2, 2] && self.map(x, x * 2) == [2, 4] && self.sum() == 3"),
        (many(of(a=WHOLE)), [{"a": 1}, {"a": 2}], "self.exists(x, x.a == 2) && self.map(x, x.a).max() == 2"),
        (many(many(WHOLE)), [[1], [2, 3]], "self.flatten() == [1, 2, 3]"),
        (of(**{"a-b": WHOLE, "c.d": WHOLE}), {"a-b": 1, "c.d": 2}, "self.a__dash__b == 1 && self.c__dot__d == 2"),
        (of(**{"a/b": WHOLE, "a__b": WHOLE}), {"a/b": 1, "a__b": 2}, "self.a__slash__b + self.a__underscores__b == 3"),
        (of(namespace=TEXT), {"namespace": "x"}, "self.__namespace__ == 'x' && self.namespace == 'x'"),
        (of(**{"in": TEXT}), {"in": "x"}, "self.__in__ == 'x' && has(self.__in__)"),
        (of(self=TEXT, oldSelf=TEXT), {"self": "x", "oldSelf": "y"}, "self.self + self.oldSelf == 'xy'"),
        (of(a=TEXT) | KEPT, {"a": "x", "b": 1}, "self.a == 'x'"),
        (of(a=of() | KEPT), {"a": {"x": 1}}, "self.a == self.a && self == self"),
    ],
)
def test_a_part_is_of_the_type_of_its_schema(holds, schema, obj, rule):
    assert holds(rule, schema, obj) == []
    assert holds(f"!({rule})", schema, obj) != []


@pytest.mark.parametrize(
    ("schema", "rule", "message"),
    [
        (of(a=TEXT), "self.b == 'x'", "undefined field 'b'"),
        (of(a=TEXT) | KEPT, "self.b == 'x'", "undefined field 'b'"),
        (of(a=KEPT), "self.a == 1", "undefined field 'a'"),
        (of(**{"a@b": TEXT}), "self.a == 'x'", "undefined field 'a'"),
        (of(**{"a-b": TEXT}), "self.a == 'x'", "undefined field 'a'"),
        (values(TEXT), "self.a == 1", "found no matching overload for '_==_' applied to '(string, int)'"),
        (WHOLE, "self == 1.0", "found no matching overload for '_==_' applied to '(int, double)'"),
        (WHOLE | {"format": "double"}, "self < 'a'", "found no matching overload for '_<_' applied to '(int, string)'"),
        (MOMENT, "self == 'x'", "found no matching overload for '_==_' applied to '(timestamp, string)'"),
        (many(TEXT), "self.a == 'x'", "type 'list(string)' does not support field selection"),
    ],
)
def test_what_a_schema_does_not_declare_cannot_be_spoken_of(refused, schema, rule, message):
    (error,) = refused(of(v=schema | {"x-kubernetes-validations": [{"rule": rule}]}))
    assert message in error


@pytest.mark.parametrize("kind", ["set", "map"])
def test_lists_whose_order_means_nothing_are_compared_without_it(checked, kind):
    one: list[Any]
    two: list[Any]
    items, one, two = (TEXT, ["x", "y"], ["y", "x"])
    words: dict[str, Any] = {"x-kubernetes-list-type": kind}
    if kind == "map":
        items, one, two = of(k=TEXT, v=WHOLE), [{"k": "x", "v": 1}, {"k": "y"}], [{"k": "y"}, {"k": "x", "v": 1}]
        words["x-kubernetes-list-map-keys"] = ["k"]
    schema = of(a=many(items, **words), b=many(items, **words))

    def errors_of(rule):
        return checked(schema | {"x-kubernetes-validations": [{"rule": rule}]}, {"a": one, "b": two})

    assert errors_of("self.a == self.b") == []
    assert errors_of("self.a != self.b") != []
    assert errors_of("self.a + self.b == self.a") == []
    assert errors_of("(self.a + self.b).size() == 2") == []


@pytest.mark.parametrize(
    ("rule", "obj"),
    [
        ("self.a == self.b", {"a": [], "b": []}),
        ("(self.a + self.b)[0].v == 2", {"a": [{"k": "x", "v": 1}], "b": [{"k": "x", "v": 2}]}),
        ("self.a != self.b", {"a": [{"k": "x", "v": 1}], "b": [{"k": "x", "v": 2}]}),
        ("(self.a + self.b).map(i, i.k) == ['x', 'y', 'z']", {"a": [{"k": "x"}, {"k": "y"}], "b": [{"k": "z"}]}),
    ],
)
def test_items_with_the_same_keys_are_the_same_item(checked, rule, obj):
    keyed = many(of(k=TEXT, v=WHOLE), **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]})
    schema = of(a=keyed, b=keyed) | {"x-kubernetes-validations": [{"rule": rule}]}
    assert checked(schema, obj) == []


def test_a_set_keeps_what_it_has_first(checked):
    words = {"x-kubernetes-list-type": "set"}
    schema = of(a=many(TEXT, **words), b=many(TEXT, **words))
    schema["x-kubernetes-validations"] = [{"rule": "(self.a + self.b).map(x, x) == ['x', 'y', 'z']"}]
    assert checked(schema, {"a": ["x", "y"], "b": ["y", "z"]}) == []


@pytest.mark.parametrize(
    ("schema", "rule"),
    [
        ({"type": "object"}, "self.metadata.name == 'a' && self.kind == 'K' && self.apiVersion == 'g/v1'"),
        (of(metadata={"type": "object"}), "self.metadata.name.startsWith('a')"),
        (of(metadata=of(name=TEXT | {"maxLength": 10})), "self.metadata.name.size() <= 10"),
        (of(spec=of(a=TEXT)), "!has(self.spec) && !has(self.metadata.generateName)"),
    ],
)
def test_rules_of_the_whole_know_its_name_and_kind(checked, schema, rule):
    obj = {"apiVersion": "g/v1", "kind": "K", "metadata": {"name": "a", "labels": {"x": "y"}}}
    assert checked(schema | {"x-kubernetes-validations": [{"rule": rule}]}, obj) == []


def test_rules_of_the_whole_know_no_other_metadata(refused):
    (message,) = refused({"type": "object", "x-kubernetes-validations": [{"rule": "has(self.metadata.labels)"}]})
    assert "undefined field 'labels'" in message


def test_rules_of_an_embedded_resource_know_its_name_and_kind(checked):
    rules = [{"rule": "self.kind == 'Pod' && self.apiVersion == 'v1' && self.metadata.name == 'p'"}]
    embedded = of(spec=of()) | {"x-kubernetes-embedded-resource": True, "x-kubernetes-validations": rules} | KEPT
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"x": 1}}
    assert checked(of(t=embedded), {"t": pod}) == []
    assert checked(of(t=embedded), {"t": pod | {"kind": "Node"}}) == [
        "t: Invalid value: failed rule: self.kind == 'Pod' && self.apiVersion == 'v1' && self.metadata.name == 'p'"
    ]
    around = of(t=of() | KEPT | {"x-kubernetes-embedded-resource": True})
    assert checked(around | {"x-kubernetes-validations": [{"rule": "self.t.kind == 'Pod'"}]}, {"t": pod}) == []
