"""UnitedDeployments that the server refuses (workloads.md, section 4)."""

import copy

import pytest
from set_specs import pods
from united_specs import ADAPTIVE, ADVANCED, ALL, CLONES, DEPLOYMENT, RESERVE, STATEFUL, subset, template, united

NOT_LABEL = "invalid subset name a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-'"


@pytest.mark.parametrize(
    ("spec", "path", "why"),
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
            united(template={DEPLOYMENT: template(template=pods() | {"spec": {}})}),
            "spec.template.deploymentTemplate.spec.template.spec.containers",
            "Required value",
        ),
        (
            united(template={ADVANCED: template(template=pods() | {"spec": {"restartPolicy": "Never"}})}),
            "spec.template.advancedStatefulSetTemplate.spec.template.spec.restartPolicy",
            'supported values: "Always"',
        ),
        (
            united(template={DEPLOYMENT: template(template={"spec": pods()["spec"]})}),
            "spec.template.deploymentTemplate.spec.template.metadata.labels",
            "`selector` does not match template `labels`",
        ),
    ],
)
async def test_what_cannot_work_is_refused_with_its_field(refused, spec, path, why):
    errors = await refused(copy.deepcopy(spec))
    assert [message for field, message in errors if field == path and why in message], errors


@pytest.mark.parametrize("field", ALL)
async def test_the_templates_labels_must_be_selected(admitted, refused, field):
    spec = united(template={field: template() | {"metadata": {"labels": {"app": "other"}}}}, field=field)
    if field == CLONES:  # its workloads get the labels of the selector in any case
        assert await admitted(spec)
        spec["selector"] = {"matchExpressions": [{"key": "app", "operator": "In", "values": ["web"]}]}
    path = f"spec.template.{field}.metadata.labels"
    message = 'Invalid value: {"app":"other"}: `selector` does not match template `labels`'
    assert (path, message) in await refused(spec)


async def test_a_selector_that_cannot_be_read_is_reported_once_more(refused):
    spec = united(selector={"matchExpressions": [{"key": "app", "operator": "Like", "values": ["x"]}]})
    errors = await refused(spec)
    assert [field for field, _ in errors] == ["spec.selector.matchExpressions[0].operator", "spec.selector"]


SUBSETS = "spec.topology.subsets"


@pytest.mark.parametrize(
    ("subsets", "path", "why"),
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
async def test_numbers_of_subsets_that_do_not_fit_are_refused(refused, subsets, path, why):
    errors = await refused(united(*subsets))
    assert [message for field, message in errors if field == path and why in message], errors


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
