from typing import Any

import pytest

SUBJECTS = [
    {"kind": "User", "name": "u1"},
    {"kind": "Group", "name": "g"},
    {"kind": "User", "name": "u2"},
    {"kind": "ServiceAccount", "namespace": "n", "name": "sa"},
    {"kind": "Robot", "name": "r"},
]


@pytest.mark.parametrize("kind", ["RoleBinding", "ClusterRoleBinding"])
def test_a_bindings_row_sorts_its_subjects_by_kind(printed: Any, kind: str) -> None:
    body = {"roleRef": {"kind": "ClusterRole", "name": "view"}, "subjects": SUBJECTS}
    expected = ["x", "ClusterRole/view", "60m", "u1, u2", "g", "n/sa"]
    assert list(printed("rbac.authorization.k8s.io", kind, body).values()) == expected


@pytest.mark.parametrize(
    ("conditions", "certificate", "expected"),
    [
        ([], None, "Pending"),
        (["Approved"], None, "Approved"),
        (["Approved"], "UEVN", "Approved,Issued"),
        (["Approved", "Denied"], None, "Denied"),
        (["Approved", "Failed"], None, "Approved,Failed"),
        (["Failed"], "UEVN", "Pending,Failed,Issued"),
    ],
)
def test_a_signing_requests_condition(printed: Any, conditions: list[str], certificate: Any, expected: str) -> None:
    status = {"conditions": [{"type": condition} for condition in conditions], "certificate": certificate}
    row = printed("certificates.k8s.io", "CertificateSigningRequest", {"status": status})
    assert row["Condition"] == expected


@pytest.mark.parametrize(
    ("kind", "body", "expected"),
    [
        (
            "CertificateSigningRequest",
            {"spec": {"signerName": "example.com/s", "username": "u", "expirationSeconds": 7200}},
            ["x", "60m", "example.com/s", "u", "120m", "Pending"],
        ),
        ("CertificateSigningRequest", {}, ["x", "60m", "<none>", "", "<none>", "Pending"]),
        ("ClusterTrustBundle", {"spec": {"signerName": "example.com/s"}}, ["x", "example.com/s"]),
        ("ClusterTrustBundle", {}, ["x", "<none>"]),
        (
            "PodCertificateRequest",
            {
                "spec": {
                    "podName": "p",
                    "serviceAccountName": "sa",
                    "nodeName": "n",
                    "signerName": "s",
                    "unverifiedUserAnnotations": {"a": "b"},
                },
                "status": {"conditions": [{"type": "Issued", "status": "True"}]},
            },
            ["x", "p", "sa", "n", "s", "Issued", "a=b"],
        ),
        ("PodCertificateRequest", {}, ["x", "", "", "", "", "Pending", "<none>"]),
    ],
)
def test_a_row_of_certificates(printed: Any, kind: str, body: Any, expected: list[Any]) -> None:
    assert list(printed("certificates.k8s.io", kind, body).values()) == expected


SELECTED = "&LabelSelector{MatchLabels:map[string]string{a: b,},MatchExpressions:[]LabelSelectorRequirement{},}"


@pytest.mark.parametrize(
    ("kind", "body", "expected"),
    [
        ("ValidatingWebhookConfiguration", {"webhooks": [{}, {}]}, ["x", 2, "60m"]),
        ("MutatingWebhookConfiguration", {}, ["x", 0, "60m"]),
        (
            "ValidatingAdmissionPolicy",
            {"spec": {"validations": [{}], "paramKind": {"apiVersion": "g/v1", "kind": "K"}}},
            ["x", 1, "g/v1/K", "60m"],
        ),
        ("MutatingAdmissionPolicy", {"spec": {"mutations": [{}, {}]}}, ["x", 2, "<unset>", "60m"]),
        ("ValidatingAdmissionPolicyBinding", {"spec": {"policyName": "p"}}, ["x", "p", "<unset>", "60m"]),
        ("MutatingAdmissionPolicyBinding", {"spec": {"paramRef": {"name": "n"}}}, ["x", "", "*/n", "60m"]),
        (
            "ValidatingAdmissionPolicyBinding",
            {"spec": {"paramRef": {"name": "n", "namespace": "s"}}},
            ["x", "", "s/n", "60m"],
        ),
        (
            "ValidatingAdmissionPolicyBinding",
            {"spec": {"paramRef": {"selector": {"matchLabels": {"a": "b"}}}}},
            ["x", "", SELECTED, "60m"],
        ),
    ],
)
def test_a_row_of_admission(printed: Any, kind: str, body: Any, expected: list[Any]) -> None:
    assert list(printed("admissionregistration.k8s.io", kind, body).values()) == expected
