import base64
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

PLACE = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
APPROVED = {"type": "Approved", "status": "True", "reason": "Why", "message": "so"}


@pytest.fixture
async def request_made(client) -> Any:
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "jane")])
    draft = x509.CertificateSigningRequestBuilder().subject_name(subject)
    signed = draft.sign(ec.generate_private_key(ec.SECP256R1()), hashes.SHA256())
    text = base64.b64encode(signed.public_bytes(serialization.Encoding.PEM)).decode()
    spec = {"request": text, "signerName": "kubernetes.io/kube-apiserver-client", "usages": ["client auth"]}
    body = {"metadata": {"name": "r"}, "spec": spec | {"username": "somebody-else"}}
    return await client.do(f"POST {PLACE}", body)


async def test_a_request_tells_who_made_it(request_made):
    assert request_made["spec"]["username"] == "admin"
    assert request_made["spec"]["groups"] == ["system:masters", "system:authenticated"]


async def test_an_approval_stays(client, request_made):
    request_made["status"] = {"conditions": [APPROVED]}
    approved = await client.do(f"PUT {PLACE}/r/approval", request_made)
    assert [c["type"] for c in approved["status"]["conditions"]] == ["Approved"]
    approved["status"] = {}
    status, answer = await client.ask(f"PUT {PLACE}/r/approval", approved)
    assert status == 422
    assert 'updates may not remove a condition of type "Approved"' in answer["message"]


async def test_a_request_is_not_both_approved_and_denied(client, request_made):
    request_made["status"] = {"conditions": [APPROVED, APPROVED | {"type": "Denied"}]}
    status, answer = await client.ask(f"PUT {PLACE}/r/approval", request_made)
    assert status == 422
    assert "Approved and Denied conditions are mutually exclusive" in answer["message"]


async def test_a_certificate_is_pem(client, request_made):
    request_made["status"] = {"certificate": base64.b64encode(b"nonsense").decode()}
    status, answer = await client.ask(f"PUT {PLACE}/r/status", request_made)
    assert (status, answer["details"]["causes"]) == (
        422,
        [
            {
                "reason": "FieldValueInvalid",
                "message": 'Invalid value: "<certificate data>": must contain at least one CERTIFICATE PEM block',
                "field": "status.certificate",
            }
        ],
    )
