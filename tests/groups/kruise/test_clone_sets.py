"""CloneSets that the server refuses, as OpenKruise's webhook does."""

import copy

import pytest
from set_specs import CLONES, LABELS, OLD_CLONES, ORDER, made, rolling, updated

# -- what is wrong with a CloneSet -------------------------------------------------------------------------------------

NEITHER = "maxUnavailable and maxSurge should not both be less than 1"
WEIGHT = {"weight": 5, "matchSelector": {"matchLabels": LABELS}}
NO_SHARE = "failed GetScaledValueFromIntOrPercent for {}: {}"


@pytest.mark.parametrize(
    ("fields", "path", "why"),
    [
        (
            {"partition": "x"},
            "partition",
            'Invalid value: "x": ' + NO_SHARE.format("partition", "invalid type: string is not a percentage"),
        ),
        (
            {"partition": "x%"},
            "partition",
            NO_SHARE.format("partition", 'strconv.ParseFloat: parsing "x": invalid syntax'),
        ),
        ({"partition": -1}, "partition", "Invalid value: -1: must be greater than or equal to 0"),
        ({"partition": "-50%"}, "partition", "Invalid value: -2: must be greater than or equal to 0"),
        ({"maxUnavailable": "x"}, "maxUnavailable", NO_SHARE.format("maxUnavailable", "invalid type: string is not")),
        ({"maxSurge": "x"}, "maxSurge", NO_SHARE.format("maxSurge", "invalid type: string is not")),
        ({"maxUnavailable": 0}, "maxUnavailable", f"Invalid value: 0: {NEITHER}"),
        ({"maxUnavailable": "0%", "maxSurge": "0%"}, "maxUnavailable", f'Invalid value: "0%": {NEITHER}'),
        (
            {"priorityStrategy": ORDER | {"weightPriority": [WEIGHT]}},
            "priorityStrategy",
            "Required value: only one of weightPriority and orderPriority can be used",
        ),
        (
            {"priorityStrategy": {"weightPriority": [WEIGHT | {"weight": 101}]}},
            "priorityStrategy",
            "weight must be valid number in the range 1-100",
        ),
        (
            {"priorityStrategy": {"weightPriority": [WEIGHT | {"matchSelector": {}}]}},
            "priorityStrategy",
            "selector can not be empty",
        ),
        (
            {
                "priorityStrategy": {
                    "weightPriority": [{"matchSelector": {"matchExpressions": [{"key": "a", "operator": "Like"}]}}]
                }
            },
            "priorityStrategy",
            'invalid selector "Like" is not a valid label selector operator',
        ),
        ({"priorityStrategy": {"orderPriority": [{}]}}, "priorityStrategy", "order key can not be empty"),
        ({"scatterStrategy": [{"value": "a"}]}, "scatterStrategy", "Required value: key should not be empty"),
        (
            {"scatterStrategy": [{"key": "a", "value": "b"}] * 2},
            "scatterStrategy",
            "duplicated key=a value=b",
        ),
    ],
)
async def test_updates_of_clone_sets_that_cannot_work_are_refused_in_both_versions(refused, fields, path, why):
    for row, spec, where in (
        (CLONES, rolling(**fields), "spec.updateStrategy.rollingUpdate"),
        (OLD_CLONES, updated(**fields), "spec.updateStrategy"),
    ):
        errors = await refused(row, spec)
        assert [message for field, message in errors if field == f"{where}.{path}" and why in message], errors


