"""Revisions and other annotations: rows D8, D9, D30, D40 to D42, as values."""

import pytest

from controller_manager.controllers.deployment.history import (
    annotations_for_new,
    int_annotation,
    is_resized,
    last_revision,
    next_revision,
    rollback_revision,
    sets_to_clean_up,
    with_revision_of,
    with_template_of,
    without_rollback,
)
from controller_manager.controllers.deployment.replica_sets import partition_sets
from controller_manager.controllers.deployment.sync import new_replica_set, replica_set_name, scaling_message
from controller_manager.reconcile.profile import NEWEST, PROFILES

REVISION = "deployment.kubernetes.io/revision"
HISTORY = "deployment.kubernetes.io/revision-history"
DESIRED = "deployment.kubernetes.io/desired-replicas"
ROLLBACK_TO = "deprecated.deployment.rollback.to"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def named(sets):
    return [replica_set["metadata"]["name"] for replica_set in sets]


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("7", 7),
        ("+7", 7),
        ("3546343826724305832", 3546343826724305832),
        ("9223372036854775808", None),
        ("", None),
        ("1.5", None),
        (" 7", None),
        ("seven", None),
    ],
)
def test_numbers_in_annotations_are_of_64_bits(make_set, text, number):
    assert int_annotation(make_set(1, 1, revision=text), REVISION) == number


@pytest.mark.parametrize(
    ("revisions", "following", "before"),
    [
        ([], 1, 0),
        (["1"], 2, 0),
        (["1", "4", "2"], 5, 2),
        (["2", "2"], 3, 2),
        (["odd", "3"], 4, 0),
        pytest.param(["3546343826724305832"], 3546343826724305833, 0, id="D42"),
    ],
)
def test_the_next_revision_is_one_more_than_the_highest(make_set, revisions, following, before):
    sets = [make_set(number, 1, revision=text) for number, text in enumerate(revisions)]
    assert (next_revision(sets), last_revision(sets)) == (following, before)


@pytest.mark.parametrize(
    ("own", "revision", "changed"),
    [
        pytest.param({}, 3, {REVISION: "3"}, id="first"),
        pytest.param({REVISION: "3"}, 3, {REVISION: "3"}, id="same"),
        pytest.param({REVISION: "5"}, 3, {REVISION: "5"}, id="never-lower"),
        pytest.param({REVISION: "1"}, 3, {REVISION: "3", HISTORY: "1"}, id="D8"),
        pytest.param({REVISION: "3", HISTORY: "1"}, 5, {REVISION: "5", HISTORY: "1,3"}, id="D9"),
        pytest.param({REVISION: "odd"}, 3, {REVISION: "odd"}, id="no-number"),
        pytest.param({REVISION: "0"}, 1, {REVISION: "1", HISTORY: "0"}, id="zero-was-one-too"),
    ],
)
def test_a_revision_grows_and_what_it_was_is_kept(make_deployment, own, revision, changed):
    annotations = annotations_for_new(make_deployment(), {"metadata": {"annotations": own}}, revision)
    assert annotations == changed


def test_annotations_are_copied_but_those_that_are_the_deployment_s_own(make_deployment):
    private = dict.fromkeys((REVISION, HISTORY, DESIRED, ROLLBACK_TO, LAST_APPLIED), "9")
    deployment = make_deployment(annotations=private | {"team": "red", "why": "new"})
    new = {"metadata": {"annotations": {REVISION: "2", "why": "old", "mine": "stays"}}}
    annotations = annotations_for_new(deployment, new, 2)
    assert annotations == {REVISION: "2", "why": "new", "mine": "stays", "team": "red"}


def test_nothing_is_copied_to_a_set_whose_revision_is_no_number(make_deployment):
    new = {"metadata": {"annotations": {REVISION: "odd"}}}
    assert annotations_for_new(make_deployment(annotations={"team": "red"}), new, 2) == {REVISION: "odd"}


