import re

import pytest

from apiserver.api.meta import Obj
from controller_manager.reconcile.int_or_string import scaled
from controller_manager.reconcile.pod_templates import (
    HASH_LABEL,
    fnv32,
    fnv32a,
    is_same_template,
    safe_encoded,
    selector_with_hash,
    template_hash,
    with_hash,
    without_hash,
)


def template(**container):
    return {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [{"name": "web", "image": "web:1"} | container], "securityContext": {}},
    }


@pytest.mark.parametrize(
    ("data", "fnv", "fnva"),
    [  # the vectors of Go's hash/fnv
        (b"", 0x811C9DC5, 0x811C9DC5),
        (b"a", 0x050C5D7E, 0xE40C292C),
        (b"ab", 0x70772D38, 0x4D2505CA),
        (b"abc", 0x439C2F4B, 0x1A47E90B),
    ],
)
def test_fnv_is_that_of_go(data, fnv, fnva):
    assert (fnv32(data), fnv32a(data)) == (fnv, fnva)


def test_digits_are_written_in_ten_of_the_27_safe_letters():
    assert safe_encoded("0123456789") == "456789bcdf"


def test_a_hash_is_a_label_of_at_most_ten_safe_letters_that_the_order_of_keys_does_not_change():
    one = template()
    other = {"spec": dict(reversed(one["spec"].items())), "metadata": one["metadata"]}
    assert template_hash(one) == template_hash(other)
    assert re.fullmatch(r"[456789bcdf]{1,10}", template_hash(one))


def test_each_collision_gives_another_hash_and_none_is_not_zero():
    assert len({template_hash(template(), collisions) for collisions in (None, 0, 1, 2, 256)}) == 5


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ({}, {}, True),
        ({"image": "web:1"}, {"image": "web:2"}, False),
        ({"env": []}, {}, True),
        ({"env": None}, {}, True),
        ({"resources": {"limits": {}}}, {"resources": {}}, True),
        ({"resources": {"limits": {"cpu": "1000m"}}}, {"resources": {"limits": {"cpu": "1"}}}, True),
        ({"resources": {"limits": {"memory": "1Gi"}}}, {"resources": {"limits": {"memory": "1073741824"}}}, True),
        ({"resources": {"limits": {"cpu": "1"}}}, {"resources": {"limits": {"cpu": "2"}}}, False),
        ({"resources": {"limits": {"cpu": "1"}}}, {"resources": {"limits": {"memory": "1"}}}, False),
        ({"resources": {"limits": {"cpu": "odd"}}}, {"resources": {"limits": {"cpu": "odder"}}}, False),
        ({"securityContext": {}}, {}, False),
        ({"args": ["1"]}, {"args": ["1", "2"]}, False),
        ({"args": ["1"]}, {"args": "1"}, False),
    ],
)
def test_templates_are_compared_by_what_they_mean(one, other, same):
    assert is_same_template(template(**one), template(**other)) is same


@pytest.mark.parametrize(("one", "other"), [("1", "2"), ("1", None)])
def test_the_hash_label_does_not_make_templates_differ(one, other):
    marked = [with_hash(template(), value) if value else template() for value in (one, other)]
    assert is_same_template(*marked)


def test_no_labels_are_as_good_as_empty_ones():
    bare: Obj = {"spec": {"containers": []}}
    assert is_same_template(with_hash(bare, "1"), bare)


@pytest.mark.parametrize(("one", "other", "same"), [("1Gi", "1024Mi", True), ("1Gi", None, False), ("1", "2", False)])
def test_the_size_of_a_volume_is_a_quantity(one, other, same):
    made = [
        {"spec": {"volumes": [{"name": "v", "emptyDir": {"sizeLimit": size} if size else {}}]}} for size in (one, other)
    ]
    assert is_same_template(*made) is same


def test_marking_leaves_the_template_as_it_was():
    plain = template()
    marked = with_hash(plain, "5c9d")
    assert marked["metadata"]["labels"] == {"app": "web", HASH_LABEL: "5c9d"}
    assert without_hash(marked) == plain == template()


def test_a_selector_is_narrowed_to_a_hash():
    selector = {"matchExpressions": [{"key": "app", "operator": "Exists"}]}
    assert selector_with_hash(selector, "5c9d") == selector | {"matchLabels": {HASH_LABEL: "5c9d"}}


@pytest.mark.parametrize(
    ("value", "total", "up", "down"),
    [
        (None, 10, 0, 0),
        (3, 10, 3, 3),
        ("25%", 10, 3, 2),
        ("39%", 10, 4, 3),
        ("0%", 10, 0, 0),
        ("100%", 3, 3, 3),
        ("1%", 0, 0, 0),
    ],
)
def test_a_share_is_rounded_as_asked(value, total, up, down):
    assert (scaled(value, total, round_up=True), scaled(value, total, round_up=False)) == (up, down)


@pytest.mark.parametrize("value", ["3", "%", "a%", "3%%", ""])
def test_text_that_is_no_share_is_refused(value):
    with pytest.raises(ValueError, match="string is not a percentage"):
        scaled(value, 10, round_up=True)
