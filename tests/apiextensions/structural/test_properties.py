"""Properties of all schemas and objects: compiled and walked schemas agree, and nothing is done twice."""

import copy
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apiserver.api.schema.keywords import at_key, default_of, items, properties, takes_null
from apiserver.apiextensions.structural import StructuralSchema, in_version_2, published, structural_errors
from apiserver.apiextensions.structural.checks import check_of
from apiserver.apiextensions.structural.defaulting import defaulter
from apiserver.apiextensions.structural.full_validation import validate_fully
from apiserver.apiextensions.structural.list_types import list_errors, unique_check
from apiserver.apiextensions.structural.pruning import clean_check, drop_nulls, prune

MINOR = 37
NAMES = st.sampled_from("abcd")
TEXTS = st.sampled_from(["", "a", "ab", "A-b", "2024-02-29", "10.0.0.1"])
NUMBERS = st.integers(-3, 12) | st.sampled_from([0.0, 1.0, 1.5, -2.25, 2**31, 2.0**60])
SCALARS = TEXTS | NUMBERS | st.booleans() | st.none()
JSON = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3), max_leaves=8
)
OBJECTS = st.dictionaries(NAMES, JSON, max_size=4)

PRESERVE = "x-kubernetes-preserve-unknown-fields"
KEYED = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a"]}
CONSTRAINTS = st.fixed_dictionaries(
    {},
    optional={
        "minimum": st.sampled_from([0, 1, 1.5]),
        "maximum": st.sampled_from([2, 5, 10.0]),
        "exclusiveMinimum": st.booleans(),
        "exclusiveMaximum": st.booleans(),
        "multipleOf": st.sampled_from([1, 2, 0.5]),
        "minLength": st.integers(0, 2),
        "maxLength": st.integers(0, 3),
        "pattern": st.sampled_from(["^a", "b$", "[A-Z]"]),
        "enum": st.lists(SCALARS, min_size=1, max_size=3),
        "minItems": st.integers(0, 2),
        "maxItems": st.integers(0, 2),
        "uniqueItems": st.booleans(),
        "minProperties": st.integers(0, 2),
        "maxProperties": st.integers(0, 2),
        "required": st.lists(NAMES, max_size=2, unique=True),
    },
)
JUNCTORS = st.fixed_dictionaries(
    {},
    optional={
        "anyOf": st.lists(CONSTRAINTS, min_size=1, max_size=2),
        "oneOf": st.lists(CONSTRAINTS, min_size=1, max_size=2),
        "allOf": st.lists(CONSTRAINTS, min_size=1, max_size=2),
        "not": CONSTRAINTS,
    },
)
EXTRAS = st.fixed_dictionaries(
    {}, optional={"nullable": st.booleans(), "default": JSON.filter(lambda v: v is not None)}
)
FORMATS = {
    "string": st.sampled_from(["date", "ipv4", "unheard-of"]),
    "integer": st.sampled_from(["int32", "int64", "float"]),
    "number": st.sampled_from(["float", "double"]),
}
KINDS = st.sampled_from(["string", "integer", "number", "boolean"])


@st.composite
def scalars(draw):
    kind = draw(KINDS)
    words = {"type": kind}
    if kind in FORMATS and draw(st.booleans()):
        words["format"] = draw(FORMATS[kind])
    return words


def containers(inner):
    keeps = st.sampled_from([{}, {}, {PRESERVE: True}])
    return (
        st.builds(
            lambda fields, keep: {"type": "object", "properties": fields} | keep,
            st.dictionaries(NAMES, inner, max_size=3),
            keeps,
        )
        | st.builds(lambda each: {"type": "object", "additionalProperties": each}, inner | st.booleans())
        | st.builds(
            lambda each, words, keep: {"type": "array", "items": each} | words | keep,
            inner,
            st.sampled_from([{}, {"x-kubernetes-list-type": "set"}, KEYED]),
            keeps,
        )
    )


def constrained(inner):
    # Constraints are rare, since an object that meets many of them is never found.
    return st.builds(
        lambda schema, words, more, extras: schema | words | more | extras,
        inner,
        st.just({}) | CONSTRAINTS,
        st.just({}) | st.just({}) | JUNCTORS,
        st.just({}) | EXTRAS,
    )


LEAVES = scalars() | st.just({"x-kubernetes-int-or-string": True}) | st.just({PRESERVE: True})
SCHEMAS = st.recursive(constrained(LEAVES), lambda inner: constrained(containers(inner)), max_leaves=6)
ROOTS = st.builds(
    lambda fields, words: {"type": "object", "properties": fields} | words,
    st.dictionaries(NAMES, SCHEMAS, max_size=4),
    st.sampled_from([{}, {}, {PRESERVE: True}]),
)
NOT_COMPARED = (PRESERVE, "additionalProperties': True", "additionalProperties': False", "list-map-keys")
"""Where these stand, an unchanged value may not be known for one."""
LOOKING = settings(max_examples=100, deadline=None, suppress_health_check=[*HealthCheck])


