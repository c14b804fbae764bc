"""Rules that CloneSets and Advanced StatefulSets share: defaults, refusals, and fields that stay as they are."""

import copy

import pytest
from set_specs import ALL, CLONES, GATED, LABELS, OLD_CLONES, OLD_STATEFUL, STATEFUL, made, pods, rolling, updated

from apiserver.api.errors import ApiError

IDS = ("clones", "old-clones", "stateful", "old-stateful")
POLICIES = ("InPlaceIfPossible", "InPlaceOnly")

# -- defaults ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", ALL, ids=IDS)
async def test_what_nobody_says_is_filled_in(admitted, row):
    given = made()
    del given["replicas"]
    spec = await admitted(row, given)
    assert (spec["replicas"], spec["revisionHistoryLimit"]) == (1, 10)


@pytest.mark.parametrize(
    ("row", "strategy"),
    [
        (
            CLONES,
            {
                "type": "RollingUpdate",
                "rollingUpdate": {
                    "podUpdatePolicy": "ReCreate",
                    "partition": 0,
                    "maxUnavailable": "20%",
                    "maxSurge": 0,
                },
            },
        ),
        (OLD_CLONES, {"type": "ReCreate", "partition": 0, "maxUnavailable": "20%", "maxSurge": 0}),
        (
            STATEFUL,
            {
                "type": "RollingUpdate",
                "rollingUpdate": {
                    "podUpdatePolicy": "ReCreate",
                    "partition": 0,
                    "maxUnavailable": 1,
                    "minReadySeconds": 0,
                },
            },
        ),
    ],
)
async def test_how_pods_are_updated_if_nothing_is_said(admitted, row, strategy):
    assert (await admitted(row, made()))["updateStrategy"] == strategy
    assert (await admitted(row, made(updateStrategy={})))["updateStrategy"] == strategy


@pytest.mark.parametrize("row", [CLONES, STATEFUL, OLD_STATEFUL])
async def test_a_set_whose_pods_are_left_to_somebody_else_gets_no_numbers_of_an_update(admitted, row):
    assert (await admitted(row, updated(type="OnDelete")))["updateStrategy"] == {"type": "OnDelete"}


async def test_claims_are_taken_over_in_v1alpha1_alone(admitted):
    assert (await admitted(CLONES, made()))["scaleStrategy"] == {"enablePVCReuse": False}
    assert (await admitted(OLD_CLONES, made()))["scaleStrategy"] == {}


@pytest.mark.parametrize("policy", POLICIES)
async def test_clone_sets_that_update_in_place_get_a_strategy_for_that(admitted, policy):
    new = (await admitted(CLONES, rolling(podUpdatePolicy=policy)))["updateStrategy"]["rollingUpdate"]
    old = (await admitted(OLD_CLONES, updated(type=policy)))["updateStrategy"]
    assert (new["inPlaceUpdateStrategy"], old["inPlaceUpdateStrategy"]) == ({}, {})


async def test_claims_of_an_advanced_stateful_set_are_kept_unless_it_says_otherwise(admitted):
    spec = await admitted(STATEFUL, made(persistentVolumeClaimRetentionPolicy={"whenScaled": "Delete"}))
    assert spec["persistentVolumeClaimRetentionPolicy"] == {"whenScaled": "Delete", "whenDeleted": "Retain"}
    assert spec["podManagementPolicy"] == "OrderedReady"
    assert "persistentVolumeClaimRetentionPolicy" not in await admitted(OLD_STATEFUL, made())


@pytest.mark.parametrize("row", ALL, ids=IDS)
async def test_templates_are_stored_with_their_defaults_and_images_that_are_always_pulled(admitted, row):
    claim = {"metadata": {"name": "data"}, "spec": {"resources": {"requests": {"storage": "1Gi"}}}}
    spec = await admitted(row, made(volumeClaimTemplates=[claim]))
    stored = spec["template"]["spec"]
    assert (stored["restartPolicy"], stored["containers"][0]["imagePullPolicy"]) == ("Always", "Always")
    assert spec["volumeClaimTemplates"][0]["spec"]["volumeMode"] == "Filesystem"


