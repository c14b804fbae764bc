"""Approvals of definitions in Kubernetes' own groups, bundles of certificates, and schemas that are not structural."""

import base64
import datetime as dt

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from apiserver.api.meta import Obj
from apiserver.apiextensions.crds.approval import ANNOTATION, update_approval_condition
from apiserver.apiextensions.crds.ca_bundles import ca_bundle_problem
from apiserver.apiextensions.crds.conditions import find_condition, without_condition

NOW = "2026-01-01T00:00:00Z"
NEEDED = 'protected groups must have approval annotation "api-approved.kubernetes.io"'
SEE = "see https://github.com/kubernetes/enhancements/pull/1111"


def definition(group: str, annotation: str = "") -> Obj:
    annotations = {ANNOTATION: annotation} if annotation else {}
    return {"metadata": {"name": f"xs.{group}", "annotations": annotations}, "spec": {"group": group}}


@pytest.mark.parametrize(
    ("annotation", "status", "reason", "message"),
    [
        ("", "False", "MissingAnnotation", f"{NEEDED}, {SEE}"),
        ("unapproved, other text", "False", "UnapprovedAnnotation", 'not approved: "unapproved, other text"'),
        ("http://foo", "True", "ApprovedAnnotation", "approved in http://foo"),
        (
            "bad value",
            "False",
            "InvalidAnnotation",
            f'{NEEDED} with either a URL or a reason starting with "unapproved", {SEE}',
        ),
        (
            "foo/bar",
            "False",
            "InvalidAnnotation",
            f'{NEEDED} with either a URL or a reason starting with "unapproved", {SEE}',
        ),
    ],
)
def test_a_definition_of_a_protected_group_tells_of_its_approval(annotation, status, reason, message):
    conditions = update_approval_condition(definition("sigs.k8s.io", annotation), NOW)
    assert conditions is not None
    assert find_condition(conditions, "KubernetesAPIApprovalPolicyConformant") == {
        "type": "KubernetesAPIApprovalPolicyConformant",
        "status": status,
        "lastTransitionTime": NOW,
        "reason": reason,
        "message": message,
    }
    assert update_approval_condition(conditions, NOW) is None


@pytest.mark.parametrize(
    ("group", "protected"),
    [("k8s.io", True), ("kubernetes.io", True), ("a.kubernetes.io", True), ("ak8s.io", False), ("example.com", False)],
)
def test_only_groups_of_the_project_are_protected(group, protected):
    assert (update_approval_condition(definition(group), NOW) is not None) == protected


def test_a_condition_can_be_taken_away():
    conditions = update_approval_condition(definition("k8s.io"), NOW)
    assert conditions is not None
    assert without_condition(conditions, "KubernetesAPIApprovalPolicyConformant")["status"] == {"conditions": []}


@pytest.fixture(scope="module")
def certificate() -> str:
    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([])
    start = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    builder = x509.CertificateBuilder(name, name, key.public_key(), 1, start, start + dt.timedelta(days=1))
    return builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM).decode()


def problem(text: str) -> str:
    return ca_bundle_problem(base64.b64encode(text.encode()).decode())


def test_a_bundle_has_at_least_one_certificate(certificate):
    assert problem("") == ""
    assert problem(certificate) == ""
    other = certificate.replace("CERTIFICATE", "PUBLIC KEY")
    assert problem(other + certificate) == ""
    assert problem(certificate.replace("MI", "AA", 1) + certificate) == ""
    assert problem("no certificate") == "unable to parse bytes as PEM block"
    assert problem(other) == "no valid certificate authority data seen"
    assert problem(certificate.replace("MI", "AA", 1)).startswith("failed to parse certificate: ")
