import ssl
from datetime import UTC, datetime
from pathlib import Path

import aiohttp
import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, load_pem_private_key

from mockube.ca import KeyPair, _key_text, _signed, _subject
from mockube.certificates import ensure_certificates

LOG = "/containerLogs/shop/web/web"


@pytest.fixture
def jane(pki, tmp_path) -> tuple[Path, Path]:
    """The certificate, and its key, of somebody who is known and of no importance."""
    directory = pki.directory
    certificate = x509.load_pem_x509_certificate((directory / "ca.crt").read_bytes())
    key = load_pem_private_key((directory / "ca.key").read_bytes(), None)
    assert isinstance(key, EllipticCurvePrivateKey)
    authority = KeyPair(certificate, key)
    signed = _signed(authority, _subject("jane", "developers"), datetime.now(UTC))
    (tmp_path / "jane.crt").write_bytes(signed.certificate.public_bytes(Encoding.PEM))
    (tmp_path / "jane.key").write_bytes(_key_text(signed.key))
    return tmp_path / "jane.crt", tmp_path / "jane.key"


async def test_who_shows_no_certificate_is_nobody(stage, client_as):
    stage.pod()
    async with client_as() as client, client.get(LOG) as answer:
        assert (answer.status, await answer.text()) == (401, "Unauthorized")


async def test_who_is_not_of_the_group_may_do_nothing(stage, client_as, jane):
    stage.pod()
    async with client_as(*jane) as client, client.get(LOG) as answer:
        assert answer.status == 403
        assert await answer.text() == "Forbidden (user=jane, verb=get, resource=nodes, subresource(s)=[proxy])"


async def test_a_certificate_of_another_authority_is_none(client_as, tmp_path):
    other = ensure_certificates(tmp_path / "other", ("localhost",), now=datetime.now(UTC).timestamp())
    async with client_as(other.kubelet_client, other.kubelet_client_key) as client:
        with pytest.raises((aiohttp.ClientError, ssl.SSLError)):
            await client.get(LOG)


async def test_anybody_may_ask_whether_all_is_well(client_as):
    async with client_as() as client, client.get("/healthz") as answer:
        assert (answer.status, await answer.text()) == (200, "ok")
