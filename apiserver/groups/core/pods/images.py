"""Image references: the pull policy that an image has by default."""

import re
from functools import lru_cache

_DOMAIN_PART = "[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?"

_DOMAIN = rf"(?:{_DOMAIN_PART}(?:\.{_DOMAIN_PART})*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?"

_PATH_PART = "[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"

_TAG = r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}"

_DIGEST = "(?:sha256:[a-f0-9]{64}|sha384:[a-f0-9]{96}|sha512:[a-f0-9]{128})"

_REFERENCE = re.compile(rf"{_DOMAIN}/{_PATH_PART}(?:/{_PATH_PART})*(?P<tag>:{_TAG})?(?P<digest>@{_DIGEST})?")

_BARE_IDENTIFIER = re.compile("[a-f0-9]{64}")


@lru_cache(maxsize=4096)
def pull_policy(image: str) -> str:
    """Return the imagePullPolicy of a container that sets none.

    "Always" for the tag latest, written out or implied by the lack of tag and digest; "IfNotPresent" for every other
    reference, and for a malformed one (pkg/util/parsers).
    """
    match = _REFERENCE.fullmatch(_with_domain(image))
    if match is None or _BARE_IDENTIFIER.fullmatch(image):
        return "IfNotPresent"
    implied = not match["tag"] and not match["digest"]
    return "Always" if implied or match["tag"] == ":latest" else "IfNotPresent"


def _with_domain(image: str) -> str:
    """Return the reference with its registry; a first part without dot, colon or capitals is not a registry."""
    first, slash, _ = image.partition("/")
    has_registry = slash and ("." in first or ":" in first or first == "localhost" or first != first.lower())
    return image if has_registry else f"docker.io/{image}"
