"""Which changes of a pod make its CloneSet look at it."""

import copy
from typing import Any

import pytest

from controller_manager.kruise.pod_lifecycle import STATE_LABEL, UPDATING, changes_sync
from controller_manager.reconcile.in_place import GRACE_ANNOTATION, READINESS_GATE

POD: dict[str, Any] = {
    "metadata": {"name": "p", "resourceVersion": "1", "generation": 1, "labels": {"a": "b"}, "annotations": {"a": "b"}},
    "spec": {"nodeName": "n"},
    "status": {
        "phase": "Running",
        "conditions": [{"type": "Ready", "status": "True"}],
        "containerStatuses": [{"name": "c"}],
    },
}


def changed(pod: dict[str, Any], part: str, **fields: Any) -> dict[str, Any]:
    """Return the pod with other fields in its metadata, spec or status."""
    return copy.deepcopy(pod) | {part: copy.deepcopy(pod[part]) | fields}


@pytest.mark.parametrize(
    ("part", "fields"),
    [
        ("metadata", {"deletionTimestamp": "2027-01-15T08:00:00Z"}),
        ("metadata", {"generation": 2}),
        ("metadata", {"labels": {"a": "c"}}),
        ("metadata", {"annotations": {"a": "c"}}),
        ("metadata", {"ownerReferences": [{"uid": "u"}]}),
        ("spec", {"nodeName": "other"}),
        ("status", {"phase": "Failed"}),
        ("status", {"conditions": [{"type": "Ready", "status": "False"}]}),
        ("status", {"conditions": [{"type": "Ready", "status": "True"}, {"type": READINESS_GATE, "status": "True"}]}),
    ],
)
def test_a_change_that_is_counted_matters(part: str, fields: dict[str, Any]) -> None:
    assert changes_sync(POD, changed(POD, part, **fields))


@pytest.mark.parametrize(
    ("part", "fields"),
    [
        ("metadata", {"resourceVersion": "2"}),
        ("metadata", {"managedFields": [{}]}),
        ("spec", {"tolerations": [{}]}),
        ("status", {"conditions": [{"type": "Other", "status": "True"}, *POD["status"]["conditions"]]}),
        ("status", {"containerStatuses": [{"name": "c", "restartCount": 1}]}),
    ],
)
def test_a_change_that_nothing_depends_on_does_not(part: str, fields: dict[str, Any]) -> None:
    assert not changes_sync(POD, changed(POD, part, **fields))


@pytest.mark.parametrize(
    ("part", "fields"),
    [
        ("metadata", {"labels": {STATE_LABEL: UPDATING}}),
        ("metadata", {"annotations": {GRACE_ANNOTATION: "{}"}}),
        ("status", {"conditions": [{"type": READINESS_GATE, "status": "False"}]}),
    ],
)
def test_containers_matter_while_the_pod_is_updated_in_place(part: str, fields: dict[str, Any]) -> None:
    updating = changed(POD, part, **fields)
    assert changes_sync(updating, changed(updating, "status", containerStatuses=[]))
    assert not changes_sync(updating, changed(updating, "metadata", resourceVersion="2"))
