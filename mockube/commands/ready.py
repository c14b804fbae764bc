"""`mockube ready`: asks a server whether it is ready, for health checks of containers whose image has no curl."""

import argparse
import ssl
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Final
from urllib.parse import urlsplit

from mockube.failures import fail

_MAX_SHOWN_BYTES: Final = 2000
"""The most bytes of a refusal that are shown."""


def run(options: argparse.Namespace) -> int:
    """Ask once and return the exit code."""
    parts = urlsplit(options.url)
    connection: HTTPConnection
    if parts.scheme == "https":
        try:
            trust = ssl.create_default_context(cafile=options.certificate_authority)
        except OSError as error:  # ssl.SSLError is one
            return fail(f"--certificate-authority: {options.certificate_authority}: {error}")
        connection = HTTPSConnection(parts.hostname or "", parts.port, timeout=options.timeout, context=trust)
    else:
        connection = HTTPConnection(parts.hostname or "", parts.port, timeout=options.timeout)
    try:
        connection.request("GET", f"{parts.path or '/'}{'?' if parts.query else ''}{parts.query}")
        response = connection.getresponse()
        text = response.read(_MAX_SHOWN_BYTES).decode(errors="replace").strip()
    except (OSError, HTTPException) as error:
        return _not_ready(options.url, str(error) or type(error).__name__)
    finally:
        connection.close()
    return 0 if response.status == 200 else _not_ready(options.url, f"{response.status}: {text}")


def _not_ready(url: str, reason: str) -> int:
    return fail(f"{url} is not ready: {reason}", code=1)
