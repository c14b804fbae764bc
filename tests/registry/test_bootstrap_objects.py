"""The objects that exist from the start: they are what their kinds allow, and name things that exist."""

from collections.abc import Iterable

import pytest

from apiserver.api.meta import Obj, group_version
from apiserver.api.resources import Resource, ResourceTable
from apiserver.registry.bootstrap import ServerLocation
from apiserver.registry.bootstrap.access import access
from apiserver.registry.bootstrap.cluster import cluster, namespaces
from apiserver.registry.bootstrap.flow import flow
from apiserver.registry.bootstrap.kruise import definitions
from apiserver.registry.bootstrap.rules import rule
from apiserver.registry.kind_tables import set_defaults
from apiserver.registry.strategy import STRATEGIES
from apiserver.registry.validation import validate_create
from apiserver.release import Release, load_release

RELEASE: Release = load_release("1.37")
TABLE = ResourceTable(RELEASE.rows)
PLACE = ServerLocation("192.0.2.1", 6443, "10.96.0.0/12,fd00::/112", "a certificate")
NEVER_SERVED = {"signers.certificates.k8s.io", "pods.metrics.k8s.io"}
"""Names in roles that are no resources of this server: permissions by name, and another server's resource."""
VERBS = {"*", "get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"}
SPECIAL_VERBS = {"approve", "escalate", "impersonate", "proxy", "sign"}


@pytest.fixture(scope="module")
def objects() -> list[Obj]:
    """Every object that exists from the start."""
    here = cluster(PLACE, TABLE, now="2026-01-02T03:04:05Z")
    return [*namespaces(), *here, *access(), *flow(), *definitions()]


@pytest.fixture(scope="module")
def schemas(objects: list[Obj]) -> list[Obj]:
    """The flow schemas."""
    return [obj for obj in objects if obj["kind"] == "FlowSchema"]


@pytest.fixture(scope="module")
def levels(objects: list[Obj]) -> dict[str, Obj]:
    """The specs of priority levels, by name."""
    return {obj["metadata"]["name"]: obj["spec"] for obj in objects if obj["kind"] == "PriorityLevelConfiguration"}


def _row(obj: Obj) -> Resource:
    group, version = group_version(obj["apiVersion"])
    return next(row for row in RELEASE.rows if (row.group, row.version, row.kind) == (group, version, obj["kind"]))


def _problems(obj: Obj) -> list[str]:
    """Return the unknown fields of an object, and the errors of creating it."""
    row = _row(obj)
    decoded = RELEASE.schema.decode(row.definition, obj)
    set_defaults(row.group, row.version, row.kind, decoded.obj)
    STRATEGIES[row.group, row.kind].prepare_create(decoded.obj)
    return [*decoded.errors, *map(str, validate_create(row, decoded.obj))]


def test_objects_have_fields_of_their_kinds_alone_and_are_valid(objects: list[Obj]) -> None:
    names = [f"{obj['kind']} {obj['metadata']['name']}" for obj in objects]
    assert {name: _problems(obj) for name, obj in zip(names, objects, strict=True)} == {name: [] for name in names}


def _resources(rules: Iterable[Obj]) -> set[str]:
    """Return the resources of rules, such as `deployments.apps`, without wildcards, subresources and `extensions`."""
    return {
        f"{resource.partition('/')[0]}.{group}".removesuffix(".")
        for rule in rules
        for group in rule.get("apiGroups", ())
        for resource in rule.get("resources", ())
        if "*" not in {group, resource} and group != "extensions"  # which no release since 1.22 has
    }


def test_rules_of_roles_and_flow_schemas_name_resources_and_verbs_that_there_are(
    objects: list[Obj], schemas: list[Obj]
) -> None:
    of_flows = [
        each for schema in schemas for rule in schema["spec"]["rules"] for each in rule.get("resourceRules", ())
    ]
    rules = [*of_flows, *(each for obj in objects if "Role" in obj["kind"] for each in obj.get("rules") or ())]
    served = {f"{row.plural}.{row.group}".removesuffix(".") for row in RELEASE.rows}
    assert _resources(rules) - served == NEVER_SERVED
    assert {verb for rule in rules for verb in rule["verbs"]} == VERBS | SPECIAL_VERBS


def test_a_shorthand_of_verbs_stands_for_all_of_them() -> None:
    assert [rule(f"{word} : CORE : pods")["verbs"] for word in ("READ", "WRITE", "EDIT", "ALL", "get")] == [
        ["get", "list", "watch"],
        ["create", "delete", "deletecollection", "patch", "update"],
        ["get", "list", "patch", "update", "watch"],
        ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"],
        ["get"],
    ]


def test_a_rule_is_sorted_and_may_name_objects_or_paths() -> None:
    assert rule("update get : apps CORE : pods deployments : b a") == {
        "verbs": ["get", "update"],
        "apiGroups": ["", "apps"],
        "resources": ["deployments", "pods"],
        "resourceNames": ["a", "b"],
    }
    assert rule("get : URLS : /version /healthz") == {"verbs": ["get"], "nonResourceURLs": ["/healthz", "/version"]}


def test_each_role_of_a_controller_is_bound_to_its_account(objects: list[Obj]) -> None:
    accounts = {
        obj["roleRef"]["name"]: obj["subjects"]
        for obj in objects
        if obj["kind"] == "ClusterRoleBinding" and obj["metadata"]["name"].startswith("system:controller:")
    }
    roles = [obj["metadata"]["name"] for obj in objects if obj["kind"] == "ClusterRole"]
    assert accounts == {
        name: [{"kind": "ServiceAccount", "namespace": "kube-system", "name": name.removeprefix("system:controller:")}]
        for name in roles
        if name.startswith("system:controller:")
    }


def test_flow_schemas_name_levels_and_the_last_two_take_whoever_is_left(
    schemas: list[Obj], levels: dict[str, Obj]
) -> None:
    assert {schema["spec"]["priorityLevelConfiguration"]["name"] for schema in schemas} == levels.keys()
    by_precedence = sorted(schemas, key=lambda schema: int(schema["spec"]["matchingPrecedence"]))
    assert by_precedence == schemas
    everybody = [
        {"kind": "Group", "group": {"name": f"system:{name}"}} for name in ("unauthenticated", "authenticated")
    ]
    for schema in by_precedence[-2:]:
        (rule,) = schema["spec"]["rules"]
        assert rule["subjects"] == everybody
        (of_resources,), (of_paths,) = rule["resourceRules"], rule["nonResourceRules"]
        assert of_resources == {
            "verbs": ["*"],
            "apiGroups": ["*"],
            "resources": ["*"],
            "clusterScope": True,
            "namespaces": ["*"],
        }
        assert of_paths == {"verbs": ["*"], "nonResourceURLs": ["*"]}


def test_the_shares_of_levels_are_those_of_upstreams_documentation(levels: dict[str, Obj]) -> None:
    limited = {name: spec["limited"] for name, spec in levels.items() if name != "exempt"}
    assert levels["exempt"]["exempt"] == {"nominalConcurrencyShares": 0, "lendablePercent": 0}
    assert {name: (each["nominalConcurrencyShares"], each["lendablePercent"]) for name, each in limited.items()} == {
        "system": (30, 33),
        "node-high": (40, 25),
        "leader-election": (10, 0),
        "workload-high": (40, 50),
        "workload-low": (100, 90),
        "global-default": (20, 50),
        "catch-all": (5, 0),
    }
    responses = {name: each["limitResponse"] for name, each in limited.items()}
    assert responses.pop("catch-all") == {"type": "Reject"}
    assert {each["type"] for each in responses.values()} == {"Queue"}
