"""The CA bundles with which conversion webhooks are verified (k8s.io/client-go/transport.rootCertPool)."""

import base64
import binascii
import re
from collections.abc import Iterator

_BLOCK = re.compile(rb"-----BEGIN ([^\n-]*)-----[ \t\r]*\n(.*?)\n?-----END \1-----[ \t\r]*(?:\n|$)", re.DOTALL)
_NO_PEM = "unable to parse bytes as PEM block"
_NO_CERTIFICATE = "no valid certificate authority data seen"


def ca_bundle_problem(encoded: str) -> str:
    """Return why a bundle has no usable certificate; "" if it has one, or if it is empty.

    Args:
        encoded: PEM in base64, as objects have it.
    """
    bundle = base64.b64decode(encoded)
    problems = list(_problems(bundle))
    if not bundle or "" in problems:
        return ""
    nothing = _NO_CERTIFICATE if problems else _NO_PEM
    return next((problem for problem in problems if problem != _NO_CERTIFICATE), nothing)


def _problems(bundle: bytes) -> Iterator[str]:
    """Yield the problem of each block of a bundle, "" for a good certificate."""
    from cryptography import x509  # noqa: PLC0415 - takes longer to import than the rest of the server

    for kind, body in _BLOCK.findall(bundle):
        if kind != b"CERTIFICATE" or b":" in body:  # a colon ends the name of a PEM header
            yield _NO_CERTIFICATE
            continue
        try:
            x509.load_der_x509_certificate(base64.b64decode(b"".join(body.split()), validate=True))
        except binascii.Error:
            yield _NO_PEM
        except ValueError as error:
            yield f"failed to parse certificate: {error}"
        else:
            yield ""
