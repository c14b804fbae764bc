"""The runner notices what differs, and passes over what differs from run to run."""

from typing import Any

import pytest
from comparison import Normaliser, compare, dig, picked, without


def scenario(**step):
    return {"exact": step.pop("exact", False), "steps": [{"name": "s", "request": "GET /"} | step]}


def answer(body, status=200, warnings=()):
    return {"s": {"status": status, "type": "application/json", "warnings": list(warnings), "body": body}}


def compared(golden, answers, **step):
    return compare(scenario(**step), golden, {"s": Normaliser(exact=step.get("exact", False)).normal(answers["s"])})[
        "s"
    ]


@pytest.mark.parametrize(
    ("want", "got"),
    [
        (answer({"a": 1}), answer({"a": 2})),
        (answer({"a": 1}), answer({})),
        (answer({}), answer({"a": 1})),
        (answer({"a": [1, 2]}), answer({"a": [2, 1]})),
        (answer({"a": [1]}), answer({"a": [1, 1]})),
        (answer({"a": None}), answer({})),
        (answer({}), answer({}, status=201)),
        (answer({}), answer({}, warnings=["299 - beware"])),
        (answer({"uid": "7"}), answer({"uid": ""})),
        (
            answer({"kind": "Table", "rows": [{"cells": ["5m"]}]}),
            answer({"kind": "Table", "rows": [{"cells": ["soon"]}]}),
        ),
    ],
)
def test_a_difference_is_noticed(want, got):
    assert compared(want, got)
    assert not compared(want, want)


@pytest.mark.parametrize(
    ("want", "got"),
    [
        ({"metadata": {"uid": "7", "resourceVersion": "1"}}, {"metadata": {"uid": "8", "resourceVersion": "2"}}),
        ({"message": "at 2026-01-01T00:00:00Z"}, {"message": "at 2026-02-02T11:22:33.5Z"}),
        (
            {"metadata": {"generateName": "a-", "name": "a-bcdfg"}},
            {"metadata": {"generateName": "a-", "name": "a-xz245"}},
        ),
        ({"kind": "Table", "rows": [{"cells": ["5m"]}]}, {"kind": "Table", "rows": [{"cells": ["2d3h"]}]}),
        ({"spec": {"clusterIP": "10.0.0.1"}}, {"spec": {"clusterIP": "10.96.0.9"}}),
    ],
)
def test_what_differs_from_run_to_run_is_passed_over(want, got):
    assert not compared(answer(want), answer(got))


def managed(*entries):
    named = ({"manager": name, "operation": "Update", "time": f"2026-01-01T00:00:{at:02}Z"} for name, at in entries)
    return {"metadata": {"managedFields": [*named]}}


def test_the_seconds_that_writes_fall_into_are_passed_over_unless_the_recorded_ones_are_far_apart():
    quick, slow = managed(("b", 0), ("a", 1)), managed(("b", 0), ("a", 9))
    recorded_quick, recorded_slow = (answer(Normaliser(exact=True).normal(each)) for each in (quick, slow))
    assert not compared(recorded_quick, answer(slow), exact=True)
    assert not compared(recorded_slow, answer(slow), exact=True)
    assert compared(recorded_slow, answer(managed(("a", 0), ("b", 9))), exact=True)
    assert compared(recorded_quick, answer(managed(("b", 0), ("c", 1))), exact=True)


def test_wording_of_newer_releases_agrees_unless_the_scenario_is_exact():
    old, new = {"message": "must be no more than 63 bytes"}, {"message": "must be no more than 63 characters"}
    assert not compared(answer(old), answer(new))
    assert compared(answer(old), answer(new), exact=True)


def test_how_a_number_is_written_counts_in_an_exact_scenario():
    assert compared(answer({"a": 1}), answer({"a": "<number 1.0>"}), exact=True)


def test_only_compares_the_named_paths_and_ignore_leaves_out():
    want, got = answer({"a": 1, "b": 1}), answer({"a": 1, "b": 2})
    assert not compared(want, got, only=["body.a"])
    assert compared(want, got, only=["body.b"])
    assert not compared(want, got, ignore=["body.b"])
    assert compared(want, got, ignore=["body.a"])


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("a.b", 1),
        ("l.0.n", "x"),
        ("l.-1.n", "y"),
        ("l.n=y.v", 2),
        ("l.*.n", ["x", "y"]),
        ("d~o~t", 3),
        ("l.7", None),
        ("a.b.c", None),
        ("l.word", None),
    ],
)
def test_a_dotted_path_leads_to_a_value(path, value):
    tree = {"a": {"b": 1}, "l": [{"n": "x"}, {"n": "y", "v": 2}], "d.o.t": 3}
    assert dig(tree, path) == value


def test_paths_are_dropped_from_objects_and_lists():
    tree: dict[str, Any] = {"l": [{"n": 1, "v": 2}, {"n": 3}], "m": {"k": 1}}
    assert without(tree, ["l.*.n", "m.*"]) == {"l": [{"v": 2}, {}], "m": {}}
    assert without(tree, ["l.0"]) == {"l": [{"n": 3}], "m": {"k": 1}}
    assert tree["l"][0] == {"n": 1, "v": 2}


def test_cells_of_a_table_are_picked_by_the_name_of_their_column():
    table = {"kind": "Table", "columnDefinitions": [{"name": "New"}, {"name": "Old"}], "rows": [{"cells": [1, 2]}]}
    assert picked({"body": table}, ["body.rows.0.cells.Old"]) == {"body": {"body.rows.0.cells.Old": 2}}
