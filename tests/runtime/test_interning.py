"""Interning: parts that many objects have in common are kept once."""

import copy
import json
from functools import reduce
from operator import getitem

import pytest

from apiserver.api.meta import Obj
from controller_manager.runtime import interning
from controller_manager.runtime.interning import Interner

TIME = "2027-01-15T08:00:00Z"


def pod(name: str, node: str = "n") -> Obj:
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
    keep = Interner()
    for name in ("a", "b"):
        assert keep.intern(pod(name)) == pod(name)


def parsed(name: str) -> Obj:
    """Return a pod with everything that pods have in common, as parsed from bytes of its own: no text is another's."""
    container = {
        "name": "web",
        "image": "nginx:1",
        "imageID": "sha256:1",
        "containerID": f"x://{name}",
        "state": {"running": {"startedAt": TIME}},
        "lastState": {"terminated": {"exitCode": 1}},
        "resources": {"requests": {"cpu": "1"}},
        "allocatedResources": {"cpu": "1"},
        "volumeMounts": [{"name": "data", "mountPath": "/data"}],
        "user": {"linux": {"uid": 5}},
    }
    whole = pod(name)
    whole["metadata"] |= {
        "generateName": "web-",
        "deletionTimestamp": TIME,
        "annotations": {"note": "none"},
        "finalizers": ["example.com/kept"],
    }
    whole["status"] |= {
        "qosClass": "Burstable",
        "hostIP": "10.0.0.9",
        "hostIPs": [{"ip": "10.0.0.9"}],
        "startTime": TIME,
        "containerStatuses": [container],
        "initContainerStatuses": [container | {"name": "init"}],
    }
    copied: Obj = json.loads(json.dumps(whole))
    return copied


METADATA = [
    "labels",
    "annotations",
    "ownerReferences",
    "finalizers",
    "namespace",
    "generateName",
    "creationTimestamp",
    "deletionTimestamp",
]
STATUS = ["conditions", "hostIPs", "phase", "qosClass", "hostIP", "startTime"]
CONTAINER = [
    "state",
    "lastState",
    "resources",
    "allocatedResources",
    "volumeMounts",
    "user",
    "name",
    "image",
    "imageID",
]


@pytest.mark.parametrize(
    "path",
    [
        ["spec"],
        *(["metadata", name] for name in METADATA),
        *(["status", name] for name in STATUS),
        *(["status", which, 0, name] for which in ("containerStatuses", "initContainerStatuses") for name in CONTAINER),
    ],
    ids=lambda path: ".".join(map(str, path)),
)
def test_equal_parts_and_words_are_the_same(path):
    def at(obj):
        return reduce(getitem, path, obj)

    keep = Interner()
    one, other = parsed("a"), parsed("b")
    assert at(one) is not at(other)
    assert at(keep.intern(one)) is at(keep.intern(other))
    assert one == parsed("a")


def test_parts_that_differ_stay_apart():
    keep = Interner()
    one, other = keep.intern(pod("a", "n")), keep.intern(pod("a", "m"))
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
    assert Interner().intern(copy.deepcopy(obj)) == obj


def test_what_nobody_has_had_for_long_is_forgotten(monkeypatch):
    monkeypatch.setattr(interning, "GENERATION_SIZE", 10)
    keep = Interner()
    first = keep.intern(pod("first"))["spec"]
    for number in range(8):
        keep.intern({"metadata": {}, "spec": {"number": number}})
    assert keep.intern(pod("again"))["spec"] is first
    for number in range(100):
        keep.intern({"metadata": {}, "spec": {"number": number}})
    assert keep.intern(pod("late"))["spec"] is not first
