"""Validation of ResourceQuotas, LimitRanges and PriorityClasses."""

from typing import Any

import pytest

from apiserver.registry.validation import VALIDATORS


def messages(errors: Any) -> list[str]:
    return [str(error) for error in errors]


@pytest.mark.parametrize(
    ("spec", "errors"),
    [
        ({"hard": {"pods": "3", "requests.cpu": "500m", "count/deployments.apps": "2", "storage/x": "1Gi"}}, []),
        ({"hard": {"requests.hugepages-2Mi": "2Mi", "services.nodeports": "0"}}, []),
        (
            {"hard": {"coffee": "1"}},
            [
                'spec.hard[coffee]: Invalid value: "coffee": must be a standard resource type or fully qualified',
                'spec.hard[coffee]: Invalid value: "coffee": must be a standard resource for quota',
            ],
        ),
        (
            {"hard": {"storage": "1Gi"}},
            ['spec.hard[storage]: Invalid value: "storage": must be a standard resource for quota'],
        ),
        ({"hard": {"pods": "-1"}}, ['spec.hard[pods]: Invalid value: "-1": must be greater than or equal to 0']),
        ({"hard": {"pods": "500m"}}, ['spec.hard[pods]: Invalid value: "500m": must be an integer']),
        (
            {"hard": {"pods": "1"}, "scopes": ["Galactic"]},
            ['spec.scopes: Invalid value: ["Galactic"]: unsupported scope'],
        ),
        (
            {"hard": {"services": "1"}, "scopes": ["BestEffort"]},
            ['spec.scopes: Invalid value: ["BestEffort"]: unsupported scope applied to resource'],
        ),
        (
            {"hard": {"pods": "1"}, "scopes": ["Terminating", "NotTerminating"]},
            ['spec.scopes: Invalid value: ["Terminating","NotTerminating"]: conflicting scopes'],
        ),
        (
            {"scopeSelector": {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "In"}]}},
            [
                (
                    "spec.scopeSelector.matchExpressions.values: Required value: "
                    "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
                )
            ],
        ),
        (
            {"scopeSelector": {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "Is"}]}},
            [('spec.scopeSelector.matchExpressions.operator: Invalid value: "Is": not a valid selector operator')],
        ),
    ],
)
def test_a_quota_limits_what_can_be_counted_in_its_scopes(spec: dict[str, Any], errors: list[str]) -> None:
    assert messages(VALIDATORS["", "ResourceQuota"].create({"metadata": {"name": "q"}, "spec": spec})) == errors


def test_the_scopes_of_a_quota_stay() -> None:
    new, old = ({"metadata": {}, "spec": {"scopes": [scope]}} for scope in ("NotTerminating", "Terminating"))
    assert messages(VALIDATORS["", "ResourceQuota"].update(new, old)) == [
        'spec.scopes: Invalid value: ["NotTerminating"]: field is immutable'
    ]


@pytest.mark.parametrize(
    ("limit", "errors"),
    [
        ({"type": "Container", "max": {"cpu": "1"}, "min": {"cpu": "100m"}}, []),
        (
            {"type": "Room", "max": {"cpu": "1"}},
            ['spec.limits[0].type: Invalid value: "Room": must be a standard limit type or fully qualified'],
        ),
        (
            {"type": "Container", "min": {"cpu": "2"}, "max": {"cpu": "1"}},
            ['spec.limits[0].min[cpu]: Invalid value: "2": min value 2 is greater than max value 1'],
        ),
        (
            {
                "type": "Container",
                "min": {"memory": "1Gi"},
                "max": {"memory": "2Gi"},
                "default": {"memory": "4Gi"},
                "defaultRequest": {"memory": "512Mi"},
            },
            [
                (
                    'spec.limits[0].defaultRequest[memory]: Invalid value: "512Mi": '
                    "min value 1Gi is greater than default request value 512Mi"
                ),
                (
                    'spec.limits[0].default[memory]: Invalid value: "2Gi": '
                    "default value 4Gi is greater than max value 2Gi"
                ),
            ],
        ),
        (
            {"type": "Pod", "default": {"cpu": "1"}},
            ["spec.limits[0].default: Forbidden: may not be specified when `type` is 'Pod'"],
        ),
        (
            {"type": "PersistentVolumeClaim", "max": {"cpu": "1"}},
            [
                (
                    "spec.limits[0].limits: Required value: "
                    "either minimum or maximum storage value is required, but neither was provided"
                )
            ],
        ),
        (
            {"type": "Pod", "max": {"storage": "1"}},
            ['spec.limits[0].max[storage]: Invalid value: "storage": must be a standard resource for containers'],
        ),
        (
            {"type": "Pod", "max": {"cpu": "1"}, "min": {"cpu": "500m"}, "maxLimitRequestRatio": {"cpu": "3"}},
            [
                (
                    'spec.limits[0].maxLimitRequestRatio[cpu]: Invalid value: "3": '
                    "ratio 3 is greater than max/min = 2.000000"
                )
            ],
        ),
        (
            {"type": "Pod", "maxLimitRequestRatio": {"cpu": "500m"}},
            ['spec.limits[0].maxLimitRequestRatio[cpu]: Invalid value: "500m": ratio 500m is less than 1'],
        ),
    ],
)
def test_the_amounts_of_a_limit_range_are_in_order(limit: dict[str, Any], errors: list[str]) -> None:
    obj = {"metadata": {"name": "l"}, "spec": {"limits": [limit]}}
    assert messages(VALIDATORS["", "LimitRange"].create(obj)) == errors


def test_a_limit_range_has_each_type_once() -> None:
    obj = {"metadata": {"name": "l"}, "spec": {"limits": [{"type": "Pod"}, {"type": "Pod"}]}}
    assert messages(VALIDATORS["", "LimitRange"].create(obj)) == ['spec.limits[1].type: Duplicate value: "Pod"']


PRIORITY = VALIDATORS["scheduling.k8s.io", "PriorityClass"]


@pytest.mark.parametrize(
    ("name", "value", "errors"),
    [
        ("high", 1_000_000_000, []),
        (
            "high",
            1_000_000_001,
            ["value: Forbidden: maximum allowed value of a user defined priority is 1000000000"],
        ),
        ("system-node-critical", 2_000_001_000, []),
        (
            "system-own",
            5,
            [
                (
                    "metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use "
                    "only. error: system-own is not a known system priority class"
                )
            ],
        ),
    ],
)
def test_the_highest_priorities_are_the_systems(name: str, value: int, errors: list[str]) -> None:
    assert messages(PRIORITY.create({"metadata": {"name": name}, "value": value})) == errors


def test_a_priority_stays() -> None:
    old: dict[str, Any] = {"metadata": {"name": "p"}, "value": 5, "preemptionPolicy": "Never"}
    assert messages(PRIORITY.update(old | {"value": 6, "preemptionPolicy": "PreemptLowerPriority"}, old)) == [
        "value: Forbidden: may not be changed in an update.",
        'preemptionPolicy: Invalid value: "PreemptLowerPriority": field is immutable',
    ]
