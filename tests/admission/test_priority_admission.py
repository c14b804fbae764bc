import orjson
import pytest

from apiserver.admission.priority import CLASSES, Priority
from apiserver.api.errors import ApiError
from apiserver.api.user import User
from apiserver.registry.admission import Attributes, Operation
from apiserver.registry.options import Target
from etcd.backends import open_store

CRITICAL = {"metadata": {"name": "critical"}, "value": 2000, "preemptionPolicy": "PreemptLowerPriority"}
POLITE = {"metadata": {"name": "polite"}, "value": 5, "preemptionPolicy": "Never"}
USUAL = {"metadata": {"name": "usual"}, "value": 7, "globalDefault": True}


@pytest.fixture
async def admitted(rows):
    """Return a function that admits an object among the given priority classes and returns it."""

    async def admit(obj, *classes, kind="Pod", old=None):
        store = await open_store("memory://")
        try:
            for each in classes:
                await store.put(CLASSES + each["metadata"]["name"], orjson.dumps(each))
            target = Target(rows[kind], "ns" if kind == "Pod" else "", "x")
            operation: Operation = "CREATE" if old is None else "UPDATE"
            await Priority(store).admit(Attributes(operation, target, User("u"), obj=obj, old=old))
        finally:
            await store.close()
        return obj

    return admit


def pod(**spec):
    return {"metadata": {"name": "x"}, "spec": spec}


@pytest.mark.parametrize(
    ("given", "classes", "expected"),
    [
        ({}, [CRITICAL], {"priority": 0, "preemptionPolicy": "PreemptLowerPriority"}),
        (
            {"priorityClassName": "polite"},
            [CRITICAL, POLITE],
            {"priorityClassName": "polite", "priority": 5, "preemptionPolicy": "Never"},
        ),
        ({}, [USUAL, POLITE], {"priorityClassName": "usual", "priority": 7}),
        ({"priority": 0}, [], {"priority": 0, "preemptionPolicy": "PreemptLowerPriority"}),
    ],
)
async def test_a_new_pod_is_given_the_priority_of_its_class(admitted, given, classes, expected):
    assert (await admitted(pod(**given), *classes))["spec"] == expected


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"priorityClassName": "none"}, "no PriorityClass with name none was found"),
        (
            {"priority": 3},
            (
                "the integer value of priority (3) must not be provided in pod spec; priority admission controller "
                "computed 0 from the given PriorityClass name"
            ),
        ),
        (
            {"preemptionPolicy": "Never"},
            (
                "the string value of PreemptionPolicy (Never) must not be provided in pod spec; priority admission "
                "controller computed PreemptLowerPriority from the given PriorityClass name"
            ),
        ),
    ],
)
async def test_a_pod_cannot_choose_its_priority_but_by_a_class(admitted, given, why):
    with pytest.raises(ApiError) as refused:
        await admitted(pod(**given))
    assert (refused.value.code, refused.value.message) == (403, f'pods "x" is forbidden: {why}')


async def test_an_update_that_leaves_the_priority_out_keeps_it(admitted):
    old = pod(priority=5, preemptionPolicy="Never")
    assert (await admitted(pod(), old=old))["spec"] == old["spec"]


async def test_there_is_one_default_class(admitted):
    another = {"metadata": {"name": "another"}, "value": 1, "globalDefault": True}
    with pytest.raises(ApiError) as refused:
        await admitted(another, USUAL, kind="PriorityClass")
    assert refused.value.message.endswith(
        "PriorityClass usual is already marked as default. Only one default can exist"
    )


async def test_the_default_class_can_be_updated(admitted):
    assert await admitted(USUAL | {"value": 8}, USUAL, kind="PriorityClass", old=USUAL)