@pytest.mark.parametrize("row", ALL, ids=IDS)
async def test_a_stored_template_is_not_touched_by_other_changes(admitted, row):
    old = made(selector={"matchLabels": dict(LABELS)})
    before = copy.deepcopy(old)
    spec = await admitted(row, old | {"replicas": 9}, old)
    assert (spec["replicas"], spec["template"], old) == (9, pods(), before)


@pytest.mark.parametrize("row", ALL, ids=IDS)
@pytest.mark.parametrize("subresource", ["status", "scale"])
async def test_parts_of_it_are_not_looked_into(admitted, row, subresource):
    old = made()
    assert await admitted(row, old | {"replicas": -1}, old, subresource=subresource) == old | {"replicas": -1}


@pytest.mark.parametrize("row", ALL, ids=IDS)
@pytest.mark.parametrize(
    "spec",
    [
        made(replicas="x"),
        made(replicas=True),
        made(selector=[]),
        made(selector=None),
        made(template=None),
        updated(type=1),
        rolling(partition=[]),
        made(updateStrategy={"rollingUpdate": [1]}),
        made(scaleStrategy={"podsToDelete": "x"}),
        made(reserveOrdinals=[None]),
        made(volumeClaimTemplates="x"),
    ],
)
async def test_what_the_schema_refuses_is_left_to_it(admitted, row, spec):
    assert await admitted(row, copy.deepcopy(spec)) == spec


@pytest.mark.parametrize("row", ALL, ids=IDS)
@pytest.mark.parametrize(
    "spec",
    [
        made(template="x"),
        made(template=[]),
        made(template=pods(containers="x")),
        made(volumeClaimTemplates=["x"]),
        made(volumeClaimTemplates=[{"spec": "x"}]),
    ],
)
async def test_invalid_templates_are_reported(admitted, row, spec):
    with pytest.raises(ApiError) as raised:
        await admitted(row, spec)
    assert raised.value.code == 400
    assert raised.value.message.startswith(f"{row[0]} cannot be handled as a {row[0]}: ")


@pytest.mark.parametrize("row", ALL, ids=IDS)
async def test_a_set_without_a_spec_gets_an_empty_one_whose_fields_the_schema_asks_for(admitted_whole, row):
    assert (await admitted_whole(row, {}))["spec"] == {}
    assert (await admitted_whole(row, {"spec": None}))["spec"] == {}
    assert "spec" not in await admitted_whole(row, {}, {})


async def test_a_stored_invalid_template_can_be_put_right(admitted):
    assert await admitted(CLONES, made(), made(template=pods(containers="x")))


# -- what is wrong with both -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", ALL, ids=IDS)
@pytest.mark.parametrize(
    ("spec", "path", "why"),
    [
        (made(replicas=-1), "spec.replicas", "must be greater than or equal to 0"),
        (made(selector={}), "spec.selector", "empty selector is invalid for "),
        (
            made(selector={"matchLabels": {"app": "other"}}),
            "spec.template.metadata.labels",
            'Invalid value: {"app":"web"}: `selector` does not match template `labels`',
        ),
        (
            made(selector={"matchExpressions": [{"key": "app", "operator": "Like"}]}),
            "spec.selector.matchExpressions[0].operator",
            "not a valid selector operator",
        ),
        (
            made(template=pods(restartPolicy="Never")),
            "spec.template.spec.restartPolicy",
            'Unsupported value: "Never": supported values: "Always"',
        ),
        (
            made(template=pods(activeDeadlineSeconds=9)),
            "spec.template.spec.activeDeadlineSeconds",
            "is not Supported",
        ),
    ],
)
async def test_what_no_set_can_be_is_refused_with_its_field(refused, row, spec, path, why):
    errors = await refused(row, copy.deepcopy(spec))
    assert [message for field, message in errors if field == path and why in message], errors


