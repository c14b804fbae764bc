"""The PKCS #10 request in a CertificateSigningRequest, and the rules for kubelets' (pkg/apis/certificates)."""

import base64
from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

from apiserver.api.meta import Obj
from controller_manager.reconcile.conditions import condition_of

if TYPE_CHECKING:
    from cryptography.x509 import CertificateSigningRequest

KUBE_APISERVER_CLIENT = "kubernetes.io/kube-apiserver-client"
KUBELET_CLIENT = "kubernetes.io/kube-apiserver-client-kubelet"
KUBELET_SERVING = "kubernetes.io/kubelet-serving"
LEGACY_UNKNOWN = "kubernetes.io/legacy-unknown"

APPROVED, DENIED, FAILED = "Approved", "Denied", "Failed"

_SIGNATURE, _ENCIPHERMENT = "digital signature", "key encipherment"
_NODES_GROUP = "system:nodes"
_NODE_USER_PREFIX = "system:node:"


@dataclass(frozen=True, slots=True)
class CertificateRequest:
    """A parsed PKCS #10 request: its subject, and its alternative names by type."""

    parsed: "CertificateSigningRequest"
    common_name: str
    organizations: tuple[str, ...]
    dns_names: tuple[str, ...]
    emails: tuple[str, ...]
    addresses: tuple[str, ...]
    uris: tuple[str, ...]


def parse_request(csr: Obj) -> CertificateRequest:
    """Return the parsed request of a CertificateSigningRequest (ParseCSR).

    Raises:
        ValueError: spec.request is not a PEM block of type CERTIFICATE REQUEST.
    """
    from cryptography import x509  # noqa: PLC0415 - takes longer to import than most of the manager
    from cryptography.x509.oid import NameOID  # noqa: PLC0415 - the same

    parsed = x509.load_pem_x509_csr(base64.b64decode(csr["spec"]["request"]))
    try:
        names = parsed.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        names = x509.SubjectAlternativeName([])
    common_names = [str(each.value) for each in parsed.subject.get_attributes_for_oid(NameOID.COMMON_NAME)]
    organizations = parsed.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)
    return CertificateRequest(
        parsed,
        common_name=common_names[-1] if common_names else "",
        organizations=tuple(str(each.value) for each in organizations),
        dns_names=tuple(names.get_values_for_type(x509.DNSName)),
        emails=tuple(names.get_values_for_type(x509.RFC822Name)),
        addresses=tuple(map(str, names.get_values_for_type(x509.IPAddress))),
        uris=tuple(names.get_values_for_type(x509.UniformResourceIdentifier)),
    )


def kubelet_client_problem(request: CertificateRequest, usages: Collection[str]) -> str:
    """Return the reason why this is no request of a kubelet's client, "" if it is one (ValidateKubeletClientCSR)."""
    if request.organizations != (_NODES_GROUP,):
        return "subject organization is not system:nodes"
    if request.dns_names:
        return "DNS subjectAltNames are not allowed"
    if request.emails:
        return "Email subjectAltNames are not allowed"
    if request.addresses:
        return "IP subjectAltNames are not allowed"
    if request.uris:
        return "URI subjectAltNames are not allowed"
    return _node_name_problem(request) or _usages_problem(usages, "client auth")


def kubelet_serving_problem(request: CertificateRequest, usages: Collection[str]) -> str:
    """Return the reason why this is no request of a kubelet's server, "" if it is one (ValidateKubeletServingCSR)."""
    if request.organizations != (_NODES_GROUP,):
        return "subject organization is not system:nodes"
    if not request.dns_names and not request.addresses:
        return "DNS or IP subjectAltName is required"
    if request.emails:
        return "Email subjectAltNames are not allowed"
    if request.uris:
        return "URI subjectAltNames are not allowed"
    return _usages_problem(usages, "server auth") or _node_name_problem(request)


def _node_name_problem(request: CertificateRequest) -> str:
    if request.common_name.startswith(_NODE_USER_PREFIX):
        return ""
    return "subject common name does not begin with system:node:"


def _usages_problem(usages: Collection[str], purpose: str) -> str:
    """Return "" if the usages are the purpose and signatures; only keys of RSA also need key encipherment."""
    required = {purpose, _SIGNATURE}
    if set(usages) in (required, required | {_ENCIPHERMENT}):
        return ""
    return f"usages did not match [{' '.join(sorted(required | {_ENCIPHERMENT}))}]"


def client_usages_problem(usages: Collection[str]) -> str:
    """Return the reason why no client gets these usages, "" if one can have them (validAPIServerClientUsages)."""
    for usage in usages:
        if usage not in ("client auth", _SIGNATURE, _ENCIPHERMENT):
            return f"invalid usage for client certificate: {usage}"
    return "" if "client auth" in usages else "missing required usage for client certificate: client auth"


def is_approved(csr: Obj) -> bool:
    """Return whether the request is approved and not denied (IsCertificateRequestApproved)."""
    return condition_of(csr, APPROVED) is not None and condition_of(csr, DENIED) is None


def is_issued(csr: Obj) -> bool:
    """Return whether the request has its certificate."""
    return bool((csr.get("status") or {}).get("certificate"))


def with_condition(csr: Obj, condition: Obj) -> Obj:
    """Return a copy of the CertificateSigningRequest with one more condition."""
    status = csr.get("status") or {}
    return csr | {"status": status | {"conditions": [*(status.get("conditions") or ()), condition]}}
