"""Failures of connections in the words of Go's net, crypto/tls and crypto/x509."""

import os
import re
import socket
import ssl
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from ipaddress import ip_address

import aiohttp
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID

TLS = "tls: failed to verify certificate: "
_VERIFY_ERRORS: Mapping[int, str] = {
    **dict.fromkeys((18, 19, 20, 21), "certificate signed by unknown authority"),
    **dict.fromkeys((9, 10), "certificate has expired or is not yet valid"),
}
"""OpenSSL's verification error → the message of Go's crypto/x509."""
_NOT_TLS = frozenset(("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "HTTP_REQUEST"))
_ADDRESS = re.compile(r"\('([^']+)', (\d+)")
"""The address in asyncio's message for a failed connection."""


def dial_error(error: BaseException, host: str, port: int) -> str:
    """Return the error of Go's net package for a connection that could not be made."""
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        error = error.certificate_error
    elif isinstance(error, aiohttp.ClientConnectorError):
        error = error.os_error
    address = join_host_port(host, port)
    match error:
        case ssl.SSLCertVerificationError():
            words = _VERIFY_ERRORS.get(error.verify_code, error.verify_message)
            why = f"{TLS}x509: {words}"
        case ssl.SSLError():
            is_plain = error.reason in _NOT_TLS
            why = "http: server gave HTTP response to HTTPS client" if is_plain else f"tls: {error.reason or error}"
        case socket.gaierror() | ValueError():
            why = f"dial tcp: lookup {host}: no such host"
        case TimeoutError():
            why = f"dial tcp {address}: i/o timeout"
        case OSError() if error.errno and error.errno > 0:
            resolved = _ADDRESS.search(str(error))
            where = join_host_port(resolved[1], int(resolved[2])) if resolved else address
            why = f"dial tcp {where}: connect: {os.strerror(error.errno).lower()}"
        case _:
            why = f"dial tcp {address}: {error}"
    return why


def join_host_port(host: str, port: int) -> str:
    """Return "host:port", with brackets around an IPv6 address (net.JoinHostPort)."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def verification_error(certificate: x509.Certificate, host: str, authorities: Sequence[x509.Certificate]) -> str:
    """Return why Go refuses a certificate that OpenSSL has refused: its time, then its names, then its signer.

    (crypto/x509's Certificate.Verify)

    Args:
        certificate: the server's certificate.
        host: the name or address that it should be for.
        authorities: the certificates that are trusted.
    """
    now = datetime.now(UTC).replace(microsecond=0)
    expired = "x509: certificate has expired or is not yet valid: current time"
    if now < certificate.not_valid_before_utc:
        return f"{TLS}{expired} {_time(now)} is before {_time(certificate.not_valid_before_utc)}"
    if now > certificate.not_valid_after_utc:
        return f"{TLS}{expired} {_time(now)} is after {_time(certificate.not_valid_after_utc)}"
    return f"{TLS}{_name_error(certificate, host) or _authority_error(certificate, authorities)}"


def _time(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _name_error(certificate: x509.Certificate, host: str) -> str:
    """Return why a certificate is not for a host, "" if it is (x509.HostnameError)."""
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        if _common_name(certificate.subject) == host:
            return "x509: certificate relies on legacy Common Name field, use SANs instead"
        names = x509.SubjectAlternativeName([])
    addresses = [str(each) for each in names.get_values_for_type(x509.IPAddress)]
    hosts = names.get_values_for_type(x509.DNSName)
    if _is_address(host):
        if not addresses:
            return f"x509: cannot validate certificate for {host} because it doesn't contain any IP SANs"
        valid, matches = addresses, host in addresses
    else:
        valid, matches = hosts, any(_covers(pattern, host) for pattern in hosts)
    if matches:
        return ""
    if not valid:
        return f"x509: certificate is not valid for any names, but wanted to match {host}"
    return f"x509: certificate is valid for {', '.join(valid)}, not {host}"


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _covers(pattern: str, host: str) -> bool:
    """Return whether a name of a certificate, which may begin with "*.", is that of a host."""
    pattern, host = pattern.lower(), host.lower()
    return pattern == host or (pattern.startswith("*.") and pattern[1:] == host[host.find(".") :])


def _authority_error(certificate: x509.Certificate, authorities: Sequence[x509.Certificate]) -> str:
    """Return the error for an unknown signer, with a hint if one of that name is known (x509.UnknownAuthorityError)."""
    message = "x509: certificate signed by unknown authority"
    namesake = next((each for each in authorities if each.subject == certificate.issuer), None)
    if namesake is None or namesake == certificate:
        return message
    is_rsa = isinstance(namesake.public_key(), rsa.RSAPublicKey)
    hint = "crypto/rsa: verification error" if is_rsa else "x509: ECDSA verification failure"
    name = _common_name(namesake.subject) or f"serial:{namesake.serial_number}"
    return f'{message} (possibly because of "{hint}" while trying to verify candidate authority certificate "{name}")'


def _common_name(name: x509.Name) -> str:
    values = name.get_attributes_for_oid(NameOID.COMMON_NAME)
    return str(values[0].value) if values else ""
