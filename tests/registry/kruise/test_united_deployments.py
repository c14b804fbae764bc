"""What the server itself does for UnitedDeployments: defaults, and what it refuses (workloads.md, section 4)."""

import copy

import pytest

from apiserver.api.errors import ApiError
from apiserver.api.resources import Resource
from apiserver.api.schema import Schema, available_versions, load_definitions
from apiserver.api.user import User
from apiserver.registry.admission.chain import Attributes
from apiserver.registry.admission.united_deployment import UnitedDeployments
from apiserver.registry.options import Target

ROW = Resource(
    group="apps.kruise.io",
    version="v1beta1",
    kind="UnitedDeployment",
    plural="uniteddeployments",
    singular="uniteddeployment",
    namespaced=True,
    definition="",
    storage_group="apps.kruise.io",
    storage_version="v1beta1",
    storage_prefix="apps.kruise.io/uniteddeployments",
)
PODS = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "web", "image": "web:1"}]}}
STATEFUL, ADVANCED, CLONES, DEPLOYMENT = (
    "statefulSetTemplate",
    "advancedStatefulSetTemplate",
    "cloneSetTemplate",
    "deploymentTemplate",
)
ALL = (STATEFUL, ADVANCED, CLONES, DEPLOYMENT)
ADAPTIVE = {"type": "Adaptive"}
RESERVE = {"type": "Adaptive", "adaptive": {"reserveUnschedulablePods": True}}


@pytest.fixture(scope="module")
def plugin():
    version = available_versions()[-1]
    return UnitedDeployments(Schema(load_definitions(version), version))


@pytest.fixture
def admitted(plugin):
    """admitted(spec, old spec): the spec that is stored, or raises."""

    async def admit(spec, old=None, *, subresource=""):
        obj, stored = (
            {"metadata": {"name": "web"}, "spec": each} if each is not None else None for each in (spec, old)
        )
        operation = "CREATE" if old is None else "UPDATE"
        target = Target(ROW, "ns", "web", subresource)
        await plugin.admit(Attributes(operation, target, User("u"), obj=obj, old=stored))
        return obj["spec"]

    return admit


@pytest.fixture
def refused(admitted):
    """refused(spec, old spec): the fields that are wrong, with why."""

    async def refuse(spec, old=None):
        before = copy.deepcopy(old)
        with pytest.raises(ApiError) as raised:
            await admitted(spec, old)
        assert old == before
        assert (raised.value.code, raised.value.reason) == (422, "Invalid")
        return [(cause["field"], cause["message"]) for cause in raised.value.details["causes"]]

    return refuse


def template(**spec):
    return {"metadata": {"labels": {"app": "web"}}, "spec": {"template": copy.deepcopy(PODS)} | spec}


def subset(name, **more):
    return {"name": name} | more


def united(*subsets, field=STATEFUL, strategy=None, partitions=None, **more):
    topology = {"subsets": list(subsets or (subset("a"), subset("b")))}
    spec = {
        "replicas": 4,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {field: template()},
        "topology": topology | ({"scheduleStrategy": strategy} if strategy else {}),
    }
    if partitions is not None:
        spec["updateStrategy"] = {"type": "Manual", "manualUpdate": {"partitions": partitions}}
    return spec | more


# -- defaults ----------------------------------------------------------------------------------------------------------


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
    told = f"UnitedDeployment cannot be handled as a UnitedDeployment: spec.template.{field} is no template of it"
    assert (raised.value.code, raised.value.message) == (400, told)


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
async def test_a_template_that_holds_no_workload_is_told_of(admitted, field, pods):
    given = united(template={field: template(template=pods)})
    with pytest.raises(ApiError) as raised:
        await admitted(given)
    assert raised.value.code == 400
    assert raised.value.message.startswith("UnitedDeployment cannot be handled as a UnitedDeployment: ")


@pytest.mark.parametrize("absent", [{}, {"spec": None}])
async def test_what_has_no_spec_is_refused_for_what_it_lacks(plugin, absent):
    target, obj = Target(ROW, "ns", "web", ""), {"metadata": {"name": "web"}, **absent}
    with pytest.raises(ApiError) as raised:
        await plugin.admit(Attributes("CREATE", target, User("u"), obj=obj, old=None))
    assert raised.value.code == 422
    assert [cause["field"] for cause in raised.value.details["causes"]] == ["spec.selector", "spec.template"]


async def test_what_is_stored_without_a_spec_may_change_otherwise(plugin):
    target, old = Target(ROW, "ns", "web", ""), {"metadata": {"name": "web", "finalizers": ["a/b"]}}
    obj = {"metadata": {"name": "web"}}
    await plugin.admit(Attributes("UPDATE", target, User("u"), obj=obj, old=old))
    assert obj == {"metadata": {"name": "web"}}


async def test_a_stored_template_that_holds_no_workload_can_be_put_right(admitted):
    broken = united(template={STATEFUL: template(template={"spec": {"containers": "x"}})})
    assert (await admitted(united(), broken))["template"][STATEFUL]["spec"]["template"]["spec"]["containers"]


