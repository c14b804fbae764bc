"""The key that signs tokens: ECDSA P-256 (ES256) or RSA (RS256); the package cryptography is imported on first use."""

import base64
import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from apiserver.api.meta import Obj

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

    Private = EllipticCurvePrivateKey | RSAPrivateKey

_COORDINATE = 32
"""The bytes of a coordinate on the curve P-256."""


class SigningKey:
    """A private key that signs and verifies tokens, with its public half for clients."""

    def __init__(self, private: "Private") -> None:
        from cryptography.hazmat.primitives import serialization  # noqa: PLC0415 - costs a tenth of the start
        from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey  # noqa: PLC0415 - as above

        self._rsa = private if isinstance(private, RSAPrivateKey) else None
        self._ec = None if isinstance(private, RSAPrivateKey) else private
        self.algorithm = "RS256" if self._rsa else "ES256"
        form = serialization.PublicFormat.SubjectPublicKeyInfo
        public = private.public_key().public_bytes(serialization.Encoding.DER, form)
        self.id = text_of(hashlib.sha256(public).digest())

    @classmethod
    def load(cls, file: Path | None) -> "SigningKey":
        """Return the key of a file, created if it is absent; without a file, a new key that is not kept.

        Raises:
            OSError: the file cannot be read or written.
            ValueError: it holds no key of a supported type.
        """
        from cryptography.hazmat.primitives import serialization  # noqa: PLC0415 - costs a tenth of the start
        from cryptography.hazmat.primitives.asymmetric import ec, rsa  # noqa: PLC0415 - as above

        if file is None or not file.exists():
            new_key = ec.generate_private_key(ec.SECP256R1())
            form, bare = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            if file is not None:
                _write(file, new_key.private_bytes(serialization.Encoding.PEM, form, bare))
            return cls(new_key)
        private = serialization.load_pem_private_key(file.read_bytes(), password=None)
        if isinstance(private, rsa.RSAPrivateKey):
            return cls(private)
        if isinstance(private, ec.EllipticCurvePrivateKey) and isinstance(private.curve, ec.SECP256R1):
            return cls(private)
        raise ValueError(f"{file} holds neither a P-256 nor an RSA key")

    def sign(self, message: bytes) -> bytes:
        """Return the signature of a message in the format of JSON web tokens."""
        from cryptography.hazmat.primitives import hashes  # noqa: PLC0415 - imported already
        from cryptography.hazmat.primitives.asymmetric import ec, padding, utils  # noqa: PLC0415 - as above

        if self._rsa:
            return self._rsa.sign(message, padding.PKCS1v15(), hashes.SHA256())
        assert self._ec is not None
        pair = utils.decode_dss_signature(self._ec.sign(message, ec.ECDSA(hashes.SHA256())))
        return b"".join(number.to_bytes(_COORDINATE, "big") for number in pair)

    def verifies(self, message: bytes, signature: bytes) -> bool:
        """Return whether this key made the signature of a message."""
        from cryptography.exceptions import InvalidSignature  # noqa: PLC0415 - imported already
        from cryptography.hazmat.primitives import hashes  # noqa: PLC0415 - as above
        from cryptography.hazmat.primitives.asymmetric import ec, padding, utils  # noqa: PLC0415 - as above

        try:
            if self._rsa:
                self._rsa.public_key().verify(signature, message, padding.PKCS1v15(), hashes.SHA256())
                return True
            assert self._ec is not None
            first, second = signature[:_COORDINATE], signature[_COORDINATE:]
            pair = utils.encode_dss_signature(int.from_bytes(first, "big"), int.from_bytes(second, "big"))
            self._ec.public_key().verify(pair, message, ec.ECDSA(hashes.SHA256()))
        except InvalidSignature:
            return False
        return len(signature) == 2 * _COORDINATE

    def public(self) -> Obj:
        """Return the public half as a JSON web key (RFC 7517)."""
        fields: Obj = {"use": "sig", "kid": self.id, "alg": self.algorithm}
        if self._rsa:
            rsa = self._rsa.public_key().public_numbers()
            numbers = {"n": _number(rsa.n, (rsa.n.bit_length() + 7) // 8), "e": _number(rsa.e, 3)}
            return fields | {"kty": "RSA"} | numbers
        assert self._ec is not None
        point = self._ec.public_key().public_numbers()
        coordinates = {"x": _number(point.x, _COORDINATE), "y": _number(point.y, _COORDINATE)}
        return fields | {"kty": "EC", "crv": "P-256"} | coordinates


def _write(file: Path, content: bytes) -> None:
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
        out.write(content)


def text_of(raw: bytes) -> str:
    """Return bytes as base64url without padding, as in web tokens."""
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def bytes_of(text: str) -> bytes:
    """Return the bytes of a base64url text without padding.

    Raises:
        ValueError: it is not base64url.
    """
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _number(number: int, length: int) -> str:
    return text_of(number.to_bytes(length, "big"))