async def test_pods_of_clone_sets_are_looked_into_and_those_of_stateful_sets_are_not(admitted, refused):
    mounted = pods(
        containers=[{"name": "web", "image": "web:1", "volumeMounts": [{"name": "data", "mountPath": "/d"}]}]
    )
    path, message = "spec.template.spec.containers[0].volumeMounts[0].name", 'Not found: "data"'
    assert await refused(CLONES, made(template=mounted)) == [(path, message)]
    assert await admitted(STATEFUL, made(template=mounted))
    claim = {"metadata": {"name": "data"}, "spec": {}}
    assert await admitted(CLONES, made(template=mounted, volumeClaimTemplates=[claim]))


# -- what may not change -----------------------------------------------------------------------------------------------

WIDER = {"matchLabels": LABELS, "matchExpressions": [{"key": "app", "operator": "Exists"}]}
CLONES_FROZEN = (
    "Forbidden: updates to cloneset spec for fields other than 'replicas', 'template', 'lifecycle', 'scaleStrategy', "
    "'updateStrategy', 'minReadySeconds', 'progressDeadlineSeconds', 'volumeClaimTemplates' and "
    "'revisionHistoryLimit' are forbidden"
)
STATEFUL_FROZEN = (
    "Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', "
    "'reserveOrdinals', 'lifecycle', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy', "
    "`volumeClaimTemplates`, `VolumeClaimUpdateStrategy` and 'updateStrategy' are forbidden"
)


@pytest.mark.parametrize(
    ("row", "change", "message"),
    [
        (CLONES, {"selector": WIDER}, CLONES_FROZEN),
        (OLD_CLONES, {"selector": WIDER}, CLONES_FROZEN),
        (STATEFUL, {"selector": WIDER}, STATEFUL_FROZEN),
        (OLD_STATEFUL, {"serviceName": "other"}, STATEFUL_FROZEN),
        (STATEFUL, {"podManagementPolicy": "Parallel"}, STATEFUL_FROZEN),
    ],
)
async def test_what_is_fixed_may_not_change(refused, row, change, message):
    assert await refused(row, made(**change), made()) == [("spec", message)]


@pytest.mark.parametrize("row", ALL, ids=IDS)
@pytest.mark.parametrize(
    "change",
    [
        {"replicas": 9},
        {"template": GATED},
        {"revisionHistoryLimit": 3},
        {"lifecycle": {"preDelete": {"labelsHandler": {"a": "b"}}}},
        {"volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": {}}]},
        {"scaleStrategy": {"maxUnavailable": 1}},
    ],
)
async def test_the_rest_may_change(admitted, row, change):
    assert await admitted(row, made(**change), made())


@pytest.mark.parametrize(
    ("template", "change"),
    [
        (pods(hostname="a"), "add /hostname"),
        (pods(terminationGracePeriodSeconds=3), "replace /terminationGracePeriodSeconds"),
        (
            pods(containers=[{"name": "web", "image": "web:1"}, {"name": "side", "image": "side:1"}]),
            "add /containers/1",
        ),
        (pods(containers=[{"name": "web", "image": "web:1", "args": ["a"]}]), "add /containers/0/args"),
    ],
)
async def test_sets_that_update_in_place_only_may_change_images_alone(admitted, refused, template, change):
    gate = {"readinessGates": GATED["spec"]["readinessGates"]}

    def gated(obj):
        return obj | {"spec": obj["spec"] | gate}

    new = pods(containers=[{"name": "web", "image": "web:2"}])
    allowed = "image update is allowed for InPlaceOnly"
    for row, strategy, path, message in (
        (
            OLD_CLONES,
            {"type": "InPlaceOnly"},
            "spec",
            f"Forbidden: only allowed to update images in spec for InPlaceOnly, but found {change}",
        ),
        (
            STATEFUL,
            {"rollingUpdate": {"podUpdatePolicy": "InPlaceOnly"}},
            "spec.template.spec",
            f"Forbidden: invalid template modified with InPlaceOnly strategy: {change}, currently only {allowed}",
        ),
    ):
        old = made(template=gated(pods()), updateStrategy=strategy)
        assert await admitted(row, made(template=gated(new), updateStrategy=strategy), old)
        wrong = made(template=gated(template), updateStrategy=strategy)
        assert await refused(row, wrong, old) == [(path, message)]