# -- what is wrong with it ---------------------------------------------------------------------------------------------

NOT_LABEL = "invalid subset name a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-'"


@pytest.mark.parametrize(
    ("spec", "path", "told"),
    [
        (united(replicas=-1), "spec.replicas", "must be greater than or equal to 0"),
        (united(selector=None), "spec.selector", "Required value"),
        (united(selector={}), "spec.selector", "empty selector is invalid for statefulset"),
        (united(template={}), "spec.template", "should provide one of statefulSetTemplate, "),
        (
            united(template={CLONES: template(), DEPLOYMENT: template()}),
            "spec.template",
            "should provide only one of statefulSetTemplate, advancedStatefulSetTemplate, cloneSetTemplate, or deplo",
        ),
        (
            united(strategy=RESERVE),
            "spec.topology.scheduleStrategy",
            "only stateless workloads (Deployment and CloneSet) are supported by reserved rescheduling",
        ),
        (united(subset("")), "spec.topology.subsets[0].name", "Required value"),
        (united(subset("A")), "spec.topology.subsets[0].name", NOT_LABEL),
        (united(subset("a"), subset("a")), "spec.topology.subsets[1].name", "duplicated subset name a"),
        (
            united(subset("a", nodeSelectorTerm={"matchExpressions": [{"key": "zone", "operator": "Is"}]})),
            "spec.topology.subsets[0].nodeSelectorTerm.matchExpressions[0].operator",
            "not a valid selector operator",
        ),
        (
            united(subset("a", tolerations=[{"operator": "Exists", "value": "x"}])),
            "spec.topology.subsets[0].tolerations[0].operator",
            "value must be empty when `operator` is 'Exists'",
        ),
        (
            united(subset("a", replicas=1), subset("b"), strategy=ADAPTIVE),
            "spec.topology.subsets[0].replicas",
            "specify replicas use minReplicas/maxReplicas to enable adaptive strategy",
        ),
        (united(partitions={"z": 1}), "spec.updateStrategy.manualUpdate.partitions", "subset z does not exist"),
        (united(updateStrategy={"type": "Auto"}), "spec.updateStrategy.type", 'supported values: "Manual", ""'),
        (
            united(partitions={"a": 1}, field=DEPLOYMENT),
            "spec.updateStrategy.manualUpdate.partitions[a]",
            "a Deployment knows no partition",
        ),
        (
            united(template={STATEFUL: template(replicas=2)}),
            "spec.template.statefulSetTemplate.spec.replicas",
            "replicas in statefulSetTemplate will not be used",
        ),
        (
            united(template={DEPLOYMENT: template(replicas=2)}),
            "spec.template.deploymentTemplate.spec.replicas",
            "replicas in deploymentTemplate will not be used",
        ),
        (
            united(
                template={
                    ADVANCED: template(updateStrategy={"type": "RollingUpdate", "rollingUpdate": {"partition": 1}})
                }
            ),
            "spec.template.advancedStatefulSetTemplate.spec.updateStrategy.rollingUpdate.partition",
            "partition in advancedStatefulSetTemplate will not be used",
        ),
        (
            united(template={STATEFUL: template(podManagementPolicy="Never")}),
            "spec.template.statefulSetTemplate.spec.podManagementPolicy",
            "must be 'OrderedReady' or 'Parallel'",
        ),
        (
            united(template={DEPLOYMENT: template(template=PODS | {"spec": {}})}),
            "spec.template.deploymentTemplate.spec.template.spec.containers",
            "Required value",
        ),
        (
            united(template={ADVANCED: template(template=PODS | {"spec": {"restartPolicy": "Never"}})}),
            "spec.template.advancedStatefulSetTemplate.spec.template.spec.restartPolicy",
            'supported values: "Always"',
        ),
        (
            united(template={DEPLOYMENT: template(template={"spec": PODS["spec"]})}),
            "spec.template.deploymentTemplate.spec.template.metadata.labels",
            "`selector` does not match template `labels`",
        ),
    ],
)
async def test_what_cannot_work_is_refused_with_its_field(refused, spec, path, told):
    found = await refused(copy.deepcopy(spec))
    assert [message for field, message in found if field == path and told in message], found


@pytest.mark.parametrize("field", ALL)
async def test_the_templates_labels_must_be_selected(admitted, refused, field):
    spec = united(template={field: template() | {"metadata": {"labels": {"app": "other"}}}}, field=field)
    if field == CLONES:  # its workloads get the labels of the selector in any case
        assert await admitted(spec)
        spec["selector"] = {"matchExpressions": [{"key": "app", "operator": "In", "values": ["web"]}]}
    path = f"spec.template.{field}.metadata.labels"
    told = 'Invalid value: {"app":"other"}: `selector` does not match template `labels`'
    assert (path, told) in await refused(spec)


