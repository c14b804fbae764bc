"""Signing with the cluster's CA (pkg/controller/certificates/authority)."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.types import CertificateIssuerPrivateKeyTypes

    from controller_manager.controllers.certificates.requests import CertificateRequest

BACKDATE = timedelta(minutes=5)
"""The time by which a certificate is valid before it is signed, since clocks differ."""
SHORT_LIVED = timedelta(hours=8)
"""Certificates with a shorter life end that long after they are signed; others end BACKDATE earlier."""

KEY_USAGES: Mapping[str, str] = {
    "signing": "digital_signature",
    "digital signature": "digital_signature",
    "content commitment": "content_commitment",
    "key encipherment": "key_encipherment",
    "key agreement": "key_agreement",
    "data encipherment": "data_encipherment",
    "cert sign": "key_cert_sign",
    "crl sign": "crl_sign",
    "encipher only": "encipher_only",
    "decipher only": "decipher_only",
}
"""Usage in a CertificateSigningRequest → the bit of a certificate's key usage."""

EXTENDED_KEY_USAGES: Mapping[str, str] = {
    "any": "2.5.29.37.0",
    "server auth": "1.3.6.1.5.5.7.3.1",
    "client auth": "1.3.6.1.5.5.7.3.2",
    "code signing": "1.3.6.1.5.5.7.3.3",
    "email protection": "1.3.6.1.5.5.7.3.4",
    "s/mime": "1.3.6.1.5.5.7.3.4",
    "ipsec end system": "1.3.6.1.5.5.7.3.5",
    "ipsec tunnel": "1.3.6.1.5.5.7.3.6",
    "ipsec user": "1.3.6.1.5.5.7.3.7",
    "timestamping": "1.3.6.1.5.5.7.3.8",
    "ocsp signing": "1.3.6.1.5.5.7.3.9",
    "microsoft sgc": "1.3.6.1.4.1.311.10.3.3",
    "netscape sgc": "2.16.840.1.113730.4.1",
}
"""Usage in a CertificateSigningRequest → the object identifier of an extended key usage."""


@dataclass(frozen=True, slots=True)
class CertificateAuthority:
    """The certificate and key that sign for a cluster."""

    certificate: "x509.Certificate"
    key: "CertificateIssuerPrivateKeyTypes"

    @classmethod
    def load(cls, certificate: str, key: str) -> "CertificateAuthority":
        """Return the CA of two PEM texts.

        Raises:
            ValueError: one of them is not what it should be, or the key is not the certificate's.
        """
        from cryptography import x509  # noqa: PLC0415 - takes longer to import than most of the manager
        from cryptography.hazmat.primitives import serialization  # noqa: PLC0415 - the same

        loaded = x509.load_pem_x509_certificate(certificate.encode())
        try:
            private = serialization.load_pem_private_key(key.encode(), password=None)
        except TypeError as error:  # it is encrypted
            raise ValueError(str(error)) from error
        if private.public_key() != loaded.public_key():
            raise ValueError("the key is not that of the certificate")
        return cls(loaded, cast("CertificateIssuerPrivateKeyTypes", private))

    def sign(self, request: "CertificateRequest", usages: Collection[str], life: timedelta, now: float) -> bytes:
        """Return the certificate for a request as PEM (CertificateAuthority.Sign, PermissiveSigningPolicy).

        Args:
            request: its subject, alternative names and key go into the certificate; nothing else of it does.
            usages: the usages of the key.
            life: the time that the certificate should last; it ends with the CA's at the latest.
            now: seconds since 1970.

        Raises:
            ValueError: the signature of the request is wrong, or the CA's certificate has ended.
        """
        from cryptography import x509  # noqa: PLC0415 - takes longer to import than most of the manager
        from cryptography.hazmat.primitives import hashes, serialization  # noqa: PLC0415 - the same
        from cryptography.hazmat.primitives.asymmetric import ed448, ed25519  # noqa: PLC0415 - the same

        if not request.parsed.is_signature_valid:
            raise ValueError("unable to verify certificate request signature")
        begin, end = validity(life, now, self.certificate.not_valid_after_utc)
        draft = (
            x509.CertificateBuilder()
            .subject_name(request.parsed.subject)
            .issuer_name(self.certificate.subject)
            .public_key(request.parsed.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(begin)
            .not_valid_after(end)
        )
        for extension, critical in self._extensions(request, usages):
            draft = draft.add_extension(extension, critical=critical)
        unhashed = isinstance(self.key, (ed25519.Ed25519PrivateKey, ed448.Ed448PrivateKey))
        return draft.sign(self.key, None if unhashed else hashes.SHA256()).public_bytes(serialization.Encoding.PEM)

    def _extensions(
        self, request: "CertificateRequest", usages: Collection[str]
    ) -> "list[tuple[x509.ExtensionType, bool]]":
        """Return the extensions in Go's order (x509.CreateCertificate), each with whether it is critical."""
        from cryptography import x509  # noqa: PLC0415 - takes longer to import than most of the manager

        extensions: list[tuple[x509.ExtensionType, bool]] = []
        bits = {KEY_USAGES[usage] for usage in usages if usage in KEY_USAGES}
        if bits:
            extensions.append((_key_usage(bits), True))
        purposes = sorted({EXTENDED_KEY_USAGES[usage] for usage in usages if usage in EXTENDED_KEY_USAGES})
        if purposes:
            extensions.append((x509.ExtendedKeyUsage(map(x509.ObjectIdentifier, purposes)), False))
        extensions.append((x509.BasicConstraints(ca=False, path_length=None), True))
        try:
            key_id = self.certificate.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
            issuer = x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(key_id)
            extensions.append((issuer, False))
        except x509.ExtensionNotFound:
            pass
        try:
            names = request.parsed.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
            extensions.append((names, not list(request.parsed.subject)))
        except x509.ExtensionNotFound:
            pass
        return extensions


def validity(life: timedelta, now: float, authority_end: datetime) -> tuple[datetime, datetime]:
    """Return the first and the last moment of a certificate.

    Raises:
        ValueError: the CA's certificate has ended.
    """
    moment = datetime.fromtimestamp(int(now), UTC)
    if moment >= authority_end:
        raise ValueError(f"the signer has expired: NotAfter={authority_end:%Y-%m-%d %H:%M:%S} +0000 UTC")
    end = moment + (life if life < SHORT_LIVED else life - BACKDATE)
    return moment - BACKDATE, min(end, authority_end)


def _key_usage(bits: Collection[str]) -> "x509.KeyUsage":
    from cryptography import x509  # noqa: PLC0415 - takes longer to import than most of the manager

    flags = {bit: bit in bits for bit in KEY_USAGES.values()}
    if not flags["key_agreement"]:  # without it the two say nothing (RFC 5280, 4.2.1.3)
        flags |= {"encipher_only": False, "decipher_only": False}
    return x509.KeyUsage(**flags)
