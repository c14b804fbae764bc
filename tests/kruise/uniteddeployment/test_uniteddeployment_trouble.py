"""Refused requests: the controller of UnitedDeployments reports them and goes on (row U20)."""

import pytest

from apiserver.api.errors import conflict, forbidden, not_found, timeout
from controller_manager.reconcile.contract import Create, Delete, Requeue, Update
from controller_manager.reconcile.kinds import CONTROLLER_REVISION, STATEFUL_SET


def test_a_subset_that_cannot_be_made_ends_its_round_and_the_status_says_so(lab, united):
    """U20."""
    united("a", "b", "c", "d", replicas=8)
    denied = forbidden("apps", "statefulsets", name="", why="exceeded quota")

    def refuse(request):
        is_creation = isinstance(request, Create) and request.kind is STATEFUL_SET
        return denied if is_creation and request.obj["metadata"]["generateName"] == "web-b-" else None

    lab.refuse = refuse

    ran = lab.run()

    message = f"fail to create Subset (StatefulSet) b: {denied.message}"
    assert sorted(lab.sizes()) == ["a", "c"]
    assert ran.events == [f"FailedUpdateSubset: fail to manage Subset provision: {message}"]
    assert ran.error.message == message
    assert lab.condition("SubsetProvisioned") == f"False/Error: {message}"
    assert lab.status["observedGeneration"] == 1

    lab.refuse = lambda _: None
    assert lab.run().events == ["SuccessfulUpdateSubset: Create 2 Subset (StatefulSet)"]
    assert lab.condition("SubsetProvisioned") == "True/: "
    assert lab.sizes() == {"a": 2, "b": 2, "c": 2, "d": 2}


def test_what_is_not_answered_in_time_is_no_failure(lab, united):
    united("a", "b", replicas=4)
    late = timeout("no answer")
    lab.refuse = lambda request: late if isinstance(request, Create) and request.kind is STATEFUL_SET else None

    ran = lab.run()

    assert ran.error is None
    assert ran.events == ["SuccessfulUpdateSubset: Create 1 Subset (StatefulSet)"]
    assert [action for action in ran.actions if isinstance(action, Requeue)]


def test_a_namespace_that_goes_makes_no_noise(lab, united):
    united("a", "b", replicas=4)
    cause = {"reason": "NamespaceTerminating", "message": "going", "field": "metadata.namespace"}
    going = forbidden("apps", "statefulsets", name="", why="terminating", causes=[cause])
    lab.refuse = lambda request: going if isinstance(request, Create) and request.kind is STATEFUL_SET else None

    ran = lab.run()

    assert not ran.events
    assert ran.error.details["causes"] == [cause]


def test_a_subset_that_cannot_be_deleted_is_reported(settled, topology):
    lab = settled("a", "b", replicas=4)
    name = lab.workloads()["b"]["metadata"]["name"]
    denied = forbidden("apps", "statefulsets", name=name, why="no")
    lab.change(topology=topology("a"))
    lab.refuse = lambda request: denied if isinstance(request, Delete) else None

    ran = lab.run()

    message = f"fail to delete Subset (StatefulSet) ns/{name} for b: {denied.message}"
    assert ran.events == [f"FailedUpdateSubset: fail to manage Subset provision: {message}"]
    assert lab.condition("SubsetProvisioned") == f"False/Error: {message}"
    assert lab.sizes() == {"a": 2, "b": 2}, "nothing is updated before"


def test_a_workload_of_another_kind_that_cannot_be_deleted_is_reported(settled, template):
    lab = settled("a", replicas=2)
    (name,) = (workload["metadata"]["name"] for workload in lab.workloads().values())
    denied = forbidden("apps", "statefulsets", name=name, why="no")
    lab.change(template={"cloneSetTemplate": template()})
    lab.refuse = lambda request: denied if isinstance(request, Delete) else None

    message = f"fail to delete Subset {name} of other type StatefulSet for UnitedDeployment ns/web: {denied.message}"
    assert lab.run().events[-1] == f"FailedUpdateSubset: fail to manage Subset provision: {message}"


def test_a_workload_that_cannot_be_updated_is_reported(settled):
    lab = settled("a", "b", "c", "d", replicas=8)
    names = {subset: obj["metadata"]["name"] for subset, obj in lab.workloads().items()}
    denied = forbidden("apps", "statefulsets", name=names["b"], why="no")

    def refuse(request):
        return denied if isinstance(request, Update) and request.obj["metadata"]["name"] == names["b"] else None

    lab.refuse = refuse
    lab.change(replicas=4)

    ran = lab.run()

    assert ran.events == [
        f"FailedUpdateSubset: Error updating PodSet (StatefulSet) {names['b']} when updating: {denied.message}"
    ]
    assert lab.sizes() == {"a": 1, "b": 2, "c": 1, "d": 2}, "its round ends, the next one does not begin"
    assert lab.condition("SubsetUpdated") == f"False/Error: {denied.message}"
    assert ran.error is denied

    lab.refuse = lambda _: None
    lab.run()
    assert lab.condition("SubsetUpdated") == "True/: "
    assert sum(lab.sizes().values()) == 4


@pytest.mark.parametrize("times", [1, 4])
def test_a_workload_that_somebody_else_writes_meanwhile_is_written_again(settled, times):
    lab = settled("a", replicas=4)
    name = lab.workloads()["a"]["metadata"]["name"]
    left = [conflict("apps", "statefulsets", name=name, why="stale")] * times
    lab.refuse = lambda request: (
        left.pop() if left and isinstance(request, Update) and request.kind is STATEFUL_SET else None
    )
    lab.change(replicas=3)

    ran = lab.run()

    assert (ran.error, lab.sizes()) == (None, {"a": 3})


def test_a_workload_that_is_another_by_now_is_not_written(settled):
    lab = settled("a", replicas=4)
    workload = lab.workloads()["a"]
    stale = conflict("apps", "statefulsets", name="x", why="stale")

    def refuse(request):
        if isinstance(request, Update) and request.kind is STATEFUL_SET:
            lab.amend(
                STATEFUL_SET, f"ns/{workload['metadata']['name']}", metadata=workload["metadata"] | {"uid": "other"}
            )
            return stale
        return None

    lab.refuse = refuse
    lab.change(replicas=3)

    ran = lab.run()

    assert ran.error.message == not_found("apps", "statefulsets", workload["metadata"]["name"]).message


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"selector": {"matchExpressions": [{"key": "a", "operator": "Like"}]}}, '"Like" is not a valid'),
        ({"template": {}}, "there is no template"),
        (
            {"selector": {"matchExpressions": [{"key": "b", "operator": "Exists"}]}},
            "`selector` does not match template",
        ),
    ],
)
def test_what_cannot_be_understood_is_told_and_nothing_is_done(lab, united, spec, message):
    united("a", **spec)

    ran = lab.run()

    assert len(ran.events) == 1
    assert ran.events[0].startswith("FailedRevisionProvision: ")
    assert message in ran.events[0]
    assert not ran.requests


def test_a_revision_that_cannot_be_made_is_reported(lab, united):
    united("a")
    denied = forbidden("apps", "controllerrevisions", name="", why="no")
    lab.refuse = lambda request: denied if getattr(request, "kind", None) is CONTROLLER_REVISION else None

    ran = lab.run()

    assert ran.events == [f"FailedRevisionProvision: {denied.message}"]
    assert ran.error is denied