async def test_a_selector_that_cannot_be_read_is_told_of_once_more(refused):
    spec = united(selector={"matchExpressions": [{"key": "app", "operator": "Like", "values": ["x"]}]})
    found = await refused(spec)
    assert [field for field, _ in found] == ["spec.selector.matchExpressions[0].operator", "spec.selector"]


SUBSETS = "spec.topology.subsets"


@pytest.mark.parametrize(
    ("subsets", "path", "told"),
    [
        ((subset("a", replicas=5), subset("b")), SUBSETS, "sum of indicated subset replicas 5 should not be greater"),
        (
            (subset("a", replicas=1), subset("b", replicas=2)),
            SUBSETS,
            "if replicas of all subsets are provided, the sum of indicated subset replicas 3 should equal UnitedDeploy",
        ),
        (
            (subset("a", replicas="x"), subset("b")),
            f"{SUBSETS}[0].replicas",
            "only support integer value or percentage",
        ),
        ((subset("a", minReplicas=-1), subset("b")), f"{SUBSETS}[0].minReplicas", "should not be less than 0"),
        ((subset("a", maxReplicas="200%"), subset("b")), f"{SUBSETS}[0].maxReplicas", "in range [0, 100]"),
        (
            (subset("a", minReplicas=3, maxReplicas="50%"), subset("b")),
            f"{SUBSETS}[0].minReplicas",
            "subset[0].minReplicas must be less than or equal to maxReplicas",
        ),
        ((subset("a", maxReplicas=2), subset("b", maxReplicas=2)), SUBSETS, "at least one subset.maxReplicas must be"),
        (
            (subset("a", replicas=2), subset("b", minReplicas=2)),
            SUBSETS,
            "are mutually exclusive in a UnitedDeployment",
        ),
    ],
)
async def test_numbers_of_subsets_that_do_not_fit_are_refused(refused, subsets, path, told):
    found = await refused(united(*subsets))
    assert [message for field, message in found if field == path and told in message], found


@pytest.mark.parametrize(
    "spec",
    [
        united(subset("a", replicas="50%"), subset("b", replicas="50%")),
        united(subset("a", replicas=4), subset("b")),
        united(subset("a", minReplicas=9, maxReplicas=9), subset("b")),
        united(subset("a", maxReplicas="25%"), subset("b"), strategy=ADAPTIVE),
        united(subset("a", maxReplicas="25%"), subset("b"), strategy=RESERVE, field=CLONES),
        united(field=DEPLOYMENT, strategy=RESERVE, partitions={"a": 0}),
        united(partitions={"a": 7}),
        united(
            subset(
                "a",
                nodeSelectorTerm={"matchExpressions": [{"key": "zone", "operator": "In", "values": ["not a label!"]}]},
                tolerations=[{"operator": "Exists"}],
                patch={"spec": {"containers": []}},
            )
        ),
    ],
)
async def test_what_works_is_let_pass(admitted, spec):
    assert await admitted(spec)


# -- what may not change -----------------------------------------------------------------------------------------------

ZONE = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}


@pytest.mark.parametrize(
    ("old", "new", "path", "told"),
    [
        (
            united(subset("a", nodeSelectorTerm=ZONE)),
            united(subset("b"), subset("a")),
            "spec.topology.subsets[1].nodeSelectorTerm",
            "may not be changed in an update",
        ),
        (
            united(subset("a")),
            united(subset("a", tolerations=[{"operator": "Exists"}])),
            "spec.topology.subsets[0].tolerations",
            "may not be changed in an update",
        ),
        (
            united(),
            united(
                selector={"matchLabels": {"app": "web"}, "matchExpressions": [{"key": "app", "operator": "Exists"}]}
            ),
            "spec.selector",
            "field is immutable",
        ),
        (
            united(),
            united(template={STATEFUL: template(serviceName="other")}),
            "spec.template.statefulSetTemplate.spec",
            "updates to statefulsetTemplate spec for fields other than 'template', 'updateStrategy', ",
        ),
        (
            united(field=ADVANCED),
            united(template={ADVANCED: template(serviceName="other")}, field=ADVANCED),
            "spec.template.advancedStatefulSetTemplate.spec",
            "updates to advancedStatefulsetTemplate spec for fields other than 'template', and 'updateStrategy' are",
        ),
    ],
)
async def test_what_workloads_cannot_change_may_not_change(refused, old, new, path, told):
    found = await refused(new, old)
    assert [message for field, message in found if field == path and told in message], found


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (united(), united(field=DEPLOYMENT)),
        (united(subset("a", nodeSelectorTerm=ZONE)), united(subset("b"))),
        (united(subset("a", tolerations=[])), united(subset("a"))),
        (united(), united(template={STATEFUL: template(minReadySeconds=3, updateStrategy={"type": "OnDelete"})})),
        (
            united(template={STATEFUL: template(podManagementPolicy="OrderedReady", revisionHistoryLimit=10)}),
            united(),
        ),
        (united(field=DEPLOYMENT), united(template={DEPLOYMENT: template(minReadySeconds=3)})),
    ],
)
async def test_the_rest_may_change(admitted, old, new):
    assert await admitted(new, old)
