"""What many objects have in common is kept once."""

import copy

import pytest

from controller_manager.runtime import sharing
from controller_manager.runtime.sharing import Sharing

TIME = "2027-01-15T08:00:00Z"


def pod(name: str, node: str = "n") -> dict:
    return copy.deepcopy(
        {
            "metadata": {
                "name": name,
                "namespace": "default",
                "labels": {"app": "web"},
                "ownerReferences": [{"uid": "u", "controller": True}],
                "creationTimestamp": TIME,
            },
            "spec": {"containers": [{"name": "web", "image": "nginx"}], "nodeName": node},
            "status": {
                "phase": "Running",
                "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": TIME}],
                "podIP": "10.0.0.1",
                "containerStatuses": [
                    {"name": "web", "containerID": f"x://{name}", "state": {"running": {"startedAt": TIME}}}
                ],
            },
        }
    )


def test_an_object_is_what_it_was():
    keep = Sharing()
    for name in ("a", "b"):
        assert keep.shared(pod(name)) == pod(name)


@pytest.mark.parametrize(
    "part",
    [
        lambda pod: pod["metadata"]["labels"],
        lambda pod: pod["metadata"]["ownerReferences"],
        lambda pod: pod["metadata"]["creationTimestamp"],
        lambda pod: pod["spec"],
        lambda pod: pod["status"]["conditions"],
        lambda pod: pod["status"]["phase"],
        lambda pod: pod["status"]["containerStatuses"][0]["state"],
    ],
)
def test_equal_parts_are_the_same(part):
    keep = Sharing()
    assert part(keep.shared(pod("a"))) is part(keep.shared(pod("b")))


def test_parts_that_differ_stay_apart():
    keep = Sharing()
    one, other = keep.shared(pod("a", "n")), keep.shared(pod("a", "m"))
    assert (one["spec"]["nodeName"], other["spec"]["nodeName"]) == ("n", "m")


@pytest.mark.parametrize(
    "obj",
    [
        {"metadata": {}},
        {"metadata": {"labels": None, "namespace": None}, "spec": None, "status": None},
        {"metadata": {}, "spec": 5, "status": "odd"},
        {"metadata": {}, "spec": [], "status": {"phase": {}, "containerStatuses": 5}},
        {"metadata": {}, "status": {"conditions": "odd", "containerStatuses": [1, {"name": [], "state": 1}]}},
    ],
)
def test_objects_of_any_form_are_taken(obj):
    assert Sharing().shared(copy.deepcopy(obj)) == obj


def test_what_nobody_has_had_for_long_is_forgotten(monkeypatch):
    monkeypatch.setattr(sharing, "REMEMBERED", 10)
    keep = Sharing()
    first = keep.shared(pod("first"))["spec"]
    for number in range(8):
        keep.shared({"metadata": {}, "spec": {"number": number}})
    assert keep.shared(pod("again"))["spec"] is first
    for number in range(100):
        keep.shared({"metadata": {}, "spec": {"number": number}})
    assert keep.shared(pod("late"))["spec"] is not first
