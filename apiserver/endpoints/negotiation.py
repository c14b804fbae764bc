"""Content negotiation: the form of the answer from the Accept header, the form of the body from Content-Type."""

from dataclasses import dataclass
from functools import lru_cache

from apiserver.api import errors

JSON, YAML = "application/json", "application/yaml"
PROTOBUF = "application/vnd.kubernetes.protobuf"
"""Of bodies only: whoever sends it takes JSON too."""
TEXT = "text/plain; charset=utf-8"
TRANSFORMS = frozenset(("Table", "PartialObjectMetadata", "PartialObjectMetadataList"))
TRANSFORM_VERSIONS = frozenset(("v1", "v1beta1"))


@dataclass(frozen=True, slots=True)
class Form:
    """How an answer is written.

    Attributes:
        media: application/json or application/yaml.
        transform: "" for the object itself, or "Table", "PartialObjectMetadata", "PartialObjectMetadataList".
        version: of meta.k8s.io for a transform.
    """

    media: str = JSON
    transform: str = ""
    version: str = "v1"


_PLAIN = Form()


@dataclass(frozen=True, slots=True)
class _Clause:
    media: str
    params: tuple[tuple[str, str], ...]
    quality: float


@lru_cache(maxsize=1024)
def clauses(accept: str) -> tuple[_Clause, ...]:
    """The media types of an Accept header, best first; equals stay in the client's order (munnerz/goautoneg)."""
    found = []
    for part in accept.split(","):
        media, *params = (p.strip() for p in part.split(";"))
        pairs = tuple((k.strip(), v.strip()) for k, _, v in (p.partition("=") for p in params))
        found.append(_Clause(media, tuple(p for p in pairs if p[0] != "q"), _quality(dict(pairs).get("q", "1"))))
    return tuple(sorted(found, key=lambda clause: -clause.quality))


def _quality(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 1.0


@lru_cache(maxsize=1024)
def answer_form(accept: str) -> Form:
    """The form that a resource's answer takes.

    Raises:
        ApiError: 406, nothing that the client accepts can be given.
    """
    if not accept or accept == JSON:
        return _PLAIN
    known_media = False
    for clause in clauses(accept):
        media = {JSON: JSON, YAML: YAML, "*/*": JSON}.get(clause.media)
        if media is None:
            continue
        known_media = True
        form = _form(media, dict(clause.params))
        if form is not None:
            return form
    if known_media:
        raise errors.not_acceptable(f"only the following media types are accepted: {JSON}, {YAML}, {PROTOBUF}")
    refused = errors.not_acceptable(f"406: Not Acceptable\n\nAvailable representations: {JSON}, {YAML}")
    refused.details = {}
    raise refused


def _form(media: str, params: dict[str, str]) -> Form | None:
    transform = params.get("as", "")
    if not transform:
        return _PLAIN if media == JSON else Form(media)
    version = params.get("v", "")
    if transform in TRANSFORMS and params.get("g") == "meta.k8s.io" and version in TRANSFORM_VERSIONS:
        return Form(media, transform, version)
    return None


@lru_cache(maxsize=256)
def error_media(accept: str) -> str:
    """What a Status is written as: YAML where the client would rather have that, else JSON."""
    for clause in clauses(accept):
        if clause.media in (JSON, "*/*", "application/*"):
            return JSON
        if clause.media == YAML:
            return YAML
    return JSON


@lru_cache(maxsize=256)
def body_media(content_type: str) -> str:
    """The media type of a body without its parameters; JSON where none is given."""
    return content_type.partition(";")[0].strip().lower() or JSON