def same(one: Any, other: Any) -> bool:
    """Return whether two values are equal in their types too: in Python, True equals 1."""
    return repr(one) == repr(other)


@LOOKING
@given(ROOTS)
def test_the_schemas_of_these_tests_are_structural(schema):
    assert structural_errors(schema, "s") == []


@LOOKING
@given(SCHEMAS, JSON)
def test_a_check_accepts_what_nothing_is_wrong_with(schema, value):
    assert check_of(schema, MINOR)(value) == (not validate_fully(schema, value, minor=MINOR))


@LOOKING
@given(ROOTS, OBJECTS)
def test_pruning_twice_is_pruning_once(schema, obj):
    once = copy.deepcopy(obj)
    prune(once, schema)
    drop_nulls(once, schema)
    twice = copy.deepcopy(once)
    assert prune(twice, schema) == []
    drop_nulls(twice, schema)
    assert same(once, twice)


@LOOKING
@given(ROOTS, OBJECTS)
def test_a_clean_object_is_left_as_it_is(schema, obj):
    pruned = copy.deepcopy(obj)
    unknown = prune(pruned, schema)
    drop_nulls(pruned, schema)
    if clean_check(schema)(obj):
        assert same(obj, pruned)
        assert unknown == []
    assert clean_check(schema)(pruned)


def fill(value: Any, schema: Any) -> None:
    """Defaulting said as plainly as upstream says it."""
    if schema is None:
        return
    if isinstance(value, dict):
        for name, each in properties(schema).items():
            absent = name not in value or (value[name] is None and not takes_null(each))
            if default_of(each) is not None and absent:
                value[name] = copy.deepcopy(default_of(each))
        for key in value:
            known = at_key(schema, key)
            if key not in properties(schema) and value[key] is None and known is not None and not takes_null(known):
                value[key] = copy.deepcopy(default_of(known))
            fill(value[key], known)
    elif isinstance(value, list):
        of_items = items(schema)
        for index, each in enumerate(value):
            if each is None and of_items is not None and not takes_null(of_items):
                value[index] = copy.deepcopy(default_of(of_items))
            fill(value[index], of_items)


def without_loose_defaults(schema: Any) -> Any:
    """The schema with defaults that have no unknown fields, as those of a definition that was accepted."""
    made = dict(schema)
    for word in ("items", "additionalProperties"):
        if isinstance(made.get(word), dict):
            made[word] = without_loose_defaults(made[word])
    if "properties" in made:
        made["properties"] = {name: without_loose_defaults(each) for name, each in made["properties"].items()}
    if isinstance(made.get("default"), dict | list):
        made["default"] = {} if made.get("type") == "object" else []
    return made


@LOOKING
@given(ROOTS.map(without_loose_defaults), OBJECTS)
def test_defaults_are_filled_in_as_by_a_plain_walk_and_once(schema, obj):
    drop_nulls(obj, schema)
    plain, filled = copy.deepcopy(obj), copy.deepcopy(obj)
    fill(plain, schema)
    if set_defaults := defaulter(schema):
        set_defaults(filled)
        again = copy.deepcopy(filled)
        set_defaults(again)
        assert same(again, filled)
    assert filled == plain


@LOOKING
@given(ROOTS, OBJECTS)
def test_lists_without_doubles_are_known_at_a_glance(schema, obj):
    look = unique_check(schema)
    doubles = [*list_errors(obj, schema)]
    if look is None or look(obj):
        assert doubles == []


@LOOKING
@given(ROOTS, OBJECTS)
def test_what_an_object_was_made_into_stays(types, schema, obj):
    made = StructuralSchema(without_loose_defaults(schema), types)
    made.coerce(obj)
    made.default(obj)
    before, wrong = copy.deepcopy(obj), made.validate(obj)
    assert made.coerce(obj) == []
    made.default(obj)
    assert same(obj, before)
    assert made.validate(obj) == wrong


@LOOKING
@given(ROOTS, OBJECTS, OBJECTS)
def test_an_update_tells_no_more_than_a_new_object(types, schema, obj, old):
    made = StructuralSchema(schema, types)
    new = {str(error) for error in made.validate(obj)}
    assert {str(error) for error in made.validate(obj, old)} <= new
    made.prune(obj)
    if not any(word in repr(schema) for word in NOT_COMPARED):
        assert made.validate(obj, copy.deepcopy(obj)) == []


@LOOKING
@given(ROOTS)
def test_version_2_has_no_words_that_it_does_not_know(types, schema):
    document = in_version_2(published(schema, ("a.example.com", "v1", "A"), types.definitions))
    inner = repr(document)
    for word in ("anyOf", "oneOf", "allOf", "'not'", "nullable", "'default'"):
        assert word not in inner
