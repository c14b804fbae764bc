"""The server's part in UnitedDeployments: defaults, and fields that it leaves alone (workloads.md, section 4)."""

import copy

import pytest
from united_specs import ADVANCED, ALL, CLONES, DEPLOYMENT, STATEFUL, subset, template, united

from apiserver.api.errors import ApiError


@pytest.mark.parametrize("field", ALL)
async def test_what_nobody_says_is_filled_in(admitted, field):
    given = united(field=field)
    del given["replicas"]
    spec = await admitted(given)
    assert (spec["replicas"], spec["revisionHistoryLimit"]) == (1, 10)
    assert spec["updateStrategy"] == {"type": "Manual", "manualUpdate": {}}
    assert [each.get("minReplicas") for each in spec["topology"]["subsets"]] == [None, None]


async def test_where_one_subset_has_a_bound_all_have_a_minimum(admitted):
    spec = await admitted(united(subset("a", maxReplicas="50%"), subset("b", minReplicas=1), subset("c")))
    assert [each["minReplicas"] for each in spec["topology"]["subsets"]] == [0, 1, 0]


async def test_the_pods_of_stateful_sets_are_stored_with_their_defaults_and_others_as_they_are(admitted):
    claim = {"metadata": {"name": "data"}, "spec": {"resources": {"requests": {"storage": "1Gi"}}}}
    given = united(template={STATEFUL: template(volumeClaimTemplates=[claim])})
    stored = (await admitted(given))["template"][STATEFUL]["spec"]
    pods = stored["template"]["spec"]
    assert (pods["restartPolicy"], pods["containers"][0]["imagePullPolicy"]) == ("Always", "Always")
    assert stored["volumeClaimTemplates"][0]["spec"]["volumeMode"] == "Filesystem"
    assert "serviceName" not in stored
    assert "selector" not in stored
    others = await admitted(united(field=DEPLOYMENT))
    assert others["template"] == {DEPLOYMENT: template()}


async def test_a_stored_template_is_not_touched_by_other_changes(admitted):
    old = united()
    spec = await admitted(old | {"replicas": 9}, old)
    assert spec["template"] == {STATEFUL: template()}


async def test_nothing_that_is_shared_with_the_stored_object_changes(admitted):
    old = united(subset("a", maxReplicas=1), subset("b"))
    before = copy.deepcopy(old)
    await admitted(old | {"replicas": 9}, old)
    assert old == before


@pytest.mark.parametrize("subresource", ["status", "scale"])
async def test_parts_of_it_are_not_looked_into(admitted, subresource):
    old = united(subset("a", replicas=4))
    assert await admitted(old | {"replicas": -1}, old, subresource=subresource) == old | {"replicas": -1}


@pytest.mark.parametrize(
    "spec",
    [
        united(replicas="many"),
        united(replicas=True),
        united(selector=[]),
        united(template={STATEFUL: []}),
        united("a"),
        united(subset("a", replicas={})),
        united(subset("a", tolerations={})),
        united(subset("a", nodeSelectorTerm={"matchExpressions": [{"values": [1]}]})),
        united(topology=[]),
        united(partitions={"a": "x"}),
    ],
)
async def test_what_the_schema_refuses_is_left_to_it(admitted, spec):
    assert await admitted(copy.deepcopy(spec)) == spec


@pytest.mark.parametrize("field", ALL)
async def test_that_a_template_has_no_spec_is_left_to_the_schema(admitted, field):
    assert await admitted(united(template={field: {}}))


@pytest.mark.parametrize(
    ("field", "given"),
    [
        (CLONES, {"spec": {"template": "x"}}),
        (ADVANCED, {"spec": {"template": []}}),
        (DEPLOYMENT, {"spec": "x"}),
        (DEPLOYMENT, {"spec": {"template": "x"}}),
        (DEPLOYMENT, {"spec": {"strategy": "x"}}),
        (STATEFUL, {"spec": {"updateStrategy": "x"}}),
        (CLONES, {"metadata": "x", "spec": {}}),
        (CLONES, {"metadata": {"labels": {"app": 1}}, "spec": {}}),
        (STATEFUL, {"metadata": {"annotations": []}, "spec": {}}),
    ],
)
async def test_what_no_schema_tells_of_is_refused_where_it_is_no_template(admitted, field, given):
    with pytest.raises(ApiError) as raised:
        await admitted(united(template={field: given}))
    message = f"UnitedDeployment cannot be handled as a UnitedDeployment: spec.template.{field} is no template of it"
    assert (raised.value.code, raised.value.message) == (400, message)


@pytest.mark.parametrize("field", ALL)
@pytest.mark.parametrize(
    "pods",
    [
        {"spec": {"containers": "x"}},
        {"spec": []},
        {"spec": {"affinity": "x"}},
        {"metadata": "x"},
        {"metadata": {"labels": [1]}},
        {"metadata": {"labels": {"app": 1}}},
    ],
)
async def test_a_template_that_holds_no_workload_is_reported(admitted, field, pods):
    given = united(template={field: template(template=pods)})
    with pytest.raises(ApiError) as raised:
        await admitted(given)
    assert raised.value.code == 400
    assert raised.value.message.startswith("UnitedDeployment cannot be handled as a UnitedDeployment: ")


@pytest.mark.parametrize("absent", [{}, {"spec": None}])
async def test_what_has_no_spec_is_refused_for_what_it_lacks(admit, absent):
    with pytest.raises(ApiError) as raised:
        await admit({"metadata": {"name": "web"}, **absent})
    assert raised.value.code == 422
    assert raised.value.details is not None
    assert [cause["field"] for cause in raised.value.details["causes"]] == ["spec.selector", "spec.template"]


async def test_what_is_stored_without_a_spec_may_change_otherwise(admit):
    old = {"metadata": {"name": "web", "finalizers": ["a/b"]}}
    obj = {"metadata": {"name": "web"}}
    await admit(obj, old)
    assert obj == {"metadata": {"name": "web"}}


async def test_a_stored_template_that_holds_no_workload_can_be_put_right(admitted):
    broken = united(template={STATEFUL: template(template={"spec": {"containers": "x"}})})
    assert (await admitted(united(), broken))["template"][STATEFUL]["spec"]["template"]["spec"]["containers"]
