import pytest

from apiserver.endpoints.yaml_bodies import load_yaml


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b"", None),
        (b"---\n", None),
        (b"a: 1\n---\nb: [\n", {"a": 1}),
        (b"{a: y, b: N, c: yes}", {"a": True, "b": False, "c": True}),
        (b"a: 2020-01-01", {"a": "2020-01-01"}),
        (b"[1:30, 190:20:30.15, -1:00, 1_000]", ["1:30", "190:20:30.15", "-1:00", 1000]),
        (b"1: x", {"1": "x"}),
        (b"enum: [=, '!=']\n=: =", {"enum": ["=", "!="], "=": "="}),
        (b"a: &x {b: c}\nd: *x", {"a": {"b": "c"}, "d": {"b": "c"}}),
    ],
)
def test_the_first_document_is_what_json_would_hold(text, value):
    assert load_yaml(text) == (value, ())


def test_of_repeated_keys_the_last_counts_and_all_are_told_in_order():
    text = b"a: 1\nb: {c: 1, c: 2}\na: 2\na: 3\n"
    assert load_yaml(text) == (
        {"a": 3, "b": {"c": 2}},
        (
            'line 2: key "c" already set in map',
            'line 3: key "a" already set in map',
            'line 4: key "a" already set in map',
        ),
    )


@pytest.mark.parametrize(
    "text",
    [b"a: b: c", b"a: [", b"\t- x", b"\xff\xfe\x00", b"[" * 5000, b"a: !!binary aGk="],
)
def test_what_is_no_document_is_refused(text):
    with pytest.raises(ValueError, match=r"YAML|yaml"):
        load_yaml(text)


def test_a_document_that_aliases_blow_up_is_refused():
    bomb = b"a: &a [x, x, x, x, x, x, x, x, x, x]\n" + b"".join(
        b"%c: &%c [%s]\n" % (98 + i, 98 + i, b", ".join([b"*%c" % (97 + i)] * 10)) for i in range(7)
    )
    with pytest.raises(ValueError, match="excessive aliasing"):
        load_yaml(bomb)


def test_a_document_that_merges_blow_up_is_refused_at_once():
    bomb = b"a0: &a0 {x: 1}\n" + b"".join(
        b"a%d: &a%d {<<: [%s]}\n" % (i, i, b"*a%d, " % (i - 1) * 9) for i in range(1, 9)
    )
    with pytest.raises(ValueError, match="excessive aliasing"):
        load_yaml(bomb)


def test_merges_that_stay_small_are_followed():
    text = b"a: &a {x: 1}\nb: &b {<<: *a, z: 2}\nc: {<<: [*b, *a], x: 3}"
    assert load_yaml(text).value == {"a": {"x": 1}, "b": {"x": 1, "z": 2}, "c": {"x": 3, "z": 2}}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b"{1: a, true: b, 1.5: c}", {"1": "a", "true": "b", "1.5": "c"}),
        (b"{0x10: a, y: b, 1e7: c, .inf: d, '1': e}", {"16": "a", "true": "b", "1e+07": "c", ".inf": "d", "1": "e"}),
        (b"a: 1.0", {"a": 1}),
        (b"{a: 1e3, b: 1.5e3, c: 2.5E-1, d: .5e1}", {"a": 1000, "b": 1500, "c": 0.25, "d": 5}),
        (b"{a: 0o17, b: -0o7, c: 017, d: 089, e: 1_000}", {"a": 15, "b": -7, "c": 15, "d": 89, "e": 1000}),
        (
            b"{a: 18446744073709551616, b: 1e400, c: 1.0e+400}",
            {"a": 1.8446744073709552e19, "b": "1e400", "c": "1.0e+400"},
        ),
    ],
)
def test_keys_and_numbers_are_what_go_makes_of_them(text, value):
    read = load_yaml(text).value
    assert read == value
    assert list(map(type, read.values())) == list(map(type, value.values()))


def test_a_key_that_is_null_is_refused():
    with pytest.raises(ValueError, match="unsupported map key of type: null"):
        load_yaml(b"{null: a}")
