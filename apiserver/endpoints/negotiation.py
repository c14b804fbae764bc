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
ANSWERED = {JSON: JSON, YAML: YAML, "*/*": JSON}
"""Media types by which an answer can be asked for, and what it then is."""
ANSWERED_BESIDE = ANSWERED | {"application/*": JSON}
"""The same where one of ANSWERED is accepted too: a route alone does not know application/* (go-restful)."""


@dataclass(frozen=True, slots=True)
class Form:
    """How an answer is written.

    Attributes:
        media: application/json or application/yaml.
        transform: "" for the object itself, or "Table", "PartialObjectMetadata", "PartialObjectMetadataList".
        version: of meta.k8s.io for a transform.
        pretty: whether it is meant for human eyes.
    """

    media: str = JSON
    transform: str = ""
    version: str = "v1"
    pretty: bool = False


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
def answer_form(accept: str, *, transforms: bool = True) -> Form:
    """The form that an answer takes (negotiation.NegotiateMediaTypeOptions behind go-restful's routes).

    Args:
        accept: the header.
        transforms: whether Tables and the like can be had: of resources they can, of discovery they cannot.

    Raises:
        ApiError: 406, nothing that the client accepts can be given.
    """
    if not accept or accept == JSON:
        return _PLAIN
    wishes = clauses(accept)
    if not any(clause.media in ANSWERED for clause in wishes):
        refused = errors.not_acceptable(f"406: Not Acceptable\n\nAvailable representations: {JSON}, {YAML}")
        refused.details = {}
        raise refused
    for clause in wishes:
        media = ANSWERED_BESIDE.get(clause.media)
        form = _form(media, dict(clause.params), transforms=transforms) if media else None
        if form is not None:
            return form
    raise errors.not_acceptable(f"only the following media types are accepted: {JSON}, {YAML}, {PROTOBUF}")


def _form(media: str, params: dict[str, str], *, transforms: bool) -> Form | None:
    """The form that one clause of the header asks for, None where that is none."""
    pretty = params.get("pretty") == "1"
    if params.get("stream", "watch") not in ("", "watch"):
        return None
    if params.keys().isdisjoint(("as", "g", "v")):
        return Form(media, pretty=pretty)
    transform, version = params.get("as", ""), params.get("v", "")
    if transforms and transform in TRANSFORMS and params.get("g") == "meta.k8s.io" and version in TRANSFORM_VERSIONS:
        return Form(media, transform, version, pretty)
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
