"""Pods that find no node in their zone go to others, and come back, as kubectl shows it."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

Kind = Any
Kubectl = Any
Web = Any
Write = Callable[..., str]

SOON = {"rescheduleCriticalSeconds": 5, "unschedulableDuration": 2}
"""Seconds that a pod is without a node before it goes elsewhere: more than the scheduler takes on a slow machine."""
ROOM = {"a": {"maxReplicas": 3}, "b": {"maxReplicas": 3}}
RESERVED = "apps.kruise.io/united-deployment-reserved-pod"


@pytest.fixture
def opened(web: Web) -> Iterator[Web]:
    """After the test the node of zone b takes pods."""
    yield web
    web.kubectl.output("uncordon node-2")


@pytest.fixture
def closed(opened: Web) -> Web:
    """The node of zone b takes no pods."""
    opened.kubectl.says("cordon node-2", "node/node-2 cordoned")
    return opened


def schedulable(web: Web) -> tuple[str, str, str] | None:
    """Return the condition of zone b: status, reason and message."""
    [entry] = [each for each in web.status.get("subsetStatuses", []) if each["name"] == "zone-b"]
    for condition in entry.get("conditions", []):
        return condition["status"], condition["reason"], condition["message"]
    return None


def test_pods_of_a_closed_zone_go_elsewhere(closed: Web, kind: Kind, united: Write) -> None:
    """Rows U10 and U11: what runs elsewhere stays there, and what comes later goes to the zone again."""
    closed.apply(united(kind, replicas=8, subsets=ROOM, schedule=SOON))
    closed.settles(lambda: schedulable(closed) == ("False", "reschedule", "timeout pending pods found"))
    closed.done(8)
    assert closed.spread == {"zone-a": ["node-1"] * 3, "zone-c": ["node-3"] * 5}
    closed.kubectl.output("uncordon node-2")
    recovered = ("True", "recover", "unschedulable subset recovered after 2.000000 seconds")
    closed.settles(lambda: schedulable(closed) == recovered)
    assert closed.spread == {"zone-a": ["node-1"] * 3, "zone-c": ["node-3"] * 5}
    closed.kubectl.output("scale ud web --replicas=10")
    closed.done(10)
    assert closed.spread == {"zone-a": ["node-1"] * 3, "zone-b": ["node-2"] * 2, "zone-c": ["node-3"] * 5}


def test_a_drained_zone_is_made_up_for(opened: Web, kind: Kind, united: Write) -> None:
    opened.apply(united(kind, replicas=8, subsets=ROOM, schedule=SOON))
    opened.done(8)
    assert opened.spread == {"zone-a": ["node-1"] * 3, "zone-b": ["node-2"] * 3, "zone-c": ["node-3"] * 2}
    opened.kubectl.says("drain node-2 --force", r".*node/node-2 drained")
    opened.settles(lambda: opened.spread == {"zone-a": ["node-1"] * 3, "zone-c": ["node-3"] * 5})
    opened.done(8)


@pytest.mark.parametrize("kind", ["CloneSet", "Deployment"], indirect=True)
def test_reserved_pods_wait_for_their_zone_and_others_stand_in_for_them(closed: Web, kind: Kind, united: Write) -> None:
    """Row U12."""
    closed.apply(united(kind, replicas=8, subsets=ROOM, schedule=SOON | {"reserveUnschedulablePods": True}))
    closed.until(replicas=8, readyReplicas=8, reservedPods=3)
    assert closed.spread == {"zone-a": ["node-1"] * 3, "zone-b": [""] * 3, "zone-c": ["node-3"] * 5}
    assert schedulable(closed) == ("False", "reschedule", "reserved pods found")
    assert closed.status["labelSelector"] == f"app=web,{RESERVED}=false"
    labels = closed.kubectl.output(f"get pods -l {RESERVED}=true -o name").split()
    assert len(labels) == 3
    closed.kubectl.output("uncordon node-2")
    closed.settles(lambda: schedulable(closed) == ("True", "reschedule", "no reserved pods"))
    closed.settles(
        lambda: closed.spread == {"zone-a": ["node-1"] * 3, "zone-b": ["node-2"] * 3, "zone-c": ["node-3"] * 2}
    )
    closed.done(8)
    assert closed.kubectl.output(f"get pods -l {RESERVED}=true -o name") == ""
