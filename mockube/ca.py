"""The cluster's own certificate authority and what it signs, made with cryptography; all ECDSA P-256, as it is fast."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from mockube.certificate_names import GROUP, RENEW_BEFORE, USER, is_address

Write = Callable[[str, bytes], None]

_AUTHORITY_LIFE = timedelta(days=3650)
_LIFE = timedelta(days=365)
_SKEW = timedelta(hours=1)
"""The most by which a client's clock may be behind."""


@dataclass(frozen=True, slots=True)
class KeyPair:
    """A certificate and its key."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey


def make_certificates(directory: Path, names: Sequence[str], *, now: float, write: Write) -> float:
    """Make the certificates and keys of a server; a CA and a signing key that are still good are kept.

    Args:
        directory: the directory of the existing files.
        names: names and addresses that the certificates of the server and of the kubelets cover.
        now: seconds since 1970.
        write: writes a file, given its name and content.

    Returns:
        The time at which the first of the certificates ends, in seconds since 1970.

    Raises:
        OSError: a file cannot be read or written.
    """
    moment = datetime.fromtimestamp(now, UTC)
    authority = _kept_authority(directory, moment) or _new_authority(moment)
    pairs = {
        "ca": authority,
        "apiserver": _signed(authority, _subject("kube-apiserver"), moment, names=names),
        "admin": _signed(authority, _subject(USER, GROUP), moment),
        "kubelet": _signed(authority, _subject("mockube-kubelet"), moment, names=names),
        "apiserver-kubelet-client": _signed(authority, _subject("kube-apiserver-kubelet-client", GROUP), moment),
    }
    _write_pairs(pairs, write)
    _keep_signing_key(directory, write)
    return _first_end(pairs)


def make_etcd_certificates(directory: Path, names: Sequence[str], *, now: float, write: Write) -> float:
    """Make the certificates and keys of an etcd server and its one client; a CA that is still good is kept.

    The CA is separate, as kubeadm has it: a certificate that the API server's CA has signed is of no use here. etcd's
    gRPC gateway, which serves HTTP, calls the server with the server's own certificate: so it is a client's as well.

    Args:
        directory: the directory of the existing files.
        names: names and addresses that the server's certificate covers.
        now: seconds since 1970.
        write: writes a file, given its name and content.

    Returns:
        The time at which the first of the certificates ends, in seconds since 1970.

    Raises:
        OSError: a file cannot be read or written.
    """
    moment = datetime.fromtimestamp(now, UTC)
    authority = _kept_authority(directory, moment) or _new_authority(moment, "mockube-etcd-ca")
    pairs = {
        "ca": authority,
        "server": _signed(authority, _subject("etcd"), moment, names=names, calls=True),
        "client": _signed(authority, _subject("kube-apiserver-etcd-client"), moment),
    }
    _write_pairs(pairs, write)
    return _first_end(pairs)


def _write_pairs(pairs: Mapping[str, KeyPair], write: Write) -> None:
    for name, pair in pairs.items():
        write(f"{name}.key", _key_text(pair.key))
        write(f"{name}.crt", pair.certificate.public_bytes(serialization.Encoding.PEM))


def _first_end(pairs: Mapping[str, KeyPair]) -> float:
    return min(pair.certificate.not_valid_after_utc.timestamp() for pair in pairs.values())


def _kept_authority(directory: Path, moment: datetime) -> KeyPair | None:
    try:
        certificate = x509.load_pem_x509_certificate((directory / "ca.crt").read_bytes())
    except (FileNotFoundError, ValueError):
        return None
    key = _key(directory / "ca.key")
    lasts = certificate.not_valid_after_utc > moment + _LIFE + timedelta(seconds=RENEW_BEFORE)
    if key is None or key.public_key() != certificate.public_key() or not lasts:
        return None
    return KeyPair(certificate, key)


def _new_authority(moment: datetime, name: str = "mockube-ca") -> KeyPair:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = _subject(name)
    draft = (
        _draft(subject, key.public_key(), moment, life=_AUTHORITY_LIFE)
        .issuer_name(subject)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
    )
    return KeyPair(draft.sign(key, hashes.SHA256()), key)


def _signed(
    authority: KeyPair, subject: x509.Name, moment: datetime, *, names: Sequence[str] = (), calls: bool = False
) -> KeyPair:
    """Return a server's certificate if there are names, else a client's; with `calls`, one that is both."""
    key = ec.generate_private_key(ec.SECP256R1())
    issuer = authority.key.public_key()
    purposes = [ExtendedKeyUsageOID.SERVER_AUTH] if names else []
    if calls or not names:
        purposes.append(ExtendedKeyUsageOID.CLIENT_AUTH)
    draft = (
        _draft(subject, key.public_key(), moment, life=_LIFE)
        .issuer_name(authority.certificate.subject)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage(purposes), critical=False)
    )
    if names:
        draft = draft.add_extension(x509.SubjectAlternativeName([_name(host) for host in names]), critical=False)
    return KeyPair(draft.sign(authority.key, hashes.SHA256()), key)


def _draft(
    subject: x509.Name, key: ec.EllipticCurvePublicKey, moment: datetime, *, life: timedelta
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(moment - _SKEW)
        .not_valid_after(moment + life)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    )


def _subject(name: str, group: str = "") -> x509.Name:
    organization = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group)] if group else []
    return x509.Name([*organization, x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _name(name: str) -> x509.GeneralName:
    return x509.IPAddress(ip_address(name)) if is_address(name) else x509.DNSName(name)


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _keep_signing_key(directory: Path, write: Write) -> None:
    """Keep the signing key, so that issued tokens stay valid; the public half is written each time."""
    key = _key(directory / "sa.key")
    if key is None:
        key = ec.generate_private_key(ec.SECP256R1())
        write("sa.key", _key_text(key))
    public = key.public_key()
    write(
        "sa.pub",
        public.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo),
    )


def _key(path: Path) -> ec.EllipticCurvePrivateKey | None:
    """Return the private key in a file, or None if there is no usable one."""
    try:
        key = serialization.load_pem_private_key(path.read_bytes(), password=None)
    except (FileNotFoundError, ValueError, TypeError):
        return None
    return key if isinstance(key, ec.EllipticCurvePrivateKey) else None


def _key_text(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
