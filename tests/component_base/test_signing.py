import base64
import json

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from apiserver.component_base.signing import SigningKey

ISSUER = "https://issuer"
CLAIMS = {"sub": "system:serviceaccount:n:a", "aud": ["us"], "exp": 1, "nbf": 9999999999, "iat": 9999999999, "jti": "j"}
KEY = """-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg7b9OoLc2vi5AXcC/
D8BVYej+mxjxARWNtMbObZPXTVuhRANCAAQaKj0IVXlGsX9qVj0b3y0Ehv3AwrPm
ykzVth4ylCARlQBLlBoKPg6NaZ623qCAiE28dFCeQVFoH5xjfJkFb/FJ
-----END PRIVATE KEY-----
"""
ISSUED = (
    "eyJhbGciOiJFUzI1NiIsImtpZCI6IldtZktybXI3VGx4TTBDQUxObVAzVjV5c3N3XzhRNzdtTmhKOUdfcFVtOWsifQ"
    ".eyJzdWIiOiJzeXN0ZW06c2VydmljZWFjY291bnQ6bjphIiwiYXVkIjpbInVzIl0sImV4cCI6MSwibmJmIjo5OTk5OTk5OTk5LCJpYXQiOjk5"
    "OTk5OTk5OTksImp0aSI6ImoiLCJpc3MiOiJodHRwczovL2lzc3VlciJ9"
    ".UlXHnlrOBnggE2089zu5PFNJDSEAMpQ0NdVHGCcat5xVF50S6uwvc6KaX0z4xAqeJHasY5460TrP4eNgUWKaMQ"
)
"""A token that an earlier release issued with this key."""


def decoded(part):
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))


def encoded(raw):
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


@pytest.fixture
def key(tmp_path):
    file = tmp_path / "key.pem"
    file.write_text(KEY)
    return SigningKey.load(file)


@pytest.fixture(scope="module")
def rsa_key():
    return SigningKey(rsa.generate_private_key(65537, 2048))


def test_a_token_of_an_earlier_release_is_valid(key):
    assert key.verify(ISSUED, ISSUER) == CLAIMS | {"iss": ISSUER}


def test_head_and_claims_are_written_as_always(key):
    head, claims, _ = key.sign(CLAIMS | {"iss": ISSUER}).split(".")
    assert [head, claims] == ISSUED.split(".")[:2]


def test_a_key_has_the_id_of_its_public_half(key):
    assert key.public() == {
        "use": "sig",
        "kid": "WmfKrmr7TlxM0CALNmP3V5yssw_8Q77mNhJ9G_pUm9k",
        "alg": "ES256",
        "kty": "EC",
        "crv": "P-256",
        "x": "Gio9CFV5RrF_alY9G98tBIb9wMKz5spM1bYeMpQgEZU",
        "y": "AEuUGgo-Do1pnrbeoICITbx0UJ5BUWgfnGN8mQVv8Uk",
    }


def test_an_rsa_key_signs_and_is_published(rsa_key):
    token, published = rsa_key.sign({"iss": ISSUER}), rsa_key.public()
    assert list(published) == ["use", "kid", "alg", "kty", "n", "e"]
    assert (published["kty"], published["alg"], published["e"]) == ("RSA", "RS256", "AQAB")
    assert json.loads(decoded(token.split(".")[0])) == {"alg": "RS256", "kid": published["kid"]}
    assert jwt.decode(token, jwt.PyJWK(published), ["RS256"]) == rsa_key.verify(token, ISSUER) == {"iss": ISSUER}


def test_a_key_that_does_not_exist_is_created_for_its_owner_alone(tmp_path):
    file = tmp_path / "key.pem"
    first = SigningKey.load(file)
    assert file.stat().st_mode & 0o777 == 0o600
    assert SigningKey.load(file).id == first.id != SigningKey.load(None).id


def test_a_file_with_another_kind_of_key_is_refused(tmp_path):
    file = tmp_path / "key.pem"
    form, bare = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    private = ec.generate_private_key(ec.SECP384R1())
    file.write_bytes(private.private_bytes(serialization.Encoding.PEM, form, bare))
    with pytest.raises(ValueError, match="holds neither a P-256 nor an RSA key"):
        SigningKey.load(file)


def forged(head, claims, signature):
    """Tokens that look like one that the key has signed."""
    fields, other = json.loads(decoded(head)), SigningKey.load(None)
    yield "of another key", other.sign(CLAIMS | {"iss": ISSUER})
    yield "of another key that takes this one's name", _named(other, fields["kid"])
    yield "without a signature", f"{head}.{claims}."
    yield "of no algorithm", f"{encoded(json.dumps(fields | {'alg': 'none'}).encode())}.{claims}."
    yield "of other claims", f"{head}.{encoded(json.dumps(CLAIMS | {'sub': 'x'}).encode())}.{signature}"
    yield "with a longer signature", f"{head}.{claims}.{encoded(decoded(signature) + bytes(2))}"
    yield "with a head that is no object", f"{encoded(b'[]')}.{claims}.{signature}"
    yield "with a head that nests too deeply", f"{encoded(b'[' * 30_000)}.{claims}.{signature}"
    yield "with a name that is no text", f"{encoded(json.dumps(fields | {'kid': 1}).encode())}.{claims}.{signature}"
    yield "that is not ASCII", "é.é.é"
    yield "with broken bytes", f"{head}.{claims}.\udc80"


def _named(key, name):
    key.id = name
    return key.sign(CLAIMS | {"iss": ISSUER})


def test_a_forged_token_is_refused(key):
    refused = {name: key.verify(token, ISSUER) for name, token in forged(*ISSUED.split("."))}
    assert refused == dict.fromkeys(refused)


def test_a_token_of_another_issuer_or_with_another_key_id_is_refused(key):
    assert key.verify(key.sign({"iss": "https://other"}), ISSUER) is None
    assert key.verify(key.sign({"sub": "x"}), ISSUER) is None
    renamed = SigningKey.load(None)
    token = renamed.sign({"iss": ISSUER})
    assert renamed.verify(token, ISSUER) == {"iss": ISSUER}
    renamed.id = "other"
    assert renamed.verify(token, ISSUER) is None
