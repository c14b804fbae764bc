"""The key that signs tokens: ECDSA P-256 (ES256) or RSA (RS256); PyJWT and cryptography are imported on first use."""

import base64
import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from apiserver.api.meta import Obj

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
    from jwt.types import Options

    PrivateKey = EllipticCurvePrivateKey | RSAPrivateKey


class SigningKey:
    """A private key that signs and verifies tokens, with its public half for clients."""

    def __init__(self, private: "PrivateKey") -> None:
        from cryptography.hazmat.primitives import serialization  # noqa: PLC0415 - costs a tenth of the start
        from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey  # noqa: PLC0415 - as above

        self._private = private
        self._public = private.public_key()
        self.algorithm = "RS256" if isinstance(private, RSAPrivateKey) else "ES256"
        form = serialization.PublicFormat.SubjectPublicKeyInfo
        digest = hashlib.sha256(self._public.public_bytes(serialization.Encoding.DER, form)).digest()
        self.id = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()

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

    def sign(self, claims: Obj) -> str:
        """Return the token of these claims."""
        import jwt  # noqa: PLC0415 - imports cryptography

        headers = {"kid": self.id, "typ": ""}  # kube-apiserver's tokens name no type either
        return jwt.encode(claims, self._private, self.algorithm, headers)

    def verify(self, token: str, issuer: str) -> Obj | None:
        """Return the claims of a token, None if this key has not signed it for the issuer. No times are checked."""
        import jwt  # noqa: PLC0415 - imports cryptography

        times: Options = {"verify_exp": False, "verify_iat": False, "verify_nbf": False}
        options: Options = {**times, "verify_aud": False}
        try:
            decoded = jwt.decode_complete(token, self._public, [self.algorithm], options, issuer=issuer)
        except (jwt.InvalidTokenError, ValueError, RecursionError):
            return None
        claims: Obj = decoded["payload"]
        return claims if decoded["header"].get("kid") == self.id else None

    def public(self) -> Obj:
        """Return the public half as a JSON web key (RFC 7517)."""
        import jwt  # noqa: PLC0415 - imports cryptography

        key = jwt.get_algorithm_by_name(self.algorithm).to_jwk(self._public, as_dict=True)
        numbers = {name: value for name, value in key.items() if name != "key_ops"}  # "use" says it
        return {"use": "sig", "kid": self.id, "alg": self.algorithm} | numbers


def _write(file: Path, content: bytes) -> None:
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
        out.write(content)
