import re
from pathlib import Path

import pytest

from apiserver.admission.plugins import ORDERED, SWITCHABLE, never
from apiserver.groups.kinds import ALL_KINDS, KINDS
from apiserver.groups.rows import plural_of
from apiserver.registry.kind_tables import NOTICES, notices_by_kind
from apiserver.registry.subresources import VIRTUAL
from apiserver.registry.validation import VALIDATORS
from apiserver.release import load_release

ROWS = {(row.group, row.kind): row for row in notices_by_kind(load_release("1.37").rows)}
ALL = {(group, kind.name) for group, kinds in KINDS.items() for kind in kinds}
CARRIED_OUT = {
    *(("", kind) for kind in ("Binding", "ComponentStatus", "ConfigMap", "Endpoints", "Event", "Node")),
    *(("", kind) for kind in ("PersistentVolume", "PodTemplate", "ReplicationController", "Secret")),
    *(("", kind) for kind in ("Service", "ServiceAccount")),
    *(("", kind) for kind in ("LimitRange", "Namespace", "ResourceQuota")),
    *(("apps", kind) for kind in ("ControllerRevision", "Deployment", "ReplicaSet", "StatefulSet")),
    *(("authentication.k8s.io", kind) for kind in ("SelfSubjectReview", "TokenReview")),
    *(("authorization.k8s.io", kind) for kind in ("LocalSubjectAccessReview", "SelfSubjectAccessReview")),
    *(("authorization.k8s.io", kind) for kind in ("SelfSubjectRulesReview", "SubjectAccessReview")),
    ("certificates.k8s.io", "CertificateSigningRequest"),
    ("coordination.k8s.io", "Lease"),
    ("discovery.k8s.io", "EndpointSlice"),
    ("events.k8s.io", "Event"),
    ("node.k8s.io", "RuntimeClass"),
    ("policy", "PodDisruptionBudget"),
    ("apiextensions.k8s.io", "CustomResourceDefinition"),
    *(("admissionregistration.k8s.io", f"{name}WebhookConfiguration") for name in ("Mutating", "Validating")),
    *(("admissionregistration.k8s.io", f"ValidatingAdmissionPolicy{part}") for part in ("", "Binding")),
    *(("rbac.authorization.k8s.io", kind) for kind in ("ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding")),
    ("scheduling.k8s.io", "PriorityClass"),
    ("storage.k8s.io", "StorageClass"),
}
"""Kinds that the server, the manager or the simulated nodes carry out, or that are data for clients alone."""


def texts(group, kind, new, old=None):
    notices = ROWS[group, kind].notices
    return notices(new, old) if notices else ()


def test_notices_are_of_kinds_that_there_are():
    assert NOTICES.keys() <= ALL


def test_a_notice_is_one_line_that_a_header_can_hold():
    for notices in NOTICES.values():
        for notice in notices:
            assert re.fullmatch(r"mockube [a-z][ -~]{20,190}[^.]", notice.text)
            assert not {'"', "\\"} & set(notice.text)


@pytest.mark.parametrize(
    ("group", "kind", "concerned", "unconcerned"),
    [
        ("", "Pod", {"spec": {"resourceClaims": [{"name": "gpu"}]}}, {"spec": {"containers": []}}),
        ("", "Pod", {"spec": {"schedulingGroup": {"podGroupName": "a"}}}, {"spec": {}}),
        ("apiregistration.k8s.io", "APIService", {"spec": {"service": {"name": "a"}}}, {"spec": {"group": "a"}}),
        (
            "certificates.k8s.io",
            "PodCertificateRequest",
            {"spec": {"signerName": "kubernetes.io/kube-apiserver-client-pod"}},
            {"spec": {"signerName": "example.com/mine"}},
        ),
        (
            "storage.k8s.io",
            "CSINode",
            {"spec": {"drivers": [{"name": "a", "allocatable": {"count": 3}}]}},
            {"spec": {"drivers": [{"name": "a"}]}},
        ),
    ],
)
def test_a_notice_concerns_only_what_it_is_about(group, kind, concerned, unconcerned):
    (text,) = texts(group, kind, concerned)
    assert text in [notice.text for notice in NOTICES[group, kind]]
    assert texts(group, kind, unconcerned) == ()


def test_rows_without_notices_are_the_same_objects():
    rows = load_release("1.37").rows
    for row, other in zip(rows, notices_by_kind(rows), strict=True):
        assert (row is other) is ((row.group, row.kind) not in NOTICES)


DOCUMENT = (Path(__file__).parents[2] / "docs" / "compatibility.md").read_text()
README = (Path(__file__).parents[2] / "README.md").read_text()


def section(title):
    return DOCUMENT.partition(f"## {title}\n")[2].partition("\n## ")[0]


def cells(text):
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    return [tuple(cell.strip() for cell in line.strip("|").split(" | ")) for line in lines[2:]]


def test_the_document_lists_every_notice():
    documented = cells(section("Stored, and not carried out"))
    assert documented == [
        (f"{kind} ({group or 'core'})", notice.when or "always", notice.text)
        for (group, kind), notices in sorted(NOTICES.items())
        for notice in notices
    ]


def test_every_kind_is_carried_out_or_listed():
    add_ons = {
        (group, kind) for kind, group in re.findall(r"(\w+) \(([\w.]+)\)", section("Stored for others to carry out"))
    }
    assert add_ons
    assert not add_ons & NOTICES.keys()
    assert add_ons | NOTICES.keys() | CARRIED_OUT == ALL
    assert not CARRIED_OUT & (add_ons | NOTICES.keys())


def test_the_document_names_the_admission_plugins_that_are_at_work():
    by_default = {row.name for row in ORDERED if row.runs_by_default is not never and row.is_switchable}
    at_work = re.search(r"Of upstream's admission plug-ins (.*?)\s+are\s+at\s+work", DOCUMENT, re.DOTALL)
    off = re.search(r"`--enable-admission-plugins`\s+turns on (.*?)\.", DOCUMENT, re.DOTALL)
    assert at_work
    assert off
    assert {*re.findall(r"[A-Z]\w+", at_work[1])} == by_default
    assert {*re.findall(r"[A-Z]\w+", off[1])} == {*SWITCHABLE} - by_default


def test_the_document_lists_the_kinds_that_only_their_schema_validates():
    stored = {(group, kind) for group, kind in ALL if (group, plural_of(ALL_KINDS[group, kind])) not in VIRTUAL}
    unvalidated = stored - VALIDATORS.keys() - {("", "ServiceAccount")}  # upstream validates its metadata alone
    listed = section("Validated by schema alone").partition("for them: ")[2]
    assert sorted(re.findall(r"\w+", listed)) == sorted(kind for _, kind in unvalidated)


def test_the_readme_names_every_kind_of_them():
    listed = README.partition("\n## What does not work yet\n")[2].partition("\n## ")[0]
    kinds = set(re.findall(r"\b[A-Z]\w+", listed))
    assert [kind for _, kind in NOTICES if kind not in kinds] == []
