"""Validation of Roles and bindings."""

from typing import Any

import pytest

from apiserver.groups.rbac.rolebindings import GROUP
from apiserver.registry.validation import VALIDATORS

RULE = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}
REF = {"apiGroup": GROUP, "kind": "Role", "name": "r"}
USER = {"kind": "User", "apiGroup": GROUP, "name": "u"}


def messages(errors: Any) -> list[str]:
    return [str(error) for error in errors]


@pytest.mark.parametrize(
    ("kind", "rule", "errors"),
    [
        ("Role", RULE, []),
        ("Role", RULE | {"resourceNames": ["a"], "resources": ["pods", "pods/log"]}, []),
        ("Role", RULE | {"verbs": []}, ["rules[0].verbs: Required value: verbs must contain at least one value"]),
        (
            "Role",
            {"verbs": ["get"]},
            [
                "rules[0].apiGroups: Required value: resource rules must supply at least one api group",
                "rules[0].resources: Required value: resource rules must supply at least one resource",
            ],
        ),
        (
            "Role",
            {"verbs": ["get"], "nonResourceURLs": ["/x"]},
            [('rules[0].nonResourceURLs: Invalid value: ["/x"]: namespaced rules cannot apply to non-resource URLs')],
        ),
        ("ClusterRole", {"verbs": ["get"], "nonResourceURLs": ["/x"]}, []),
        (
            "ClusterRole",
            RULE | {"nonResourceURLs": ["/x"]},
            [
                (
                    'rules[0].nonResourceURLs: Invalid value: ["/x"]: '
                    "rules cannot apply to both regular resources and non-resource URLs"
                )
            ],
        ),
    ],
)
def test_a_rule_names_verbs_and_what_they_are_for(kind: str, rule: dict[str, Any], errors: list[str]) -> None:
    assert messages(VALIDATORS[GROUP, kind].create({"metadata": {"name": "r"}, "rules": [rule]})) == errors


def test_an_aggregation_needs_a_selector() -> None:
    role = {"metadata": {"name": "r"}, "aggregationRule": {}}
    assert messages(VALIDATORS[GROUP, "ClusterRole"].create(role)) == [
        (
            "aggregationRule.clusterRoleSelectors: Required value: "
            "at least one clusterRoleSelector required if aggregationRule is non-nil"
        )
    ]


def test_the_selector_of_an_aggregation_is_checked() -> None:
    rule = {"clusterRoleSelectors": [{"matchExpressions": [{"key": "a", "operator": "Is"}]}]}
    role = {"metadata": {"name": "r"}, "aggregationRule": rule}
    assert messages(VALIDATORS[GROUP, "ClusterRole"].create(role)) == [
        (
            'aggregationRule.clusterRoleSelectors[0].matchExpressions[0].operator: Invalid value: "Is": '
            "not a valid selector operator"
        )
    ]


@pytest.mark.parametrize(
    ("kind", "ref", "errors"),
    [
        ("RoleBinding", REF, []),
        ("RoleBinding", REF | {"kind": "ClusterRole"}, []),
        (
            "RoleBinding",
            {"apiGroup": GROUP},
            [
                'roleRef.kind: Unsupported value: "": supported values: "Role", "ClusterRole"',
                "roleRef.name: Required value",
            ],
        ),
        (
            "RoleBinding",
            REF | {"apiGroup": "example.com", "name": "a/b"},
            [
                f'roleRef.apiGroup: Unsupported value: "example.com": supported values: "{GROUP}"',
                "roleRef.name: Invalid value: \"a/b\": may not contain '/'",
            ],
        ),
        ("ClusterRoleBinding", REF, ['roleRef.kind: Unsupported value: "Role": supported values: "ClusterRole"']),
    ],
)
def test_a_binding_names_a_role(kind: str, ref: dict[str, Any], errors: list[str]) -> None:
    assert messages(VALIDATORS[GROUP, kind].create({"metadata": {"name": "b"}, "roleRef": ref})) == errors


@pytest.mark.parametrize(
    ("subject", "errors"),
    [
        (USER, []),
        ({"kind": "ServiceAccount", "name": "a", "namespace": "n"}, []),
        ({"kind": "ServiceAccount", "name": "a"}, ["subjects[0].namespace: Required value"]),
        (USER | {"name": ""}, ["subjects[0].name: Required value"]),
        (
            USER | {"kind": "Robot"},
            ['subjects[0].kind: Unsupported value: "Robot": supported values: "ServiceAccount", "User", "Group"'],
        ),
        (
            {"kind": "ServiceAccount", "name": "a", "namespace": "n", "apiGroup": "example.com"},
            ['subjects[0].apiGroup: Unsupported value: "example.com": supported values: ""'],
        ),
    ],
)
def test_a_subject_is_an_account_a_user_or_a_group(subject: dict[str, Any], errors: list[str]) -> None:
    binding = {"metadata": {"name": "b"}, "roleRef": REF | {"kind": "ClusterRole"}, "subjects": [subject]}
    assert messages(VALIDATORS[GROUP, "ClusterRoleBinding"].create(binding)) == errors


def test_a_binding_stays_with_its_role() -> None:
    new, old = ({"metadata": {"name": "b"}, "roleRef": REF | {"name": name}} for name in ("other", "r"))
    assert messages(VALIDATORS[GROUP, "RoleBinding"].update(new, old)) == [
        f'roleRef: Invalid value: {{"APIGroup":"{GROUP}","Kind":"Role","Name":"other"}}: cannot change roleRef'
    ]
    assert messages(VALIDATORS[GROUP, "RoleBinding"].update(new | {"subjects": [USER]}, new)) == []
