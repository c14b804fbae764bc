"""ClusterRoles that aggregate the rules of others."""

import json
import os
import subprocess
from typing import Any

import pytest
from patience import SECONDS

from apiserver.api import errors
from apiserver.registry.bootstrap.access import access
from controller_manager.controllers.clusterroleaggregation import SPEC
from controller_manager.reconcile.contract import Change, Update
from controller_manager.reconcile.kinds import CLUSTER_ROLE
from mockube.cluster import Cluster

PATIENT = "--timeout=300s"
LABEL = "example.com/aggregate-to-monitoring"
PODS = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}
NODES = {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get"]}
METRICS = {"nonResourceURLs": ["/metrics"], "verbs": ["get"]}


def role(name: str, *rules: Any, **labels: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "labels": labels}, "rules": list(rules)}


def aggregated(*rules: Any, selectors: Any = ({"matchLabels": {"part": "a"}},), **labels: str) -> dict[str, Any]:
    return role("whole", *rules, **labels) | {"aggregationRule": {"clusterRoleSelectors": list(selectors)}}


@pytest.mark.parametrize(
    ("roles", "rules"),
    [
        pytest.param([role("z", PODS, part="a"), role("b", NODES, part="a")], [NODES, PODS], id="by name"),
        pytest.param([role("a", PODS, PODS, part="a"), role("b", PODS, part="a")], [PODS], id="each once"),
        pytest.param(
            [role("a", PODS, part="a"), role("b", PODS | {"resourceNames": []}, part="a")], [PODS], id="empty lists"
        ),
        pytest.param([role("a", PODS, part="b"), role("b", NODES)], [], id="others are left out"),
    ],
)
def test_a_role_gets_the_rules_of_those_that_it_selects(reconcile, roles, rules):
    whole = aggregated(METRICS)
    (update,) = reconcile(SPEC, "whole", {CLUSTER_ROLE: [whole, *roles]}).actions
    assert update == Update(
        CLUSTER_ROLE, {"apiVersion": CLUSTER_ROLE.api_version, "kind": "ClusterRole"} | whole | {"rules": rules}
    )


def test_rules_are_in_the_order_of_the_selectors_first(reconcile):
    selectors = [{"matchLabels": {"part": "b"}}, {"matchExpressions": [{"key": "part", "operator": "Exists"}]}]
    roles = [aggregated(selectors=selectors), role("a", PODS, part="a"), role("b", NODES, part="b")]
    (update,) = reconcile(SPEC, "whole", {CLUSTER_ROLE: roles}).of(Update)
    assert update.obj["rules"] == [NODES, PODS]


def test_a_role_that_selects_itself_keeps_no_rule_of_its_own(reconcile):
    (update,) = reconcile(SPEC, "whole", {CLUSTER_ROLE: [aggregated(METRICS, part="a")]}).of(Update)
    assert update.obj["rules"] == []


@pytest.mark.parametrize(
    "roles",
    [
        [aggregated(PODS), role("a", PODS, part="a")],
        [aggregated() | {"rules": None}],
        [role("whole", PODS), role("a", NODES, part="a")],
        [],
    ],
    ids=["right", "nothing selected", "not aggregated", "gone"],
)
def test_nothing_is_written_that_is_right_already(reconcile, roles):
    assert reconcile(SPEC, "whole", {CLUSTER_ROLE: roles}).actions == []


def test_any_change_concerns_all_aggregated_roles(make_world):
    (watch,) = SPEC.watches
    world = make_world(SPEC, {CLUSTER_ROLE: [aggregated(), role("a", PODS, part="a")]})
    assert watch.trigger is not None
    assert [*watch.trigger(world, Change(role("gone"), None))] == ["whole"]


def test_a_lost_write_is_tried_again(reconcile):
    conflict = errors.ApiError(409, "Conflict", "the object has been modified")
    assert reconcile(SPEC, "whole", {CLUSTER_ROLE: [aggregated(PODS)]}, lambda _: conflict).error is conflict


def test_the_roles_of_a_new_cluster_have_the_rules_already(reconcile):
    roles = [obj for obj in access() if obj["kind"] == "ClusterRole"]
    whole = [obj["metadata"]["name"] for obj in roles if "aggregationRule" in obj]
    assert whole == ["view", "edit", "admin"]
    assert [reconcile(SPEC, name, {CLUSTER_ROLE: roles}).actions for name in whole] == [[], [], []]


@pytest.mark.kubectl
def test_kubectl_makes_a_role_of_parts_that_come_and_go(kubectl_path: str) -> None:
    with Cluster(nodes=1) as cluster:

        def kubectl(*words: str) -> str:
            command = [kubectl_path, "--kubeconfig", str(cluster.kubeconfig), *words]
            done = subprocess.run(command, env=os.environ, capture_output=True, text=True, timeout=SECONDS, check=False)
            assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
            return done.stdout

        def comes_to(resource: str) -> None:
            kubectl("wait", "clusterrole/monitoring", f"--for=jsonpath={{.rules[0].resources[0]}}={resource}", PATIENT)

        kubectl("create", "clusterrole", "monitoring", f"--aggregation-rule={LABEL}=true")
        for resource in ("pods", "nodes"):
            kubectl("create", "clusterrole", f"read-{resource}", "--verb=get", f"--resource={resource}")
        kubectl("label", "clusterrole", "read-pods", f"{LABEL}=true")
        comes_to("pods")
        kubectl("label", "clusterrole", "read-nodes", f"{LABEL}=true")
        comes_to("nodes")
        assert json.loads(kubectl("get", "clusterrole", "monitoring", "--output=json"))["rules"] == [NODES, PODS]
        kubectl("delete", "clusterrole", "read-nodes")
        comes_to("pods")
