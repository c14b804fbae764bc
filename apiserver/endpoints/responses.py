"""Answers: headers, media types, pretty printing, compression, and errors as Status."""

import asyncio
import gzip
from collections.abc import Iterable
from itertools import accumulate

import orjson
import yaml
from aiohttp import web

from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj
from apiserver.api.parameters import Parameters
from apiserver.api.protobuf import encode_status
from apiserver.endpoints.http_response import Response
from apiserver.endpoints.negotiation import JSON, PROTOBUF, YAML, error_media
from apiserver.endpoints.params import parse_query

GZIP_FROM = 128 * 1024
"""Bytes from which an answer is compressed for clients that want it (apiserver's defaultGzipThresholdBytes)."""
PRETTY_AGENTS = ("curl", "Wget", "Mozilla/5.0")
"""User agents whose answers are read by people."""
TRUE = frozenset(("1", "t", "T", "true", "TRUE", "True"))
"""The texts that Go's strconv.ParseBool takes for true."""


def response(
    body: bytes,
    *,
    code: int = 200,
    media: str = JSON,
    warnings: Iterable[str] = (),
    audit_id: str = "",
    ending: bytes = b"",
) -> Response:
    """Return an answer with Warning headers."""
    answer = Response(body, status=code, media=media, audit_id=audit_id, ending=ending)
    for text in _limited(warnings):
        warn(answer, text)
    return answer


MAX_WARNING_CHARACTERS, SHORTENED_CHARACTERS = 4096, 256
"""The characters of all warnings of an answer, and of each warning if there are more (filters/warning.go)."""


def _limited(warnings: Iterable[str]) -> list[str]:
    """Return the distinct texts; if they are too long in total, only as many of their beginnings as fit."""
    texts = list(dict.fromkeys(filter(None, warnings)))
    if sum(map(len, texts)) <= MAX_WARNING_CHARACTERS:
        return texts
    written, kept = 0, []
    for text, so_far in zip(texts, accumulate(map(len, texts)), strict=True):
        if written >= MAX_WARNING_CHARACTERS and so_far - len(text) > MAX_WARNING_CHARACTERS:
            break
        kept.append(text[:SHORTENED_CHARACTERS])
        written += len(kept[-1])
    return kept


def warn(answer: Response, text: str) -> None:
    """Add a Warning header."""
    answer.headers.append(("Warning", warning(text)))


def warn_first(answer: Response, text: str) -> None:
    """Put a Warning header before all others, in place of an equal one."""
    new_header = ("Warning", warning(text))
    answer.headers[:] = [new_header, *(header for header in answer.headers if header != new_header)]


def warning(text: str) -> str:
    """Return the value of a Warning header: code, agent and text (RFC 7234, section 5.5)."""
    return f"299 - {_quoted(text)}"


def _quoted(text: str) -> str:
    """Return a warning's text as RFC 7234 quotes it, without characters that a header cannot hold."""
    clean = "".join(c for c in text if c.isprintable())
    escaped = clean.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def shaped(body: bytes, media: str, *, pretty: bool) -> bytes:
    """Convert JSON bytes to the media type and layout that the client requests."""
    if media == YAML:
        return to_yaml(body)
    if pretty:
        return orjson.dumps(orjson.loads(body), option=orjson.OPT_INDENT_2)
    return body


def line_end(media: str, *, pretty: bool) -> bytes:
    """Return the bytes after an object: a line break after JSON that is not pretty-printed (json.Serializer)."""
    return b"\n" if media == JSON and not pretty else b""


def to_yaml(body: bytes) -> bytes:
    """Convert JSON to YAML, with sorted keys, as sigs.k8s.io/yaml does."""
    return yaml.dump(
        orjson.loads(body), Dumper=yaml.CSafeDumper, encoding="utf-8", allow_unicode=True, default_flow_style=False
    )


def is_pretty(query: Parameters, agent: str) -> bool:
    """Return whether the answer is pretty-printed (responsewriters.isPrettyPrint)."""
    requested = query.get("pretty")
    return requested in TRUE if requested else agent.startswith(PRETTY_AGENTS)


def status_response(error: ApiError, request: web.BaseRequest, *, audit_id: str = "") -> Response:
    """Return the Status of an error, in a media type that the client accepts."""
    headers = request.headers
    media = error_media(headers.get("Accept", ""))
    pretty = not media or is_pretty(parse_query(request.raw_path.partition("?")[2]), headers.get("User-Agent", ""))
    media = media or JSON  # a client that accepts none gets it pretty-printed (responsewriters.WriteRawJSON)
    if media == PROTOBUF:
        body, pretty = encode_status(error.status()), False
    else:
        body = shaped(orjson.dumps(error.status()), media, pretty=pretty)
    answer = response(
        body,
        code=error.code,
        media=media,
        warnings=error.warnings,
        audit_id=audit_id,
        ending=line_end(media, pretty=pretty),
    )
    seconds = (error.details or {}).get("retryAfterSeconds")
    if seconds:
        answer.headers.append(("Retry-After", str(seconds)))
    return answer


def success(details: Obj | None, code: int | None = None) -> Obj:
    """Return a Status of success."""
    status: Obj = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
    if details is not None:
        status["details"] = details
    if code is not None:
        status["code"] = code
    return status


async def compressed(answer: Response, accept_encoding: str) -> Response:
    """Return the answer, gzipped in a thread if it is large and the client accepts gzip."""
    if len(answer.body) < GZIP_FROM or not takes_gzip(accept_encoding):
        return answer
    answer.body, answer.ending = await asyncio.to_thread(gzip.compress, answer.body + answer.ending, 1), b""
    answer.headers += [("Content-Encoding", "gzip"), ("Vary", "Accept-Encoding")]
    return answer


def takes_gzip(accept_encoding: str) -> bool:
    """Return whether a client names gzip; qualities are not read, so one with a quality counts as another name."""
    return any(name.strip() == "gzip" for name in accept_encoding.split(","))
