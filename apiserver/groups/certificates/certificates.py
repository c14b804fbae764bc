"""Certificates in PEM, as the status of a CertificateSigningRequest has them (certificates/validation.go)."""

import base64
import re
from collections.abc import Iterator
from typing import NamedTuple

from apiserver.api.golang.strings import quoted

_BLOCK = re.compile(
    rb"(?:^|(?<=\n))-----BEGIN ([^\n]*?)-----[ \t\r]*\n(.*?)-----END \1-----[ \t\r]*(?:\n|$)", re.DOTALL
)
_HEADER = re.compile(rb"[^\n]*:[^\n]*(?:\n|$)")
_MALFORMED = "x509: malformed certificate"
_TWO_BYTES = 0x80
"""The first length byte of an ASN.1 element whose length has bytes of its own."""


class _Block(NamedTuple):
    """A block of PEM; `der` are its bytes."""

    kind: str
    has_headers: bool
    der: bytes


def certificate_problem(encoded: str) -> str:
    """Return why a chain of certificates is malformed, "" if it is empty or well-formed (validateCertificate).

    Args:
        encoded: the PEM in base64, as objects have it.
    """
    pem = base64.b64decode(encoded)
    if not pem:
        return ""
    blocks = list(_blocks(pem))
    if not blocks:
        return "must contain at least one CERTIFICATE PEM block"
    return next(filter(None, map(_block_problem, blocks)), "")


def _blocks(pem: bytes) -> Iterator[_Block]:
    """Yield the blocks of a text; what is not a well-formed block is skipped (pem.Decode)."""
    for kind, body in _BLOCK.findall(pem):
        headers = 0
        while header := _HEADER.match(body, headers):
            headers = header.end()
        try:
            der = base64.b64decode(b"".join(body[headers:].split()), validate=True)
        except ValueError:
            continue
        yield _Block(kind.decode(errors="replace"), headers > 0, der)


def _block_problem(block: _Block) -> str:
    if block.kind != "CERTIFICATE":
        return f"only CERTIFICATE PEM blocks are allowed, found {quoted(block.kind)}"
    if block.has_headers:
        return "no PEM block headers are permitted"
    if not block.der:
        return "found CERTIFICATE PEM block containing 0 certificates"
    from cryptography import x509  # noqa: PLC0415 - takes longer to import than all else of the server

    try:
        for der in _elements(block.der):
            x509.load_der_x509_certificate(der)
    except ValueError:
        return _MALFORMED
    return ""


def _elements(der: bytes) -> Iterator[bytes]:
    """Yield the ASN.1 elements that follow each other in some bytes; the last one may be incomplete."""
    while der:
        end = _end_of_element(der)
        yield der[:end]
        der = der[end:]


def _end_of_element(der: bytes) -> int:
    length = der[1] if len(der) > 1 else 0
    if length < _TWO_BYTES:
        return 2 + length
    start = 2 + length - _TWO_BYTES
    return start + int.from_bytes(der[2:start], "big")
