"""CertificateSigningRequests of new keys, and authorities to sign them."""

import base64
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

CLIENT_USAGES = ("client auth", "digital signature")
KUBELET_CLIENT = "kubernetes.io/kube-apiserver-client-kubelet"
APISERVER_CLIENT = "kubernetes.io/kube-apiserver-client"
APPROVED = {"type": "Approved", "status": "True", "reason": "Why", "message": "so", "lastUpdateTime": "x"}


def pem_request(
    name: str,
    *groups: str,
    names: Sequence[x509.GeneralName] = (),
    key: ec.EllipticCurvePrivateKey | None = None,
) -> bytes:
    """Return the PEM of a PKCS #10 request for a subject with these alternative names."""
    attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
    subject = x509.Name([*attributes, x509.NameAttribute(NameOID.COMMON_NAME, name)])
    draft = x509.CertificateSigningRequestBuilder().subject_name(subject)
    if names:
        draft = draft.add_extension(x509.SubjectAlternativeName(names), critical=False)
    signed = draft.sign(key or ec.generate_private_key(ec.SECP256R1()), hashes.SHA256())
    return signed.public_bytes(serialization.Encoding.PEM)


def signing_request(pem: bytes, signer: str, usages: Sequence[str], *conditions: Any, **spec: Any) -> Any:
    """Return a CertificateSigningRequest with this request."""
    required = {"request": base64.b64encode(pem).decode(), "signerName": signer, "usages": list(usages)}
    status = {"conditions": list(conditions)} if conditions else {}
    return {"metadata": {"name": "r", "uid": "u"}, "spec": required | spec, "status": status}


def authority(now: float, *, days: int = 3650) -> tuple[str, str]:
    """Return certificate and key of a new CA as PEM."""
    key, moment = ec.generate_private_key(ec.SECP256R1()), datetime.fromtimestamp(now, UTC)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "ca")])
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(moment - timedelta(days=1))
        .not_valid_after(moment + timedelta(days=days))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    plain = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return certificate.public_bytes(serialization.Encoding.PEM).decode(), key.private_bytes(*plain).decode()
