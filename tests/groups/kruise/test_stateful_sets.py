"""Advanced StatefulSets that the server refuses, as OpenKruise's webhook does."""

import copy

import pytest
from set_specs import GATED, ORDER, STATEFUL, made, rolling, updated

# -- what is wrong with an Advanced StatefulSet ------------------------------------------------------------------------

ROLLING = "spec.updateStrategy.rollingUpdate"
ORDERED = "can only work with Parallel PodManagementPolicyType"


def parallel(**fields):
    return rolling(**fields) | {"podManagementPolicy": "Parallel"}


@pytest.mark.parametrize(
    ("spec", "path", "why"),
    [
        (made(podManagementPolicy="Never"), "spec.podManagementPolicy", "must be 'OrderedReady' or 'Parallel'"),
        (made(reserveOrdinals=[-1]), "spec", "Invalid value: [-1]: 0 th reserve ordinal is negative: -1"),
        (made(reserveOrdinals=[1, "x"]), "spec", "1 th reserve ordinal is not a valid range: x"),
        (made(reserveOrdinals=["x"]), "spec", "0 th reserve ordinal is invalid: x, err = invalid range x"),
        (made(reserveOrdinals=["3-1"]), "spec", "0 th reserve ordinal is invalid: 3-1, err = invalid range 3-1"),
        (
            made(reserveOrdinals=["a-1"]),
            "spec",
            '0 th reserve ordinal is invalid: a-1, err = strconv.Atoi: parsing "a": invalid syntax',
        ),
        (made(scaleStrategy={"maxUnavailable": 2}), "spec.scaleStrategy.maxUnavailable", ORDERED),
        (made(scaleStrategy={"maxUnavailable": "50%"}), "spec.scaleStrategy.maxUnavailable", ORDERED),
        (rolling(maxUnavailable=2), f"{ROLLING}.maxUnavailable", f"Invalid value: 2: {ORDERED}"),
        (parallel(maxUnavailable=0), f"{ROLLING}.maxUnavailable", "Invalid value: 0: should not be less than 1"),
        (parallel(maxUnavailable="0%"), f"{ROLLING}.maxUnavailable", "Invalid value: 0: should not be less than 1"),
        (
            parallel(maxUnavailable="x"),
            f"{ROLLING}.maxUnavailable",
            'getValueFromIntOrPercent error: invalid value for IntOrString: invalid value "x": strconv.Atoi: parsing ',
        ),
        (rolling(partition=-1), f"{ROLLING}.partition", "must be greater than or equal to 0"),
        (rolling(minReadySeconds=-1), f"{ROLLING}.minReadySeconds", "must be greater than or equal to 0"),
        (rolling(minReadySeconds=301), f"{ROLLING}.minReadySeconds", "must be no more than 300 seconds"),
        (
            rolling(podUpdatePolicy="x"),
            f"{ROLLING}.podUpdatePolicy",
            "must be 'ReCreate', InPlaceIfPossible or 'InPlaceOnly'",
        ),
        (
            rolling(podUpdatePolicy="InPlaceOnly"),
            "spec.template.spec.readinessGates",
            "must contains InPlaceUpdateReady when podUpdatePolicy is InPlaceOnly",
        ),
        (
            rolling(unorderedUpdate={"priorityStrategy": ORDER}),
            f"{ROLLING}.unorderedUpdate",
            "Required value: unorderedUpdate can only work with Parallel PodManagementPolicyType",
        ),
        (
            parallel(unorderedUpdate={"priorityStrategy": {"orderPriority": [{}]}}),
            f"{ROLLING}.unorderedUpdate.priorityStrategy",
            "order key can not be empty",
        ),
        (
            made(updateStrategy={"type": "OnDelete", "rollingUpdate": {}}),
            ROLLING,
            "only allowed for updateStrategy 'RollingUpdate'",
        ),
        (updated(type="x"), "spec.updateStrategy", "must be 'RollingUpdate' or 'OnDelete'"),
        (
            made(persistentVolumeClaimRetentionPolicy={"whenDeleted": "x"}),
            "spec.persistentVolumeClaimRetentionPolicy.whenDeleted",
            'Unsupported value: "x": supported values: "Retain", "Delete"',
        ),
    ],
)
async def test_stateful_sets_that_cannot_work_are_refused(refused, spec, path, why):
    errors = await refused(STATEFUL, copy.deepcopy(spec))
    assert [message for field, message in errors if field == path and why in message], errors


@pytest.mark.parametrize(
    "spec",
    [
        made(reserveOrdinals=[0, "2-4"]),
        parallel(maxUnavailable="10%", unorderedUpdate={"priorityStrategy": ORDER}),
        rolling(maxUnavailable=1, minReadySeconds=300),
        rolling(podUpdatePolicy="InPlaceIfPossible") | {"template": GATED},
        made(volumeClaimUpdateStrategy={"type": "OnPodRollingUpdate"}),
    ],
)
async def test_stateful_sets_that_work_are_let_pass(admitted, spec):
    assert await admitted(STATEFUL, copy.deepcopy(spec))
