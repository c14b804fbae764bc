"""ControllerRevisions by their arithmetic: hashes and names as upstream has them, order, equality, and what goes."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.api.meta import Obj
from controller_manager.reconcile import revisions
from controller_manager.reconcile.pod_templates import fnv32

# apps/v1 StatefulSet and its revision as Kubernetes 1.34 wrote them
TEMPLATE: Obj = {
    "metadata": {"labels": {"app": "foo"}, "annotations": {"test": "value"}},
    "spec": {
        "containers": [
            {
                "name": "test",
                "image": "test",
                "resources": {},
                "terminationMessagePath": "/dev/termination-log",
                "terminationMessagePolicy": "File",
                "imagePullPolicy": "Always",
            }
        ],
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
        "securityContext": {},
        "schedulerName": "default-scheduler",
    },
}
PARENT = {
    "metadata": {"name": "test", "namespace": "default", "annotations": {"note": "x"}, "uid": "u"},
    "spec": {"template": TEMPLATE},
}


def revision(name, number, *, data=None, created="2027-01-15T08:00:00Z"):
    meta = {"name": name, "namespace": "default", "creationTimestamp": created}
    return {"metadata": meta, "revision": number, "data": data or {"spec": {"template": {"n": name}}}}


@pytest.mark.parametrize(
    ("text", "expected"), [(b"", 0x811C9DC5), (b"a", 0x050C5D7E), (b"foobar", 0x31F0B262), (b"\0", 0x050C5D1F)]
)
def test_the_hash_is_fnv_1_of_32_bits(text, expected):
    assert fnv32(text) == expected


def test_a_revision_has_the_hash_that_a_real_cluster_gives_it():
    made = revisions.new_revision(
        PARENT, revisions.template_data(TEMPLATE), reference={"uid": "u"}, number=2, collisions=0
    )

    assert made["metadata"] == {
        "name": "test-776999688b",
        "namespace": "default",
        "labels": {"app": "foo", "controller.kubernetes.io/hash": "776999688b"},
        "annotations": {"note": "x"},
        "ownerReferences": [{"uid": "u"}],
    }
    assert made["revision"] == 2
    assert made["data"]["spec"]["template"]["$patch"] == "replace"


def test_what_a_revision_holds_is_in_the_order_in_which_kubectl_compares_it():
    """By its bytes `kubectl rollout undo` knows the present revision (rollback.go statefulsetMatch)."""
    data = revisions.template_data(TEMPLATE)
    made = revisions.new_revision(PARENT, data, reference={"uid": "u"}, number=2, collisions=0)
    assert json.dumps(made["data"]) == json.dumps(data, sort_keys=True)


def test_a_collision_gives_the_same_data_another_name():
    data = revisions.template_data(TEMPLATE)

    names = {revisions.revision_hash(data, collisions) for collisions in (None, 0, 1, 2)}

    assert len(names) == 4


def test_data_is_hashed_in_the_order_and_with_the_escapes_of_go():
    assert revisions.data_bytes({"b": "<&>", "a": {"z": 1, "y": "é\u2028"}}) == (
        b'{"a":{"y":"\xc3\xa9\\u2028","z":1},"b":"\\u003c\\u0026\\u003e"}'
    )


def test_a_long_name_is_cut_so_that_the_hash_fits():
    assert revisions.revision_name("x" * 240, "abc") == "x" * 223 + "-abc"


def test_a_revision_gives_back_the_template_that_it_was_made_of():
    assert revisions.template_of({"data": revisions.template_data(TEMPLATE)}) == TEMPLATE


@pytest.mark.parametrize("data", [None, {}, {"spec": {}}, {"spec": {"template": None}}, {"spec": {"template": "x"}}])
def test_a_revision_without_a_template_gives_none(data):
    assert revisions.template_of({"data": data}) is None


def test_revisions_stand_by_number_then_age_then_name():
    given_ = [
        revision("d", 2, created="2027-01-15T09:00:00Z"),
        revision("c", 10),
        revision("b", 2),
        revision("a", 2),
        revision("e", 1),
    ]

    assert [r["metadata"]["name"] for r in revisions.in_order(given_)] == ["e", "a", "b", "d", "c"]


@pytest.mark.parametrize(("numbers", "expected"), [([], 1), ([1], 2), ([1, 7], 8)])
def test_the_next_number_is_one_above_the_newest(numbers, expected):
    assert revisions.next_number([revision(str(n), n) for n in numbers]) == expected


def test_of_equal_revisions_the_newest_is_meant():
    data = revisions.template_data(TEMPLATE)
    history = [revision("a", 1, data=data), revision("b", 2, data=data), revision("c", 3)]

    assert revisions.equal_revision(history, data) is history[1]


def test_no_revision_is_equal_to_what_never_was():
    assert revisions.equal_revision([revision("a", 1)], revisions.template_data(TEMPLATE)) is None


def test_a_revision_from_before_a_field_was_left_out_is_still_equal():
    old = revisions.template_data({**TEMPLATE, "metadata": {**TEMPLATE["metadata"], "creationTimestamp": None}})

    assert revisions.equal_revision([revision("a", 1, data=old)], revisions.template_data(TEMPLATE)) is not None


def test_the_hash_label_does_not_decide_what_is_equal():
    data = revisions.template_data(TEMPLATE)
    other = revision("a", 1, data=data)
    other["metadata"]["labels"] = {revisions.HASH_LABEL: "123"}

    assert revisions.equal_revision([other], data) is other


@pytest.mark.parametrize(
    ("live", "limit", "expected"),
    [
        ((), 10, ""),
        ((), 2, "abc"),
        (("a", "e"), 2, "b"),
        (("a", "e"), 0, "bcd"),
        (("a", "b", "c", "d", "e"), 0, ""),
        ((), -1, ""),
        ((), 5, ""),
    ],
)
def test_the_oldest_idle_revisions_beyond_the_limit_go(live, limit, expected):
    history = [revision(name, number) for number, name in enumerate("abcde")]

    assert (
        "".join(r["metadata"]["name"] for r in revisions.excess_revisions(history, live=live, limit=limit)) == expected
    )


@given(
    st.lists(st.booleans(), max_size=20),
    st.integers(-1, 8),
)
def test_live_revisions_never_go_and_no_more_than_the_limit_stay_idle(living, limit):
    history = [revision(str(n), n) for n in range(len(living))]
    live = {str(n) for n, alive in enumerate(living) if alive}

    gone = {r["metadata"]["name"] for r in revisions.excess_revisions(history, live=live, limit=limit)}

    assert not gone & live
    left = len(living) - len(live) - len(gone)
    assert left == (len(living) - len(live) if limit < 0 else min(limit, len(living) - len(live)))


@pytest.mark.parametrize("data", ["x", 5, [1], {"spec": "x"}, {"spec": [{}]}, {"spec": {"template": "x"}}, {}, None])
def test_a_revision_that_somebody_filled_with_anything_holds_no_template(data):
    assert revisions.template_of({"data": data}) is None
    assert revisions.equal_revision([{"data": data}], revisions.template_data({"spec": {}})) is None
