"""Content negotiation: the form of the answer from the Accept header, the form of the body from Content-Type."""

from dataclasses import dataclass
from functools import lru_cache

from apiserver.api import errors

JSON, YAML = "application/json", "application/yaml"
PROTOBUF = "application/vnd.kubernetes.protobuf"
"""For request bodies and errors only: every client that reads objects in protobuf reads JSON too."""
TEXT = "text/plain; charset=utf-8"
NO_TRANSFORMS = frozenset[str]()
METADATA = NO_TRANSFORMS | {"PartialObjectMetadata", "PartialObjectMetadataList"}
"""The transforms of what has no columns, such as a review (RequestScope.AllowsMediaTypeTransform)."""
TRANSFORMS = METADATA | {"Table"}
TRANSFORM_VERSIONS = frozenset(("v1", "v1beta1"))
SUPPORTED = (JSON, YAML, PROTOBUF)
"""Media types of the serializers, in the order in which messages name them."""
ANSWERED = {JSON: JSON, YAML: YAML, "*/*": JSON, "application/*": JSON}
"""Media type of an Accept header → media type of the answer."""
ROUTED = frozenset((JSON, YAML, "*/*"))
"""Media types that a route of go-restful accepts; it does not know application/*."""
EVENT_STREAMS = tuple(f"{media};stream=watch" for media in (JSON, PROTOBUF))
"""The media types that the route of a list produces besides SUPPORTED."""
ERROR_MEDIA = {JSON: JSON, YAML: YAML, PROTOBUF: PROTOBUF, "*/*": JSON, "application/*": JSON}
"""Media type of an Accept header → media type of a Status."""


@dataclass(frozen=True, slots=True)
class MediaType:
    """The negotiated form of an answer.

    Attributes:
        media: application/json or application/yaml.
        transform: "" for the object itself, or "Table", "PartialObjectMetadata", "PartialObjectMetadataList".
        version: the version of meta.k8s.io for a transform.
        pretty: whether it is pretty-printed.
    """

    media: str = JSON
    transform: str = ""
    version: str = "v1"
    pretty: bool = False


_PLAIN = MediaType()


@dataclass(frozen=True, slots=True)
class _AcceptClause:
    media: str
    params: tuple[tuple[str, str], ...]
    quality: float


@lru_cache(maxsize=1024)
def clauses(accept: str) -> tuple[_AcceptClause, ...]:
    """Return the clauses of an Accept header, the preferred one first (munnerz/goautoneg).

    A clause goes before another of lower quality, and one that names a type before a wildcard, whatever their
    qualities; this is not a strict order, so the result depends on the insertion sort of Go's sort.Sort.
    """
    ordered: list[_AcceptClause] = []
    for clause in filter(None, map(_clause, accept.split(","))):
        at = len(ordered)
        while at and _goes_before(clause, ordered[at - 1]):
            at -= 1
        ordered.insert(at, clause)
    return tuple(ordered)


def _clause(text: str) -> _AcceptClause | None:
    """Return a part of the header parsed, None if it names no media type."""
    media, *params = text.split(";")
    names = [part.strip(" ") for part in media.split("/")]
    if names == ["*"]:
        names = ["*", "*"]
    if len(names) != 2:  # type and subtype
        return None
    pairs = {name.strip(" "): value for name, equals, value in (p.partition("=") for p in params) if equals}
    quality = _quality(pairs.pop("q", "1"))
    return _AcceptClause("/".join(names), tuple((name, value.strip(" ")) for name, value in pairs.items()), quality)


def _quality(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


def _goes_before(one: _AcceptClause, other: _AcceptClause) -> bool:
    (kind, _, subtype), (other_kind, _, other_subtype) = one.media.partition("/"), other.media.partition("/")
    return (
        one.quality > other.quality or (kind != "*" and other_kind == "*") or (subtype != "*" and other_subtype == "*")
    )


@lru_cache(maxsize=1024)
def negotiate(accept: str, *, transforms: frozenset[str] = TRANSFORMS) -> MediaType:
    """Return the form that an answer takes (negotiation.NegotiateMediaTypeOptions).

    Args:
        accept: the header.
        transforms: the available transforms: they are for resources, not for discovery.

    Raises:
        ApiError: 406, the client accepts none of the available forms.
    """
    if not accept or accept == JSON:
        return _PLAIN
    for clause in clauses(accept):
        media = ANSWERED.get(clause.media)
        form = _form(media, dict(clause.params), transforms=transforms) if media else None
        if form is not None:
            return form
    raise not_acceptable(SUPPORTED)


@lru_cache(maxsize=1024)
def negotiate_routed(
    accept: str, *, transforms: frozenset[str] = TRANSFORMS, streams: tuple[str, ...] = ()
) -> MediaType:
    """Return the form that an answer takes behind a route of go-restful, which checks the header first.

    Args:
        accept: the header.
        transforms: the available transforms.
        streams: the media types that the route produces besides SUPPORTED.

    Raises:
        ApiError: 406, the client accepts none of the available forms.
    """
    if not accept or accept == JSON:
        return _PLAIN
    named = {clause.partition(";")[0].strip(" ") for clause in accept.split(",")}
    if named.isdisjoint(ROUTED):
        available = (
            (JSON, YAML) if PROTOBUF in named else (*SUPPORTED, *streams)
        )  # protobuf answers are not implemented
        refused = errors.not_acceptable(f"406: Not Acceptable\n\nAvailable representations: {', '.join(available)}")
        refused.details = {}
        raise refused
    return negotiate(accept, transforms=transforms)


def not_acceptable(media: tuple[str, ...]) -> errors.ApiError:
    """Return the 406 that names the available media types (negotiation.NewNotAcceptableError)."""
    return errors.not_acceptable(f"only the following media types are accepted: {', '.join(media)}")


def _form(media: str, params: dict[str, str], *, transforms: frozenset[str]) -> MediaType | None:
    """Return the form that one clause of the header requests, None if there is no such form."""
    pretty = params.get("pretty") == "1"
    if params.get("stream", "watch") not in ("", "watch"):
        return None
    if params.get("sv", "") not in (("", "v1") if transforms else ("",)):
        return None
    if params.keys().isdisjoint(("as", "g", "v")):
        return MediaType(media, pretty=pretty)
    transform, version = params.get("as", ""), params.get("v", "")
    if transform in transforms and params.get("g") == "meta.k8s.io" and version in TRANSFORM_VERSIONS:
        return MediaType(media, transform, version, pretty)
    return None


@lru_cache(maxsize=256)
def error_media(accept: str) -> str:
    """Return the media type for a Status, "" if the client accepts none of them."""
    if not accept:
        return JSON
    for clause in clauses(accept):
        media = ERROR_MEDIA.get(clause.media)
        if media and _form(media, dict(clause.params), transforms=NO_TRANSFORMS) is not None:
            return media
    return ""


@lru_cache(maxsize=256)
def body_media(content_type: str) -> str:
    """Return the media type of a body without its parameters, JSON if there is none."""
    return content_type.partition(";")[0].strip().lower() or JSON
