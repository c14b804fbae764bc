import base64
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from apiserver.groups.certificates.certificates import certificate_problem

MALFORMED = "x509: malformed certificate"
NONE = "must contain at least one CERTIFICATE PEM block"


def certificate() -> x509.Certificate:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "a")])
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime(2026, 1, 1, tzinfo=UTC)
    draft = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    dated = draft.serial_number(1).not_valid_before(now).not_valid_after(now + timedelta(days=1))
    return dated.sign(key, hashes.SHA256())


DER = certificate().public_bytes(serialization.Encoding.DER)


def block(der: bytes, kind: str = "CERTIFICATE", headers: str = "") -> str:
    return f"-----BEGIN {kind}-----\n{headers}{base64.encodebytes(der).decode()}-----END {kind}-----\n"


@pytest.mark.parametrize(
    ("pem", "problem"),
    [
        ("", ""),
        (block(DER), ""),
        (block(DER) + block(DER), ""),
        ("a comment\n" + block(DER) + "and another\n", ""),
        (block(DER + DER), ""),
        ("no certificate", NONE),
        (block(DER).replace("END", "ENDED"), NONE),
        ("-----BEGIN CERTIFICATE-----\n!!!\n-----END CERTIFICATE-----\n", NONE),
        (block(DER, "RSA PRIVATE KEY"), 'only CERTIFICATE PEM blocks are allowed, found "RSA PRIVATE KEY"'),
        (block(DER) + block(DER, "X"), 'only CERTIFICATE PEM blocks are allowed, found "X"'),
        (block(DER, headers="Proc-Type: 4,ENCRYPTED\n\n"), "no PEM block headers are permitted"),
        (block(b""), "found CERTIFICATE PEM block containing 0 certificates"),
        (block(b"nonsense"), MALFORMED),
        (block(DER[:-1]), MALFORMED),
        (block(DER + b"0"), MALFORMED),
    ],
)
def test_a_chain_of_certificates_is_pem(pem: str, problem: str):
    assert certificate_problem(base64.b64encode(pem.encode()).decode()) == problem
