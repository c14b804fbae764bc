"""kubectl auth for a user that a Role limits, and the refusals of other commands."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

Kubectl = Any
ROLE = """
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: r, namespace: NAMESPACE}
rules:
- {apiGroups: [''], resources: [pods], verbs: [get, list]}
- {apiGroups: [apps], resources: ['*/scale'], verbs: [update], resourceNames: [web]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: r, namespace: NAMESPACE}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: r}
subjects: [{kind: User, name: jane, apiGroup: rbac.authorization.k8s.io}]
"""


@pytest.fixture
def limited(kubectl: Kubectl) -> Kubectl:
    """A kubectl in a namespace where jane may list pods, and scale one Deployment."""
    kubectl.output("auth reconcile -f -", ROLE.replace("NAMESPACE", kubectl.namespace))
    return kubectl


def test_a_role_limits_a_user(limited: Kubectl) -> None:
    where = f'in the namespace "{limited.namespace}"'
    limited.says("get pods --as=jane", "No resources found .*")
    limited.refuses(
        "get secrets --as=jane",
        r'Error from server \(Forbidden\): secrets is forbidden: User "jane" cannot list resource "secrets" in API '
        f'group "" {where}',
    )
    limited.refuses(
        "create configmap c --as=jane",
        r'error: failed to create configmap: configmaps is forbidden: User "jane" cannot create resource "configmaps" '
        f'in API group "" {where}',
    )
    limited.says("get pods --as=joe --as-group=system:masters", "No resources found .*")


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        ("list pods", "yes"),
        ("get pods/web", "yes"),
        ("delete pods", "no"),
        ("list pods -A", "no"),
        ("update deployments.apps/web --subresource=scale", "yes"),
        ("update deployments.apps/other --subresource=scale", "no"),
        ("get /version", "yes"),
        ("get /metrics", "no"),
        ("'*' '*'", "no"),
    ],
)
def test_can_i_asks_the_authorizer(limited: Kubectl, asked: str, answer: str) -> None:
    check = limited.says if answer == "yes" else limited.refuses
    check(f"auth can-i {asked} --as=jane", answer)


def test_can_i_lists_the_rules(limited: Kubectl) -> None:
    listed = limited.output("auth can-i --list --as=jane")
    lines = [" ".join(line.split()) for line in listed.splitlines()]
    assert lines[0] == "Resources Non-Resource URLs Resource Names Verbs"
    assert "pods [] [] [get list]" in lines
    assert "*.apps/scale [] [web] [update]" in lines
    assert "[/api/*] [] [get]" in lines


def test_nobody_grants_more_than_they_have(limited: Kubectl) -> None:
    limited.output(f"create rolebinding jane --clusterrole=admin --user=jane -n {limited.namespace}")
    limited.says("create role mine --as=jane --verb=get --resource=pods", "role.*/mine created")
    limited.refuses(
        "create role more --as=jane --verb=delete --resource=nodes",
        r"Error from server \(Forbidden\): roles.rbac.authorization.k8s.io \"more\" is forbidden: user \"jane\" "
        r"\(groups=\[\"system:authenticated\"\]\) is attempting to grant RBAC permissions not currently held:\n"
        r"\{APIGroups:\[\"\"\], Resources:\[\"nodes\"\], Verbs:\[\"delete\"\]\}",
    )
    limited.says("create rolebinding yours --as=jane --clusterrole=view --user=joe", "rolebinding.*/yours created")
    limited.refuses(
        "create rolebinding mine --as=jane --clusterrole=cluster-admin --user=jane",
        r".* is attempting to grant RBAC permissions not currently held:\n"
        r".*\{APIGroups:\[\"\*\"\], Resources:\[\"\*\"\], Verbs:\[\"\*\"\]\}\n.*",
    )


def test_whoami_says_who_one_acts_as(limited: Kubectl) -> None:
    limited.says("auth whoami --as=jane --as-group=dev", r".*Username +jane\nGroups +\[dev system:authenticated\]")


def test_who_acts_as_somebody_else_is_that_user(kubectl: Kubectl) -> None:
    review = kubectl.output("auth whoami -o json --as=bob --as-group=dev --as-group=ops --as-uid=7")
    assert json.loads(review)["status"]["userInfo"] == {
        "username": "bob",
        "uid": "7",
        "groups": ["dev", "ops", "system:authenticated"],
    }
    account = kubectl.output("auth whoami -o json --as=system:serviceaccount:ns:sa")
    groups = ["system:serviceaccounts", "system:serviceaccounts:ns", "system:authenticated"]
    assert json.loads(account)["status"]["userInfo"]["groups"] == groups


def test_who_may_not_act_as_somebody_else_is_told_for_what(kubectl: Kubectl, kubectl_at: Any, tmp_path: Path) -> None:
    kubectl.output("create serviceaccount robot")
    config = yaml.safe_load(kubectl.output("config view --raw"))
    config["users"][0]["user"] = {"token": kubectl.output("create token robot").strip()}
    path = tmp_path / "robot.kubeconfig"
    path.write_text(yaml.safe_dump(config))
    robot = kubectl_at(path, namespace=kubectl.namespace)
    robot.refuses(
        "get pods --as=bob",
        r"Error from server \(Forbidden\): pods is forbidden: "
        rf'User "system:serviceaccount:{kubectl.namespace}:robot" cannot impersonate-on:user-info:list resource "pods" '
        rf'in API group "" in the namespace "{kubectl.namespace}"',
    )