def test_a_long_history_drops_its_oldest_entries(make_deployment):
    long = ",".join(map(str, range(1000, 1400)))
    assert len(long) == 1999
    new = {"metadata": {"annotations": {REVISION: "1400", HISTORY: long}}}
    revisions = annotations_for_new(make_deployment(), new, 1401)[HISTORY].split(",")
    assert revisions[-1] == "1400"
    assert revisions[0] == "1001"


def test_the_newest_entry_is_kept_alone_where_there_is_room_for_no_other(make_deployment):
    new = {"metadata": {"annotations": {REVISION: "12345", HISTORY: "0" * 1995}}}
    assert annotations_for_new(make_deployment(), new, 12346)[HISTORY] == "12345"
    fits = {"metadata": {"annotations": {REVISION: "12345", HISTORY: "0" * 1994}}}
    assert annotations_for_new(make_deployment(), fits, 12346)[HISTORY] == "0" * 1994 + ",12345"


def test_an_entry_that_is_too_long_alone_is_not_kept(make_deployment):
    new = {"metadata": {"annotations": {REVISION: "0" * 2001, HISTORY: "1,2"}}}
    assert annotations_for_new(make_deployment(), new, 3)[HISTORY] == "1,2"


def test_the_deployment_has_the_revision_of_its_new_set(make_deployment, make_set):
    deployment = make_deployment()
    changed = with_revision_of(deployment, make_set(4, 1))
    assert changed["metadata"]["annotations"] == {REVISION: "4"}
    assert with_revision_of(changed, make_set(4, 1)) is changed
    assert deployment["metadata"]["annotations"] == {}


# -- rolling back ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("text", "revision"), [("0", 0), ("3", 3), ("", None), ("last", None), (None, None)])
def test_an_annotation_asks_for_a_revision_unless_it_is_no_number(make_deployment, text, revision):
    annotations = {} if text is None else {ROLLBACK_TO: text}
    assert rollback_revision(make_deployment(annotations=annotations)) == revision


def test_going_back_brings_the_template_and_the_annotations_of_then(make_deployment, make_set):
    now = {ROLLBACK_TO: "1", REVISION: "2", LAST_APPLIED: "{}", "why": "new"}
    then = make_set(1, 0, desired=(10, 13))
    then["metadata"]["annotations"]["why"] = "old"
    back = with_template_of(make_deployment("web:2", annotations=now), then)
    assert back["metadata"]["annotations"] == {REVISION: "2", LAST_APPLIED: "{}", "why": "old"}
    assert back["spec"]["template"] == make_deployment("web:1")["spec"]["template"]


def test_what_was_asked_for_is_taken_away(make_deployment):
    deployment = without_rollback(make_deployment(annotations={ROLLBACK_TO: "1", "team": "red"}))
    assert deployment["metadata"]["annotations"] == {"team": "red"}


# -- forgetting --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limit", "changes", "gone"),
    [
        pytest.param(2, {}, ["web-1", "web-2", "web-3"], id="oldest-first"),
        pytest.param(0, {}, ["web-1", "web-2", "web-3", "web-4", "web-5"], id="D29"),
        pytest.param(2, {2: {"pods": 1}}, ["web-1", "web-3"], id="D30-has-pods"),
        pytest.param(2, {2: {"size": 1, "pods": 0}}, ["web-1", "web-3"], id="D30-wants-pods"),
        pytest.param(2, {2: {"status": {"observedGeneration": 0}}}, ["web-1", "web-3"], id="D30-not-seen"),
        pytest.param(5, {}, [], id="within-the-limit"),
        pytest.param(9, {}, [], id="far-within"),
        pytest.param(None, {}, [], id="no-limit"),
        pytest.param(2**31 - 1, {}, [], id="no-limit-as-a-number"),
    ],
)
def test_old_sets_over_the_limit_go_and_one_that_must_stay_uses_its_slot(
    make_deployment, make_set, limit, changes, gone
):
    sets = []
    for number in range(1, 6):
        more = {"size": 0} | changes.get(number, {})
        sets.append(make_set(number, **more))
    deployment = make_deployment("web:6", revisionHistoryLimit=limit)
    assert (
        named(sets_to_clean_up(deployment, partition_sets(deployment, [*sets, make_set(6, 10)]), by_revision=True))
        == gone
    )