@pytest.mark.parametrize(
    ("row", "spec", "path", "why"),
    [
        (CLONES, updated(type="ReCreate"), "updateStrategy.type", "must be 'RollingUpdate' or 'OnDelete'"),
        (
            OLD_CLONES,
            updated(type="OnDelete"),
            "updateStrategy.type",
            "must be 'ReCreate', InPlaceIfPossible or 'InPlaceOnly'",
        ),
        (
            CLONES,
            rolling(podUpdatePolicy="x"),
            "updateStrategy.rollingUpdate.podUpdatePolicy",
            "must be 'ReCreate', 'InPlaceIfPossible' or 'InPlaceOnly'",
        ),
        (
            CLONES,
            rolling(podUpdatePolicy="InPlaceOnly", maxSurge=1),
            "updateStrategy.rollingUpdate.maxSurge",
            'Invalid value: "1": can not use maxSurge with podUpdatePolicy InPlaceOnly',
        ),
        (
            OLD_CLONES,
            updated(type="InPlaceOnly", maxSurge="50%"),
            "updateStrategy.maxSurge",
            'Invalid value: "50%": can not use maxSurge with strategy type InPlaceOnly',
        ),
        (
            CLONES,
            made(updateStrategy={"type": "OnDelete", "rollingUpdate": {"maxUnavailable": 1}}),
            "updateStrategy.rollingUpdate.partition",
            'Invalid value: "<nil>": ' + NO_SHARE.format("partition", "nil value for IntOrString"),
        ),
        (
            CLONES,
            rolling(inPlaceUpdateStrategy={"imagePreDownloadParallelism": "5%"}),
            "updateStrategy.rollingUpdate.inPlaceUpdateStrategy.imagePreDownloadParallelism",
            "imagePreDownloadParallelism does not support percentage value",
        ),
        (
            CLONES,
            rolling(inPlaceUpdateStrategy={"imagePreDownloadParallelism": "x"}),
            "updateStrategy.rollingUpdate.inPlaceUpdateStrategy.imagePreDownloadParallelism",
            'imagePreDownloadParallelism must be a valid integer: strconv.ParseInt: parsing "x": invalid syntax',
        ),
        (
            CLONES,
            rolling(inPlaceUpdateStrategy={"imagePreDownloadParallelism": -1}),
            "updateStrategy.rollingUpdate.inPlaceUpdateStrategy.imagePreDownloadParallelism",
            "Invalid value: -1: imagePreDownloadParallelism must be non-negative",
        ),
        (
            CLONES,
            rolling(inPlaceUpdateStrategy={"imagePreDownloadTimeoutSeconds": -1}),
            "updateStrategy.rollingUpdate.inPlaceUpdateStrategy.imagePreDownloadTimeoutSeconds",
            "must be greater than or equal to 0",
        ),
        (
            CLONES,
            made(scaleStrategy={"podsToDelete": ["a", "b", "a"]}),
            "scaleStrategy.podsToDelete",
            'Invalid value: ["a","b","a"]: duplicated items [a]',
        ),
        (
            OLD_CLONES,
            made(progressDeadlineSeconds=5, minReadySeconds=5),
            "progressDeadlineSeconds",
            "must be greater than minReadySeconds",
        ),
        (OLD_CLONES, made(progressDeadlineSeconds=-1), "progressDeadlineSeconds", "greater than or equal to 0"),
    ],
)
async def test_clone_sets_that_cannot_work_are_refused(refused, row, spec, path, why):
    errors = await refused(row, copy.deepcopy(spec))
    assert [message for field, message in errors if field == f"spec.{path}" and why in message], errors


@pytest.mark.parametrize(
    ("row", "spec"),
    [
        (CLONES, rolling(partition="100%", maxUnavailable="1%", maxSurge=0)),
        (CLONES, rolling(maxUnavailable=0, maxSurge="10%")),
        (CLONES, made(replicas=0, updateStrategy={"rollingUpdate": {"maxUnavailable": 0}})),
        (CLONES, rolling(podUpdatePolicy="InPlaceOnly", priorityStrategy=ORDER)),
        (CLONES, made(progressDeadlineSeconds=5, minReadySeconds=5)),
        (OLD_CLONES, made(progressDeadlineSeconds=2**31 - 1)),
        (OLD_CLONES, updated(type="InPlaceOnly", priorityStrategy={"weightPriority": [WEIGHT]})),
    ],
)
async def test_clone_sets_that_work_are_let_pass(admitted, row, spec):
    assert await admitted(row, copy.deepcopy(spec))


OWNED = {"ownerReferences": [{"uid": "of-web", "controller": True}]}


async def test_an_old_clone_set_names_only_its_own_pods_for_deletion(admitted, refused, store_of):
    going = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
    store = store_of(mine=OWNED, going=OWNED | going, other={"ownerReferences": [{"uid": "x", "controller": True}]})
    old = made(scaleStrategy={"podsToDelete": ["long-gone"]})
    new = made(scaleStrategy={"podsToDelete": ["long-gone", "gone", "going", "mine", "other"]})
    path = "spec.scaleStrategy.podsToDelete"
    assert await refused(OLD_CLONES, new, old, pods=store) == [
        (path, 'Invalid value: "going": find pod going already terminating'),
        (path, 'Invalid value: "gone": find pod gone failed: Pod "gone" not found'),
        (path, 'Invalid value: "other": find pod other owner is not this CloneSet'),
    ]
    assert await admitted(CLONES, new, old, pods=store)
