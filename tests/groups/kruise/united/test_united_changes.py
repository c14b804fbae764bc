"""Validation of updates of a UnitedDeployment: the fields that may change (workloads.md, section 4)."""

import pytest
from united_specs import ADVANCED, DEPLOYMENT, STATEFUL, subset, template, united

ZONE = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}


@pytest.mark.parametrize(
    ("old", "new", "path", "why"),
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
async def test_what_workloads_cannot_change_may_not_change(refused, old, new, path, why):
    errors = await refused(new, old)
    assert [message for field, message in errors if field == path and why in message], errors


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