def test_what_is_being_deleted_already_does_not_count(make_deployment, make_set):
    going = make_set(1, 0)
    going["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    deployment = make_deployment("web:4", revisionHistoryLimit=1)
    sets = partition_sets(deployment, [going, make_set(2, 0), make_set(3, 0), make_set(4, 10)])
    assert named(sets_to_clean_up(deployment, sets, by_revision=True)) == ["web-2"]


@pytest.mark.parametrize(("by_revision", "gone"), [(True, ["web-2"]), (False, ["web-1"])])
def test_a_set_that_came_back_is_young_by_its_revision_and_old_by_its_age(make_deployment, make_set, by_revision, gone):
    deployment = make_deployment("web:3", revisionHistoryLimit=1)
    sets = partition_sets(deployment, [make_set(1, 0, revision=5), make_set(2, 0, revision=2), make_set(3, 10)])
    assert named(sets_to_clean_up(deployment, sets, by_revision=by_revision)) == gone


# -- the new set -------------------------------------------------------------------------------------------------------


def test_the_new_set_is_the_deployment_s_template_marked_with_its_hash(make_deployment, make_set):
    deployment = make_deployment("web:2", annotations={"team": "red"}, surge=3, minReadySeconds=5)
    made = new_replica_set(deployment, partition_sets(deployment, [make_set(1, 10)]), {"uid": "uid-web"})
    hash_ = made["metadata"]["labels"]["pod-template-hash"]
    labels = {"app": "web", "pod-template-hash": hash_}
    assert made["metadata"] == {
        "name": f"web-{hash_}",
        "namespace": "default",
        "labels": labels,
        "ownerReferences": [{"uid": "uid-web"}],
        "annotations": {
            "team": "red",
            REVISION: "2",
            DESIRED: "10",
            "deployment.kubernetes.io/max-replicas": "13",
        },
    }
    assert made["spec"]["selector"] == {"matchLabels": labels}
    assert made["spec"]["template"]["metadata"]["labels"] == labels
    assert made["spec"]["template"]["spec"] == deployment["spec"]["template"]["spec"]
    assert (made["spec"]["replicas"], made["spec"]["minReadySeconds"]) == (3, 5)


def test_a_long_name_is_cut_to_leave_room_for_the_hash():
    assert replica_set_name("a" * 250, "5c9d4b6f77") == "a" * 242 + "-5c9d4b6f77"


@pytest.mark.parametrize(
    ("desired", "active", "resizing"),
    [
        ((10, 13), 3, False),
        ((5, 7), 3, True),
        ((5, 7), 0, False),
        (None, 3, False),
        (("odd", 7), 3, False),
    ],
)
def test_a_new_size_is_noticed_by_what_active_sets_were_told(make_deployment, make_set, desired, active, resizing):
    deployment = make_deployment("web:2")
    assert is_resized(deployment, partition_sets(deployment, [make_set(1, active, desired=desired)])) is resizing


@pytest.mark.parametrize(
    ("before", "size", "release", "message"),
    [
        (None, 3, "1.20", "Scaled up replica set web-1 to 3"),
        (None, 3, "1.30", "Scaled up replica set web-1 to 3"),
        (None, 3, "1.35", "Scaled up replica set web-1 from 0 to 3"),
        (5, 3, "1.20", "Scaled down replica set web-1 to 3"),
        (5, 3, "1.30", "Scaled down replica set web-1 to 3 from 5"),
        (5, 3, "1.35", "Scaled down replica set web-1 from 5 to 3"),
        (3, 5, "1.35", "Scaled up replica set web-1 from 3 to 5"),
    ],
)
def test_the_words_of_a_scaling_event_are_those_of_the_release(before, size, release, message):
    assert scaling_message("web-1", before, size, profile=PROFILES[release]) == message
    assert PROFILES["1.35"] is NEWEST
