"""Rows of role bindings and of certificates: who may do what, and who vouches for whom."""

from apiserver.api.meta import Obj, name_of
from apiserver.endpoints.tables.columns import AGE, NAME, Column, Printer, Printers
from apiserver.endpoints.tables.fields import NONE, Cells, mapping, mappings, number, text
from apiserver.endpoints.tables.format import age, human_duration, labels_text

_CERTIFICATES = "io.k8s.api.certificates.v1."
_RBAC = "io.k8s.api.rbac.v1."


def _subjects(obj: Obj, kind: str) -> str:
    found = [subject for subject in mappings(obj, "subjects") if subject.get("kind") == kind]
    prefixed = kind == "ServiceAccount"
    return ", ".join([f"{text(s, 'namespace')}/{text(s, 'name')}" if prefixed else text(s, "name") for s in found])


def _binding(obj: Obj) -> Cells:
    role = mapping(obj, "roleRef")
    subjects = [_subjects(obj, kind) for kind in ("User", "Group", "ServiceAccount")]
    return [name_of(obj), f"{text(role, 'kind')}/{text(role, 'name')}", age(obj), *subjects]


def _signing_request(obj: Obj) -> Cells:
    spec, status = mapping(obj, "spec"), mapping(obj, "status")
    lifetime = spec.get("expirationSeconds")
    return [
        name_of(obj),
        age(obj),
        text(spec, "signerName") or NONE,
        text(spec, "username"),
        NONE if lifetime is None else human_duration(number(spec, "expirationSeconds")),
        _signing_state(status),
    ]


def _signing_state(status: Obj) -> str:
    conditions = {text(condition, "type") for condition in mappings(status, "conditions")}
    decision = next((word for word in ("Denied", "Approved") if word in conditions), "Pending")
    failed = ",Failed" if "Failed" in conditions else ""
    issued = ",Issued" if status.get("certificate") else ""
    return decision + failed + issued


def _trust_bundle(obj: Obj) -> Cells:
    return [name_of(obj), text(mapping(obj, "spec"), "signerName") or NONE]


_POD_REQUEST_STATES = frozenset({"Issued", "Denied", "Failed"})
_POD_REQUEST_FIELDS = (
    ("PodName", "podName"),
    ("ServiceAccountName", "serviceAccountName"),
    ("NodeName", "nodeName"),
    ("SignerName", "signerName"),
)


def _pod_certificate_request(obj: Obj) -> Cells:
    spec = mapping(obj, "spec")
    conditions = [text(condition, "type") for condition in mappings(mapping(obj, "status"), "conditions")]
    states = [condition for condition in conditions if condition in _POD_REQUEST_STATES]
    return [
        name_of(obj),
        *[text(spec, field) for _, field in _POD_REQUEST_FIELDS],
        states[-1] if states else "Pending",
        labels_text(mapping(spec, "unverifiedUserAnnotations")),
    ]


def _binding_printer(kind: str) -> Printer:
    return Printer(
        columns=(
            NAME,
            Column("Role", f"{_RBAC}{kind}#roleRef"),
            AGE,
            Column("Users", "The users that get the role.", priority=1),
            Column("Groups", "The groups that get the role.", priority=1),
            Column("ServiceAccounts", "The service accounts that get the role.", priority=1),
        ),
        cells=_binding,
    )


PRINTERS: Printers = {
    ("rbac.authorization.k8s.io", "RoleBinding"): _binding_printer("RoleBinding"),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): _binding_printer("ClusterRoleBinding"),
    ("certificates.k8s.io", "CertificateSigningRequest"): Printer(
        columns=(
            NAME,
            AGE,
            Column("SignerName", f"{_CERTIFICATES}CertificateSigningRequestSpec#signerName"),
            Column("Requestor", f"{_CERTIFICATES}CertificateSigningRequestSpec#username"),
            Column("RequestedDuration", f"{_CERTIFICATES}CertificateSigningRequestSpec#expirationSeconds"),
            Column("Condition", f"{_CERTIFICATES}CertificateSigningRequestStatus#conditions"),
        ),
        cells=_signing_request,
    ),
    ("certificates.k8s.io", "ClusterTrustBundle"): Printer(
        columns=(NAME, Column("SignerName", f"{_CERTIFICATES}ClusterTrustBundleSpec#signerName")),
        cells=_trust_bundle,
    ),
    ("certificates.k8s.io", "PodCertificateRequest"): Printer(
        columns=(
            NAME,
            *(Column(name, f"{_CERTIFICATES}PodCertificateRequestSpec#{field}") for name, field in _POD_REQUEST_FIELDS),
            Column("State", "Whether the request is Pending, Issued, Denied or Failed."),
            Column("UnverifiedUserAnnotations", f"{_CERTIFICATES}PodCertificateRequestSpec#unverifiedUserAnnotations"),
        ),
        cells=_pod_certificate_request,
    ),
}
